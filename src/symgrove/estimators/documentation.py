"""Docstrings of the estimators: every parameter is described once, and a method adds or replaces what is its own."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from symgrove.estimators.classifier import Classifier
from symgrove.estimators.parameters import EvolutionParameters
from symgrove.forest.primitive_table import BUILTIN

Estimator = TypeVar("Estimator", bound=type[EvolutionParameters])

# Name to (type, meaning). The default is added from the class.
PARAMETERS: dict[str, tuple[str, str]] = {
    "population_size": ("int", "Programs in the population."),
    "n_estimators": ("int", "Bootstrap samples, and so members (β in the paper); at most `population_size`."),
    "generations": ("int", "Generations in total, also with `warm_start`."),
    "functions": (
        "sequence of str or Primitive",
        f"Built-in primitives by name ({', '.join(BUILTIN)}) and your own, made with `symgrove.primitive`.",
    ),
    "epsilon": ("float or dict", "Protection constant of div and log; a dict gives each its own."),
    "constant_range": (
        "(float, float) or None",
        "Constants are drawn uniformly from it; None for programs without constants.",
    ),
    "init_depth": (
        "(int, int)",
        "Heights of initial programs; new branches of mutation are at most the second high.",
    ),
    "min_grow_depth": (
        "int",
        "Minimum height of grown programs: half of the initial ones, and the new branches of mutation. 0 agrees "
        "with more of the paper's numbers; newer versions of the author's library have 2, which fits the training data "
        "of classification more closely.",
    ),
    "max_size": (
        "int",
        "A child with more nodes is dropped and its parent stays. Initial programs are limited by `init_depth` only.",
    ),
    "p_crossover": ("float", "Chance of subtree crossover. Not used with `variation`."),
    "p_mutation": ("float", "Chance of subtree mutation; what is left to 1 are copies. Not used with `variation`."),
    "linear_scaling": ("bool", "Give every program the best slope and intercept on each sample."),
    "loss": (
        "callable, optional",
        "A function (y, prediction) of the target and the prediction on one row that gives a loss, lower is better; it "
        "is compiled (`symgrove.row_loss`). Programs are scored by its mean, for classes with targets 0 and 1. By "
        "default squared error, or the share of wrong labels. Linear scaling stays that of least squares: set "
        "`linear_scaling=False` for a loss whose best constant is not the mean.",
    ),
    "quantile": ("float", "Of loss=quantile: which one, between 0 and 1."),
    "huber_delta": (
        "float, optional",
        "Of loss=huber: the residual, in units of y, up to which squares count. By default 1.345 times the normalised "
        "median absolute deviation of y (that of the residuals is not known before the fit, and smaller).",
    ),
    "variation": (
        "callable, optional",
        "A function (forest, parents, donors, rng) that returns the ids of a child for each parent, or a pair of these "
        "and of which are made from scratch. Children above `max_size` are dropped. By default subtree crossover and "
        "mutation, as the `p_` parameters say.",
    ),
    "tournament_size": ("int", "Programs drawn for each tournament, with replacement; the best wins."),
    "standardize": (
        "bool",
        "Z-score the features inside; formulas are shown in your units either way. Set it to False where a law may be "
        "simple in the units of the data, such as n * T / V: standardised, it is not found.",
    ),
    "categorical_features": (
        '"from_dtype", list of names, of places or of truth values, or None',
        "Columns of categories, each a feature [column is value] for every value. from_dtype: those of pandas' type "
        "category and of polars' types Categorical and Enum. Columns that are named may hold texts, numbers or truth "
        "values. None: there are none. See docs/tables.md.",
    ),
    "max_time": (
        "float, optional",
        "Seconds for the evolution; compiling is not counted. The initial population is always scored; a generation "
        "that is not done by then is dropped.",
    ),
    "max_evaluations": ("int, optional", "Stop once so many programs have been made and scored."),
    "target_error": ("float, optional", "Stop once the mean error of the elites on their samples is this low."),
    "class_weight": (
        'dict, "balanced" or None',
        "Weights of the classes, by label; a class that is not in the dict weighs 1. balanced: so that all classes "
        "weigh the same. Rows weigh this times their `sample_weight`, in the fit and in what is learned from rows left "
        "out; the scores that follow from these are weighted too.",
    ),
    "calibration": (
        "float, optional",
        "Share of the rows to keep out of the fit, for intervals with a guaranteed coverage (`predict_interval`) or "
        "for calibrated probabilities (classifiers).",
    ),
    "target_transform": (
        '"log", "box-cox" or None',
        "What the target, which must be above 0, is transformed by before the fit: its logarithm, or the power of Box "
        "and Cox that is likeliest on the training rows. Predictions, members, intervals and scores are in the "
        "target's own units; formulas, the loss, and errors of members and fronts are of the transformed target. See "
        "docs/losses.md.",
    ),
    "early_stopping": (
        "bool",
        "Hold `validation_fraction` of the rows out of the whole evolution, stop after `n_generations_no_change` "
        "generations without improvement on them, and return the ensemble that was best there.",
    ),
    "validation_fraction": ("float", "Share of the rows that `early_stopping` holds out."),
    "n_generations_no_change": ("int", "Patience of `early_stopping`."),
    "prune": (
        "bool",
        "Show members with equal programs as one, with averaged coefficients. Predictions are the same. Medians and "
        "interquartile means are of all members, which are then shown each on its own.",
    ),
    "aggregation": (
        '"mean", "median", "interquartile" or "weighted"',
        "How the members' predictions are combined: their mean, median, interquartile mean (without the lowest and the "
        "highest quarter, rounded down; a member that is not finite counts as the mean of the training target), or "
        "mean weighted by one over each member's error on its own sample (if some errors are 0, only those members "
        "count).",
    ),
    "dtype": (
        '"float64" or "float32"',
        "What programs are evaluated in while they evolve; float32 is about 1.5 times faster. Predictions are float64.",
    ),
    "engine": (
        "str",
        "Where rows live and programs are evaluated: 'cpu', 'cuda' for a card of NVIDIA (docs/gpu.md), 'dask' for a "
        "cluster, or 'dask-cuda' for one whose workers have cards (docs/cluster.md).",
    ),
    "memory_budget": (
        "int, optional",
        "Bytes that a fit may take at its peak, beyond what it is given and what the model keeps, 2 GiB by default: "
        "copies of the data, samples, vectors, buffers and results; compiled code is not counted. A fit that needs "
        "more is refused before it begins. Predictions of as many rows keep it too, beyond what "
        "they return and, of rows that are not float64 arrays, one copy as such.",
    ),
    "checkpoint": (
        "path, optional",
        "File that the run is saved to every few seconds and at the end. If it exists and belongs to the same data and "
        "parameters, the run goes on from it; if it belongs to others, that is an error and the file stays as it is. "
        "Not for searches and cross-validation, whose fits would share the file.",
    ),
    "warm_start": (
        "bool",
        "Keep the population, and let the next `fit` with the same data go on to a larger `generations`.",
    ),
    "callbacks": (
        "callable or list of callables, optional",
        "Called at the start and after each generation with a progress object (`state`, `values`, `seconds`). "
        "Returning True stops; returning a dict adds its values to `history_`. scikit-learn's own callbacks are set "
        "with `set_callbacks` (scikit-learn 1.9 and newer).",
    ),
    "n_jobs": ("int, optional", "Threads over rows; the model does not depend on it. Small data use one."),
    "random_state": ("int, RandomState or None", "Same seed, same model, to the last bit."),
    "verbose": (
        "int",
        "1 shows how far the fit is, its training error, the time left and the best formula so far: on stderr, in a "
        "notebook below the cell.",
    ),
}

# Of regressors that know losses by name.
_LOSS_BY_NAME = (
    '"squared", "absolute", "huber", "quantile" or callable',
    "What is minimised on each sample: squares, sizes of residuals, squares of small and sizes of large ones "
    "(`huber_delta`), or the loss whose best constant is a quantile (`quantile`). Or a function (y, prediction) of the "
    "target and the prediction on one row that gives a loss, lower is better; it is compiled (`symgrove.row_loss`). "
    "While programs evolve, linear scaling is that of least squares, whatever the loss; at the end, losses by name "
    "give each member the slope and intercept that suit them. For a function whose best constant is not the mean, set "
    "`linear_scaling=False`. `score` is R² with any loss.",
)

ATTRIBUTES: dict[str, tuple[str, str]] = {
    "ensemble_": (
        "list of Member",
        "Members with formula, intercept, slope, weight, samples, in_bag_error, out_of_bag_error and size, heaviest "
        "first (within each class, if there are more than two).",
    ),
    "oob_score_": (
        "float",
        "R² (regression) or accuracy (classification) on the training rows, from members whose sample did not draw a "
        "row. Optimistic: the samples share one population.",
    ),
    "oob_prediction_": (
        "ndarray",
        "The predictions behind it, a row for each row of X; NaN where every sample drew the row, and where the row "
        "was held out or had weight 0. For classifiers as `predict_proba`. Not there if rows were elsewhere.",
    ),
    "classes_": ("ndarray", "Labels, sorted."),
    "model_": (
        "Model",
        "What is behind `predict`: `predict`, `members`, `plan` (for exports), `document` (for files). See "
        "`symgrove.models.model`.",
    ),
    "history_": (
        "dict of ndarray",
        "One entry a generation: generation, errors (of the elite of every sample), mean_size, max_size, n_distinct, "
        "n_elites, n_evaluations, seconds.",
    ),
    "n_generations_": ("int", "Generations that were completed."),
    "stop_reason_": (
        "str",
        "Why the evolution ended: generations, max_time, max_evaluations, target_error, early_stopping, callback, "
        "interrupted, strength (of Grove: more generations predicted worse, or had no weight).",
    ),
    "feature_importances_": (
        "ndarray of shape (n_features,)",
        "How often and how strongly each feature acts: how much of the members' outputs is lost when it is shuffled, "
        "averaged over all members. Sums to one. A column with its categories, or with [column is missing], is one.",
    ),
    "columns_": (
        "TableColumns",
        "How features are made of the columns of X: what stands in for missing numbers, and categories. Printed, it "
        "is what a reader of formulas must know.",
    ),
    "n_features_in_": ("int", "Columns of X."),
    "feature_names_in_": ("ndarray of str", "Only if X had column names."),
}

# The same for all, with as few generations as an example has time for.
_EXAMPLE = {
    False: """
