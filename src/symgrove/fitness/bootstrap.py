"""Bootstrap samples as rows of counts.

Sample j is a vector of whole numbers that sum to n: how often each row was drawn. Nothing is ever gathered by index;
sample weights multiply the counts. Every sample has its own random stream, so that sample j is the same for any number
of samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole, numeric_vector
from symgrove.rng import stream

NO_WEIGHT = "sample_weight is zero on every row; at least one must be positive."


def bootstrap_counts(n_rows: int, n_samples: int, seed: int, dtype: Any = np.int32) -> NDArray[Any]:
    """Draw bootstrap samples of `n_rows` rows with replacement.

    Parameters
    ----------
    n_rows, n_samples, seed : int
    dtype : type of whole numbers
        Of the counts; uint8 takes a quarter of the memory, and no row of a thousand million is drawn 256 times.

    Returns
    -------
    counts : array of shape (n_samples, n_rows)
        Each row is multinomial with equal probabilities and sums to `n_rows`.

    Examples
    --------
    >>> from symgrove import bootstrap_counts
    >>> counts = bootstrap_counts(100, 5, seed=0)
    >>> counts.shape, counts.sum(axis=1).tolist()
    ((5, 100), [100, 100, 100, 100, 100])
    """
    check_whole("n_rows", n_rows, 1)
    check_whole("n_samples", n_samples, 1)
    check_whole("seed", seed, 0)
    counts = np.empty((n_samples, n_rows), dtype=dtype)
    for j in range(n_samples):
        counts[j] = bootstrap_sample(n_rows, seed, j)
    return counts


def bootstrap_sample(n_rows: int, seed: int, j: int) -> NDArray[np.int32]:
    """Counts of sample j alone, (n_rows,)."""
    drawn = stream(seed, "bootstrap", j).integers(n_rows, size=n_rows)
    return np.bincount(drawn, minlength=n_rows).astype(np.int32)


def subsample_counts(n_rows: int, n_samples: int, seed: int, share: float, dtype: Any = np.int32) -> NDArray[Any]:
    """Draw samples of a share of the rows without replacement: counts of 0 and 1, (n_samples, n_rows)."""
    n_drawn = max(1, round(share * n_rows))
    counts = np.zeros((n_samples, n_rows), dtype=dtype)
    for j in range(n_samples):
        counts[j, stream(seed, "subsample", j).permutation(n_rows)[:n_drawn]] = 1
    return counts


def out_of_bag(counts: ArrayLike) -> NDArray[np.bool_]:
    """Mask of the rows that each sample did not draw, of the shape of `counts`.

    Examples
    --------
    >>> from symgrove import out_of_bag
    >>> out_of_bag([[2, 0, 1], [0, 0, 3]]).tolist()
    [[False, True, False], [True, True, False]]
    """
    return np.asarray(counts) == 0


def check_counts(counts: ArrayLike, n_rows: int) -> NDArray[np.generic]:
    """Counts as a matrix of finite, non-negative numbers with `n_rows` columns, or a clear error."""
    matrix = np.asarray(counts)
    if matrix.ndim != 2 or matrix.shape[1] != n_rows or matrix.shape[0] == 0:
        raise ValueError(f"counts must have shape (n_samples, {n_rows}), got {matrix.shape}.")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"counts must be numbers, got dtype {matrix.dtype}.")
    for j, row in enumerate(matrix):
        if not (np.isfinite(row) & (row >= 0)).all():
            raise ValueError(f"counts must be finite and not negative; sample {j} is not.")
    return matrix


def compact_counts(matrix: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A copy of checked counts in the smallest type that holds them; of the dtype if they are no whole numbers."""
    if matrix.dtype.kind == "f" and not all((row == np.floor(row)).all() for row in matrix):
        return np.array(matrix, dtype=dtype, order="C")
    largest = matrix.max()
    types = (t for t in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(t).max)
    return np.array(matrix, dtype=next(types, dtype), order="C")


def check_sample_weight(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Sample weights as a finite, non-negative vector with one entry a row, or a clear error."""
    weight = numeric_vector("sample_weight", sample_weight)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight must have shape ({n_rows},), got {weight.shape}.")
    is_bad = ~(np.isfinite(weight) & (weight >= 0))
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise ValueError(f"sample_weight must be finite and not negative; row {row} has {weight[row]}.")
    if not weight.any():
        raise ValueError(NO_WEIGHT)
    return weight
