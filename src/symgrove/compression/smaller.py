"""Smaller models from a fitted one: fewer members, or fewer terms."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_number, check_whole
from symgrove.compression.fewer_members import fewer_members
from symgrove.compression.fewer_terms import fewer_terms
from symgrove.compression.path import Given, ModelsOfSizes, better_than_smaller, choose, measure_of
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import feature_names_of, features_of, seen_by
from symgrove.estimators.grove import GroveEstimator
from symgrove.estimators.input import columns_of
from symgrove.inspection._input import rows_and_target
from symgrove.models.front import Front
from symgrove.models.model import Model
from symgrove.models.program_model import ProgramModel
from symgrove.models.seen_rows import join_marks, seen_rows
from symgrove.models.stack import Stack

Matrix = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Estimator)
FEWEST_ROWS = 20
# Scores, what was learned on other rows, and the one formula that imitates the larger model.
NO_LONGER = ("oob_prediction_", "oob_score_", "_outside", "_kept", "_said", "_held_out", "one_formula_")


class Smaller(NamedTuple):
    """Sizes against errors, and the model that was chosen.

    Attributes
    ----------
    model : estimator
        Predicts, exports and saves as any other. Intervals and probabilities need `calibrate` again, if it is smaller.
    path : Front
        From small to large, at most to the whole model; each is better than all smaller ones on rows that it was not
        chosen on (`held_out_error`; of classes, of the probabilities). Errors are root mean squares, or of a model with
        another loss by name its mean.
    chosen : int
        The model's place in the path.
    error_before : float
        Error of the model that it was made from, on the same rows.
    n_parts_before : int
        Its members or terms; `n_parts` are those of the chosen model.
    rows : str
        Which rows judge: "new rows"; "rows held out" of the path, of which the whole model's predictions by parts that
        did not see them are known; else some are or may be of the fit, on which the whole model is too good.
    n_rows : int
        How many they are.
    """

    model: Estimator
    path: Front
    chosen: int
    error_before: float
    n_parts_before: int
    rows: str
    n_rows: int

    @property
    def n_parts(self) -> int:
        """Members or terms left."""
        return int(self.path[self.chosen].n_parts or 0)

    @property
    def error(self) -> float:
        """Of the chosen model, on rows that the path was not made on."""
        return self.path[self.chosen].held_out_error

    def __str__(self) -> str:
        parts = "terms" if isinstance(self.model, GroveEstimator) else "members"
        return (
            f"{self.n_parts} of {self.n_parts_before} {parts}; error {self.error:.4g}, before {self.error_before:.4g}, "
            f"on {self.n_rows} {self.rows}"
        )


def simplify_ensemble(
    model: Estimator,
    X: Any,
    y: Any,
    *,
    max_error_increase: float = 0.01,
    max_size: int | None = None,
    random_state: int = 0,
) -> Smaller:
    """Choose some of an ensemble's members, or of a Grove's terms.

    Members keep their coefficients and may count several times; errors are cross-validated on the rows given. Terms
    become one sum that imitates the model on some of the rows given, and on mixtures of these; the others judge, at
    most half of all, and if there are both kinds only rows that are new to the model.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X, y : array-like
        Rows to choose and to judge on, best ones that the model was not fitted on; of a Grove, the more rows beside
        these, also of the fit, the better.
    max_error_increase : float
        The smallest model is chosen whose error on rows that the choice did not see is at most by this share above the
        whole model's; the whole model, if no smaller one is so good.
    max_size : int, optional
        The most nodes of all formulas together. If no such model is good enough, the best of them is chosen.
    random_state : int
        Of folds, halves and rows to imitate.

    Returns
    -------
    smaller : Smaller

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, simplify_ensemble
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, generations=5, random_state=0).fit(X[:100], y[:100])
    >>> smaller = simplify_ensemble(model, X[100:], y[100:], max_error_increase=0.1)
    >>> 1 <= smaller.n_parts <= smaller.n_parts_before
    True
    """
    check_number("max_error_increase", max_error_increase, 0, np.inf)
    check_whole("max_size", max_size, 1, is_optional=True)
    table, own_targets = rows_and_targets(model, X, y)
    F, targets = features_of(model, table), model.model_.task.transformed(own_targets)
    given = Given(model, table, F, targets, own_targets, measure_of(model, targets), random_state)
    found = _candidates(model.model_, given)
    whole = found.points[-1]
    path = better_than_smaller(found.points)
    chosen = choose(path, whole.held_out_error * (1 + max_error_increase), max_size)
    if path[chosen] is whole:
        smaller = _copy_of(model)
    else:
        smaller = with_rows(_with_smaller(path[chosen].model, model, F), F, own_targets)
    return Smaller(
        smaller, Front(path, chosen), chosen, whole.held_out_error, int(whole.n_parts or 0), found.rows, found.n_rows
    )


@singledispatch
def _candidates(model: Model, given: Given) -> ModelsOfSizes:
    """Smaller models, and the whole one."""
    raise TypeError(f"{type(model).__name__} cannot be made smaller.")


_candidates.register(ProgramModel, fewer_members)
_candidates.register(Stack, fewer_terms)


def rows_and_targets(model: Estimator, X: Any, y: Any) -> tuple[Matrix, Matrix]:
    """Coded rows, enough of them, and targets as of a fit: numbers, or for each class whether it is the label."""
    X, _, targets = rows_and_target(model, X, y)
    if len(X) < FEWEST_ROWS:
        raise ValueError(f"at least {FEWEST_ROWS} rows are needed to choose on, got {len(X)}.")
    return X, targets


def teacher_of(model: Estimator, X: Matrix) -> Matrix:
    """What a model predicts: numbers, or probabilities of the second class."""
    found: Matrix = model.predict_proba(X)[:, 1] if isinstance(model, Classifier) else model.predict(X)
    return found


def with_rows(smaller: Estimator, X: Matrix, targets: Matrix) -> Estimator:
    """The model, knowing that these rows made it too."""
    seen = seen_rows([(np.asarray(X), targets)])
    smaller._seen = {"fit": join_marks(seen_by(smaller).get("fit"), seen), "calibration": None}
    return smaller


def _copy_of(estimator: Kind, gone: tuple[str, ...] = ()) -> Kind:
    """A shallow copy, but for some attributes."""
    copied = type(estimator)(**estimator.get_params(deep=False))
    copied.__dict__.update({name: value for name, value in estimator.__dict__.items() if name not in gone})
    return copied


def _with_model(estimator: Kind, model: Model, X: Matrix) -> Kind:
    """The estimator with another model, without what holds no longer: scores and what was learned on other rows."""
    smaller = _copy_of(estimator, gone=NO_LONGER)
    smaller._uncertainty = None
    smaller.model_ = model
    smaller.ensemble_ = model.members(feature_names_of(estimator))
    columns = columns_of(estimator)
    smaller.feature_importances_ = model.importances(X, 0, *([] if columns.is_plain else [columns.owners]))
    return smaller


@singledispatch
def _with_smaller(model: Model, estimator: Estimator, X: Matrix) -> Estimator:
    """The estimator with a smaller model."""
    return _with_model(estimator, model, X)


@_with_smaller.register
def with_stack(stack: Stack, estimator: GroveEstimator, X: Matrix) -> GroveEstimator:
    """A Grove with another stack of one level."""
    model = replace(stack, labels=("smaller",), smaller=()).with_reading(estimator.model_.reading)
    smaller = _with_model(estimator, model, X)
    smaller.stacking_weights_ = {"smaller": 1.0}
    smaller.stacking_weight_sum_, smaller.validation_score_ = 1.0, float("nan")
    smaller.size_path_, smaller.strength_history_ = Front(), {}
    return smaller
