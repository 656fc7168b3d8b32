"""Classes by distance, for many individuals at once: each maps rows to as many dimensions as it has trees.

A row belongs to the class whose centroid is nearest, by the Mahalanobis distance of that class. Centroids and
covariances come from products of vectors with the weights of the classes; errors from distances of all rows. Where the
covariance of a class is singular, its distance is Euclidean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines import class_distances_kernels
from symgrove.engines.base import Engine, Handle
from symgrove.forest.forest import Forest, Ids

Matrix = NDArray[np.float64]
# Of vectors and distances at a time; results do not depend on it.
VALUES_AT_A_TIME = 1 << 22
MOST_VECTORS_AT_A_TIME = 1024
FEWEST_VECTORS_AT_A_TIME = 64
# Of the variance of a dimension within a class: the share that no other dimensions explain, below which it is singular.
SMALLEST_PIVOT = 1e-10
# Of the second moment about the mean of all rows: a variance below this share has lost its digits, and is 0.
SMALLEST_VARIANCE = 1e-12


class Geometry(NamedTuple):
    """How one individual measures: coordinates of class c are factor c times (dimensions less centroid c).

    Attributes
    ----------
    centroids : (n_classes, n_dimensions)
    factors : (n_classes, n_dimensions, n_dimensions)
        Lower triangular; the squared distance is the sum of squares of the coordinates.
    is_euclidean : (n_classes,)
    error : float
        Share of the rows, by weight, that are nearest to another class; +inf if a dimension is not finite.
    """

    centroids: Matrix
    factors: NDArray[np.float64]
    is_euclidean: NDArray[np.bool_]
    error: float


class _Measured(NamedTuple):
    """Of some individuals, a row for each class and individual: all of the first class, then all of the second."""

    centre: Matrix
    spread: Matrix
    is_usable: NDArray[np.bool_]
    centroids: Matrix
    factors: NDArray[np.float64]
    is_euclidean: NDArray[np.bool_]
    errors: Matrix


@dataclass(frozen=True)
class ClassDistances:
    """Measures individuals on the rows of an engine whose target is the place of each row's class.

    Attributes
    ----------
    engine : Engine
    weight : (n_rows,)
        Sample weights.
    weights : handle of one vector, or None
        The same, if they are not all one.
    masks : handle
        For each class the weights of its rows, and 0 elsewhere.
    labels, ones : handles of one vector
    totals : (n_classes,)
        Weight of the rows of each class.
    is_centred : bool
        Whether covariances are about the centroid; else they are second moments about zero.
    """

    engine: Engine
    weight: Matrix
    weights: Handle
    masks: Handle
    labels: Handle
    ones: Handle
    totals: Matrix
    is_centred: bool

    @classmethod
    def of(cls, engine: Engine, weight: Matrix | None, *, is_centred: bool = True) -> ClassDistances:
        """Distances on all rows of an engine."""
        y = engine.target
        w = np.ones(y.size) if weight is None else np.asarray(weight, dtype=np.float64)
        masks = np.where(y == np.arange(int(y.max()) + 1)[:, None], w, 0.0)
        weights = None if weight is None else engine.put(w)
        put = engine.put(masks), engine.put(y), engine.put(np.ones(y.size))
        return cls(engine, w, weights, *put, masks.sum(axis=1), is_centred)

    @property
    def n_classes(self) -> int:
        return self.totals.size

    def errors(self, forest: Forest, trees: Ids) -> Matrix:
        """Share of wrong rows of individuals, whose trees are rows of ids, padded with -1."""
        found = np.empty(len(trees))
        for some in self._batches(trees):
            n_most = int((trees[some] >= 0).sum(axis=1).max())
            found[some] = self._measure(forest, _to_the_left(trees[some])[:, :n_most]).errors
        return found

    def geometry(self, forest: Forest, trees: Ids) -> Geometry:
        """How an individual of these trees measures, in the units of its dimensions."""
        own = self._measure(forest, trees[None])
        centre, spread = own.centre[0], own.spread[0]
        centroids = centre + own.centroids * spread
        return Geometry(centroids, own.factors / spread, own.is_euclidean, float(own.errors[0]))

    def _batches(self, trees: Ids) -> Iterator[NDArray[np.intp]]:
        """Individuals that are measured together, such of equally many dimensions side by side."""
        n_vectors = np.maximum((trees >= 0).sum(axis=1), self.n_classes)
        order = np.argsort(n_vectors, kind="stable")
        most, start, n_so_far = vectors_at_a_time(self.engine.n_rows), 0, 0
        for i, n_own in enumerate(n_vectors[order].tolist()):
            if i > start and n_so_far + n_own > most:
                yield order[start:i]
                start, n_so_far = i, 0
            n_so_far += n_own
        yield order[start:]

    def _measure(self, forest: Forest, trees: Ids) -> _Measured:
        n, n_classes = len(trees), self.n_classes
        distinct, position = np.unique(trees, return_inverse=True)
        is_tree = distinct >= 0
        index = position.reshape(trees.shape) - int((~is_tree).sum())  # -1 stays -1: it sorts first
        vectors = self.engine.evaluate(forest, distinct[is_tree], keep=True)
        seen = self.engine.summaries(vectors, self.weight, np.zeros(self.weight.size))
        with np.errstate(all="ignore"):
            is_finite = np.isfinite(seen.high - seen.low) & np.isfinite(seen.spread) & np.isfinite(seen.mean)
        centre = np.where(is_finite, seen.mean, 0.0)
        spread = np.where(is_finite & (seen.spread > 0), seen.spread, 1.0)
        is_usable = ((index < 0) | is_finite[index]).all(axis=1)
        index = np.where(is_usable[:, None], index, -1)
        own_centre, own_spread = (np.where(index >= 0, own[index], fill) for own, fill in ((centre, 0.0), (spread, 1.0)))
        scaled = vectors.standardized(centre, spread)
        all_index = np.tile(index, (n_classes, 1))
        is_there = all_index >= 0
        centroids, moments = self._moments(scaled, all_index)
        with np.errstate(all="ignore"):
            spreads = np.tile(own_spread, (n_classes, 1))
            covariances = self._covariances(centroids, moments, np.tile(own_centre, (n_classes, 1)) / spreads)
        diagonal = np.arange(index.shape[1])
        covariances[:, diagonal, diagonal] = np.where(is_there, covariances[:, diagonal, diagonal], 1.0)
        factors, is_euclidean = whitening(covariances)
        factors[is_euclidean] = spreads[is_euclidean, :, None] * np.eye(index.shape[1])
        distances = self.engine.distances(scaled, all_index, centroids, factors)
        errors = np.where(is_usable, self._wrong(distances, n), np.inf)
        return _Measured(own_centre, own_spread, is_usable, centroids, factors, is_euclidean, errors)

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
            found[:, diagonal, diagonal] = np.where(variances > SMALLEST_VARIANCE * squares, variances, 0.0)
            return found
        cross = centroids[:, :, None] * zero[:, None, :]
        return moments + cross + cross.transpose(0, 2, 1) + zero[:, :, None] * zero[:, None, :]

    def _wrong(self, distances: Handle, n: int) -> Matrix:
        """Share of the rows whose nearest class, of equally near ones the first, is not their own."""
        of_class = [distances[np.arange(c * n, (c + 1) * n)] for c in range(self.n_classes)]
        itself = np.zeros(n, dtype=np.intp)
        weights = None if self.weights is None else self.weights[itself]
        return self.engine.sums(_is_wrong, self.labels[itself], *of_class, weights=weights) / self.totals.sum()


def _is_wrong(label: Matrix, nearest: Matrix, *others: Matrix) -> Matrix:
    place = np.zeros_like(label)
    for c, distance in enumerate(others, start=1):
        is_nearer = distance < nearest
        place[is_nearer] = c
        nearest = np.minimum(nearest, distance)
    return place != label


def whitening(covariances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Lower triangular factors F with F' F = the inverse of each matrix, (n, k, k), and which matrices are singular."""
    factors, is_singular = np.empty_like(covariances), np.empty(len(covariances), dtype=np.bool_)
    class_distances_kernels.whiten(covariances, SMALLEST_PIVOT, is_singular, factors)
    return factors, is_singular


def _to_the_left(trees: Ids) -> Ids:
    """Rows of ids with what is missing at the end."""
    order = np.argsort(trees < 0, axis=1, kind="stable")
    return np.take_along_axis(trees, order, axis=1)


def vectors_at_a_time(n_rows: int) -> int:
    """Vectors of trees, and as many of distances, that are there at the same time."""
    return int(np.clip(VALUES_AT_A_TIME // n_rows, FEWEST_VECTORS_AT_A_TIME, MOST_VECTORS_AT_A_TIME))


def n_vectors_of_distances(n_rows: int, n_dimensions: int, n_classes: int) -> int:
    """Vectors over all rows that this takes at most, for individuals of at most so many dimensions."""
    n_most = max(vectors_at_a_time(n_rows), n_dimensions, n_classes)
    return 2 * n_most + n_classes + 3
