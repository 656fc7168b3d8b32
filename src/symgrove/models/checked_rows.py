"""Rows and targets for a fitted model: checked once, and targets in the form that they had for the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

Matrix = NDArray[np.float64]


class CheckedRows(np.ndarray[Any, Any]):
    """A coded table (models/columns.py) with the columns of a model, which does not look at them again."""


def checked_target(y: Any, classes: NDArray[Any] | None) -> tuple[NDArray[Any], Matrix]:
    """The target as a model has it (numbers, or its own labels), and as it was for the fit, (n_targets, n_rows).

    Labels are equal if their values are, as 1 and 1.0.
    """
    y = column_or_1d(y)
    if classes is None:
        if y.dtype.kind in "mM":
            raise ValueError(f"y must be numbers, got dates or time spans ({y.dtype}).")
        try:
            numbers = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must be numbers: {error}.") from error
        if not np.isfinite(numbers).all():
            raise ValueError("y must be finite numbers; leave out rows whose target is missing.")
        return numbers, numbers[None]
    position = {label: k for k, label in enumerate(classes.tolist())}
    unknown = sorted({repr(label) for label in y.tolist() if label not in position})
    if unknown:
        known = ", ".join(repr(label) for label in classes.tolist()[:10])
        raise ValueError(
            f"y has labels that the model was not fitted with: {', '.join(unknown[:5])}. It knows {known}."
        )
    places = np.array([position[label] for label in y.tolist()], dtype=np.intp)
    return classes[places], class_targets(places, classes.size)


def class_targets(places: NDArray[np.intp], n_classes: int) -> Matrix:
    """Targets of 0 and 1 from places of classes: one for two classes, else one for each class."""
    if n_classes == 2:
        return places.astype(np.float64)[None]
    return (places == np.arange(n_classes)[:, None]).astype(np.float64)


def class_places(targets: Matrix) -> NDArray[np.intp]:
    """Undo `class_targets`."""
    return (targets[0] if len(targets) == 1 else np.argmax(targets, axis=0)).astype(np.intp)
