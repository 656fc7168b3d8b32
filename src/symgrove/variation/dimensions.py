"""Variation of individuals of several trees, their dimensions: of one tree, or of whole dimensions (M3GP).

A pair of parents gives two children of a crossover: two branches swapped, of one tree each, or a dimension of one
exchanged for one of the other. Or the mother gives a child: a branch replaced by a new one, a new dimension added, or
one removed. Children with a tree above the height limit are dropped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_generator, check_whole
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.random_programs import RandomPrograms
from symgrove.variation.swap import SwapVariation

SWAP, EXCHANGE, MUTATE, ADD, REMOVE = range(5)


class DimensionVariation:
    """Makes children of pairs of individuals, which are rows of ids, padded with -1 at the end.

    Parameters
    ----------
    source : RandomPrograms
        Grows new branches and dimensions, up to its `max_height`.
    p_crossover : float
        Chance of a crossover, of either kind alike; else it is a mutation, of each kind alike.
    max_height : int
        Of trees; children with higher ones are dropped.
    p_function : float
        Chance that a grown tree goes on where it may end.
    max_dimensions : int
        An individual that has so many is copied where a dimension would be added.
    """

    def __init__(
        self, source: RandomPrograms, p_crossover: float, max_height: int, p_function: float, max_dimensions: int
    ) -> None:
        check_whole("max_dimensions", max_dimensions, 1)
        self.source = source
        self.p_crossover = float(p_crossover)
        self.max_height = int(max_height)
        self.p_function = float(p_function)
        self.max_dimensions = int(max_dimensions)
        # Twice the limit drops nothing: which children are too high is seen here, where parents are known.
        self._swap = SwapVariation(source, 1.0, 2 * max_height, p_function)
        self._mutate = SwapVariation(source, 0.0, 2 * max_height, p_function)

    def __call__(self, forest: Forest, mothers: Ids, fathers: Ids, rng: np.random.Generator) -> Ids:
        """Children in the order of the pairs: none, one or two of each, with room for one dimension more."""
        check_generator(rng)
        kind = self._draw_kinds(len(mothers), rng)
        places = rng.random((2, len(mothers)))
        own, other = (_place(parents, u) for parents, u in zip((mothers, fathers), places, strict=True))
        children = np.full((len(mothers), 2, mothers.shape[1] + 1), -1, dtype=np.int64)
        children[:, 0, :-1], children[:, 1, :-1] = mothers, fathers
        rows = np.arange(len(mothers))
        own_trees, other_trees = mothers[rows, own], fathers[rows, other]
        is_swap, is_mutated = kind == SWAP, kind == MUTATE
        first, second = own_trees.copy(), other_trees.copy()
        if is_swap.any():
            both = self._swap(forest, own_trees[is_swap], other_trees[is_swap], rng)
            first[is_swap], second[is_swap] = both[0::2], both[1::2]
        if is_mutated.any():
            first[is_mutated] = self._mutate(forest, own_trees[is_mutated], own_trees[is_mutated], rng)
        exchanged = kind == EXCHANGE
        first[exchanged], second[exchanged] = other_trees[exchanged], own_trees[exchanged]
        children[rows, 0, own], children[rows, 1, other] = first, second
        self._add_dimensions(forest, children, kind, rng)
        for i in np.flatnonzero((kind == REMOVE) & (children[:, 0, 1] >= 0)):
            children[i, 0, own[i] : -1] = children[i, 0, own[i] + 1 :]
        is_child = np.ones((len(mothers), 2), dtype=np.bool_)
        is_child[:, 1] = kind <= EXCHANGE
        # Only these two trees may be new.
        is_child[:, 0] &= (forest.height(first) <= self.max_height) | (kind == REMOVE)
        is_child[:, 1] &= forest.height(second) <= self.max_height
        made: Ids = children[is_child]
        return made

    def _draw_kinds(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        is_crossed, which = rng.random(n) < self.p_crossover, rng.random(n)
        return np.where(is_crossed, (2 * which).astype(np.int64), MUTATE + (3 * which).astype(np.int64))

    def _add_dimensions(
        self, forest: Forest, children: NDArray[np.int64], kind: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        for i in np.flatnonzero(kind == ADD):
            n_dimensions = int((children[i, 0] >= 0).sum())
            if n_dimensions < self.max_dimensions:
                children[i, 0, n_dimensions] = self.new_tree(forest, rng)

    def new_tree(self, forest: Forest, rng: np.random.Generator) -> int:
        """A grown tree whose root is a function."""
        return self.source.grow(forest, self.source.max_height, rng, 1, self.p_function)


def _place(individuals: Ids, uniform: NDArray[np.float64]) -> NDArray[np.intp]:
    """A dimension of each individual, from numbers in [0, 1)."""
    return (uniform * (individuals >= 0).sum(axis=1)).astype(np.intp)


def without_empty_columns(individuals: Ids) -> Ids:
    """As wide as the widest individual."""
    n_most = int((individuals >= 0).sum(axis=1).max())
    return np.ascontiguousarray(individuals[:, :n_most])
