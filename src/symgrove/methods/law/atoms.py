"""The library of atoms: values of tens of thousands of small expressions on a few rows.

Two atoms that are proportional on these rows are one. An atom knows how it is made of others, so that only those that
are wanted become formulas.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law.algebra import lengths_of
from symgrove.methods.law.formulas import LawFormulas
from symgrove.methods.law.units import DimensionTable, Ids

Floats = NDArray[np.float32]
Places = NDArray[np.intp]
LARGEST_VALUE, SMALLEST_LENGTH = 1e9, 1e-9
NEARLY_CONSTANT = 1e-5
DIGITS = 2e4  # of projections on two random directions, by which atoms are told apart
N_AT_ONCE = 4000


def ascending(places: Places) -> Places:
    """Each place once. NumPy's `unique` goes through a table of hashes, which takes 20 times as long."""
    own = np.sort(places)
    return own[np.append(True, own[1:] != own[:-1])] if own.size else own


class Recipe(NamedTuple):
    """How an atom is made: of features with exponents, or by an operation of other atoms and a number."""

    operation: str
    left: int = -1
    right: int = -1
    number: float = 1.0
    exponents: tuple[float, ...] = ()


class _Made(NamedTuple):
    """What may become atoms."""

    values: Floats
    cost: NDArray[np.int64]
    recipe_of: Callable[[int], Recipe]
    dimension: Ids


