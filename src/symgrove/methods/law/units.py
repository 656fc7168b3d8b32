"""Dimensions: which exponents make a product right in units, and the dimensions of many atoms at once.

A dimension is a vector of exponents of base units. Numbers have none. Without units, vectors have no entries, every
product is right, and a search is what it is without this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as every

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product

Matrix = NDArray[np.float64]
Ids = NDArray[np.int64]
DIGITS = 6  # of exponents of base units; two dimensions that agree in them are one
LARGEST_DENOMINATOR = 60  # of exponents of base units that users give
# Of exponents of features that follow from those of others: halves, thirds and sixths.
PARTS = 6
# Exponents of monomials that are enumerated, by how many may be chosen freely.
FREE_CHOICES = {
    3: (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5),
    5: (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5),
    6: (0.0, 1.0, -1.0, 2.0, -2.0),
    9: (0.0, 1.0, -1.0),
}
MOST_FREE = max(FREE_CHOICES)
LARGEST_EXPONENT, LARGEST_SUM = 4.0, 14.0  # of enumerated monomials, and of the sizes of their exponents


@dataclass(frozen=True)
class Units:
    """What features and the target are measured in.

    Attributes
    ----------
    features : (n_features, n_base)
        Exponents of base units.
    target : (n_base,)
    constants_have_units : bool
        Whether constants take what units they need. Then formulas are checked, and nothing else is known before.
    """

    features: Matrix
    target: Matrix
    constants_have_units: bool = False

    @property
    def n_base(self) -> int:
        """How many base units a search knows; none if constants may have any."""
        return 0 if self.constants_have_units else len(self.target)

    @property
    def are_given(self) -> bool:
        """Whether formulas can be wrong in units."""
        return len(self.target) > 0

    def of(self, features: Sequence[int] | NDArray[np.intp]) -> Units:
        """Units of some of the features."""
        return Units(self.features[np.asarray(features, dtype=np.intp)], self.target, self.constants_have_units)

    @property
    def known_features(self) -> Matrix:
        """Dimensions of features as a search knows them."""
        return self.features[:, : self.n_base]

    @property
    def known_target(self) -> Matrix:
        """The target's dimension as a search knows it."""
        return self.target[: self.n_base]

    def of_monomial(self, exponents: Sequence[float] | Matrix) -> Matrix:
        """Dimensions of products of powers of features; one more axis for several."""
        return np.asarray(product(np.asarray(exponents, dtype=np.float64), self.known_features))


def no_units(n_features: int) -> Units:
    """Everything is right."""
    return Units(np.zeros((n_features, 0)), np.zeros(0))


def is_zero(dimension: Matrix) -> NDArray[np.bool_]:
    """Whether dimensions are those of numbers."""
    return np.asarray(np.abs(dimension).max(axis=-1, initial=0.0) < 10.0**-DIGITS)


