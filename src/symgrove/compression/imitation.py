"""Rows to imitate a model on: rows given, and rows between them, which need no target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Matrix = NDArray[np.float64]
N_NEIGHBOURS = 10


def rows_to_imitate(table: Matrix, X: Matrix, n_rows: int, rng: np.random.Generator) -> Matrix:
    """So many rows of a coded table: some of those given, or all of them and mixtures of two that are near each other.

    A mixture has each column from one of the two, so that categories, and what is missing, are as in the table.
    """
    table = np.asarray(table)
    if len(table) >= n_rows:
        return table[np.sort(rng.choice(len(table), n_rows, replace=False))]
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    n_near = min(N_NEIGHBOURS + 1, len(table))
    near = cKDTree(scaled).query(scaled, n_near)[1].reshape(len(table), n_near)
    first = rng.integers(len(table), size=n_rows - len(table))
    second = near[first, rng.integers(n_near, size=first.size)]
    is_first = rng.random((first.size, table.shape[1])) < 0.5
    return np.concatenate([table, np.where(is_first, table[first], table[second])])
