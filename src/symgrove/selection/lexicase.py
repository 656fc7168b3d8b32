"""ε-lexicase inside each partition: for every place of a sample, programs near the sample's best are filtered by rows.

The rows come in random order, anew for every place; a program stays in the pool while its error on the row is within ε
of the pool's lowest, ε being the median absolute deviation of all programs' errors on that row (La Cava et al. 2019,
semi-dynamic). The first filter, on the sample's own error, keeps the uniform progress of 2SEGP.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.selection import lexicase_kernels
from symgrove.selection.truncation import Indices, check_errors, share_slots


def partitioned_lexicase(errors: ArrayLike, cases: ArrayLike, n_selected: int, rng: np.random.Generator) -> Indices:
    """For every sample, indices of programs that are near its best and good on randomly ordered rows.

    Parameters
    ----------
    errors : array-like of shape (n_programs, n_samples)
    cases : array-like of shape (n_programs, n_cases)
        Errors on single rows.
    n_selected : int
    rng : numpy.random.Generator
    """
    matrix = check_errors(errors, ndim=2)
    rows = np.ascontiguousarray(cases, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(matrix) or np.isnan(rows).any():
        raise ValueError(f"cases must have shape ({len(matrix)}, n_cases) and hold no NaN, got shape {rows.shape}.")
    slots = share_slots(n_selected, matrix.shape[1], rng)
    # Copies would never part, and would cost a look at every row; one of them stands for all.
    _, first = np.unique(np.hstack([matrix, rows]), axis=0, return_index=True)
    first = np.sort(first)
    by_sample, by_case = np.ascontiguousarray(matrix[first].T), np.ascontiguousarray(rows[first].T)
    selected = np.empty(n_selected, dtype=np.int64)
    lexicase_kernels.select(
        by_sample,
        _deviation(matrix.T),
        by_case,
        _deviation(rows.T),
        np.repeat(np.arange(slots.size), slots),
        rng,
        np.empty(first.size, dtype=np.int64),
        np.arange(len(by_case)),
        selected,
    )
    return first[selected]


def _deviation(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median absolute deviation from the median of the finite errors in each row; 0 if there are none."""
    is_finite = np.isfinite(errors).all(axis=0)
    if not is_finite.any():
        return np.zeros(len(errors))
    finite = errors[:, is_finite]
    return np.asarray(np.median(np.abs(finite - np.median(finite, axis=1, keepdims=True)), axis=1))
