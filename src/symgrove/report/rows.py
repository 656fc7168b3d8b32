"""Which rows judge the model, and which ones train what it is compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from symgrove.inspection._input import checked
from symgrove.models.seen_rows import marks_of

Matrix = NDArray[np.float64]
FEWEST = 20  # rows that are worth a score


class Rows(NamedTuple):
    """Rows of a report.

    Attributes
    ----------
    X, y
        All rows that were given.
    X_test, y_test
        Rows that scores and plots are made of.
    X_train, y_train
        Rows for the models that it is compared with; None: they are cross-validated on the others.
    note : str
        What the reader must know about the rows.
    is_new : bool
        Whether the model was not fitted on the test rows.
    is_calibrated_on : bool
        Whether the test rows are those that calibrated the intervals.
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


def choose_rows(model: Any, X: Any, y: Any, train: tuple[Any, Any] | None) -> Rows:
    """Sort the rows into new ones and those that the model was fitted on."""
    X, y = _checked(model, X, y)
    marks = getattr(model, "_seen", {})
    is_calibration = _among(X, marks.get("calibration"))
    if train is not None:
        X_train, y_train = _checked(model, *train)
        n_shared = int(_among(X, np.unique(marks_of(X_train))).sum())
        note = f"Scores are of {len(X)} rows, beside models trained on the {len(X_train)} training rows given."
        if n_shared:
            note += f" {n_shared} of the rows are among the training rows too, so scores are optimistic."
        return Rows(X, y, X, y, X_train, y_train, note, not n_shared, bool(is_calibration.all()))
    if marks.get("fit") is None:
        note = "It is not known which rows the model was fitted on. If it was fitted on these, scores are optimistic."
        return Rows(X, y, X, y, None, None, note, False, False)
    is_seen = _among(X, marks["fit"])
    if (~is_seen).sum() >= FEWEST and is_seen.sum() >= FEWEST:
        new = ~is_seen
        note = f"Scores are of {new.sum()} rows that the model was not fitted on; it was on the other {is_seen.sum()}."
        is_own = bool(is_calibration[new].mean() > 0.5)
        if is_own:
            note += (
                " They were kept out of the fit to calibrate it, so the calibration of intervals looks perfect here."
            )
        return Rows(X, y, X[new], y[new], X[is_seen], y[is_seen], note, True, is_own)
    if is_seen.mean() < 0.5:
        return Rows(X, y, X, y, None, None, f"The model was not fitted on these {len(X)} rows.", True, False)
    note = (
        f"The model was fitted on {'these' if is_seen.all() else 'most of these'} {len(X)} rows, so its scores here "
        "are optimistic. Give rows that it has not seen, or fit with calibration=0.2, which keeps some out."
    )
    return Rows(X, y, X, y, None, None, note, False, False)


def _checked(model: Any, X: Any, y: Any) -> tuple[Matrix, NDArray[Any]]:
    X = checked(model, X)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    if not hasattr(model, "classes_"):
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError("y must be finite numbers; leave out rows whose target is missing.")
        return X, y
    unknown = sorted({str(v) for v in np.unique(y)} - {str(c) for c in model.classes_})
    if unknown:
        raise ValueError(
            f"y has classes that the model was not fitted with: {', '.join(unknown[:5])}. Known: "
            f"{', '.join(map(str, model.classes_))}."
        )
    return X, y


def _among(X: Matrix, marks: NDArray[np.uint32] | None) -> NDArray[np.bool_]:
    return np.zeros(len(X), dtype=bool) if marks is None else np.isin(marks_of(X), marks)
