"""Programs in a fixed template: a complete tree whose every position holds a gene (GP-GOMEA).

Genes that a program does not use are introns: they are kept and exchanged, and cost nothing. The first half of an
initial population is full, in the other half a position above the lowest holds a function with a chance of one half
(Virgolin et al. 2021).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitive_table import CONSTANT, FEATURE
from symgrove.forest.random_programs import CONSTANT_DECIMALS
from symgrove.variation import template_kernels
from symgrove.variation.template_kernels import Alphabet, Individuals, Layout, Scratch, Sets

__all__ = ["Individuals", "Sets", "Template"]

Genes = NDArray[np.int32]
Matrix = NDArray[np.float64]
P_FUNCTION = 0.5
N_AT_A_TIME = 256  # individuals whose nodes a forest makes room for


class Template:
    """A complete tree of a height, and what may stand in it.

    Parameters
    ----------
    forest : Forest
        One with the features and functions of the programs; it is not kept.
    height : int
    constant_range : (float, float) or None
        Constants are uniform in this range, with three decimals; a constant is one terminal among n_features + 1.
    """

    def __init__(self, forest: Forest, height: int, constant_range: tuple[float, float] | None) -> None:
        self.functions = np.array([p.code for p in forest.primitives.functions], dtype=np.int32)
        self.arity = forest.arity
        self.n_features = forest.n_features
        self.constant_range = constant_range
        self.layout, self.is_inner = _layout(height, int(forest.arity[self.functions].max()))
        self._known: tuple[Matrix, Alphabet] | None = None
        n = self.n_positions
        self._scratch = Scratch(np.empty(n + 1, dtype=np.int32), np.empty(n, dtype=np.int32), np.zeros(n, dtype=bool))

    @property
    def n_positions(self) -> int:
        """Genes of an individual."""
        return self.is_inner.size

    @property
    def first_constant(self) -> int:
        """The symbol of the first constant."""
        return self.functions.size + self.n_features

    def draw(self, n_individuals: int, constants: Matrix, rng: np.random.Generator) -> tuple[Genes, Matrix]:
        """Genes of an initial population, and the constants, to which new ones are added."""
        shape = n_individuals, self.n_positions
        n_terminals = self.n_features + (self.constant_range is not None)
        terminals = self.functions.size + rng.integers(n_terminals, size=shape, dtype=np.int32)
        functions = rng.integers(self.functions.size, size=shape, dtype=np.int32)
        is_function = np.broadcast_to(self.is_inner, shape).copy()
        n_full = n_individuals // 2
        is_function[n_full:] &= rng.random((n_individuals - n_full, self.n_positions)) < P_FUNCTION
        genes = np.where(is_function, functions, terminals)
        is_constant = genes == self.first_constant
        if self.constant_range is not None:
            low, high = self.constant_range
            values = np.round(rng.uniform(low, high, size=int(is_constant.sum())), CONSTANT_DECIMALS) + 0.0
            constants = np.concatenate([constants, np.setdiff1d(values, constants)])
            order = np.argsort(constants)
            genes[is_constant] += order[np.searchsorted(constants[order], values)].astype(np.int32)
        return genes, constants

    def _alphabet(self, constants: Matrix) -> Alphabet:
        """What symbols mean; the last one is kept, because it is asked for many times."""
        if self._known is None or self._known[0] is not constants:
            self._known = constants, self._make_alphabet(constants)
        return self._known[1]

    def _make_alphabet(self, constants: Matrix) -> Alphabet:
        n_functions, n_features, n_constants = self.functions.size, self.n_features, constants.size
        code = np.concatenate([self.functions, np.full(n_features, FEATURE), np.full(n_constants, CONSTANT)])
        feature = np.full(code.size, -1, dtype=np.int32)
        feature[n_functions : self.first_constant] = np.arange(n_features)
        value = np.concatenate([np.zeros(self.first_constant), constants])
        return Alphabet(code.astype(np.int32), self.arity[code].astype(np.int32), feature, value)

    def express(self, forest: Forest, genes: Genes, constants: Matrix) -> tuple[Ids, Individuals]:
        """Roots of individuals, and the individuals with the ids of their nodes; the genes are not copied."""
        individuals = Individuals(genes, np.empty(genes.shape, dtype=np.int32))
        roots = np.empty(len(genes), dtype=np.int64)
        alphabet = self._alphabet(constants)
        for start in range(0, len(genes), N_AT_A_TIME):
            own = slice(start, start + N_AT_A_TIME)
            part = Individuals(genes[own], individuals.ids[own])
            forest.reserve(part.genes.size)
            template_kernels.express_all(forest.columns, self.layout, alphabet, part, self._scratch, roots[own])
        return roots, individuals

    def check_genes(self, name: str, genes: NDArray[Any], n_constants: int) -> None:
        """Refuse genes that are no symbols, or functions where the template ends."""
        is_symbol = (genes >= 0) & (genes < self.first_constant + n_constants)
        if not (is_symbol & (self.is_inner | (genes >= self.functions.size))).all():
            raise ValueError(f"{name!r} holds genes that do not go with the template.")

    def try_sets(
        self,
        forest: Forest,
        constants: Matrix,
        current: Individuals,
        chosen: NDArray[np.int64],
        donors: Genes,
        donor_of: NDArray[np.int64],
        sets: Sets,
        set_of: NDArray[np.int64],
    ) -> tuple[Ids, Individuals]:
        """Roots of trials, and the trials: chosen individuals with a donor's genes at the positions of a set.

        A change that no active gene sees is made at once; its root is -1.
        """
        shape = chosen.size, self.n_positions
        trials = Individuals(np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int32))
        roots = np.empty(chosen.size, dtype=np.int64)
        forest.reserve(trials.genes.size)
        template_kernels.try_sets(
            forest.columns,
            self.layout,
            self._alphabet(constants),
            current,
            chosen,
            donors,
            donor_of,
            sets,
            set_of,
            self._scratch,
            trials,
            roots,
        )
        return roots, trials


def accept(
    current: Individuals, chosen: NDArray[np.int64], trials: Individuals, is_accepted: NDArray[np.bool_]
) -> None:
    """Make accepted trials the individuals they are of."""
    template_kernels.accept(current, chosen, trials, is_accepted)


def renumber(individuals: Individuals, new_of: Ids) -> None:
    """Take note of a collection of the forest."""
    template_kernels.renumber(individuals.ids, new_of)


def _layout(height: int, arity: int) -> tuple[Layout, NDArray[np.bool_]]:
    """Positions of a complete tree in prefix order: their operands, and which have any."""
    operands: list[list[int]] = []

    def add(depth: int) -> int:
        position = len(operands)
        operands.append([-1, -1])
        if depth < height:
            for k in range(arity):
                operands[position][k] = add(depth + 1)
        return position

    add(0)
    table = np.array(operands, dtype=np.int32)
    return Layout(table), table[:, 0] >= 0