class AtomLibrary:
    """Atoms in the order in which they were added.

    Attributes
    ----------
    values : (n_atoms, n_rows)
    cost : (n_atoms,)
        Of writing them down, in small whole numbers; combinations of cheap ones come first.
    table : DimensionTable
    dimension : (n_atoms,)
        Their dimensions, as numbers of the table. What must not be added is not, and functions have operands without
        unit.
    """

    def __init__(self, n_rows: int, n_most: int, n_base: int = 0, is_over: Callable[[], bool] = lambda: False) -> None:
        self.table = DimensionTable(n_base)
        self.is_over = is_over
        self._dimension = np.zeros(n_most, dtype=np.int64)
        self._values = np.empty((n_most, n_rows), dtype=np.float32)
        self._cost = np.zeros(n_most, dtype=np.int64)
        self._n_atoms = 0
        # Most atoms never become formulas, so recipes are made when they are asked for: of the atoms from a place on.
        self._starts: list[int] = []
        self._recipes_of: list[tuple[list[int], Callable[[int], Recipe]]] = []
        self._place_of: dict[int, int] = {}
        self._directions = np.random.default_rng(0).normal(size=(n_rows, 2)).astype(np.float32)
        self._roots: dict[int, int] = {}

    def __len__(self) -> int:
        return self._n_atoms

    @property
    def values(self) -> Floats:
        """Values of all atoms."""
        return self._values[: len(self)]

    @property
    def cost(self) -> NDArray[np.int64]:
        """Costs of all atoms."""
        return self._cost[: len(self)]

    @property
    def dimension(self) -> Ids:
        """Dimensions of all atoms."""
        return self._dimension[: len(self)]

    def without_unit(self, places: Places) -> Places:
        """Those of some atoms that are numbers."""
        return places[self.dimension[places] == 0]

    def add(
        self,
        values: Floats,
        cost: NDArray[np.int64],
        recipe_of: Callable[[int], Recipe],
        n_most: int | None = None,
        dimension: Ids | None = None,
    ) -> Places:
        """Add what is usable and new; places of all that are usable, twins included, each once.

        Twins have the same dimension.
        """
        dimension = np.zeros(len(values), dtype=np.int64) if dimension is None else dimension
        with np.errstate(all="ignore"):
            length = lengths_of(values)
            largest = np.abs(values).max(axis=1)
            usable = np.isfinite(length) & (largest < LARGEST_VALUE) & (length > SMALLEST_LENGTH)
            usable &= values.std(axis=1) > NEARLY_CONSTANT * largest
            projected = product(values, self._directions) / length[:, None]
            projected *= np.where(projected[:, :1] < 0, -1.0, 1.0)
        keys = np.zeros(len(values), dtype=np.int64)
        rounded = np.round(projected[usable] * DIGITS).astype(np.int64)
        keys[usable] = rounded[:, 0] * (1 << 30) + rounded[:, 1] + (dimension[usable] << 50)
        room = len(self._values) if n_most is None else min(len(self._values), len(self) + n_most)
        found: dict[int, None] = {}
        fresh: list[int] = []
        n_before = len(self)
        for i in np.flatnonzero(usable).tolist():
            key = int(keys[i])
            place = self._place_of.get(key)
            if place is None:
                place = n_before + len(fresh)
                if place >= room:
                    break
                self._place_of[key] = place
                fresh.append(i)
            found[place] = None
        n_after = n_before + len(fresh)
        self._values[n_before:n_after] = values[fresh]
        self._cost[n_before:n_after] = cost[fresh]
        self._dimension[n_before:n_after] = dimension[fresh]
        self._n_atoms = n_after
        if fresh:
            self._starts.append(n_before)
            self._recipes_of.append((fresh, recipe_of))
        return np.array([*found], dtype=np.intp)

    def recipe(self, place: int) -> Recipe:
        """How an atom is made."""
        k = bisect_right(self._starts, place) - 1
        fresh, recipe_of = self._recipes_of[k]
        return recipe_of(fresh[place - self._starts[k]])

    def cheapest(self, places: Places | Sequence[int], n_most: int | None = None) -> Places:
        """Some of the atoms, in order of their cost."""
        own = np.asarray(places, dtype=np.intp)
        return own[np.argsort(self.cost[own], kind="stable")][:n_most]

    # Combinations

    def pairs(
        self,
        operation: str,
        left: Places,
        right: Places,
        n_most: int,
        *,
        is_symmetric: bool = False,
        wanted: Ids | None = None,
    ) -> Places:
        """Atoms of two, the cheapest first; where dimensions are `wanted`, only those that have one of them."""
        if not (left.size and right.size and n_most > 0):
            return np.zeros(0, dtype=np.intp)
        a, b = np.repeat(left, right.size), np.tile(right, left.size)
        if is_symmetric:
            a, b = a[a < b], b[a < b]
        dimension = self.table.of_pairs(operation, self.dimension[a], self.dimension[b])
        if self.table.n_base:
            kept = dimension >= 0 if wanted is None else np.isin(dimension, wanted)
            a, b, dimension = a[kept], b[kept], dimension[kept]
        cost = self.cost[a] + self.cost[b] + 1
        order = np.argsort(cost, kind="stable")[: 4 * n_most]
        a, b, cost, dimension = a[order], b[order], cost[order], dimension[order]
        combine = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[operation]

        def make(some: slice) -> _Made:
            own_a, own_b = a[some], b[some]
            with np.errstate(all="ignore"):
                values = combine(self._values[own_a], self._values[own_b])
            return _Made(values, cost[some], lambda i: Recipe(operation, int(own_a[i]), int(own_b[i])), dimension[some])

        return self._in_parts(a.size, n_most, make)

    def mapped(
        self, operation: str, places: Places, number: float, n_most: int, more_cost: int, of: Callable[[Floats], Floats]
    ) -> Places:
        """Atoms of one and a number: powers, and functions and sums of what has no unit."""
        if operation == "power":
            dimension = self.table.of_powers(self.dimension[places], number)
        else:
            places = self.without_unit(places)
            dimension = np.zeros(places.size, dtype=np.int64)

        def make(some: slice) -> _Made:
            own = places[some]
            with np.errstate(all="ignore"):
                values = of(self._values[own]).astype(np.float32, copy=False)
            cost = self.cost[own] + more_cost
            return _Made(values, cost, lambda i: Recipe(operation, int(own[i]), number=number), dimension[some])

        return self._in_parts(places.size, n_most, make)

    def _in_parts(self, n: int, n_most: int, make: Callable[[slice], _Made]) -> Places:
        found: list[Places] = []
        before = len(self)
        for start in range(0, n, N_AT_ONCE):
            left = n_most - (len(self) - before)
            if left <= 0 or self.is_over():
                break
            made = make(slice(start, start + N_AT_ONCE))
            found.append(self.add(made.values, made.cost, made.recipe_of, left, made.dimension))
        return ascending(np.concatenate(found)) if found else np.zeros(0, dtype=np.intp)

    # As formulas

    def formula(self, place: int, formulas: LawFormulas) -> int:
        """The root of an atom."""
        root = self._roots.get(place)
        if root is None:
            root = self._roots[place] = self._made(self.recipe(place), formulas)
        return root

    def _made(self, recipe: Recipe, formulas: LawFormulas) -> int:
        operation, number = recipe.operation, recipe.number
        if operation == "monomial":
            return formulas.monomial(recipe.exponents)
        a = self.formula(recipe.left, formulas)
        if operation in ("+", "-", "*", "/"):
            b = self.formula(recipe.right, formulas)
            return {"+": formulas.add, "-": formulas.sub, "*": formulas.mul, "/": formulas.div}[operation](a, b)
        if operation == "power":
            return formulas.power(a, number)
        scaled = formulas.call("neg", a) if number == -1 else formulas.mul(formulas.number(number), a)
        if operation == "1 +":
            if number == -1:
                return formulas.sub(formulas.one, a)
            return formulas.add(formulas.one, scaled)
        return formulas.call(operation, scaled)
