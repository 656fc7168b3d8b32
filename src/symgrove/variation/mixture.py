"""A mixture of operators for short programs that are terms of a sum.

Children of a base and a donor: a branch of the base replaced by one of the donor (crossover) or by a small random one
(mutation); all constants moved a little, or one node exchanged (perturbation); base and donor, or base and a small
random program, under a new binary root (join); a new random program; a branch of the base (hoist).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_generator, check_whole
from symgrove.forest.forest import Forest, Ids, as_roots
from symgrove.forest.intern_kernels import Tokens
from symgrove.variation import mixture_kernels
from symgrove.variation.mixture_kernels import Ingredients, Lists

# Crossover, mutation, perturbation, join, new, hoist.
SHARES = (0.30, 0.20, 0.20, 0.15, 0.10, 0.05)
SHARE_OF_CONSTANTS = 0.15
CONSTANT_SPREAD = 1.5
TREE_HEIGHT = 2


class MixedVariation:
    """Makes children of at most `max_size` nodes.

    Parameters
    ----------
    forest : Forest
        Children are made for it and for forests of the same features and functions; it is not kept.
    data_values : (n_features, n_values)
        Values of the features. Half of the constants are drawn from these, half from a normal distribution.
    max_size : int
        The smallest that works is 3, or what the functions need.
    shares : sequence of float
        Of crossover, mutation, perturbation, join, new and hoist; they sum to one.
    share_of_constants : float
        Among the leaves of new programs and branches.
    tree_height : int
        Of new programs and branches, at most.
    """

    def __init__(
        self,
        forest: Forest,
        data_values: NDArray[np.float64],
        max_size: int = 25,
        shares: tuple[float, ...] = SHARES,
        share_of_constants: float = SHARE_OF_CONSTANTS,
        tree_height: int = TREE_HEIGHT,
    ) -> None:
        check_whole("max_size", max_size, 1)
        functions = np.array([p.code for p in forest.primitives.functions], dtype=np.int32)
        largest_arity = int(forest.arity[functions].max())
        # The height that always fits: a new program is the last resort for a child that is too large.
        self.height = max(h for h in range(tree_height + 1) if _largest(h, largest_arity) <= max(max_size, 1))
        self.rates = np.cumsum(shares)
        self.ingredients = Ingredients(
            functions,
            functions[forest.arity[functions] == 2],
            forest.arity,
            np.array([forest.n_features]),
            np.ascontiguousarray(data_values, dtype=np.float64),
            np.array([CONSTANT_SPREAD]),
            np.array([share_of_constants]),
        )
        # A list may hold one program of full size and a new branch.
        length = max_size + _largest(tree_height, 2)
        self.lists = Lists(
            _new_tokens(length), _new_tokens(length), _new_tokens(max_size), np.zeros(2 * length, dtype=np.int64)
        )

    def __call__(self, forest: Forest, bases: Ids, donors: Ids, rng: np.random.Generator) -> Ids:
        """Roots of the children, one for each base."""
        check_generator(rng)
        bases, donors = as_roots(forest, bases), as_roots(forest, donors)
        out = np.empty_like(bases)
        start = 0
        while start < bases.size:
            forest.reserve(self.lists.child.code.size)
            columns = forest.columns
            arguments = bases, donors, self.rates, self.ingredients, self.height, self.lists
            start = mixture_kernels.vary(columns, rng, *arguments, start, out)
        return out

    def new(self, forest: Forest, n_programs: int, rng: np.random.Generator) -> Ids:
        """Roots of random programs."""
        check_generator(rng)
        out = np.empty(n_programs, dtype=np.int64)
        start = 0
        while start < n_programs:
            forest.reserve(self.lists.child.code.size)
            columns = forest.columns
            start = mixture_kernels.draw_new(columns, rng, self.ingredients, self.height, self.lists, start, out)
        return out


def _largest(height: int, arity: int) -> int:
    """Nodes of the largest program of a height."""
    return 2 ** (height + 1) - 1 if arity == 2 else height + 1


def _new_tokens(length: int) -> Tokens:
    code, feature = np.zeros((2, length), dtype=np.int32)
    return Tokens(code, feature, np.zeros(length))
