"""Kernel that standardises outputs of programs, row by row, in place."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel


@kernel
def standardize(values, weight, direction, limits, out):
    """Centre and scale each row of `values`; `weight` sums to one. A row of `out` is what was found of a program.

    Columns of `out`: centre, spread, lowest and highest standardised value, projection on `direction`. The spread is 0
    if the row is unusable: not finite, beyond `limits[0]`, or nearly constant (below `limits[1]` of 1 + |centre|).
    """
    n_rows = values.shape[1]
    for i in range(values.shape[0]):
        row = values[i]
        low = np.float64(row[0])
        high = low
        centre = 0.0
        is_usable = True
        for t in range(n_rows):
            value = np.float64(row[t])
            low = min(low, value)
            high = max(high, value)
            is_usable &= np.isfinite(value)
            centre += weight[t] * value
        out[i, 1] = 0.0
        if not is_usable or low < -limits[0] or high > limits[0]:
            continue
        variance = 0.0
        for t in range(n_rows):
            distance = row[t] - centre
            variance += weight[t] * distance * distance
        spread = np.sqrt(variance)
        if not spread > limits[1] * (1.0 + abs(centre)):
            continue
        scale = 1.0 / spread
        projection = 0.0
        for t in range(n_rows):
            z = (row[t] - centre) * scale
            projection += z * direction[t]
            row[t] = z
        out[i, 0] = centre
        out[i, 1] = spread
        out[i, 2] = (low - centre) * scale
        out[i, 3] = (high - centre) * scale
        out[i, 4] = projection
