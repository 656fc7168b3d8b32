"""Which rows judge the model, and which ones train what it is compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import features_of, parameters_of, seen_by, table_of
from symgrove.inspection._input import rows_and_target
from symgrove.models.seen_rows import join_marks, marks_of, seen_rows

Matrix = NDArray[np.float64]
FEWEST = 20  # rows that are worth a score
MOST_TO_TRAIN = 10_000  # rows that other models are trained on


class TargetName(NamedTuple):
    """What is predicted, as the data call it; its unit, if the fit was told."""

    name: str
    unit: str

    def with_unit(self, text: str) -> str:
        """A number in words, with the unit if there is one."""
        return f"{text} {self.unit}" if self.unit else text


class ReportRows(NamedTuple):
    """Rows of a report.

    Attributes
    ----------
    X, y
        All rows that were given, coded (models/columns.py).
    X_test, y_test
        ReportRows that scores and plots are made of.
    X_train, y_train
        ReportRows for the models that it is compared with; None: they are cross-validated on the others, or trained
        on a part of them.
    note : str
        What the reader must know about the rows.
    is_new : bool
        Whether the model was not fitted on any of the test rows.
    is_calibrated_on : bool
        Whether test rows calibrated the model.
    n_fitted : int or None
        ReportRows that the model was fitted on, if they are known; copies of a row may count once.
    is_same_training : bool
        Whether the training rows are all rows that the model was fitted on, and no others.
    target : TargetName
    """

    X: Matrix
    y: NDArray[Any]
    X_test: Matrix
    y_test: NDArray[Any]
    X_train: Matrix | None
    y_train: NDArray[Any] | None
    note: str
    is_new: bool
    is_calibrated_on: bool
    n_fitted: int | None
    is_same_training: bool
    target: TargetName


def choose_rows(model: Estimator, X: Any, y: Any, train: tuple[Any, Any] | None) -> ReportRows:
    """Sort the rows into new ones and those that the model was fitted on."""
    given = y
    X, y, targets = rows_and_target(model, X, given)
    target = _target(model, given)
    known = seen_by(model)
    own = marks_of(features_of(model, X), targets)
    fit, X_train, y_train, trained = known.get("fit"), None, None, None
    fitted = fit
    if train is not None:
        X_train, y_train, train_targets = rows_and_target(model, *train)
        trained = marks_of(features_of(model, X_train), train_targets)
        given = seen_rows([(features_of(model, X_train), train_targets)])
        fit = given if fit is None else join_marks(fit, given) if given is not None else fit
    is_seen = np.isin(own, fit) if fit is not None else np.zeros(len(X), dtype=bool)
    test = np.ones(len(X), dtype=bool)
    if train is None and min(is_seen.sum(), (~is_seen).sum()) >= FEWEST:
        X_train, y_train, test, trained = X[is_seen], y[is_seen], ~is_seen, own[is_seen]
    calibration = known.get("calibration")
    n_calibrated = 0 if calibration is None else int(np.isin(own[test], calibration).sum())
    note = _note(int(test.sum()), int(is_seen[test].sum()), n_calibrated, X_train, is_known=fit is not None)
    # Without marks, what is given as training rows is taken to be them.
    is_same = trained is not None and (fitted is None or np.array_equal(np.unique(trained), fitted))
    n_fitted = trained.size if is_same and trained is not None else None if fitted is None else fitted.size
    is_new = fit is not None and not is_seen[test].any()
    is_calibrated = n_calibrated > 0
    return ReportRows(X, y, X[test], y[test], X_train, y_train, note, is_new, is_calibrated, n_fitted, is_same, target)


def _target(model: Estimator, y: Any) -> TargetName:
    """By the command line's name for it, or that of a column of a frame."""
    name = (table_of(model) or {}).get("target") or getattr(y, "name", None)
    if name is None and len(getattr(y, "columns", ())) == 1:
        name = y.columns[0]
    unit = parameters_of(model).get("target_unit")
    return TargetName("the target" if name is None else str(name), str(unit) if isinstance(unit, str) else "")


def _note(n_test: int, n_seen: int, n_calibrated: int, X_train: Matrix | None, *, is_known: bool) -> str:
    """What the reader must know."""
    if not is_known:
        note = "It is not known which rows the model was fitted on. If it was fitted on these, scores are optimistic."
    elif n_seen:
        all_or_some = "these" if n_seen == n_test else f"{n_seen} of these"
        note = f"The model was fitted on {all_or_some} {n_test} rows, so scores are optimistic."
        if not n_calibrated and X_train is None:
            note += " Rows that it has not seen would tell; so would a fit with calibration=0.2, which keeps some out."
    else:
        note = f"Scores are of {n_test} rows that the model was not fitted on."
    if X_train is not None:
        n, n_most = len(X_train), MOST_TO_TRAIN
        note += f" The other models are trained on {n if n <= n_most else f'{n_most} of {n}'} training rows."
    if n_calibrated:
        note += (
            f" {n_calibrated} of the rows calibrated the model, so that it keeps its promises on them is no surprise."
        )
    return note