class Exponents:
    """Exponents of features whose product has a dimension: a linear system, solved exactly once.

    Exponents of some features are free, those of the others follow. Features that come first in `order` follow if
    they can.

    Attributes
    ----------
    free : (n_free,)
        Places of the features whose exponents are free.
    null : (n_free, n_features)
        What a free exponent adds to all of them; products of these exponents are numbers without units.
    """

    def __init__(self, dimensions: Matrix, order: Sequence[int] | None = None) -> None:
        n_features, n_base = dimensions.shape
        order = range(n_features) if order is None else order
        rows = [
            [*map(_fraction, dimensions[:, b].tolist()), *(Fraction(int(b == k)) for k in range(n_base))]
            for b in range(n_base)
        ]
        following: list[int] = []
        for j in order:
            top = len(following)
            pivot = next((r for r in range(top, n_base) if rows[r][j] != 0), None)
            if pivot is None:
                continue
            rows[top], rows[pivot] = rows[pivot], rows[top]
            _clear(rows, top, j)
            following.append(j)
        self.following = np.array(following, dtype=np.intp)
        self.free = np.array([j for j in range(n_features) if j not in following], dtype=np.intp)
        reduced = np.array([[float(value) for value in row] for row in rows]).reshape(n_base, n_features + n_base)
        n = len(following)
        self._by_free = reduced[:n, self.free]
        self._by_wanted, self._must_vanish = reduced[:n, n_features:], reduced[n:, n_features:]
        self.null = np.zeros((self.free.size, n_features))
        self.null[np.arange(self.free.size), self.free] = 1.0
        self.null[:, self.following] = -self._by_free.T
        self.n_features = n_features

    def has(self, wanted: Matrix) -> NDArray[np.bool_]:
        """Whether there are any, for each wanted dimension, (..., n_base)."""
        return is_zero(product(wanted, self._must_vanish.T))

    def first(self, wanted: Matrix) -> Matrix:
        """Exponents with zeros where they are free, (..., n_features); wrong where there are none."""
        found = np.zeros((*wanted.shape[:-1], self.n_features))
        found[..., self.following] = product(wanted, self._by_wanted.T)
        return found

    def rounded(self, exponents: Matrix, grid: float, wanted: Matrix) -> Matrix | None:
        """Exponents, (..., n_features), with free ones on a grid; None if others are no halves, thirds or sixths."""
        found = np.zeros_like(exponents)
        free = np.round(exponents[..., self.free] / grid) * grid
        found[..., self.free] = free
        others = PARTS * (product(wanted, self._by_wanted.T) - product(free, self._by_free.T))
        if np.abs(others - np.round(others)).max(initial=0.0) > 10.0**-DIGITS:
            return None
        found[..., self.following] = np.round(others) / PARTS
        return found

    def monomials(self, wanted: Matrix, cost: dict[float, int], n_most: int) -> list[tuple[float, ...]]:
        """Exponents of a dimension, the cheapest first, without those that are all zero."""
        if not self.has(wanted):
            return []
        n_free = min(self.free.size, MOST_FREE)
        choices = next(own for most, own in FREE_CHOICES.items() if n_free <= most)
        free = np.zeros((len(choices) ** n_free, self.free.size))
        free[:, :n_free] = np.array([*every(choices, repeat=n_free)]).reshape(len(free), n_free)
        found = np.round(12 * (self.first(wanted) + product(free, self.null))) / 12 + 0.0
        size = np.abs(found)
        usable = (size.max(axis=1, initial=0.0) <= LARGEST_EXPONENT) & (size.sum(axis=1) <= LARGEST_SUM)
        found = found[usable & (size.sum(axis=1) > 0)]
        distinct, places = np.unique(found, return_inverse=True)
        costs = np.array([cost.get(p, 2 + abs(p)) if p else 0.0 for p in distinct.tolist()])
        own = costs[places].reshape(found.shape).sum(axis=1)
        return [tuple(row) for row in found[np.argsort(own, kind="stable")[:n_most]].tolist()]


def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(LARGEST_DENOMINATOR)


def _clear(rows: list[list[Fraction]], top: int, column: int) -> None:
    """One in a row's column, zero in that of all others."""
    factor = rows[top][column]
    rows[top] = [value / factor for value in rows[top]]
    for r, row in enumerate(rows):
        if r != top and row[column] != 0:
            times = row[column]
            rows[r] = [value - times * own for value, own in zip(row, rows[top], strict=True)]


class DimensionTable:
    """Dimensions by number; 0 is that of numbers without units."""

    def __init__(self, n_base: int) -> None:
        self.vectors = np.zeros((1, n_base))
        self._ids = {(0.0,) * n_base: 0}

    @property
    def n_base(self) -> int:
        """How many base units there are."""
        return self.vectors.shape[1]

    def ids(self, vectors: Matrix) -> Ids:
        """Numbers of dimensions, (n,), for (n, n_base)."""
        if not self.n_base:
            return np.zeros(len(vectors), dtype=np.int64)
        distinct, places = np.unique(np.round(vectors, DIGITS) + 0.0, axis=0, return_inverse=True)
        fresh = [row for row in map(tuple, distinct.tolist()) if row not in self._ids]
        for row in fresh:
            self._ids[row] = len(self._ids)
        if fresh:
            self.vectors = np.vstack([self.vectors, fresh])
        return np.array([self._ids[tuple(row)] for row in distinct.tolist()], dtype=np.int64)[places.reshape(-1)]

    def id(self, vector: Matrix) -> int:
        """Number of one dimension."""
        return int(self.ids(vector[None])[0])

    def of_pairs(self, operation: str, left: Ids, right: Ids) -> Ids:
        """Numbers of products or quotients; of sums and differences -1 where both sides differ."""
        if operation in ("+", "-"):
            return np.where(left == right, left, -1)
        if not self.n_base:
            return np.zeros(left.size, dtype=np.int64)
        # Each pair of numbers once: there are far fewer of them than of atoms.
        n = len(self.vectors)
        codes, places = np.unique(left * n + right, return_inverse=True)
        sign = 1.0 if operation == "*" else -1.0
        return self.ids(self.vectors[codes // n] + sign * self.vectors[codes % n])[places.reshape(-1)]

    def of_powers(self, ids: Ids, exponent: float) -> Ids:
        """Numbers of powers."""
        if not self.n_base:
            return ids
        distinct, places = np.unique(ids, return_inverse=True)
        return self.ids(self.vectors[distinct] * exponent)[places.reshape(-1)]
