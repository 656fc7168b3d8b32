"""Rows that a model has checked already, so that asking it many questions about them does not check them each time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class CheckedRows(np.ndarray[Any, Any]):
    """An array of finite numbers with a column for each feature of the model, in its order."""


def class_places(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.intp]:
    """Places of labels among the classes of a model; labels are equal if their values are, as 1 and 1.0."""
    position = {label: k for k, label in enumerate(classes.tolist())}
    unknown = sorted({repr(label) for label in y.tolist() if label not in position})
    if unknown:
        known = ", ".join(repr(label) for label in classes.tolist()[:10])
        raise ValueError(
            f"y has labels that the model was not fitted with: {', '.join(unknown[:5])}. It knows {known}."
        )
    return np.array([position[label] for label in y.tolist()], dtype=np.intp)
