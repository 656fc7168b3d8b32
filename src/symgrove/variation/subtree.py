"""Subtree crossover and subtree mutation, with uniform-random-depth node choice.

Node choice: draw one of the depths 0 .. height uniformly, then one of the nodes at that depth (as in the reference
implementation). Crossover replaces the chosen node of the base by a node chosen in the donor, mutation by a grown
program. Only the path to the root and the new branch become new nodes of the forest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_generator, check_whole
from symgrove.forest.forest import Forest, as_roots
from symgrove.forest.random_programs import RandomPrograms
from symgrove.variation import subtree_kernels
from symgrove.variation.subtree_kernels import Rates, Walk


class SubtreeVariation:
    """Makes one child of every parent, by crossover, mutation or copying.

    Parameters
    ----------
    source : RandomPrograms
        Grows the branches of mutation, up to its `max_height`.
    p_crossover, p_mutation : float
        Exclusive probabilities; the rest are copies.
    max_size : int
        A larger child is dropped and its base takes its place.
    min_height : int
        Minimum height of grown branches.
    max_height : int, optional
        Their maximum height, if not that of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import Forest, RandomPrograms, SubtreeVariation
    >>> forest, rng = Forest(2), np.random.default_rng(0)
    >>> source = RandomPrograms(forest)
    >>> parents = source.ramped_half_and_half(forest, 10, rng)
    >>> SubtreeVariation(source, max_size=20)(forest, parents, rng).shape
    (10,)
    """

    def __init__(
        self,
        source: RandomPrograms,
        p_crossover: float = 0.5,
        p_mutation: float = 0.5,
        max_size: int = 500,
        min_height: int = 2,
        max_height: int | None = None,
    ) -> None:
        if not (0 <= p_crossover <= 1 and 0 <= p_mutation <= 1 and p_crossover + p_mutation <= 1 + 1e-12):
            raise ValueError(
                "p_crossover and p_mutation must be probabilities that sum to at most 1, "
                f"got {p_crossover} and {p_mutation}."
            )
        check_whole("max_size", max_size, 1)
        check_whole("min_height", min_height, 0)
        height = source.max_height if max_height is None else max_height
        check_whole("max_height", height, 0)
        if height > source.max_height:
            raise ValueError(f"max_height={height} is more than the source's {source.max_height}.")
        self.source = source
        self.rates = Rates(float(p_crossover), float(p_mutation), int(max_size), int(height), int(min_height))

    def __call__(
        self,
        forest: Forest,
        parents: NDArray[np.int64],
        rng: np.random.Generator,
        donors: NDArray[np.int64] | None = None,
        substitutes: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Roots of the offspring, one for each parent in order; a copy has its parent's root.

        Crossover takes branches from the parents' `donors`, by default from parents drawn at random; `substitutes` take
        the places of children that are too large, by default their parents.
        """
        self.source.check_forest(forest)
        check_generator(rng)
        parents = as_roots(forest, parents)
        if parents.size == 0:
            raise ValueError("parents is empty; variation needs at least one program.")
        donors = as_roots(forest, [] if donors is None else donors)
        substitutes = parents if substitutes is None else as_roots(forest, substitutes)
        if donors.size not in (0, parents.size) or substitutes.size != parents.size:
            raise ValueError(
                f"each of the {parents.size} parents needs a donor and a substitute, got {donors.size} and "
                f"{substitutes.size}."
            )
        walk = new_walk(forest, np.concatenate([parents, donors]))
        offspring = np.empty_like(parents)
        start = 0
        while start < parents.size:
            forest.reserve(self.source.buffers.code.size + int(forest.height(parents[start])))
            start = subtree_kernels.vary(
                forest.columns,
                rng,
                parents,
                donors,
                substitutes,
                self.rates,
                self.source.vocabulary,
                self.source.buffers,
                walk,
                start,
                offspring,
            )
        return offspring


def choose_nodes(forest: Forest, root: int, n_draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw nodes of a program as variation does.

    Returns
    -------
    rows : int64 array of shape (n_draws, 3)
        Depth, node id, and position from the left among the nodes of that depth.
    """
    rows = np.empty((n_draws, 3), dtype=np.int64)
    subtree_kernels.choose_nodes(forest.columns, rng, int(root), new_walk(forest, as_roots(forest, [root])), rows)
    return rows


def new_walk(forest: Forest, roots: NDArray[np.int64], height: int = 0) -> Walk:
    """Scratch for walks over these programs, and any of this height: at most one waiting sibling for each level."""
    length = max(int(forest.height(roots).max()), height) + 2
    return Walk(*(np.empty(2 * length, dtype=np.int64) for _ in range(5)))
