"""Intervals from residuals on rows that a model was not fitted on (conformal prediction).

    width(x) = floor + slope * spread of the members at x             found on training rows
    score    = (y - prediction) / width(x)                            on n other rows
    interval = prediction ± width(x) * the k-th smallest |score|, k = ceil((n + 1) * coverage)

If the n rows and a new one could as well have come in any other order, the new one is inside with a probability of at
least `coverage` (Lei et al. 2018; Papadopoulos et al. 2008 for scores with a width). No model of the noise is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from symgrove.blas import on_one_thread, product

Matrix = NDArray[np.float64]
# The floor of the width is at least this share of the mean width: where all members agree, they may still be wrong.
LOWEST_FLOOR = 0.1


class Widths(NamedTuple):
    """How wide intervals are, relative to each other."""

    floor: float
    slope: float

    def of(self, spread: Matrix) -> Matrix:
        """Width on every row, above zero."""
        with np.errstate(over="ignore"):
            return np.minimum(self.floor + self.slope * spread, np.finfo(np.float64).max)


class ConformalScores(NamedTuple):
    """Sorted scores on rows that a model was not fitted on, and the widths they are in units of."""

    widths: Widths
    sorted: Matrix

    def factor(self, coverage: float) -> float:
        """How many widths to each side of the prediction; infinite if there are too few rows for the coverage."""
        n = self.sorted.size
        k = max(1, _whole((n + 1) * coverage, ceil))
        return float(np.partition(np.abs(self.sorted), k - 1)[k - 1]) if k <= n else float("inf")

    def quantile(self, level: float) -> float:
        """How many widths above the prediction a quantile is; infinite if there are too few rows.

        Below the middle, a value is below it with a probability of at most `level`; above, of at least `level`.
        """
        n = self.sorted.size
        if level == 0.5:
            return float(np.median(self.sorted))
        k = _whole((n + 1) * level, floor if level < 0.5 else ceil)
        if k < 1 or k > n:
            return float("-inf") if level < 0.5 else float("inf")
        return float(self.sorted[k - 1])


def _whole(value: float, direction: Callable[[float], int]) -> int:
    """Rounded up or down, unless only the representation of numbers like 0.9 keeps it from being whole."""
    nearest = round(value)
    return nearest if abs(value - nearest) < 1e-9 * max(1.0, abs(value)) else direction(value)


def make_scores(residuals: Matrix, spread: Matrix, widths: Widths) -> ConformalScores:
    """Scores of residuals; those that are not finite count as infinite."""
    with np.errstate(all="ignore"):
        scores = residuals / widths.of(spread)
    return ConformalScores(widths, np.sort(np.where(np.isnan(scores), np.inf, scores)))


def rows_needed(coverage: float) -> int:
    """Rows from which on intervals of a coverage are finite."""
    return _whole(coverage / (1 - coverage), ceil)


def fit_widths(residuals: Matrix, spread: Matrix) -> Widths:
    """The floor and slope, not negative, that fit the sizes of residuals best; without residuals, all are alike."""
    known = np.isfinite(residuals) & np.isfinite(spread)
    sizes, spread = np.abs(residuals[known]), spread[known]
    scale, unit = sizes.max(initial=0.0), spread.max(initial=0.0)
    if not (known.any() and scale > 0):
        return Widths(1.0, 0.0)
    columns = np.column_stack([np.ones(sizes.size), spread / (unit or 1.0)])
    found = on_one_thread(nnls, columns, sizes / scale)[0] * scale
    mean = float(np.mean(product(columns, found)))
    widths = Widths(max(float(found[0]), LOWEST_FLOOR * mean), float(found[1] / (unit or 1.0)))
    is_usable = np.isfinite(widths.floor) and np.isfinite(widths.slope) and widths.floor > 0
    return widths if is_usable else Widths(1.0, 0.0)
