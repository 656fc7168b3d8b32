"""Losses of regression by name: their value on a row, what a row weighs in least squares, and the best constant.

    squared    (y - p)²
    absolute   |y - p|
    huber      (y - p)² / 2 up to delta, delta (|y - p| - delta / 2) beyond
    quantile   q (y - p) where y is above p, else (1 - q) (p - y); also called pinball loss
    poisson    2 (y log(y / p) - y + p), the deviance, for y >= 0 and p > 0

Least squares with rows weighed by `row_weights`, again and again, minimises the loss (iteratively reweighted least
squares).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]
LOSSES = ("squared", "absolute", "huber", "quantile", "poisson")
# Huber's threshold, if none is given, in normalised median absolute deviations: 95 % efficient for normal residuals.
HUBER = 1.345
NORMAL = 1.4826  # standard deviations of a normal distribution in a median absolute deviation
# Residuals below this share of their mean size weigh no more than it, so that weights stay finite.
LEAST_RESIDUAL = 1e-3
LEAST_PREDICTION = 1e-9  # of a Poisson loss, as a share of the mean


class NamedLoss(Protocol):
    """What is asked of a loss, in the units of the target."""

    @property
    def name(self) -> str:
        """One of LOSSES."""
        ...

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> Matrix:
        """The loss on every row."""
        ...

    def row_weights(self, y: Matrix, prediction: Matrix) -> Matrix:
        """What rows weigh in the next least squares, besides their own weights."""
        ...

    def constant(self, y: Matrix, weight: Matrix | None) -> float:
        """The number with the lowest mean loss."""
        ...


@dataclass(frozen=True)
class Squared:
    """Squares, which need no reweighting."""

    name = "squared"

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> Matrix:
        """Squared residuals."""
        return np.square(np.asarray(y, dtype=np.float64) - np.asarray(prediction, dtype=np.float64))

    def row_weights(self, y: Matrix, prediction: Matrix) -> Matrix:
        """All alike."""
        return np.ones(np.shape(y))

    def constant(self, y: Matrix, weight: Matrix | None) -> float:
        """The mean."""
        return float(np.average(y, weights=weight))


@dataclass(frozen=True)
class Deviation:
    """A function of the residual's size, with a factor for each side: absolute, huber and quantile.

    Attributes
    ----------
    name : str
    above, below : float
        Factors where the target is above the prediction, and where it is not.
    delta : float
        Up to it, half the square counts; beyond, the function goes on as a line. 0: the size itself.
    """

    name: str
    above: float = 1.0
    below: float = 1.0
    delta: float = 0.0

    @property
    def level(self) -> float:
        """The quantile that is the best constant; of huber, a start."""
        return self.above / (self.above + self.below)

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> Matrix:
        """The loss on every row."""
        with np.errstate(all="ignore"):
            residual = np.asarray(y, dtype=np.float64) - np.asarray(prediction, dtype=np.float64)
            size = np.abs(residual)
            if self.delta:
                size = np.where(size <= self.delta, 0.5 * size * size, self.delta * (size - 0.5 * self.delta))
            found: Matrix = np.where(residual > 0, self.above, self.below) * size
            return found

    def row_weights(self, y: Matrix, prediction: Matrix) -> Matrix:
        """The loss's slope divided by the residual."""
        residual = y - prediction
        size = np.abs(residual)
        least = self.delta or LEAST_RESIDUAL * (float(size.mean()) or 1.0)
        found: Matrix = np.where(residual > 0, self.above, self.below) / np.maximum(size, least)
        return found

    def constant(self, y: Matrix, weight: Matrix | None) -> float:
        """The quantile; of huber, by reweighting from the median."""
        found = weighted_quantile(y, weight, self.level)
        own = np.ones(y.size) if weight is None else weight
        for _ in range(50 if self.delta else 0):
            found = float(np.average(y, weights=own * self.row_weights(y, np.full(y.size, found))))
        return found


@dataclass(frozen=True)
class Poisson:
    """The Poisson deviance of counts or rates."""

    name = "poisson"

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> Matrix:
        """Deviance of every row; infinite where nothing is predicted and something is there."""
        y, prediction = np.asarray(y, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
        with np.errstate(all="ignore"):
            logarithm = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / prediction), 0.0)
            found: Matrix = 2.0 * (logarithm - y + prediction)
            return found

    def row_weights(self, y: Matrix, prediction: Matrix) -> Matrix:
        """One over the variance, which is the mean."""
        found: Matrix = 1.0 / np.maximum(prediction, LEAST_PREDICTION * max(float(y.mean()), 1e-300))
        return found

    def constant(self, y: Matrix, weight: Matrix | None) -> float:
        """The mean."""
        return float(np.average(y, weights=weight))


def make_loss(
    name: str, quantile: float, huber_delta: float | None, y: Matrix, weight: Matrix | None
) -> Squared | Deviation | Poisson:
    """A loss by its name; the default of Huber's threshold is taken from the target."""
    if name == "absolute":
        return Deviation(name)
    if name == "quantile":
        return Deviation(name, quantile, 1.0 - quantile)
    if name == "huber":
        return Deviation(name, delta=HUBER * robust_scale(y, weight) if huber_delta is None else huber_delta)
    return Poisson() if name == "poisson" else Squared()


def weighted_quantile(values: Matrix, weight: Matrix | None, level: float) -> float:
    """The smallest value that has at least this share of the weight at it or below."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(np.ones(values.size) if weight is None else weight[order])
    place = int(np.searchsorted(reached, level * reached[-1] * (1 - 1e-12)))
    return float(values[order[min(place, values.size - 1)]])


def robust_scale(y: Matrix, weight: Matrix | None) -> float:
    """The normalised median absolute deviation; the standard deviation where half of the rows are equal, or 1."""
    centre = weighted_quantile(y, weight, 0.5)
    size = np.abs(y - centre)
    found = NORMAL * weighted_quantile(size, weight, 0.5)
    if not found > 1e-12 * max(abs(centre), 1e-300):
        reach = float(size.max()) or 1.0
        found = reach * float(np.sqrt(np.average((size / reach) ** 2, weights=weight)))
    return found if found > 1e-12 * abs(centre) and np.isfinite(1.0 / found) else 1.0
