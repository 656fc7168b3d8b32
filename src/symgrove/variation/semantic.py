"""Geometric semantic crossover and mutation (Moraglio, Krawiec and Johnson 2012; Martins et al. 2018).

A child is a linear combination of its parents and of random programs, so its outputs are one of theirs:

    crossover  r * mother + (1 - r) * father, r uniform in [0, 1)
    mutation   mother + step * (R1 - R2), with two grown programs

In the forest it costs a few nodes on top of its parents; nothing is copied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids
from symgrove.forest.random_programs import RandomPrograms
from symgrove.variation import semantic_kernels

Index = NDArray[np.int64]


class Combinations(NamedTuple):
    """Children as linear combinations.

    Attributes
    ----------
    roots : (n_children,)
    parents : (n_children, 2)
        Positions in the population; -1: none.
    trees : (n_children, 2)
        Roots of random programs; -1: none.
    coefficients : (n_children, 4)
        Of the parents, then of the random programs.
    """

    roots: Ids
    parents: Index
    trees: Ids
    coefficients: NDArray[np.float64]


def of_trees(trees: Ids) -> Combinations:
    """Random programs as they are."""
    nothing = np.full(trees.size, -1)
    coefficients = np.zeros((trees.size, 4))
    coefficients[:, 2] = 1.0
    return Combinations(trees, np.full((trees.size, 2), -1), np.stack([trees, nothing], axis=1), coefficients)


class SemanticVariation:
    """Makes children by geometric semantic crossover, mutation or copying.

    Parameters
    ----------
    source : RandomPrograms
        Grows the programs of mutation, up to its `max_height`.
    p_crossover, p_mutation : float
        Exclusive probabilities; the rest are copies of the mother.
    step : float
        Of mutation.
    min_height : int
        Of grown programs.
    """

    def __init__(
        self, source: RandomPrograms, p_crossover: float, p_mutation: float, step: float, min_height: int
    ) -> None:
        self.source = source
        self.p_crossover, self.p_mutation = float(p_crossover), float(p_mutation)
        self.step, self.min_height = float(step), int(min_height)

    def __call__(
        self, forest: Forest, population: Ids, mothers: Index, fathers: Index, rng: np.random.Generator
    ) -> Combinations:
        """A child of every mother; of equal parents, and where the step is 0, it is the mother."""
        n = mothers.size
        choice, share = rng.random((2, n))
        is_mutated = (choice >= self.p_crossover) & (choice < self.p_crossover + self.p_mutation)
        height, n_drawn = self.source.max_height, 2 * int(is_mutated.sum())
        drawn = self.source.grow_some(forest, n_drawn, height, rng, self.min_height).reshape(-1, 2)
        is_crossed = (choice < self.p_crossover) & (population[mothers] != population[fathers])
        parents = np.stack([mothers, np.where(is_crossed, fathers, -1)], axis=1)
        trees = np.full((n, 2), -1)
        coefficients = np.zeros((n, 4))
        coefficients[:, 0] = np.where(is_crossed, share, 1.0)
        coefficients[:, 1] = np.where(is_crossed, 1.0 - share, 0.0)
        if self.step != 0.0:
            trees[is_mutated] = drawn
            coefficients[is_mutated, 2:] = self.step, -self.step
        made = Combinations(population[mothers], parents, trees, coefficients)
        return made._replace(roots=_combined(forest, population, made))


def _combined(forest: Forest, population: Ids, made: Combinations) -> Ids:
    """Programs of the combinations."""
    roots = np.empty_like(made.roots)
    forest.reserve(8 * roots.size)
    codes = tuple(forest.primitives[name].code for name in ("add", "sub", "mul"))
    semantic_kernels.combine(forest.columns, codes, population, made, roots)
    return roots
