"""Least squares over the trees of many individuals at once: intercept + sum of coefficients times trees.

All comes from products of vectors that are read in units of their spread, about their means: correlations. Where trees
repeat each other, the shortest solution is taken, as a pseudo-inverse gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread
from symgrove.engines.base import Engine, Handle
from symgrove.engines.row_weights import RowWeights
from symgrove.forest.forest import Forest, Ids

Matrix = NDArray[np.float64]
# Trees that are evaluated together, or those of one individual, if it has more: fewer where there are many rows.
VECTORS_AT_A_TIME = 256
FEWEST_VECTORS_AT_A_TIME = 64
VALUES_AT_A_TIME = 2_000_000
PRODUCTS_AT_A_TIME = 250_000  # of trees with trees, or those of one individual
COPIES_OF_PRODUCTS = 6  # that are alive at the same time
# Eigenvalues of correlations below this share of the largest are taken for zero.
SMALLEST_EIGENVALUE = 1e-12
# Errors below this share of the variance have lost half of their digits, and are made again from residuals.
SMALL_ERROR = 1e-8
NEARLY_CONSTANT = 1e-12  # a spread below this share of the mean


class Heads(NamedTuple):
    """Linear heads of individuals.

    Attributes
    ----------
    coefficients : (n_individuals, n_trees)
        In the units of the trees' outputs; 0 where there is no tree, or one that is constant.
    intercept, error : (n_individuals,)
        Mean squared error, on all rows; +inf where an output is not finite on some row.
    """

    coefficients: Matrix
    intercept: Matrix
    error: Matrix


@dataclass(frozen=True)
class LinearHeads:
    """Fits heads to the target of an engine.

    Attributes
    ----------
    engine : Engine
    weight : RowWeights
    target : handle of one vector
    mean, variance : float
        Of the target.
    """

    engine: Engine
    weight: RowWeights
    target: Handle
    mean: float
    variance: float

    @classmethod
    def of(cls, engine: Engine, weight: Matrix | None) -> LinearHeads:
        """Heads on all rows of an engine."""
        own, target = RowWeights.of(engine, weight), engine.put(engine.target)
        seen = engine.summaries(target, own.values, np.zeros(engine.n_rows))
        return cls(engine, own, target, float(seen.mean[0]), float(seen.spread[0]) ** 2)

    def fit(self, forest: Forest, trees: Ids) -> Heads:
        """Heads of individuals whose trees are rows of ids, padded with -1; a tree that repeats counts once."""
        n, n_trees = trees.shape
        heads = Heads(np.zeros((n, n_trees)), np.full(n, self.mean), np.full(n, np.inf))
        n_products = max(1, PRODUCTS_AT_A_TIME // max(1, n_trees) ** 2)
        for some in _batches(trees, _at_a_time(self.engine.n_rows), n_products):
            for all_of, own in zip(heads, self._fit_some(forest, trees[some]), strict=True):
                all_of[some] = own
        return heads

    def _fit_some(self, forest: Forest, trees: Ids) -> Heads:
        n, n_trees = trees.shape
        distinct, position = np.unique(trees, return_inverse=True)
        is_tree = distinct >= 0
        heads = Heads(np.zeros((n, n_trees)), np.full(n, self.mean), np.full(n, self.variance))
        if not is_tree.any():
            return heads
        # Positions among the vectors; -1 stays -1, because it sorts first.
        index = position.reshape(trees.shape) - int((~is_tree).sum())
        vectors = self.engine.evaluate(forest, distinct[is_tree])
        seen = self.engine.summaries(vectors, self.weight.values, np.zeros(self.engine.n_rows))
        with np.errstate(all="ignore"):
            is_finite = np.isfinite(seen.high - seen.low) & np.isfinite(seen.spread)
            varies = is_finite & (seen.spread > NEARLY_CONSTANT * np.abs(seen.mean))
        is_broken = ((index >= 0) & ~is_finite[index]).any(axis=1)
        used = np.where((index >= 0) & varies[index], index, -1)
        used[is_broken] = -1
        used[_repeats(used)] = -1
        centre, spread = np.where(varies, seen.mean, 0.0), np.where(varies, seen.spread, 1.0)
        beta, error = self._solve(vectors.standardized(centre, spread), used)
        coefficients = beta / np.where(used >= 0, spread[used], 1.0)
        offsets = coefficients * np.where(used >= 0, centre[used], 0.0)
        return Heads(coefficients, self.mean - offsets.sum(axis=1), np.where(is_broken, np.inf, error))

    def _solve(self, vectors: Handle, index: NDArray[np.intp]) -> tuple[Matrix, Matrix]:
        """Coefficients of standardised vectors, and mean squared errors."""
        n, total = len(index), self.weight.total
        weights = self.weight.repeated(n)
        centred = self.target.standardized(np.array([self.mean]), np.ones(1))
        itself = np.zeros((n, 1), dtype=np.intp)
        gram = self.engine.products(vectors, vectors, weights, index, index) / total
        cross = self.engine.products(centred, vectors, weights, itself, index)[:, 0] / total
        values, axes = on_one_thread(np.linalg.eigh, gram)
        is_kept = values > SMALLEST_EIGENVALUE * np.maximum(values[:, -1:], 1.0)
        inverse = np.where(is_kept, 1.0 / np.where(is_kept, values, 1.0), 0.0)
        along = np.einsum("nab,na->nb", axes, cross)
        beta = np.einsum("nab,nb->na", axes, inverse * along)
        error = self.variance - (inverse * along**2).sum(axis=1)
        beta[index < 0] = 0.0
        small = np.flatnonzero(error < SMALL_ERROR * self.variance)
        n_residuals = max(1, _at_a_time(self.engine.n_rows) // 4)
        for start in range(0, small.size, n_residuals):
            some = small[start : start + n_residuals]
            error[some] = self._from_residuals(vectors + centred, index[some], beta[some], len(vectors)) / total
        return beta, error

    def _from_residuals(self, vectors: Handle, index: NDArray[np.intp], beta: Matrix, target: int) -> Matrix:
        """Weighted sums of squares of the target less the sum."""
        n = len(index)
        all_of = np.concatenate([index, np.full((n, 1), target)], axis=1)
        residuals = self.engine.combine(np.concatenate([-beta, np.ones((n, 1))], axis=1), vectors, all_of)
        return self.engine.sums(np.square, residuals, weights=self.weight.repeated(n))


def n_vectors_of_heads(n_trees: int, n_rows: int = 1) -> int:
    """Vectors over all rows that a fit takes at most, for individuals of at most so many trees."""
    n = _at_a_time(n_rows)
    return max(n, n_trees) + n // 4 + 4


def n_bytes_of_heads(n_individuals: int, n_trees: int) -> int:
    """Bytes that a fit takes at most besides vectors."""
    n_products = min(n_individuals * n_trees**2, max(PRODUCTS_AT_A_TIME, n_trees**2))
    return COPIES_OF_PRODUCTS * 8 * (n_products + n_individuals * n_trees)


def _at_a_time(n_rows: int) -> int:
    """Vectors of so many rows that are evaluated together."""
    return min(VECTORS_AT_A_TIME, max(FEWEST_VECTORS_AT_A_TIME, VALUES_AT_A_TIME // n_rows))


def _batches(trees: Ids, n_vectors: int, n_individuals: int) -> Iterator[slice]:
    """Ranges of at most so many individuals, with so many different trees, that are fitted together."""
    start, seen = 0, set[int]()
    for i, own in enumerate(trees.tolist()):
        more = seen.union(own)
        if i > start and (len(more - {-1}) > n_vectors or i - start == n_individuals):
            yield slice(start, i)
            start, more = i, set(own)
        seen = more
    if start < len(trees):
        yield slice(start, len(trees))


def _repeats(index: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Where a row has a number that it has had before."""
    order = np.argsort(index, axis=1, kind="stable")
    ordered = np.take_along_axis(index, order, axis=1)
    is_same = np.zeros(index.shape, dtype=np.bool_)
    is_same[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    found = np.empty_like(is_same)
    np.put_along_axis(found, order, is_same, axis=1)
    return found
