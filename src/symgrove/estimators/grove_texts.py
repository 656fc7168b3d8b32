"""What the docstrings of Grove say of its own parameters and attributes."""

from __future__ import annotations

TEXT = (
    "Each of `n_estimators` samples of the rows owns a team: a ridge regression on at most `max_terms` formulas. The "
    "teams are divided among a few populations. A formula joins a team of its population if it lowers the team's error "
    "more than others in the team's window; the least useful leave. How strongly to fit is chosen on rows that whole "
    "evolutions never saw."
)
OWN = {
    "n_populations": (
        "int",
        "Evolutions side by side, among which the teams are divided. Formulas do not cross from one to another, so "
        "that teams differ more; with 1, all teams share one population. A second, gentler or stronger evolution (see "
        "`max_terms`) has one population, those that are only made to choose the strength at most two.",
    ),
    "population_size": ("int", "New formulas of each population in each generation."),
    "n_estimators": (
        "int",
        "Samples of the rows, and so teams; for each class, if there are more than two. From 5,001 rows on, half as "
        "many.",
    ),
    "max_terms": (
        "int",
        "Formulas in a team of the main evolution; never more than a fifth of the rows. With strength=auto, a second "
        "evolution has its own rules: for regression of up to 100 rows gentler ones (twice the teams, 9 nodes, ridge "
        "0.1, a window of 10), for classification of more than 500 rows stronger ones (twice the terms and nodes, "
        "ridge 0.001, half of the candidates seen).",
    ),
    "max_size": ("int", "Nodes of a formula of the main evolution."),
    "ridge": ("float", "Penalty on the coefficients of standardised formulas, as a share of the rows."),
    "window": ("int or float", "New formulas that each team looks at in a generation, or their share (float)."),
    "n_joining": ("int", "Formulas that may join a team in a generation."),
    "strength": (
        '"auto" or "fixed"',
        "auto: ensembles of different strength are weighed on rows held out of whole evolutions: five folds, or a "
        "fifth of the rows if there are more than 500; from 5,001 rows on, a tenth of them is held out of the main "
        "evolution itself. fixed: only the evolutions that the parameters describe.",
    ),
    "sampling": (
        '"bootstrap" or float',
        "How the rows of each team are drawn: as many as there are, with replacement, or a share of them without. 1.0: "
        "all teams have all rows, as one team should.",
    ),
    "aggregation": ('"interquartile" or "mean"', "How the teams' predictions are combined."),
    "clip": (
        "bool",
        "Keep features, formulas and teams' predictions within what the training rows showed.",
    ),
    "loss": (
        '"squared", "absolute", "huber", "quantile" or "poisson"',
        "What teams minimise, by reweighted least squares; the strength is chosen by it too. absolute: sizes of "
        "residuals, for a median. huber: squares of small residuals and sizes of large ones (`huber_delta`). quantile: "
        "the loss whose best constant is that `quantile`. poisson: the Poisson deviance, for counts and rates; y must "
        "not be negative, and teams are sums of logarithms (a log link). Others than squares take several times as "
        "long. Teams are combined as `aggregation` says, whatever the loss. `score` is R² with any loss.",
    ),
    "target_error": (
        "float, optional",
        "Stop once the mean loss of the teams on their samples is this low: squares in units of the target's variance, "
        "minus the logarithm of the probability of the label, or another `loss` of the target in units of its spread.",
    ),
    "max_evaluations": (
        "int, optional",
        "Stop the main evolution once so many formulas have been made; those for choosing the strength do not count.",
    ),
    "memory_budget": (
        "int, optional",
        "Bytes that a fit may take at its peak, beyond what it is given and what the model keeps, 2 GiB by default: "
        "copies of the data, samples, the teams' terms, candidates, predictions; compiled code is not counted. If rows "
        "are more than it has room for, they come in turns. Predictions of as many rows keep it too, beyond what "
        "they return and, of rows that are not float64 arrays, one copy as such.",
    ),
    "max_time": (
        "float, optional",
        "Seconds; compiling is not counted. With strength=auto, half of them are for the main evolution; if the others "
        "do not suffice to choose the strength, the main evolution is the model.",
    ),
    "callbacks": (
        "callable or list of callables, optional",
        "Called at the start and after each generation of the main evolution with a progress object (`state`, "
        "`values`, `seconds`); not in those that choose the strength. Returning True stops; returning a dict adds its "
        "values to `history_`.",
    ),
    "n_jobs": ("int, optional", "Threads over teams and rows; the model does not depend on it."),
}
ATTRIBUTES: dict[str, tuple[str, str] | None] = {
    "ensemble_": ("list of TeamMember", "Teams with formula, n_terms, size, weight, samples, in_bag_error and level."),
    "oob_score_": None,
    "oob_prediction_": None,
    "history_": (
        "dict of ndarray",
        "One entry a generation of the main evolution: generation, errors (of every team, on its sample; of the "
        "standardised target), mean_size, max_size, n_distinct, n_terms (mean of the teams), n_evaluations, seconds.",
    ),
    "size_path_": (
        "Front",
        "If the model is one team: it, and what is left when the least useful terms leave one by one. Points have "
        "n_parts (terms), size, error on the team's rows, formula and predict. Else empty.",
    ),
    "stacking_weights_": (
        "dict",
        "Weight of each ensemble in the stack, by name and generation; populations: regressions over the terms of all "
        "teams of a population.",
    ),
    "strength_history_": (
        "dict",
        "Of each evolution that was made to choose the strength, by name: its history, as `history_`. Empty if the "
        "strength was not chosen. Not part of model files.",
    ),
    "stacking_weight_sum_": (
        "float",
        "Sum of the weights, at most 1: so much of the prediction comes from the ensembles, the rest from the mean of "
        "the target. Near 0, the ensembles were no better than the mean on the rows held out. Not a share of the "
        "target's variation; see `validation_score_`. Always 1 if the strength was not chosen, for noise too.",
    ),
    "validation_score_": (
        "float",
        "R² or accuracy of the stack on rows held out of whole evolutions; a little optimistic, because its few "
        "weights were chosen on them. With another `loss` than squares, D²: the share by which the mean loss is below "
        "that of the best constant. NaN if the strength is fixed.",
    ),
}
CLASSES = (
    "Two classes: the mean of the teams' probabilities decides. More: teams for each class against the others, over "
    "the same populations; their mean probabilities are divided by their sum."
)
