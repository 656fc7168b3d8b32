"""Coordinate descent along a LASSO path, on correlations of columns: rows are not needed."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel


@kernel
def descend(correlation, with_target, penalties, tolerance, limits, residual, weight, r_squared, out):
    """Weights of standardised columns for falling penalties, each started from the last; returns how many were done.

    A pass visits all columns in order, until none changes its weight by `tolerance` or more, or `limits.n_passes` were
    made. The path ends after `limits.n_least` penalties where R² exceeds `limits.highest` or has gained less than a
    share `limits.gain`. `residual` and `weight` are room for one number a column; a row of `out` are the weights.
    """
    n_columns = with_target.size
    for k in range(n_columns):
        residual[k] = with_target[k]
        weight[k] = 0.0
    explained = 0.0
    for step in range(penalties.size):
        before = explained
        for _ in range(limits.n_passes):
            largest = 0.0
            for k in range(n_columns):
                aim = residual[k] + weight[k]
                size = abs(aim) - penalties[step]
                new = 0.0 if size <= 0.0 else (size if aim >= 0.0 else -size)
                change = new - weight[k]
                if change == 0.0:
                    continue
                weight[k] = new
                explained += change * (2.0 * residual[k] - change)
                largest = max(largest, abs(change))
                row = correlation[k]
                for j in range(n_columns):
                    residual[j] -= row[j] * change
            if largest < tolerance:
                break
        out[step] = weight
        r_squared[step] = explained
        gained_little = explained - before < limits.gain * explained
        if step + 1 >= limits.n_least and (gained_little or explained > limits.highest):
            return np.intp(step + 1)
    return np.intp(penalties.size)
