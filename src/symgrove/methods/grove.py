"""Grove: ensembles of sums of formulas, in which a formula is judged by what it adds to a team.

One population, one evolution, bootstrap samples, selection by sample, as in 2SEGP. What changes is the question that a
formula answers: not how well it fits a sample alone, but how much it adds to the team that the sample already has.
The evolution is in _teams.py. How strongly to fit is chosen on rows held out of whole evolutions (_strength.py).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from symgrove._checks import check_flag, check_number, check_whole
from symgrove.engines.cpu import DEFAULT_MEMORY_BUDGET
from symgrove.evolution.interrupt import StopOnInterrupt
from symgrove.evolution.progress import say
from symgrove.evolution.stopping import OutOfTime
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods._documentation import document
from symgrove.methods._estimator import EvolvedEnsemble
from symgrove.methods._faces import encode_labels
from symgrove.methods._held_out import Training
from symgrove.methods._parameters import check_choice
from symgrove.methods._run import Found, Job, Outcome, Setting
from symgrove.methods._several import States
from symgrove.methods._strength import MOST_ROWS_FOR_FOLDS, Strength, choose_strength, grow, levels_of
from symgrove.methods._team_setting import Ground, Path, base_of, make_evolution, rows_that_fit, take_rows, to_model
from symgrove.methods._teams import Rules, TeamEvolution
from symgrove.models.standardization import Standardization
from symgrove.models.team_importance import team_importances
from symgrove.models.team_members import SharedTerm, list_teams, shared_terms, size_point, stack_as_text
from symgrove.models.teams import Stack, Teams
from symgrove.rng import stream

Matrix = NDArray[np.float64]
GROVE_FUNCTIONS = ("add", "sub", "mul", "aq", "max", "min", "step", "sqrt", "log1p")
# Of max_time, for the main evolution; the rest is for choosing the strength.
SHARE_OF_MAIN = 0.5
FEWEST_ROWS = 100  # that a budget must have room for


@dataclass(kw_only=True, eq=False, repr=False)
class _GroveParameters(EvolvedEnsemble):
    """What the regressor and the classifier share."""

    population_size: int = 1000
    generations: int = 200
    n_estimators: int = 50
    functions: Any = GROVE_FUNCTIONS
    max_terms: int = 100
    max_size: int = 25
    ridge: float = 1e-3
    window: float = 0.5
    n_joining: int = 2
    strength: str = "auto"
    bootstrap: bool = True
    aggregation: str = "interquartile"
    clip: bool = True
    dtype: str = "float32"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_estimators", "max_terms", "max_size", "n_joining"):
            check_whole(name, getattr(self, name), 1)
        check_number("ridge", self.ridge, 0, np.inf)
        if isinstance(self.window, (int, np.integer)) and not isinstance(self.window, bool):
            check_whole("window", self.window, 1)
        elif not (isinstance(self.window, (float, np.floating)) and 0 < self.window <= 1):
            raise ValueError(
                f"window must be a number of candidates (int) or a share of population_size (float up to 1), got "
                f"{self.window!r}."
            )
        check_choice("strength", self.strength, ("auto", "fixed"))
        check_choice("aggregation", self.aggregation, ("interquartile", "mean"))
        check_flag("bootstrap", self.bootstrap)
        check_flag("clip", self.clip)
        if not self.bootstrap and self.n_estimators > 1:
            raise ValueError(
                f"bootstrap=False gives {self.n_estimators} teams the same rows; for one formula, set n_estimators=1."
            )

    # The evolution

    def _is_logistic(self) -> bool:
        raise NotImplementedError

    def _other_paths(self, n_rows: int) -> tuple[Path, ...]:
        """Evolutions of other strength that may enter the stack."""
        raise NotImplementedError

    def _early_snapshots(self) -> tuple[int, ...]:
        """Generations after which the main evolution is weaker, but may be the better for it."""
        raise NotImplementedError

    def _ground(self) -> Ground:
        budget = DEFAULT_MEMORY_BUDGET if self.memory_budget is None else int(self.memory_budget)
        flags = bool(self.standardize), bool(self.bootstrap), bool(self.clip)
        primitives = PrimitiveSet(self.functions, self.epsilon)
        logistic = self._is_logistic()
        return Ground(primitives, self.dtype, *flags, self.aggregation, logistic, self._n_threads(), budget)

    def _main_path(self, generations: int) -> Path:
        is_count = isinstance(self.window, (int, np.integer))
        window = int(self.window) if is_count else max(1, round(self.window * self.population_size))
        numbers = self.population_size, window, self.n_joining, self.max_terms, float(self.ridge)
        snapshots = (*(g for g in self._early_snapshots() if g < generations), generations)
        return Path("main", int(self.n_estimators), int(self.max_size), Rules(*numbers), snapshots)

    def _make_parts(
        self, training: Training, standardization: Standardization, seed: int, member: int, stack: ExitStack
    ) -> list[Any]:
        return [make_evolution(self._ground(), self._main_path(self.generations), training, seed, stack)]

    def _found(self, setting: Setting, state: States, training: Training) -> Found:
        evolution = setting.method.parts[0]
        assert isinstance(evolution, TeamEvolution)
        ground, base = self._ground(), base_of(training)
        states = [state[0], *(evolution.shrink(state[0]) if evolution.n_teams == 1 else [])]
        stacks = [Stack((to_model(ground, evolution, s, training),), np.ones(1), base) for s in states]
        return Found(stacks[:1], [state[0].errors], [], stacks if evolution.n_teams == 1 else [])

    def _prepare(self, X: Matrix, y: Any, weight: Any, rows: NDArray[np.intp]) -> Job:
        job = super()._prepare(X, y, self._weighted(y, weight), rows)
        n_rows = self._n_rows_that_fit(len(job.training.targets))
        if len(X) <= n_rows:
            return job
        if n_rows < FEWEST_ROWS:
            raise ValueError(
                f"memory_budget={self.memory_budget} bytes is too small: there is room for {n_rows} rows. Raise it, or "
                "lower n_estimators, max_terms or population_size."
            )
        warnings.warn(
            f"Grove evolves on {n_rows} of the {len(X)} rows, drawn at random: more do not fit into memory_budget. "
            "Raise it, or lower n_estimators or max_terms.",
            stacklevel=2,
        )
        kept = np.sort(stream(job.seed, "rows").choice(len(X), size=n_rows, replace=False))
        return job._replace(training=take_rows(job.training, kept))

    def _n_rows_that_fit(self, n_targets: int) -> int:
        budget = DEFAULT_MEMORY_BUDGET if self.memory_budget is None else int(self.memory_budget)
        return rows_that_fit(self._main_path(self.generations), n_targets, 8, budget // 2)

    def _weighted(self, y: Any, weight: Any) -> Any:
        return weight

    # Strength

    def _evolve(self, job: Job, interrupt: StopOnInterrupt, given: tuple[Any, Any]) -> Outcome:
        start = time.perf_counter()
        is_auto = self.strength == "auto"
        limit = job.max_time if job.max_time is None or not is_auto else SHARE_OF_MAIN * job.max_time
        outcome = super()._evolve(job._replace(max_time=limit), interrupt, given)
        self.strength_ = {f"main {outcome.n_generations}": 1.0}
        self.found_, self.validation_score_ = 1.0, float("nan")
        if not is_auto or outcome.reason == "interrupted" or not outcome.n_generations:
            return outcome
        end = np.inf if job.max_time is None else start + job.max_time

        def check() -> None:
            if interrupt.is_requested or time.perf_counter() > end:
                raise OutOfTime

        try:
            stack = self._stack(job, outcome, check)
        except OutOfTime:
            reason = "interrupted" if interrupt.is_requested else "max_time"
            return outcome._replace(reason=reason)
        return outcome._replace(found=outcome.found._replace(ensembles=[stack]))

    def _stack(self, job: Job, outcome: Outcome, check: Callable[[], None]) -> Stack:
        """Ensembles of different strength, weighed on rows that they never saw."""
        ground = self._ground()
        main = self._main_path(outcome.n_generations)
        paths = (main, *self._other_paths(len(job.training.X)))
        cheaper = [_for_folds(path) for path in paths]
        chosen = choose_strength(ground, cheaper, job.training, job.seed, check, self._tell_progress)
        strongest: Teams = outcome.found.ensembles[0].levels[0]
        models: list[Teams] = []
        weights: list[float] = []
        for path, own in zip(paths, _split(chosen, paths), strict=True):
            models += self._grow_levels(path, own, job, check, strongest if path is main else None)
            weights += [w for w in own if w > 0]
        self._report(chosen, paths, job)
        return Stack(tuple(models), np.array(weights), base_of(job.training))

    def _tell_progress(self, text: str) -> None:
        if self.verbose:
            say(type(self).__name__, text)

    def _grow_levels(
        self, path: Path, weights: Matrix, job: Job, check: Callable[[], None], strongest: Teams | None
    ) -> list[Teams]:
        """Models of the levels of a path that have weight; the last of the main path is there already."""
        wanted = [g for g, w in zip(path.snapshots, weights, strict=True) if w > 0]
        to_grow = [g for g in wanted if strongest is None or g != path.snapshots[-1]]
        grown = grow(self._ground(), path._replace(snapshots=tuple(to_grow)), job.training, job.seed, check)
        return [*grown, *([strongest] if strongest is not None and path.snapshots[-1] in wanted else [])]

    def _report(self, chosen: Strength, paths: tuple[Path, ...], job: Job) -> None:
        names = [f"{level.path.name} {level.generation}" for level in levels_of(paths)]
        self.strength_ = {name: float(w) for name, w in zip(names, chosen.weights, strict=True)}
        self.found_ = float(chosen.weights.sum())
        self.validation_score_ = self._score_of(chosen.honest, job.training)

    def _score_of(self, honest: Matrix, training: Training) -> float:
        raise NotImplementedError

    # The model

    def _has_out_of_bag(self) -> bool:
        return False

    def _head(self, n_targets: int) -> Any:
        return None

    def _set_out_of_bag(self, training: Training, prediction: Matrix, n_given: int) -> None:
        raise NotImplementedError  # it would be optimistic; `validation_score_` is not

    def _loss(self) -> Any:
        return self._is_logistic()

    def _make_source(self, forest: Any) -> Any:
        raise NotImplementedError

    def _make_part(self, material: Any) -> Any:
        raise NotImplementedError

    def _finish(self, job: Job, outcome: Outcome, n_given: int) -> None:
        stack: Stack = outcome.found.ensembles[0]
        self.stop_reason_ = outcome.reason
        self.n_generations_ = outcome.n_generations
        self.history_ = outcome.history
        self._ensembles = [stack]
        names = getattr(self, "feature_names_in_", None)
        labels = [name for name, weight in self.strength_.items() if weight > 0]
        targets = self.classes_ if len(job.training.targets) > 1 else None
        self.ensemble_ = list_teams(stack, names, targets, labels)
        self.size_path_ = [size_point(smaller, names) for smaller in outcome.found.smaller]
        self.feature_importances_ = team_importances(stack, job.training.X, job.seed)

    def shared_terms(self, n_most: int | None = 20) -> list[SharedTerm]:
        """The heaviest ensemble as one sum: terms with the mean and the spread of their coefficients over the teams.

        Parameters
        ----------
        n_most : int, optional
            So many terms with the largest coefficients; None: all.
        """
        check_is_fitted(self)
        return shared_terms(self._ensembles[0], getattr(self, "feature_names_in_", None), n_most)

    def formula(self) -> str:
        """The whole model as one sum in your units and column names; log odds if it is a classifier.

        Exact where nothing is clipped and teams are combined by their mean: with `aggregation="mean"` or one team, and
        `clip=False` or rows within what training rows showed.
        """
        check_is_fitted(self)
        return stack_as_text(self._ensembles[0], getattr(self, "feature_names_in_", None))


_TEXT = (
    "Each of `n_estimators` bootstrap samples owns a team: a ridge regression on at most `max_terms` formulas. One "
    "population is evolved, and a formula joins a team if it lowers the team's error more than others in the team's "
    "window; the least useful leave. How strongly to fit is chosen on rows that whole evolutions never saw."
)
_OWN = {
    "population_size": ("int", "New formulas in each generation."),
    "n_estimators": ("int", "Bootstrap samples, and so teams; for each class, if there are more than two."),
    "max_terms": ("int", "Formulas in a team; never more than a fifth of the rows."),
    "max_size": ("int", "Nodes of a formula."),
    "ridge": ("float", "Penalty on the coefficients of standardised formulas, as a share of the rows."),
    "window": ("int or float", "New formulas that each team looks at in a generation, or their share (float)."),
    "n_joining": ("int", "Formulas that may join a team in a generation."),
    "strength": (
        '"auto" or "fixed"',
        "auto: ensembles of different strength are weighed on rows held out of whole evolutions: five folds, or a "
        "fifth of the rows if there are more than 500. fixed: the one evolution that the parameters describe.",
    ),
    "bootstrap": ("bool", "False, with one team: it is fitted on all rows."),
    "aggregation": ('"interquartile" or "mean"', "How the teams' predictions are combined."),
    "clip": (
        "bool",
        "Keep features, formulas and teams' predictions within what the training rows showed.",
    ),
    "target_error": ("float, optional", "Stop once the mean loss of the teams on their samples is this low."),
    "max_time": (
        "float, optional",
        "Seconds; compiling is not counted. With strength=auto, half of them are for the main evolution; if the others "
        "do not suffice to choose the strength, the main evolution is the model.",
    ),
    "n_jobs": ("int, optional", "Threads over teams and rows; the model does not depend on it."),
}
_ATTRIBUTES: dict[str, tuple[str, str] | None] = {
    "ensemble_": ("list of TeamMember", "Teams with formula, n_terms, size, weight, sample, error and level."),
    "oob_score_": None,
    "oob_prediction_": None,
    "history_": (
        "dict of ndarray",
        "One entry a generation of the main evolution: generation, errors (of every team, on its sample; of the "
        "standardised target), mean_size, max_size, n_distinct, n_terms (mean of the teams), n_evaluations, seconds.",
    ),
    "size_path_": (
        "list of SizePoint",
        "For one team: it, and what is left when the least useful terms leave one by one: n_terms, size, error on the "
        "training rows, formula and predict. Else empty.",
    ),
    "strength_": ("dict", "Weight of each ensemble in the stack, by name and generation."),
    "found_": ("float", "Sum of the weights: near 0, nothing was found; 1 if the strength is fixed."),
    "validation_score_": (
        "float",
        "R² or accuracy of the stack on rows held out of whole evolutions; NaN if the strength is fixed.",
    ),
}
_CLASSES = (
    "Two classes: the mean of the teams' probabilities decides. More: teams for each class against the others, over "
    "one population; their mean probabilities are divided by their sum."
)
# Teams and candidates of evolutions that are made only to be judged; windows up to so many candidates are kept.
FOLD_SIZE = (20, 300)
SMALL_WINDOW = 10


def _for_folds(path: Path) -> Path:
    """A cheaper evolution of the same strength, for rows held out: fewer teams, fewer candidates."""
    n_teams, population_size = FOLD_SIZE
    rules = path.rules
    share = min(1.0, population_size / rules.population_size)
    window = rules.window if rules.window <= SMALL_WINDOW else max(1, round(share * rules.window))
    fewer = rules._replace(population_size=min(rules.population_size, population_size), window=window)
    return path._replace(n_teams=min(path.n_teams, n_teams), rules=fewer)


def _split(chosen: Strength, paths: tuple[Path, ...]) -> list[Matrix]:
    """The weights of each path's levels."""
    ends = np.cumsum([len(path.snapshots) for path in paths])
    return np.split(chosen.weights, ends[:-1])


