"""Clearing: in every niche of programs that predict nearly the same, only the best keep their fitness.

A niche belongs to the best program that is not cleared; worse ones within the radius of it are in the niche. With
radius 0, those are programs with the same predictions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole
from symgrove.blas import on_one_thread, single_blas_thread
from symgrove.rng import stream
from symgrove.selection import clearing_kernels
from symgrove.selection.clearing_kernels import Near
from symgrove.selection.truncation import check_errors

SMALLEST_RADIUS = 1e-10  # what "the same" means, as in the reference implementation
Matrix = NDArray[np.float64]
Rows = NDArray[np.int64]


def clearing(
    errors: ArrayLike, vectors: ArrayLike, radius: float = 0.0, niche_size: int = 1, row_of: ArrayLike | None = None
) -> Matrix:
    """Errors, with +inf for programs beyond the best `niche_size` of their niche; of equal errors the lower index wins.

    Parameters
    ----------
    errors : array-like of shape (n_programs,)
    vectors : array-like of shape (n_vectors, n_rows)
        Predictions; not looked at where the error is +inf.
    radius : float
        Euclidean distance within which predictions share a niche, at least 1e-10.
    niche_size : int
    row_of : array-like of shape (n_programs,), optional
        The row of `vectors` that is a program's; by default they are in the same order.
    """
    error = check_errors(errors, ndim=1)
    check_whole("niche_size", niche_size, 1)
    usable = np.flatnonzero(np.isfinite(error))
    near = _find_near(vectors, radius, usable, np.arange(error.size) if row_of is None else row_of)
    is_cleared = np.zeros(error.size, dtype=np.bool_)
    clearing_kernels.clear(near, usable[np.argsort(error[usable], kind="stable")], niche_size, is_cleared)
    return np.where(is_cleared, np.inf, error)


def has_later_twin(vectors: ArrayLike, row_of: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Whether a program with a higher index has the same vector, up to a distance of 1e-10."""
    rows = np.arange(len(np.asarray(vectors))) if row_of is None else np.asarray(row_of)
    found = np.zeros(rows.size, dtype=np.bool_)
    clearing_kernels.find_later_twins(_find_near(vectors, 0.0, np.arange(rows.size), rows), found)
    return found


def _find_near(vectors: ArrayLike, radius: float, programs: Rows, row_of: ArrayLike) -> Near:
    if not radius >= 0:
        raise ValueError(f"radius must not be negative, got {radius}.")
    matrix = np.ascontiguousarray(vectors, dtype=np.float64)
    rows = np.ascontiguousarray(row_of, dtype=np.int64)
    reach = max(float(radius), SMALLEST_RADIUS)
    direction = stream(0, "projection").normal(size=matrix.shape[1])
    length = float(on_one_thread(np.linalg.norm, direction))
    with np.errstate(all="ignore"), single_blas_thread:  # of unusable programs
        # Row by row: a product of matrices rounds equal rows differently.
        projection = on_one_thread(lambda: np.array([np.matmul(row, direction) for row in matrix]))
        sizes = on_one_thread(lambda: np.array([np.matmul(row, row) for row in matrix]))
    used = rows[programs]
    rounding = 1e-13 * float(np.sqrt(sizes[used].max())) * length if programs.size else 0.0
    order = programs[np.argsort(projection[used], kind="stable")]
    return Near(matrix, rows, projection, order, reach * length + rounding, reach * reach)
