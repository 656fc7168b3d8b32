"""Distances as programs: lengths of vectors whose coordinates are linear combinations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids
from symgrove.forest.linear import WeightedSum, add_weighted_sum

Matrix = NDArray[np.float64]


def add_distance(forest: Forest, trees: Ids, centroid: Matrix, factor: Matrix) -> int:
    """Root of the program of |factor (trees - centroid)|."""
    coordinates = [
        add_weighted_sum(forest, WeightedSum(trees[row != 0], row[row != 0], -float((row * centroid).sum())))
        for row in factor
    ]
    squares = np.array([forest.apply("square", coordinate) for coordinate in coordinates], dtype=np.int64)
    return forest.apply("sqrt", add_weighted_sum(forest, WeightedSum(squares, np.ones(squares.size), 0.0)))
