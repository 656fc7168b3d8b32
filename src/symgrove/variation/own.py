"""A variation of the user's own: a function from programs to programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids


class Offspring(NamedTuple):
    """Children, one for each parent in order, and which of them were made from scratch and so have age 0."""

    roots: Ids
    is_new: NDArray[np.bool_]


@dataclass(frozen=True)
class OwnVariation:
    """Calls a user's function and checks what it returns; children of more than `max_size` nodes are dropped.

    `function(forest, parents, donors, rng)` is given ids of programs in the forest: a parent for each child, and for
    each a donor to take branches from. It returns the children's ids, or a pair of these and of which are made from
    scratch.
    """

    function: Callable[..., Any]
    max_size: int

    def __call__(
        self,
        forest: Forest,
        parents: Ids,
        rng: np.random.Generator,
        donors: Ids | None = None,
        substitutes: Ids | None = None,
    ) -> Offspring:
        """Children of the parents; donors are parents drawn at random if there are no others.

        Substitutes, by default the parents, take the places of children that are too large.
        """
        donors = parents[rng.integers(parents.size, size=parents.size)] if donors is None else donors
        n_before, epoch = len(forest), forest.epoch
        made = self.function(forest, parents.copy(), donors.copy(), rng)
        if len(forest) < n_before or forest.epoch != epoch:
            raise ValueError("variation must only add to the forest; it has dropped nodes (collect or truncate).")
        roots, is_new = made if isinstance(made, tuple) else (made, np.zeros(parents.size))
        try:
            children = _of_length(forest.check_ids(roots), parents)
            is_fresh = _of_length(np.asarray(is_new) != 0, parents)
        except ValueError as error:
            raise ValueError(
                f"variation must return the ids of {parents.size} children, or a pair of these and of which are made "
                f"from scratch: {error}"
            ) from error
        is_small = forest.size(children) <= self.max_size
        stay = parents if substitutes is None else substitutes
        return Offspring(np.where(is_small, children, stay), is_fresh & is_small)


def _of_length(values: NDArray[Any], parents: Ids) -> NDArray[Any]:
    if values.shape != parents.shape:
        raise ValueError(f"got shape {values.shape}, expected {parents.shape}.")
    return values
