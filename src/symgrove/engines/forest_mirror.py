"""A forest elsewhere: what was done to it travels as events, so that only new nodes do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids
from symgrove.forest.intern_kernels import Columns
from symgrove.forest.primitive_table import CONSTANT, FEATURE
from symgrove.forest.primitives import PrimitiveSet


class NewNodes(NamedTuple):
    """NewNodes that were appended; `value` has the numbers of the constants among them."""

    code: NDArray[np.integer]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]


class Renumbered(NamedTuple):
    """NewNodes were dropped, the others stayed in their order: a bit for each of `n_nodes`."""

    is_live: NDArray[np.uint8]
    n_nodes: int

    def ids(self) -> Ids:
        """From old to new ids, as `Forest.collect` returns them."""
        is_live = np.unpackbits(self.is_live, count=self.n_nodes).astype(np.bool_)
        return np.where(is_live, np.cumsum(is_live) - 1, -1)


class Replaced(NamedTuple):
    """It is another forest."""

    nodes: NewNodes


NAMES = ("code", "left", "right", "value")  # of columns
Event = NewNodes | Renumbered | Replaced


def nodes_from(forest: Forest, first: int, chosen: Ids | None = None) -> NewNodes:
    """NewNodes from this id on, or of these ids, in the smallest types."""
    own = slice(first, len(forest)) if chosen is None else chosen
    code, left, right, value = forest.columns[:4]
    codes = code[own]
    small = codes.astype(np.uint8) if codes.size == 0 or codes.max() <= np.iinfo(np.uint8).max else codes.copy()
    return NewNodes(small, left[own].copy(), right[own].copy(), value[own][codes == CONSTANT])


def renumbered(ids: Ids) -> Renumbered:
    """The event of what `collect` or `truncate` returned."""
    return Renumbered(np.packbits(ids >= 0), ids.size)


class Mirror(Forest):
    """A forest that is made of events; nothing is looked up in it, so it has no hash table.

    Attributes
    ----------
    version : int
        Events so far.
    """

    def __init__(self, n_features: int, primitives: PrimitiveSet) -> None:
        super().__init__(n_features, primitives)
        self.columns = _columns(1024)
        self.version = 0

    def reserve(self, n_nodes: int) -> None:
        """Make room for so many more nodes."""
        n = len(self)
        if n + n_nodes > self.columns.code.size:
            grown = _columns(max(n + n_nodes, 2 * n))
            for name in NAMES:
                getattr(grown, name)[:n] = getattr(self.columns, name)[:n]
            grown.n_nodes[0] = n
            self.columns = grown

    def apply_event(self, event: Event) -> Ids | None:
        """Follow; where ids changed, the map from old to new ones. `epoch` tells of nodes that were dropped."""
        self.version += 1
        if isinstance(event, NewNodes):
            self._append(event)
            return None
        if isinstance(event, Replaced):
            self.columns.n_nodes[0] = 0
            self._append(event.nodes)
            self.epoch += 2  # nobody who knew the other one can follow
            return None
        ids = event.ids()
        self._renumber(ids)
        self.epoch += 1
        return ids

    def _append(self, nodes: NewNodes) -> None:
        n, k = len(self), nodes.code.size
        self.reserve(k)
        new = slice(n, n + k)
        code, left, right, value = self.columns[:4]
        code[new], left[new], right[new], value[new] = nodes.code, nodes.left, nodes.right, 0.0
        value[n + np.flatnonzero(nodes.code == CONSTANT)] = nodes.value
        self.columns.n_nodes[0] = n + k

    def _renumber(self, ids: Ids) -> None:
        kept = np.flatnonzero(ids >= 0)
        code, left, right, value = (getattr(self.columns, name)[kept] for name in NAMES)
        is_function = (code != FEATURE) & (code != CONSTANT)
        left[is_function] = ids[left[is_function]]
        is_function &= right >= 0
        right[is_function] = ids[right[is_function]]
        for name, new in zip(NAMES, (code, left, right, value), strict=True):
            getattr(self.columns, name)[: kept.size] = new
        self.columns.n_nodes[0] = kept.size


def nodes_of_programs(forest: Forest, roots: Ids) -> tuple[NewNodes, Ids]:
    """The nodes that programs are made of, and their roots among these."""
    chosen = np.array(forest.reachable(roots), dtype=np.int64)
    new_of = np.full(len(forest), -1, dtype=np.int64)
    new_of[chosen] = np.arange(chosen.size)
    nodes = nodes_from(forest, 0, chosen)
    left, right = nodes.left.copy(), nodes.right.copy()
    is_function = (nodes.code != FEATURE) & (nodes.code != CONSTANT)
    for operand in (left, right):
        is_there = is_function & (operand >= 0)
        operand[is_there] = new_of[operand[is_there]]
    return nodes._replace(left=left, right=right), new_of[roots]


def _columns(capacity: int) -> Columns:
    code, left, right = np.zeros((3, capacity), dtype=np.int32)
    nothing = np.zeros(0, dtype=np.int32)
    value = np.zeros(capacity, dtype=np.float64)
    return Columns(code, left, right, value, nothing, nothing, nothing, np.zeros(1, dtype=np.int64))
