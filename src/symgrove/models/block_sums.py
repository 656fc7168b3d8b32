"""What is known of columns whose rows lie in blocks: each block says little, which is added in the order of the blocks.

Means and variances are exact up to rounding. Quantiles come from a sketch: of a block with more than `POINTS` values
the sketch keeps those in the middle of `POINTS` equal slices of its weight. Of a threshold, the weight below it is then
known within half a slice of each block, so that a quantile's level is at most 1 / (2 * POINTS) = 0.00025 off. With no
larger block it is exact. Of blocks that are gone through piece by piece, sketches of the pieces are sketched once more:
0.0005.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product

Matrix = NDArray[np.float64]
POINTS = 2000


class Spreads(NamedTuple):
    """Of each column: the weight, the mean, and the weighted sum of squares about it; and the ends."""

    weight: float
    mean: Matrix
    squares: Matrix
    low: Matrix
    high: Matrix

    @classmethod
    def of(cls, columns: Matrix, weight: Matrix | None = None) -> Self:
        """Of a block with rows, (n_rows, n_columns)."""
        w = np.ones(len(columns)) if weight is None else weight
        total = float(w.sum())
        mean = np.asarray(product(w, columns) / total)
        squares = np.asarray(product(w, (columns - mean) ** 2))
        return cls(total, mean, squares, columns.min(axis=0), columns.max(axis=0))

    def __add__(self, other: Spreads) -> Spreads:  # type: ignore[override]
        """Of the rows of both."""
        total = self.weight + other.weight
        away = other.mean - self.mean
        return Spreads(
            total,
            self.mean + away * (other.weight / total),
            self.squares + other.squares + away**2 * (self.weight * other.weight / total),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def spread(self) -> Matrix:
        """Population standard deviations."""
        return np.asarray(np.sqrt(self.squares / self.weight))


def spreads_of(parts: Iterable[Spreads]) -> Spreads:
    """Of all blocks, added one after the other."""
    return reduce(Spreads.__add__, parts)


class Sketch(NamedTuple):
    """Values of one column, in order, and the weight that each stands for."""

    values: Matrix
    weight: Matrix

    @classmethod
    def of(cls, values: Matrix, weight: Matrix | None = None, points: int = POINTS) -> Self:
        """Of a block; NaN does not enter."""
        known = ~np.isnan(values)
        if weight is None:
            values = np.sort(values[known])
            w = np.ones(values.size)
        else:
            values, w = values[known], weight[known]
            order = np.argsort(values, kind="stable")
            values, w = values[order], w[order]
        if values.size <= points:
            return cls(values, w)
        below = np.cumsum(w)
        middles = (np.arange(points) + 0.5) * (below[-1] / points)
        places = np.minimum(np.searchsorted(below, middles), values.size - 1)
        return cls(values[places], np.full(points, below[-1] / points))


def thinned(sketches: Iterable[Sketch]) -> Sketch:
    """A sketch of sketches."""
    return Sketch.of(*joined(sketches))


def joined(sketches: Iterable[Sketch]) -> Sketch:
    """Of the values of all blocks, in the order of the values."""
    parts = list(sketches)
    values = np.concatenate([part.values for part in parts])
    order = np.argsort(values, kind="stable")
    return Sketch(values[order], np.concatenate([part.weight for part in parts])[order])
