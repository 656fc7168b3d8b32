"""Features are z-scored before evolution; formulas are shown in the user's own units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.forest.forest import Forest
from symgrove.models.row_blocks import FEWEST_ROWS, row_blocks


class Standardization(NamedTuple):
    """Mean and spread of every feature, (n_features,); spread 1 where a feature is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import Standardization
    >>> Standardization(np.array([10.0]), np.array([2.0])).apply(np.array([[12.0], [8.0]])).tolist()
    [[1.0], [-1.0]]
    """

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    def apply(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Features in units of their spread, centred."""
        return (X - self.mean) / self.spread

    def in_user_units(self, forest: Forest, root: int) -> int:
        """The program with every feature x written as (x - mean) / spread, in the same forest."""
        new_of: dict[int, int] = {}
        for node in forest.reachable([root]):
            children = [new_of[child] for child in forest.children(node)]
            new_of[node] = forest.apply(forest.name(node), *children) if children else node
            if forest.name(node) == "feature":
                new_of[node] = self._standardized_feature(forest, int(forest.columns.left[node]))
        return new_of[root]

    def _standardized_feature(self, forest: Forest, index: int) -> int:
        node = forest.feature(index)
        mean, spread = float(self.mean[index]), float(self.spread[index])
        if mean != 0:
            node = forest.apply("sub", node, forest.constant(mean))
        if spread != 1:
            node = forest.apply("mul", node, forest.constant(1.0 / spread))
        return node


def standardization_of(X: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> Standardization:
    """Mean and population standard deviation of the training features.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import standardization_of
    >>> standardization_of(np.array([[1.0], [3.0]])).mean.tolist()
    [2.0]
    """
    mean = np.average(X, axis=0, weights=weight)
    squares = X - mean
    np.square(squares, out=squares)
    return standardization_from(mean, np.sqrt(np.average(squares, axis=0, weights=weight)))


def standardization_by_blocks(X: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> Standardization:
    """The same but for rounding, without a copy of X."""
    blocks = [*row_blocks(len(X), FEWEST_ROWS)]
    parts = [np.ones(len(X[rows])) if weight is None else weight[rows] for rows in blocks]
    total = sum(part.sum() for part in parts)
    mean = sum(product(part, X[rows]) for part, rows in zip(parts, blocks, strict=True)) / total
    squares = sum(product(part, (X[rows] - mean) ** 2) for part, rows in zip(parts, blocks, strict=True))
    return standardization_from(mean, np.sqrt(squares / total))


def standardization_from(mean: NDArray[np.float64], spread: NDArray[np.float64]) -> Standardization:
    """Of means and standard deviations."""
    # Relative: a constant column of 0.1 has a spread of 1e-17, not 0.
    is_constant = spread <= 1e-12 * np.abs(mean)
    is_constant |= ~np.isfinite(1.0 / np.where(spread > 0, spread, np.nan))
    return Standardization(mean, np.where(is_constant, 1.0, spread))


def no_standardization(n_features: int) -> Standardization:
    """Features as they are.

    Examples
    --------
    >>> from symgrove.extending import no_standardization
    >>> no_standardization(2).spread.tolist()
    [1.0, 1.0]
    """
    return Standardization(np.zeros(n_features), np.ones(n_features))
