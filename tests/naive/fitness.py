"""Fitness on a weighted sample, by the two-pass formulas with exact summation."""

import math

import numpy as np


def weighted_mean(x, w):
    return math.fsum(a * b for a, b in zip(x, w, strict=True) if b != 0) / math.fsum(w)


def in_sample(*vectors):
    """The vectors on the rows whose weight, the last of them, is positive."""
    vectors = [np.asarray(v, dtype=np.float64) for v in vectors]
    return [v[vectors[-1] > 0] for v in vectors]


def linear_scaling(o, y, w):
    """Slope and intercept of least squares; slope 0 where the outputs of positive weight are all equal."""
    o, y, w = in_sample(o, y, w)
    mean_o, mean_y = weighted_mean(o, w), weighted_mean(y, w)
    spread = weighted_mean((o - mean_o) ** 2, w)
    if spread == 0:
        return 0.0, mean_y
    slope = weighted_mean((o - mean_o) * (y - mean_y), w) / spread
    return slope, mean_y - slope * mean_o


def squared_error(o, y, w, slope=1.0, intercept=0.0):
    """Weighted mean of squared residuals."""
    o, y, w = in_sample(o, y, w)
    return weighted_mean((y - (intercept + slope * o)) ** 2, w)


def scaled_squared_error(o, y, w):
    """Squared error after linear scaling, from centred outputs, so that large intercepts do not cancel."""
    o, y, w = in_sample(o, y, w)
    slope, _ = linear_scaling(o, y, w)
    residual = (y - weighted_mean(y, w)) - slope * (o - weighted_mean(o, w))
    return weighted_mean(residual**2, w)


def classification_error(o, y, w, slope=1.0, intercept=0.0):
    """Weighted share of rows where (output > 0.5) is not the label."""
    wrong = [float((intercept + slope * a > 0.5) != (b == 1)) for a, b in zip(o, y, strict=True)]
    return weighted_mean(wrong, w)


def mean_loss(loss, o, y, w, slope=1.0, intercept=0.0):
    """Weighted mean of a loss of two numbers over the rows of positive weight; +inf if it has no finite value."""
    total = [loss(float(b), float(intercept + slope * a)) for a, b in zip(*in_sample(o, y, w)[:2], strict=True)]
    if not all(math.isfinite(value) for value in total):
        return math.inf
    return weighted_mean(total, in_sample(w)[0])


def absolute(y, prediction):
    return abs(y - prediction)


def pinball(y, prediction):
    """Its mean is least where nine tenths of the targets are below the prediction."""
    return 0.9 * (y - prediction) if y > prediction else 0.1 * (prediction - y)


def huber(y, prediction):
    """Squared near the target, absolute beyond a distance of 1."""
    distance = abs(y - prediction)
    return 0.5 * distance * distance if distance <= 1 else distance - 0.5


def gather(values, counts):
    """The sample itself: every value as often as its row was drawn."""
    return np.repeat(values, counts)
