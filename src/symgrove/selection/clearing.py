"""Clearing: in every niche of programs that predict nearly the same, only the best keep their fitness.

A niche belongs to the best program that is not cleared; worse ones within the radius of it are in the niche. With
radius 0, those are programs with the same predictions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole
from symgrove.rng import stream
from symgrove.selection import _clearing
from symgrove.selection.truncation import check_errors

SMALLEST_RADIUS = 1e-10  # what "the same" means, as in the reference implementation
Matrix = NDArray[np.float64]


class _Projections(NamedTuple):
    """Vectors, their projections on a direction, the order of those, and how far apart near ones can be."""

    vectors: Matrix
    projection: Matrix
    order: NDArray[np.int64]
    width: float
    limit: float


def clearing(errors: ArrayLike, vectors: ArrayLike, radius: float = 0.0, niche_size: int = 1) -> Matrix:
    """Errors, with +inf for programs beyond the best `niche_size` of their niche; of equal errors the lower index wins.

    Parameters
    ----------
    errors : array-like of shape (n_programs,)
    vectors : array-like of shape (n_programs, n_rows)
        Predictions; not looked at where the error is +inf.
    radius : float
        Euclidean distance within which predictions share a niche, at least 1e-10.
    niche_size : int
    """
    error = check_errors(errors, ndim=1)
    check_whole("niche_size", niche_size, 1)
    usable = np.flatnonzero(np.isfinite(error))
    cleared = error.copy()
    if usable.size:
        projections = _project(np.asarray(vectors, dtype=np.float64)[usable], radius)
        by_rank = np.argsort(error[usable], kind="stable")
        rank = np.empty_like(by_rank)
        rank[by_rank] = np.arange(by_rank.size)
        is_cleared = np.zeros(usable.size, dtype=np.bool_)
        _clearing.clear(*projections, rank, by_rank, niche_size, is_cleared)
        cleared[usable[is_cleared]] = np.inf
    return cleared


def has_later_twin(vectors: Matrix) -> NDArray[np.bool_]:
    """Whether a later row of the vectors is the same, up to a distance of 1e-10."""
    found = np.zeros(len(vectors), dtype=np.bool_)
    if len(vectors):
        _clearing.find_later_twins(*_project(vectors, 0.0), found)
    return found


def _project(vectors: Matrix, radius: float) -> _Projections:
    if not radius >= 0:
        raise ValueError(f"radius must not be negative, got {radius}.")
    vectors = np.ascontiguousarray(vectors)
    reach = max(radius, SMALLEST_RADIUS)
    direction = stream(0, "projection").normal(size=vectors.shape[1])
    length = float(np.linalg.norm(direction))
    # Row by row: a product of matrices rounds equal rows differently.
    projection = np.array([row @ direction for row in vectors])
    rounding = 1e-13 * float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max())) * length
    order = np.argsort(projection, kind="stable")
    return _Projections(vectors, projection, order, reach * length + rounding, reach * reach)
