"""The training data as engines want it: validated once, feature-major, in one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import numeric_vector

DTYPES = ("float64", "float32")
ROWS_AT_A_TIME = 4096  # that are laid out anew


class Dataset(NamedTuple):
    """Features as rows of `columns` (n_features, n_rows), target `y` (n_rows,), always float64.

    Examples
    --------
    >>> from symgrove import make_dataset
    >>> data = make_dataset([[1, 2], [3, 4], [5, 6]], [1, 2, 3])
    >>> data.columns.shape, data.y.dtype
    ((2, 3), dtype('float64'))
    """

    columns: NDArray[np.floating]
    y: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        return self.columns.shape[1]

    @property
    def n_features(self) -> int:
        return self.columns.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.columns.dtype


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """float64 or float32, or a clear error."""
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        resolved = None
    if resolved is None or resolved.name not in DTYPES or not resolved.isnative:
        raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}, got {dtype!r}.")
    return resolved


def make_dataset(X: ArrayLike, y: ArrayLike, dtype: Any = "float64") -> Dataset:
    """Check features and target and lay them out for an engine.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Finite numbers.
    y : array-like of shape (n_rows,)
        Finite numbers.
    dtype : "float64" or "float32"
        What programs are evaluated in.

    Examples
    --------
    >>> from symgrove import make_dataset
    >>> make_dataset([[1, 2], [3, 4], [5, 6]], [1, 2, 3], dtype="float32").columns.dtype
    dtype('float32')
    """
    resolved = check_dtype(dtype)
    target = numeric_vector("y", y)
    columns = features_by_column(X, resolved)
    n_rows = columns.shape[1]
    if target.shape != (n_rows,):
        raise ValueError(f"y must have shape ({n_rows},) to go with X, got {target.shape}.")
    if not np.isfinite(target).all():
        row = int(np.argmax(~np.isfinite(target)))
        raise ValueError(f"y must be finite; row {row} has {target[row]}.")
    return Dataset(columns, target)


def features_by_column(
    X: ArrayLike, dtype: np.dtype[Any], change: Callable[[NDArray[Any]], NDArray[Any]] | None = None
) -> NDArray[np.floating]:
    """Features as a contiguous (n_features, n_rows) array of the dtype, or a clear error.

    `change` is applied to the features first, to some rows at a time.
    """
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise ValueError(f"X must be a matrix of shape (n_rows, n_features), got shape {matrix.shape}.")
    if 0 in matrix.shape:
        raise ValueError(f"X is empty: it has {matrix.shape[0]} rows and {matrix.shape[1]} features.")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, got dtype {matrix.dtype}.")
    columns = np.empty(matrix.shape[::-1], dtype=dtype)  # a copy: the caller may change X later
    with np.errstate(over="ignore"):  # a value too large for float32 is reported below
        for start in range(0, len(matrix), ROWS_AT_A_TIME):
            rows = matrix[start : start + ROWS_AT_A_TIME]
            columns[:, start : start + ROWS_AT_A_TIME] = (rows if change is None else change(rows)).T
    for feature, column in enumerate(columns):
        is_finite = np.isfinite(column)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            raise ValueError(f"X must be finite in {dtype}; feature {feature} has {matrix[row, feature]} in row {row}.")
    return columns
