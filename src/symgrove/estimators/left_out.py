"""What a fit says of rows that it left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symgrove.methods.problem import Problem
from symgrove.methods.programs import Fitted
from symgrove.methods.spread_left_out import left_out_elsewhere, some_places
from symgrove.models.document import Document
from symgrove.models.model import LeftOut

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

# What rows were held out of: the fit, for calibration; whole evolutions, to choose Grove's strength; Law's search.
FIT, EVOLUTIONS, SEARCH = "fit", "evolutions", "search"


def set_out_of_bag(estimator: Estimator, problem: Problem, left_out: LeftOut) -> None:
    """Set the attributes that users see, a row for each row that they gave."""
    training = problem.training
    shown = problem.task.as_users_see(left_out.prediction)
    estimator.oob_prediction_ = np.full((problem.n_given, *shown.shape[1:]), np.nan)
    estimator.oob_prediction_[training.positions] = shown
    estimator.oob_score_ = problem.task.out_of_bag_score(left_out.prediction, training.targets, training.weight)


def known_of_elsewhere(estimator: Estimator, problem: Problem, fitted: Fitted) -> tuple[Problem, LeftOut | None]:
    """The problem on some rows, which come here, and what members say of those that they left out; sets the score.

    There is no `oob_prediction_`: it would be as long as the rows.
    """
    rows: Any = problem.training
    left_out = None
    if estimator.has_out_of_bag:
        own = fitted.model, fitted.outside, fitted.row_losses
        estimator.oob_score_, known, left_out = left_out_elsewhere(rows, *own, problem.seed)  # type: ignore[arg-type]
    else:
        known = rows.take(some_places(rows, problem.seed))
    return problem._replace(training=known, part_of=rows.n_rows), left_out


def score_kept_out(estimator: Estimator, problem: Problem) -> Document | None:
    """How good the model is on rows that were kept out of the fit, if there are any: R² or accuracy."""
    rows = problem.kept_out
    if rows is None:
        return None
    said = estimator.model_.predict(rows.X, estimator._n_threads())
    return held_out(problem.task.out_of_bag_score(said, rows.targets, rows.weight), FIT, len(rows.X))


def score_of_search(problem: Problem, left_out: LeftOut | None) -> Document | None:
    """R² of what a search said of rows that it did not see, as long as there is one target."""
    if left_out is None or problem.task.n_targets > 1:
        return None
    training, is_known = problem.training, np.isfinite(left_out.prediction).all(axis=0)
    score = problem.task.out_of_bag_score(left_out.prediction, training.targets, training.weight)
    return held_out(score, SEARCH, int(is_known.sum()))


def held_out(value: float, of: str, n_rows: int) -> Document | None:
    """A score as files hold it; nothing if it is not known."""
    return {"value": float(value), "of": of, "n_rows": n_rows} if np.isfinite(value) else None
