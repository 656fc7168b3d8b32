"""Swap crossover, which makes two children, and subtree mutation, with uniform node choice and a height limit.

This is the variation of the standard GP that other groups compare with (`methods/standard_gp.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_generator, check_whole
from symgrove.forest.forest import Forest, as_roots
from symgrove.forest.random_programs import RandomPrograms
from symgrove.variation import swap_kernels
from symgrove.variation.subtree import new_walk
from symgrove.variation.swap_kernels import SwapRates


class SwapVariation:
    """Makes children of pairs of parents.

    Parameters
    ----------
    source : RandomPrograms
        Grows the branches of mutation, up to its `max_height`.
    p_crossover : float
        Chance that two branches are swapped.
    max_height : int
        Higher children are dropped.
    p_function : float or None
        Chance that a grown branch goes on; None: every function and terminal has the same chance.
    p_mutation : float, optional
        Chance that what comes of a pair is mutated: both children of a swap, or else the mother. By default the mother
        is mutated if there is no swap.
    """

    def __init__(
        self,
        source: RandomPrograms,
        p_crossover: float,
        max_height: int,
        p_function: float | None,
        p_mutation: float | None = None,
    ) -> None:
        for name, p in (("p_crossover", p_crossover), ("p_mutation", p_mutation)):
            if p is not None and not 0 <= p <= 1:
                raise ValueError(f"{name} must be a probability, got {p}.")
        check_whole("max_height", max_height, source.max_height)
        self.source = source
        mutation, goes_on = (-1.0 if p is None else float(p) for p in (p_mutation, p_function))
        self.rates = SwapRates(float(p_crossover), mutation, int(max_height), source.max_height, goes_on)

    def __call__(
        self, forest: Forest, mothers: NDArray[np.int64], fathers: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Roots of the children, in the order of the pairs: none, one or two of each."""
        self.source.check_forest(forest)
        check_generator(rng)
        mothers, fathers = as_roots(forest, mothers), as_roots(forest, fathers)
        limit = self.rates.height
        walks = new_walk(forest, mothers), new_walk(forest, fathers), new_walk(forest, mothers, limit)
        room = int(forest.height(mothers).max() + forest.height(fathers).max()) + 2 * limit
        progress = np.zeros(2, dtype=np.int64)
        children = np.empty(2 * mothers.size, dtype=np.int64)
        while progress[0] < mothers.size:
            forest.reserve(2 * self.source.buffers.code.size + room)
            swap_kernels.swap_or_mutate(
                forest.columns,
                rng,
                mothers,
                fathers,
                self.rates,
                self.source.vocabulary,
                self.source.buffers,
                walks,
                progress,
                children,
            )
        return children[: progress[1]]
