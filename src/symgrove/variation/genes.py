"""Individuals of several genes, rows of ids padded with -1: how they are drawn, crossed, mutated and measured.

Depths count nodes: a lone leaf has depth 1. A function with three operands is one node of a gene and two of the forest
(genes_kernels.py). A child that is deeper or larger than the limits is tried again; after ten tries its parents stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_generator
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.random_kernels import Buffers
from symgrove.variation import genes_kernels
from symgrove.variation.genes_kernels import GeneRates, GeneVocabulary, GeneWalk

CONSTANT_DECIMALS = 4
UNLIMITED = 2**62


class GeneMeasures(NamedTuple):
    """Of every gene: nodes, depth, and expressional complexity, which is the sum of the sizes of all its branches."""

    size: NDArray[np.int64]
    depth: NDArray[np.int64]
    complexity: NDArray[np.int64]


class Genes:
    """A source of individuals, and of children.

    Parameters
    ----------
    forest : Forest
        Genes are made for it and for forests of the same features and functions; it is not kept.
    rates : GeneRates
    max_genes : int
        Of an individual.
    with_three : sequence of str
        Functions of two operands that are drawn with three as well.
    constant_range : (float, float) or None
    p_constant : float
        Share of leaves that are constants.
    """

    def __init__(
        self,
        forest: Forest,
        rates: GeneRates,
        max_genes: int,
        with_three: Sequence[str] = (),
        constant_range: tuple[float, float] | None = None,
        p_constant: float = 0.1,
    ) -> None:
        chosen = [p.code for p in forest.primitives.functions]
        tripled = [forest.primitives[name].code for name in with_three]
        has_three = np.zeros(forest.arity.size, dtype=np.bool_)
        has_three[tripled] = True
        self.vocabulary = GeneVocabulary(
            np.array(chosen + tripled, dtype=np.int32),
            np.array([*forest.arity[chosen], *(3 for _ in tripled)], dtype=np.int64),
            forest.arity,
            has_three,
            np.array([forest.n_features]),
            np.array([] if constant_range is None else [*constant_range, CONSTANT_DECIMALS, p_constant], np.float64),
        )
        self.rates = rates
        self.max_genes = max_genes
        n_tokens = most_tokens(max(rates.depth, rates.mutation_depth), int(self.vocabulary.n_operands.max()))
        code, feature = np.zeros((2, n_tokens), dtype=np.int32)
        self._buffers = Buffers(code, feature, np.zeros(n_tokens), np.zeros(n_tokens + 2, dtype=np.int64))

    def draw(self, forest: Forest, n_individuals: int, rng: np.random.Generator) -> Ids:
        """Individuals with a uniform number of genes that differ, each ramped half and half."""
        check_generator(rng)
        drawn = np.empty((n_individuals, self.max_genes), dtype=np.int64)
        start = 0
        while start < n_individuals:
            forest.reserve(self.max_genes * self._buffers.code.size)
            start = genes_kernels.draw_individuals(
                forest.columns, rng, self.vocabulary, self.rates, self._buffers, start, drawn
            )
        return drawn

    def breed(
        self, forest: Forest, population: Ids, winners: NDArray[np.int64], n_children: int, rng: np.random.Generator
    ) -> Ids:
        """Children of pairs of parents, rows of the population; there are as many pairs as children."""
        check_generator(rng)
        height = int(forest.height(population[population >= 0]).max())
        of_children = height + max(height, 2 * self.rates.mutation_depth)
        walks = _new_walk(of_children), _new_walk(of_children)
        children = np.empty((n_children, self.max_genes), dtype=np.int64)
        progress = np.zeros(2, dtype=np.int64)
        while progress[1] < n_children:
            forest.reserve(genes_kernels.MOST_TRIES * (2 * walks[0].path.size + self._buffers.code.size))
            genes_kernels.breed(
                forest.columns,
                rng,
                population,
                winners,
                self.vocabulary,
                self.rates,
                self._buffers,
                walks,
                progress,
                children,
            )
        return children

    def measure(self, forest: Forest, genes: Ids) -> GeneMeasures:
        """Measures of genes, in the order given."""
        found = np.empty((genes.size, 3), dtype=np.int64)
        height = int(forest.height(genes).max()) if genes.size else 0
        genes_kernels.measure(forest.columns, self.vocabulary.has_three, genes, _new_walk(height), found)
        return GeneMeasures(*found.T)


def most_tokens(depth: int, n_operands: int) -> int:
    """Nodes of the forest that a gene of this depth may have."""
    if n_operands == 1:
        return depth
    n_leaves = int(n_operands) ** (depth - 1)
    return 2 * n_leaves - 1  # every function of three operands is two nodes


def _new_walk(height: int) -> GeneWalk:
    """Scratch for walks over genes of this height in the forest: at most two wait on each level."""
    return GeneWalk(*(np.empty(2 * height + 4, dtype=np.int64) for _ in range(6)))
