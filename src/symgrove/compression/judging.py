"""Rows that teach one formula, rows that judge it, and what the model that teaches says of those unseen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import classes_of, said_left_out, score_left_out, seen_by
from symgrove.models.one_formula import ACCURACY, HELD_OUT, NEW_ROWS, PREDICTIONS, R2
from symgrove.models.seen_rows import marks_of
from symgrove.rng import stream

Matrix = NDArray[np.float64]
FEWEST_ROWS = 20  # to teach, and to judge if they are new
# Rows held out to judge: a fifth, or of few rows more, but at most half of them.
SHARE, ENOUGH = 0.2, 100
ROWS_OF_FIT = "rows, of which some are or may be of the fit"


class Judging(NamedTuple):
    """How a formula is judged.

    Attributes
    ----------
    taught, judging : arrays of places of rows
    before : (n_judging,)
        What the model predicts for the rows that judge.
    score_before : float
        Its R² or accuracy without having seen them, as far as that is known; else NaN.
    rows : str
        Which rows judge.
    """

    taught: NDArray[np.intp]
    judging: NDArray[np.intp]
    before: Matrix
    score_before: float
    rows: str


def judging_of(model: Estimator, X: Matrix, teacher: Matrix, targets: Matrix | None, seed: int) -> Judging:
    """Split rows of features; `teacher` is what the model predicts for them.

    Rows that the model was not fitted on judge, if there are both kinds. Of rows that are all new, and of rows that
    were all seen, some are held out of the teaching; of rows that were seen, the model's predictions are those of its
    parts that were fitted without them.
    """
    if targets is None:
        judging = _some(np.arange(len(X)), None, len(X), seed)
        taught = np.setdiff1d(np.arange(len(X)), judging)
        return Judging(taught, judging, teacher[judging], 1.0, PREDICTIONS)
    new = is_new(model, X, targets[None])
    said = np.where(new, teacher, said_left_out(model, marks_of(X, targets[None])))
    n_new, n_known = new.sum(), np.isfinite(said).sum()
    if min(n_new, len(X) - n_new) >= FEWEST_ROWS:
        judging = np.flatnonzero(new)
    else:  # those of which the model says something without having seen them, if they are enough
        places = np.flatnonzero(np.isfinite(said)) if n_known >= FEWEST_ROWS else np.arange(len(X))
        judging = _some(places, None if classes_of(model) is None else targets, len(X), seed)
    taught = np.setdiff1d(np.arange(len(X)), judging)
    rows = NEW_ROWS if new[judging].all() else HELD_OUT
    if np.isfinite(said[judging]).all():
        return Judging(taught, judging, said[judging], score_of(model, targets[judging], said[judging]), rows)
    known = score_left_out(model)  # of all rows of the fit
    return Judging(taught, judging, teacher[judging], np.nan if known.is_of_loss else float(known.value), rows)


def is_new(model: Estimator, X: Matrix, targets: Matrix) -> NDArray[np.bool_]:
    """Of rows of features, with targets (n_targets, n_rows): whether the model is known not to be fitted on them."""
    fit = seen_by(model).get("fit")
    return np.zeros(len(X), dtype=bool) if fit is None else ~np.isin(marks_of(X, targets), fit)


def said_unseen(model: Estimator, X: Matrix, targets: Matrix, said: Matrix) -> tuple[Matrix, str]:
    """What a model says of rows without having seen them, as far as that is known, and which rows they are.

    `targets` are in their own units, and `said` is what it says of them otherwise.
    """
    new = is_new(model, X, targets)
    if new.all() or len(targets) > 1:
        return said, NEW_ROWS if new.all() else ROWS_OF_FIT
    left_out = said_left_out(model, marks_of(X, targets))
    is_known = np.isfinite(left_out)
    left_out = model.model_.task.transformed(left_out[None])
    return np.where(~new & is_known, left_out, said), HELD_OUT if is_known[~new].all() else ROWS_OF_FIT


def _some(places: NDArray[np.intp], labels: Matrix | None, n_rows: int, seed: int) -> NDArray[np.intp]:
    """Some rows to hold out of so many; each class has its share."""
    order = stream(seed, "judging").permutation(places)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    n_some = int(min(max(SHARE * n_rows, ENOUGH), n_rows / 2, order.size))
    steps = np.floor(np.arange(n_some) * (order.size / n_some)).astype(np.intp)  # through the classes
    return np.sort(order[steps])


def measure_of(model: Estimator) -> str:
    """What scores are."""
    return R2 if classes_of(model) is None else ACCURACY


def score_of(model: Estimator, targets: Matrix, said: Matrix) -> float:
    """R², or the share of rows whose class is right; of classes, both are shares of the second."""
    if classes_of(model) is not None:
        return float(np.mean((said > 0.5) == (targets > 0.5)))
    variation = float(np.sum((targets - targets.mean()) ** 2))
    return 1.0 - float(np.sum((targets - said) ** 2)) / variation if variation > 0 else np.nan
