"""Kernels of clearing: which programs have nearly the same vector, without looking at all pairs.

Vectors closer than a radius have projections on a fixed direction that are closer than the radius times the direction's
length. So in the order of projections, only neighbours need to be compared. Programs may share a vector: `row_of` tells
which row of `vectors` is a program's, and `order` holds the programs that are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, subroutine


class Near(NamedTuple):
    """What is known about vectors: projections by row, programs in their order, and how far apart near ones can be."""

    vectors: NDArray[np.float64]
    row_of: NDArray[np.int64]
    projection: NDArray[np.float64]
    order: NDArray[np.int64]
    width: float
    limit: float


@subroutine
def is_near(near, a, b):
    """Whether the squared distance of the vectors of two programs is below the limit."""
    total = 0.0
    row, other = near.row_of[a], near.row_of[b]
    if row == other:
        return True
    for start in range(0, near.vectors.shape[1], 64):
        for i in range(start, min(start + 64, near.vectors.shape[1])):
            difference = near.vectors[row, i] - near.vectors[other, i]
            total += difference * difference
        if not total < near.limit:
            return False
    return True


@subroutine
def window(near, place):
    """The range of places in the order whose projections are within the width of that at `place`."""
    centre = near.projection[near.row_of[near.order[place]]]
    low = place
    while low > 0 and centre - near.projection[near.row_of[near.order[low - 1]]] <= near.width:
        low -= 1
    high = place + 1
    while high < near.order.size and near.projection[near.row_of[near.order[high]]] - centre <= near.width:
        high += 1
    return low, high


@kernel
def clear(near, by_rank, niche_size, is_cleared):
    """Mark all but the `niche_size` best of every niche; the best program that is not cleared has the next niche.

    `by_rank` holds the programs of the order, from best to worst.
    """
    place, rank = np.empty((2, is_cleared.size), dtype=np.int64)
    for i in range(near.order.size):
        place[near.order[i]] = i
        rank[by_rank[i]] = i
    found = np.empty(near.order.size, dtype=np.int64)
    for winner in by_rank:
        if is_cleared[winner]:
            continue
        low, high = window(near, place[winner])
        n_found = 0
        for i in range(low, high):
            j = near.order[i]
            if rank[j] > rank[winner] and not is_cleared[j] and is_near(near, winner, j):
                found[n_found] = rank[j]
                n_found += 1
        found[:n_found].sort()
        for i in range(niche_size - 1, n_found):
            is_cleared[by_rank[found[i]]] = True


@kernel
def find_later_twins(near, has_twin):
    """Whether some program with a higher index has nearly the same vector."""
    for i in range(near.order.size):
        low, high = window(near, i)
        for k in range(low, high):
            if near.order[k] > near.order[i] and is_near(near, near.order[i], near.order[k]):
                has_twin[near.order[i]] = True
                break
