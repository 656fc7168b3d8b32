"""Sums of blocks of rows, added two by two in a tree that depends only on how many blocks there are.

So a worker may add what it has of the tree, and whoever adds the rest gets the same bits, whichever blocks were where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class BlockSum(NamedTuple):
    """The sum of blocks `first` to `first + 2 ** level`, as far as there are so many."""

    first: int
    level: int
    value: Any


def add_up(parts: Iterable[BlockSum], n_blocks: int, add: Callable[[Any, Any], Any]) -> list[BlockSum]:
    """As few sums as can be made of these, which come in ascending order; one if all blocks are there."""
    found: list[BlockSum] = []
    for part in parts:
        found.append(part)
        while (top := found[-1]).first > 0 or 1 << top.level < n_blocks:
            size = 1 << top.level
            if top.first % (2 * size):  # the right half of a sum
                if len(found) < 2 or found[-2][:2] != (top.first - size, top.level):
                    break
                found[-2:] = [BlockSum(top.first - size, top.level + 1, add(found[-2].value, top.value))]
            elif top.first + size >= n_blocks:  # there is no right half
                found[-1] = top._replace(level=top.level + 1)
            else:
                break
    return found
