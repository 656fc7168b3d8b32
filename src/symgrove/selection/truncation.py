"""Truncation: keep the best programs, overall or for every bootstrap sample.

`partitioned_truncation` is the survival of 2SEGP (Virgolin 2021, Algorithm 1): from parents and offspring, the best
``n / n_samples`` of every sample. A program that is among the best on several samples is kept several times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.selection import truncation_kernels

Indices = NDArray[np.int64]


def truncation(errors: ArrayLike, n_selected: int) -> Indices:
    """Indices of the `n_selected` smallest errors, best first; ties go to the lower index.

    Parameters
    ----------
    errors : array-like of shape (n_programs,)
    n_selected : int
        At most the number of programs.

    Examples
    --------
    >>> from symgrove import truncation
    >>> truncation([0.5, 0.1, 0.3, 0.1], 2).tolist()
    [1, 3]
    """
    vector = check_errors(errors, ndim=1)
    if not 0 <= n_selected <= vector.size:
        raise ValueError(f"cannot select {n_selected} of {vector.size} programs.")
    selected = np.empty(n_selected, dtype=np.int64)
    truncation_kernels.best_rows(vector, selected)
    return selected


def partitioned_truncation(errors: ArrayLike, n_selected: int, rng: np.random.Generator) -> Indices:
    """For every sample, the indices of its best programs, `n_selected` in all.

    When the number of samples does not divide `n_selected`, each sample gets the floor and randomly chosen ones get
    one more.

    Parameters
    ----------
    errors : array-like of shape (n_programs, n_samples)
    n_selected : int
    rng : numpy.random.Generator
        Chooses the samples that get one more; not used if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import partitioned_truncation
    >>> errors = [[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.8, 0.2]]  # of four programs on two samples
    >>> partitioned_truncation(errors, 4, np.random.default_rng(0)).tolist()
    [0, 1, 2, 3]
    """
    matrix = check_errors(errors, ndim=2)
    slots = share_slots(n_selected, matrix.shape[1], rng)
    if slots.max() > matrix.shape[0]:
        raise ValueError(f"cannot select {slots.max()} of {matrix.shape[0]} programs for one sample.")
    selected = np.empty(n_selected, dtype=np.int64)
    truncation_kernels.best_rows_of_columns(np.ascontiguousarray(matrix.T), slots, selected)
    return selected


def share_slots(n_selected: int, n_samples: int, rng: np.random.Generator) -> Indices:
    """Places of every sample: the floor, and one more for randomly chosen ones, so that they sum to `n_selected`."""
    if n_selected < 0:
        raise ValueError(f"n_selected must be at least 0, got {n_selected}.")
    floor, n_more = divmod(n_selected, n_samples)
    slots = np.full(n_samples, floor, dtype=np.int64)
    if n_more:
        slots[rng.choice(n_samples, size=n_more, replace=False)] += 1
    return slots


def check_errors(errors: ArrayLike, ndim: int) -> NDArray[np.float64]:
    """Errors as an array of this many dimensions; NaN is refused, because it has no place in an order."""
    array = np.ascontiguousarray(errors, dtype=np.float64)
    if array.ndim != ndim or array.size == 0:
        shape = "(n_programs,)" if ndim == 1 else "(n_programs, n_samples)"
        raise ValueError(f"errors must have shape {shape} and not be empty, got shape {array.shape}.")
    if np.isnan(array).any():
        program = int(np.argwhere(np.isnan(array))[0, 0])
        raise ValueError(f"errors of program {program} are NaN; use +inf for programs that cannot be used.")
    return array
