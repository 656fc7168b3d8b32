"""Linear algebra of the search, on one thread of the matrix library: the same bits whatever its setting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product

Matrix = NDArray[np.float64]


def least_squares(columns: Any, target: Any, cutoff: float | None = None) -> Matrix:
    """Coefficients of columns, (n_columns, n_rows), that are closest to the target."""
    found: Matrix = on_one_thread(np.linalg.lstsq, columns.T, target, cutoff)[0]
    return found


def solve(matrix: Matrix, target: Matrix) -> Matrix:
    """The solution, or where there is none the shortest of the closest."""
    try:
        found: Matrix = on_one_thread(np.linalg.solve, matrix, target)
    except ValueError:  # LinAlgError is one
        found = on_one_thread(np.linalg.lstsq, matrix, target, None)[0]
    return found


def orthonormal(columns: Any) -> Matrix:
    """An orthonormal basis of columns, (n_columns, n_rows), as (n_rows, n_columns)."""
    found: Matrix = on_one_thread(np.linalg.qr, columns.T)[0]
    return found


def without(basis: Matrix, target: Matrix) -> Matrix:
    """What a basis leaves of a vector."""
    rest: Matrix = target - product(basis, product(basis.T, target))
    return rest


def lengths_of(vectors: Any) -> Any:
    """Of rows."""
    return np.sqrt((vectors * vectors).sum(axis=-1))
