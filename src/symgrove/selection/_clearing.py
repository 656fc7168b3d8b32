"""Kernels of clearing: which programs have nearly the same vector, without looking at all pairs.

Vectors closer than a radius have projections on a fixed direction that are closer than the radius times the direction's
length. So in the order of projections, only neighbours need to be compared.
"""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine


@subroutine
def is_near(vectors, a, b, limit):
    """Whether the squared distance of two rows is below the limit."""
    total = 0.0
    for start in range(0, vectors.shape[1], 64):
        for i in range(start, min(start + 64, vectors.shape[1])):
            difference = vectors[a, i] - vectors[b, i]
            total += difference * difference
        if not total < limit:
            return False
    return True


@subroutine
def window(projection, order, place, width):
    """The range of places in `order` whose projections are within `width` of that at `place`."""
    centre = projection[order[place]]
    low = place
    while low > 0 and centre - projection[order[low - 1]] <= width:
        low -= 1
    high = place + 1
    while high < order.size and projection[order[high]] - centre <= width:
        high += 1
    return low, high


@kernel
def clear(vectors, projection, order, width, limit, rank, by_rank, niche_size, is_cleared):
    """Mark all but the `niche_size` best of every niche; the best program that is not cleared has the next niche.

    `order` sorts projections, `by_rank` sorts programs from best to worst, `rank` is its inverse.
    """
    place = np.empty(order.size, dtype=np.int64)
    for i in range(order.size):
        place[order[i]] = i
    near = np.empty(order.size, dtype=np.int64)
    for winner in by_rank:
        if is_cleared[winner]:
            continue
        low, high = window(projection, order, place[winner], width)
        n_near = 0
        for i in range(low, high):
            j = order[i]
            if rank[j] > rank[winner] and not is_cleared[j] and is_near(vectors, winner, j, limit):
                near[n_near] = rank[j]
                n_near += 1
        near[:n_near].sort()
        for i in range(niche_size - 1, n_near):
            is_cleared[by_rank[near[i]]] = True


@kernel
def find_later_twins(vectors, projection, order, width, limit, has_twin):
    """Whether some program with a higher index has nearly the same vector."""
    for i in range(order.size):
        low, high = window(projection, order, i, width)
        for k in range(low, high):
            if order[k] > order[i] and is_near(vectors, order[i], order[k], limit):
                has_twin[order[i]] = True
                break
