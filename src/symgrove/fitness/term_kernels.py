"""Kernel that standardises outputs of programs, row by row, in place.

Sums run in four chains: an addition must wait for the one before it, and IEEE arithmetic forbids the compiler to split
the sum itself.
"""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine


@subroutine
def reach_of(row):
    """Lowest and highest value, and whether all are finite."""
    n_pairs = row.size - row.size % 2
    low_a = low_b = high_a = high_b = row[0]
    spoiled_a = spoiled_b = row[0] * 0
    for t in range(0, n_pairs, 2):
        a, b = row[t], row[t + 1]
        # Not min and max, which look for NaN: sums do.
        low_a, high_a = a if a < low_a else low_a, a if a > high_a else high_a
        low_b, high_b = b if b < low_b else low_b, b if b > high_b else high_b
        spoiled_a += a * 0  # NaN from then on, if one is not finite
        spoiled_b += b * 0
    last = row[row.size - 1]
    low, high = min(low_a, low_b, last), max(high_a, high_b, last)
    return np.float64(low), np.float64(high), spoiled_a + spoiled_b + last * 0 == 0


@subroutine
def product_of(row, weight):
    """Sum of products: with weights that sum to one, the mean."""
    n_fours = row.size - row.size % 4
    a = b = c = d = 0.0
    for t in range(0, n_fours, 4):
        a += weight[t] * row[t]
        b += weight[t + 1] * row[t + 1]
        c += weight[t + 2] * row[t + 2]
        d += weight[t + 3] * row[t + 3]
    for t in range(n_fours, row.size):
        a += weight[t] * row[t]
    return (a + b) + (c + d)


@subroutine
def variance_of(row, weight, centre):
    """Weighted sum of squared distances from the centre."""
    n_fours = row.size - row.size % 4
    a = b = c = d = 0.0
    for t in range(0, n_fours, 4):
        a += weight[t] * (row[t] - centre) ** 2
        b += weight[t + 1] * (row[t + 1] - centre) ** 2
        c += weight[t + 2] * (row[t + 2] - centre) ** 2
        d += weight[t + 3] * (row[t + 3] - centre) ** 2
    for t in range(n_fours, row.size):
        a += weight[t] * (row[t] - centre) ** 2
    return (a + b) + (c + d)


@kernel
def standardize(values, weight, direction, limits, out):
    """Centre and scale each row of `values`; `weight` sums to one. A row of `out` is what was found of a program.

    Columns of `out`: centre, spread, lowest and highest standardised value, projection on `direction`. The spread is 0
    if the row is unusable: not finite, beyond `limits[0]`, or nearly constant (below `limits[1]` of 1 + |centre|).
    """
    for i in range(values.shape[0]):
        row = values[i]
        out[i, 1] = 0.0
        low, high, is_finite = reach_of(row)
        if not is_finite or low < -limits[0] or high > limits[0]:
            continue
        centre = product_of(row, weight)
        spread = np.sqrt(variance_of(row, weight, centre))
        if not spread > limits[1] * (1.0 + abs(centre)):
            continue
        scale = 1.0 / spread
        for t in range(row.size):
            row[t] = (row[t] - centre) * scale
        out[i, 0] = centre
        out[i, 1] = spread
        out[i, 2] = (low - centre) * scale
        out[i, 3] = (high - centre) * scale
        out[i, 4] = product_of(row, direction)
