"""Populations of different sizes in one table, and what each draws from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Index
from symgrove.rng import stream

Matrix = NDArray[np.float64]


def padded(rows: list[Index]) -> Index:
    """Rows of different lengths as a matrix, with -1 behind the shorter ones."""
    out = np.full((len(rows), max(row.size for row in rows)), -1, dtype=np.intp)
    for i, row in enumerate(rows):
        out[i, : row.size] = row
    return out


def smallest(keys: Matrix, n: int) -> Index:
    """Positions of the n smallest keys of each row, in ascending order of position."""
    if n >= keys.shape[1]:
        return np.broadcast_to(np.arange(keys.shape[1]), keys.shape)
    return np.sort(np.argpartition(keys, n - 1, axis=1)[:, :n], axis=1)


def seed_of_population(seed: int, i: int) -> int:
    """Of one of several populations."""
    return seed if i == 0 else int(stream(seed, "population", i).integers(2**31))
