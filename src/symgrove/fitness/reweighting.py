"""Slope and intercept of one program for an absolute, Huber or quantile loss, by reweighted least squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.fitness.named_losses import Deviation, weighted_quantile

Matrix = NDArray[np.float64]
N_ROUNDS = 40


class Line(NamedTuple):
    """Slope and intercept, and the mean loss that they leave."""

    slope: float
    intercept: float
    error: float


def best_line(outputs: Matrix, y: Matrix, weight: Matrix, loss: Deviation, start: Line) -> Line:
    """The best that some rounds of reweighted least squares find from a start; rows of weight zero do not count.

    Without a threshold (absolute, quantile), the intercept is exactly the best one for its slope: a quantile of what
    the slope leaves.
    """
    is_in = weight > 0
    outputs, y, weight = outputs[is_in], y[is_in], weight[is_in]
    if not np.isfinite(outputs).all() or not np.isfinite([start.slope, start.intercept]).all():
        return start
    best = _with_best_intercept(outputs, y, weight, loss, start)
    line = best
    for _ in range(N_ROUNDS if np.ptp(outputs) > 0 else 0):
        with np.errstate(all="ignore"):
            again = weight * loss.row_weights(y, line.intercept + line.slope * outputs)
            total = again.sum()
            middle, level = product(again, outputs) / total, product(again, y) / total
            centred = outputs - middle
            slope = float(product(again, centred * (y - level)) / product(again, centred * centred))
        if not np.isfinite(slope):
            break
        line = Line(slope, float(level - slope * middle), np.inf)
        found = _with_best_intercept(outputs, y, weight, loss, line)
        best = found if found.error < best.error else best
    return best


def _with_best_intercept(outputs: Matrix, y: Matrix, weight: Matrix, loss: Deviation, line: Line) -> Line:
    intercept = line.intercept
    if not loss.delta:
        intercept = weighted_quantile(y - line.slope * outputs, weight, loss.level)
    losses = loss.of_rows(y, intercept + line.slope * outputs)
    return Line(line.slope, intercept, float(np.average(losses, weights=weight)))
