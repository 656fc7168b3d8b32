"""Classes by distance, for many individuals at once: each maps rows to as many dimensions as it has trees.

A row belongs to the class whose centroid is nearest, by the Mahalanobis distance of that class. Centroids and
covariances come from products of vectors with the weights of the classes; errors from distances of all rows. Where the
covariance of a class is singular, its distance is Euclidean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines import class_distances_kernels
from symgrove.engines.base import Engine, Function, Handle
from symgrove.engines.row_weights import RowWeights
from symgrove.forest.forest import Forest, Ids

Matrix = NDArray[np.float64]
# Of the variance of a dimension within a class: the share that no other dimensions explain, below which it is singular.
SMALLEST_PIVOT = 1e-10
# Of the second moment about the mean of all rows: a variance below this share has lost its digits, and is 0. The digits
# that a larger one has lost cannot tell what is explained: so many units in the last place of that moment.
SMALLEST_VARIANCE = 1e-12
UNITS_LOST = 256
NEARLY_CONSTANT = 1e-12  # a spread below this share of the mean


class Geometry(NamedTuple):
    """How one individual measures: coordinates of class c are factor c times (dimensions less centroid c).

    Attributes
    ----------
    centroids : (n_classes, n_dimensions)
    factors : (n_classes, n_dimensions, n_dimensions)
        Lower triangular; the squared distance is the sum of squares of the coordinates.
    error : float
        Share of the rows, by weight, that are nearest to another class; +inf if a dimension is not finite.
    unit : float
        Root mean square of the rows' distances from the nearest centroid, or 1 if that is 0.
    """

    centroids: Matrix
    factors: NDArray[np.float64]
    error: float
    unit: float


class _Measured(NamedTuple):
    """Of some individuals, a row for each class and individual: all of the first class, then all of the second."""

    centre: Matrix
    spread: Matrix
    centroids: Matrix
    factors: NDArray[np.float64]
    distances: Handle
    errors: Matrix


@dataclass(frozen=True)
class ClassDistances:
    """Measures individuals on the rows of an engine whose target is the place of each row's class.

    Attributes
    ----------
    engine : Engine
    weight : RowWeights
    masks : handle
        For each class the weights of its rows, and 0 elsewhere.
    labels, ones : handles of one vector
    totals : (n_classes,)
        Weight of the rows of each class.
    is_centred : bool
        Whether covariances are about the centroid; else they are second moments about zero.
    n_at_a_time : int
        Dimensions, and as many distances, that are there at the same time, or those of one individual if it has more;
        results do not depend on it.
    """

    engine: Engine
    weight: RowWeights
    masks: Handle
    labels: Handle
    ones: Handle
    totals: Matrix
    is_centred: bool
    n_at_a_time: int

    @classmethod
    def of(
        cls, engine: Engine, weight: Matrix | None, *, is_centred: bool = True, n_at_a_time: int = 256
    ) -> ClassDistances:
        """Distances on all rows of an engine."""
        y = engine.target
        own = RowWeights.of(engine, weight)
        masks = np.where(y == np.arange(int(y.max()) + 1)[:, None], own.values, 0.0)
        put = engine.put(masks), engine.put(y), engine.put(np.ones(y.size))
        return cls(engine, own, *put, masks.sum(axis=1), is_centred, n_at_a_time)

    @property
    def n_classes(self) -> int:
        return self.totals.size

    def errors(self, forest: Forest, trees: Ids) -> Matrix:
        """Share of wrong rows of individuals, whose trees are rows of ids, padded with -1."""
        found = np.empty(len(trees))
        n_vectors = np.maximum((trees >= 0).sum(axis=1), self.n_classes)
        for some in batches_of(n_vectors, self.n_at_a_time):
            own = np.sort(trees[some], axis=1)
            found[some] = self._measure(forest, own[:, (own >= 0).any(axis=0)]).errors
        return found

    def geometry(self, forest: Forest, trees: Ids) -> Geometry:
        """How an individual of these trees measures, in the units of its dimensions."""
        own = self._measure(forest, trees[None])
        centre, spread = own.centre[0], own.spread[0]
        centroids = centre + own.centroids * spread
        unit = float(np.sqrt(self._sums(_nearest, own.distances, 1)[0] / self.totals.sum()))
        is_unit = np.isfinite(unit) and np.isfinite(1.0 / unit) if unit > 0 else False
        return Geometry(centroids, own.factors / spread, float(own.errors[0]), unit if is_unit else 1.0)

    def _measure(self, forest: Forest, trees: Ids) -> _Measured:
        n_classes, n_dimensions = self.n_classes, trees.shape[1]
        index, scaled, centre, spread = self._look_at(forest, trees)
        is_usable = (index >= 0).any(axis=1)
        all_index = np.tile(index, (n_classes, 1))
        centroids, moments = self._moments(scaled, all_index)
        covariances = self._covariances(centroids, moments, np.tile(centre / spread, (n_classes, 1)))
        diagonal = np.arange(n_dimensions)
        covariances[:, diagonal, diagonal] += all_index < 0  # what is not there has nothing to do with the others
        factors, is_singular = whitening(covariances, self._smallest_pivots(covariances, moments))
        factors[is_singular] = np.tile(spread, (n_classes, 1))[is_singular, :, None] * np.eye(n_dimensions)
        distances = self.engine.distances(scaled, all_index, centroids, factors)
        wrong = self._sums(_is_wrong, distances, len(trees), self.labels) / self.totals.sum()
        return _Measured(centre, spread, centroids, factors, distances, np.where(is_usable, wrong, np.inf))

    def _look_at(self, forest: Forest, trees: Ids) -> tuple[NDArray[np.intp], Handle, Matrix, Matrix]:
        """Where individuals find the vectors of their trees, these vectors standardised, and centres and spreads.

        An individual with a tree that is not finite on some row finds nothing.
        """
        distinct, position = np.unique(trees, return_inverse=True)
        is_tree = distinct >= 0
        index = position.reshape(trees.shape) - int((~is_tree).sum())  # -1 stays -1: it sorts first
        vectors = self.engine.evaluate(forest, distinct[is_tree], keep=True)
        seen = self.engine.summaries(vectors, self.weight.values, np.zeros(self.engine.n_rows))
        with np.errstate(all="ignore"):
            is_finite = np.isfinite(seen.high - seen.low) & np.isfinite(seen.spread) & np.isfinite(seen.mean)
            varies = seen.spread > NEARLY_CONSTANT * np.abs(seen.mean)
        centre = np.where(is_finite, seen.mean, 0.0)
        spread = np.where(is_finite & varies, seen.spread, np.maximum(np.abs(centre), 1.0))
        is_broken = ((index >= 0) & ~is_finite[index]).any(axis=1)
        index[is_broken] = -1
        own = [np.where(index >= 0, values[index], fill) for values, fill in ((centre, 0.0), (spread, 1.0))]
        return index, vectors.standardized(centre, spread), own[0], own[1]

    def _moments(self, scaled: Handle, index: NDArray[np.intp]) -> tuple[Matrix, NDArray[np.float64]]:
        """Means of the classes, and means of products, about the centre and in units of the spread."""
        of_class = np.repeat(np.arange(self.n_classes), len(index) // self.n_classes)
        with_ones = np.concatenate([index, np.full((len(index), 1), len(scaled))], axis=1)
        sums = self.engine.products(scaled + self.ones, scaled, self.masks[of_class], with_ones, index)
        means = sums / self.totals[of_class][:, None, None]
        return means[:, -1], means[:, :-1]

    def _covariances(self, centroids: Matrix, moments: NDArray[np.float64], zero: Matrix) -> NDArray[np.float64]:
        """About the centroids, or about zero, which lies `zero` below the centre; in units of the spread."""
        if self.is_centred:
            found = moments - centroids[:, :, None] * centroids[:, None, :]
            diagonal = np.arange(zero.shape[1])
            variances, squares = found[:, diagonal, diagonal], moments[:, diagonal, diagonal]
            lowest = SMALLEST_VARIANCE * np.maximum(squares, SMALLEST_VARIANCE)
            found[:, diagonal, diagonal] = np.where(variances > lowest, variances, 0.0)
            return found
        cross = centroids[:, :, None] * zero[:, None, :]
        return moments + cross + cross.transpose(0, 2, 1) + zero[:, :, None] * zero[:, None, :]

    def _smallest_pivots(self, covariances: NDArray[np.float64], moments: NDArray[np.float64]) -> Matrix:
        """What share of a variance must be left unexplained, for each matrix and dimension."""
        if not self.is_centred:
            return np.full(covariances.shape[:2], SMALLEST_PIVOT)
        variances, squares = (np.einsum("naa->na", own) for own in (covariances, moments))
        lost = UNITS_LOST * np.finfo(np.float64).eps * squares / np.where(variances > 0, variances, 1.0)
        return np.maximum(lost, SMALLEST_PIVOT)

    def _sums(self, function: Function, distances: Handle, n: int, *more: Handle) -> Matrix:
        """Weighted sums over the rows of a function of single vectors and of the distances from each class."""
        of_class = [distances[np.arange(c * n, (c + 1) * n)] for c in range(self.n_classes)]
        itself = np.zeros(n, dtype=np.intp)
        weights = self.weight.repeated(n)
        return self.engine.sums(function, *(own[itself] for own in more), *of_class, weights=weights)


def _nearest(*distances: Matrix) -> Matrix:
    return reduce(np.minimum, distances)


def _is_wrong(label: Matrix, nearest: Matrix, *others: Matrix) -> Matrix:
    """Whether the nearest class, of equally near ones the first, is another."""
    place = np.zeros_like(label)
    for c, distance in enumerate(others, start=1):
        is_nearer = distance < nearest
        place[is_nearer] = c
        nearest = np.minimum(nearest, distance)
    return place != label


def whitening(
    covariances: NDArray[np.float64], smallest_pivots: Matrix
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Lower triangular factors F with F' F = the inverse of each matrix, (n, k, k), and which matrices are singular.

    A matrix is singular if no more than the smallest pivot of a variance, (n, k), is left unexplained.
    """
    factors, is_singular = np.empty_like(covariances), np.empty(len(covariances), dtype=np.bool_)
    class_distances_kernels.whiten(covariances, smallest_pivots, is_singular, factors)
    return factors, is_singular


def batches_of(n_vectors: NDArray[np.intp], n_at_a_time: int) -> Iterator[NDArray[np.intp]]:
    """Individuals that have at most so many vectors together, such of equally many side by side."""
    order = np.argsort(n_vectors, kind="stable")
    start, n_so_far = 0, 0
    for i, n_own in enumerate(n_vectors[order].tolist()):
        if i > start and n_so_far + n_own > n_at_a_time:
            yield order[start:i]
            start, n_so_far = i, 0
        n_so_far += n_own
    yield order[start:]