@document("Ensemble of sums of formulas for regression.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES)
class GroveRegressor(RegressorMixin, _GroveParameters):
    def _is_logistic(self) -> bool:
        return False

    def _early_snapshots(self) -> tuple[int, ...]:
        return (3, 10)

    def _other_paths(self, n_rows: int) -> tuple[Path, ...]:
        numbers = self.population_size, 10, self.n_joining, self.max_terms, 0.1
        return (Path("gentle", 2 * self.n_estimators, min(9, self.max_size), Rules(*numbers), (5, 15, 60)),)

    def _encode(self, y: NDArray[Any]) -> Matrix:
        return np.asarray(y, dtype=np.float64)[None, :]

    def _y_rules(self) -> dict[str, Any]:
        return {"y_numeric": True}

    def _score_of(self, honest: Matrix, training: Training) -> float:
        """R² on rows that were held out."""
        known = ~np.isnan(honest[0])
        y, weight = training.targets[0][known], None if training.weight is None else training.weight[known]
        variation = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        if not variation > 0:
            return float("nan")
        return float(1.0 - np.average((y - honest[0][known]) ** 2, weights=weight) / variation)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """What the teams predict together.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        return_std : bool, default=False
            Also return the standard deviation of the teams' predictions on each row.

        Returns
        -------
        prediction : ndarray of shape (n_rows,)
        spread : ndarray of shape (n_rows,)
            Only with `return_std`.
        """
        X = self._check_predict(X)
        stack = self._ensembles[0]
        prediction = stack.predict(X, self._n_threads())[0]
        return (prediction, stack.spread_of_teams(X, self._n_threads())) if return_std else prediction


@dataclass(kw_only=True, eq=False, repr=False)
class _GroveClassifierParameters(_GroveParameters):
    population_size: int = 500
    generations: int = 100
    max_terms: int = 50
    max_size: int = 12
    ridge: float = 0.1
    window: float = 5
    aggregation: str = "mean"
    class_weight: Any = None


@document(
    "Ensemble of sums of formulas for classification.",
    _TEXT + " Teams are logistic regressions on formulas.",
    parameters={
        **_OWN,
        "class_weight": (
            'dict, "balanced" or None',
            "Weights of the classes, by label; balanced: so that all classes weigh the same.",
        ),
    },
    attributes=_ATTRIBUTES,
    classes=_CLASSES,
)
class GroveClassifier(ClassifierMixin, _GroveClassifierParameters):
    def _is_logistic(self) -> bool:
        return True

    def _is_classifier(self) -> bool:
        return True

    def _early_snapshots(self) -> tuple[int, ...]:
        return (10, 30, 60)

    def _other_paths(self, n_rows: int) -> tuple[Path, ...]:
        numbers = self.population_size, self.population_size // 2, self.n_joining, 2 * self.max_terms, 1e-3
        snapshots = (30,) if n_rows <= MOST_ROWS_FOR_FOLDS else (30, 100)
        return (Path("strong", self.n_estimators, 2 * self.max_size + 1, Rules(*numbers), snapshots),)

    def _encode(self, y: NDArray[Any]) -> Matrix:
        self.classes_, targets = encode_labels(y)
        return targets

    def _weighted(self, y: Any, weight: Any) -> Any:
        if self.class_weight is None:
            return weight
        own = compute_sample_weight(self.class_weight, y)
        return own if weight is None else own * weight

    def _score_of(self, honest: Matrix, training: Training) -> float:
        """Accuracy on rows that were held out."""
        known = ~np.isnan(honest).any(axis=0)
        labels = training.targets[0] if len(honest) == 1 else np.argmax(training.targets, axis=0)
        found = (honest[0] > 0.5) if len(honest) == 1 else np.argmax(honest, axis=0)
        weight = None if training.weight is None else training.weight[known]
        return float(np.average(found[known] == labels[known], weights=weight))

    def predict_proba(self, X: Any) -> Matrix:
        """Mean of the teams' probabilities; with more than two classes, divided by their sum.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        X = self._check_predict(X)
        found = self._ensembles[0].predict(X, self._n_threads())
        if len(found) == 1:
            return np.stack([1 - found[0], found[0]], axis=1)
        return (found / found.sum(axis=0)).T

    def decision_function(self, X: Any) -> Matrix:
        """Two classes: probability of the second class minus one half, (n_rows,). More: as `predict_proba`."""
        probabilities = self.predict_proba(X)
        return probabilities[:, 1] - 0.5 if self.classes_.size == 2 else probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]