>>> from sklearn.datasets import make_friedman1
>>> from symgrove import {name}
>>> X, y = make_friedman1(60, random_state=0)
>>> model = {name}({settings}random_state=0)
>>> model.fit(X, y).predict(X[:3]).shape
(3,)
>>> 0.0 < model.score(X, y) <= 1.0
True""",
    True: """
>>> from sklearn.datasets import load_iris
>>> from symgrove import {name}
>>> X, y = load_iris(return_X_y=True)
>>> model = {name}({settings}random_state=0)
>>> model.fit(X, y).predict_proba(X[:3]).shape
(3, 3)
>>> 0.5 < model.score(X, y) <= 1.0
True""",
}
_SMALL = {"population_size": "49", "n_estimators": "5", "generations": "5"}

_NOTES = (
    "Ctrl-C stops after the current generation and leaves a fitted model; a second one gives up. On new rows, members "
    "whose output is not finite do not count."
)
TWO_CLASSES = (
    "Two classes: a member votes for the second class where its scaled output is above one half, and the majority "
    "decides; a tie goes to the first class. More classes: one ensemble for each class against the others, evolved "
    "side by side; a class's score is the mean of its members' scaled outputs, each clipped to [0, 1]."
)


_TARGETS = (
    "`y` may have columns: then predictions have them too, and a member says which is its `target`. Intervals and "
    "`calibration` are for one target."
)
_SQUARES = "What is minimised are squares; for other losses see Grove and 2SEGP."


def document(
    summary: str,
    text: str,
    *,
    parameters: Mapping[str, tuple[str, str]] | None = None,
    attributes: Mapping[str, tuple[str, str] | None] | None = None,
    classes: str = TWO_CLASSES,
    example: Mapping[str, str] | None = None,
) -> Callable[[Estimator], Estimator]:
    """Decorator that writes an estimator's docstring; an attribute given as None is one that it does not have.

    `example` adds to the settings of the example, as text, or replaces them.
    """

    def write(estimator: Estimator) -> Estimator:
        names = {field.name for field in fields(estimator)}
        own = {**PARAMETERS, **({"loss": _LOSS_BY_NAME} if "quantile" in names else {}), **(parameters or {})}
        known = {name: entry for name, entry in {**ATTRIBUTES, **(attributes or {})}.items() if entry is not None}
        is_classifier = issubclass(estimator, Classifier)
        if not is_classifier:
            del known["classes_"]
        notes = [_NOTES, classes] if is_classifier else [_NOTES, _TARGETS]
        notes += [_SQUARES] if not is_classifier and "loss" not in names else []
        sections = [
            summary,
            _wrap(text),
            _section("Parameters"),
            *(_entry(name, *own[name], default) for name, default in _defaults(estimator).items()),
            "",
            _section("Attributes"),
            *(_entry(name, *entry) for name, entry in known.items()),
            "",
            _section("Notes"),
            "\n\n".join(map(_wrap, notes)),
            "",
            _section("Examples"),
            _EXAMPLE[is_classifier]
            .format(name=estimator.__name__, settings=_settings({**_SMALL, **(example or {})}, names))
            .strip(),
        ]
        separators = {0: "\n\n", 1: "\n\n"}
        doc = "".join(part + separators.get(i, "\n") for i, part in enumerate(sections))
        estimator.__doc__ = textwrap.indent(doc, "    ").lstrip()
        return estimator

    return write


def _settings(example: Mapping[str, str], names: set[str]) -> str:
    return "".join(f"{name}={value}, " for name, value in example.items() if name in names)


def _defaults(estimator: type[EvolutionParameters]) -> dict[str, Any]:
    """Parameters with their defaults, those of the method itself first, control last."""
    own = {field.name: field.default for field in fields(estimator)}
    shared = {field.name for field in fields(EvolutionParameters)}
    first = [name for name in own if name not in shared]
    return {name: own[name] for name in ("population_size", "generations", *first, *own)}


def _section(name: str) -> str:
    return f"{name}\n{'-' * len(name)}"


def _entry(name: str, kind: str, meaning: str, *default: Any) -> str:
    # Sequences as defaults are in the signature; here they would only be noise.
    shown = f", default={default[0]!r}" if default and default[0] is not None else ""
    return f"{name} : {kind}{shown}\n{textwrap.indent(_wrap(meaning, 108), '    ')}"


def _wrap(text: str, width: int = 112) -> str:
    return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in text.split("\n\n"))
