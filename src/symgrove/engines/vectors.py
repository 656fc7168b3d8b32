"""Output vectors of nodes, within a byte budget.

A vector is kept once its node has survived a collection and is needed again: most new nodes die in the next selection,
so keeping those from the start would write ten times the memory for a tenth less arithmetic. Vectors lie in slabs that
never move; collecting the forest renumbers nodes, not vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.schedule_kernels import Cache

SLAB_BYTES = 1 << 22
# From a number of bytes to memory, and the address in it that 64 divides and so many bytes follow.
Allocate = Callable[[int], tuple[Any, int]]


def host_memory(n_bytes: int) -> tuple[Any, int]:
    """Memory of the host."""
    slab = np.empty(n_bytes + 64, dtype=np.uint8)
    return slab, -(-slab.ctypes.data // 64) * 64


class VectorStore:
    """Which node's vector lies in which slot, and where the slots are.

    Parameters
    ----------
    n_rows : int
        Length of a vector.
    dtype : numpy.dtype
        Its type.
    max_bytes : int
        Slabs together never exceed this.
    allocate
        Gives memory.
    slab_bytes : int
        So much at a time.
    """

    def __init__(
        self,
        n_rows: int,
        dtype: np.dtype,
        max_bytes: int,
        allocate: Allocate = host_memory,
        slab_bytes: int = SLAB_BYTES,
    ) -> None:
        self._allocate = allocate
        self._slab_bytes = slab_bytes
        # Vectors start on cache lines, and not all on the same one of the first-level cache.
        self.vector_bytes = -(-n_rows * dtype.itemsize // 64) * 64
        if self.vector_bytes % 4096 == 0:
            self.vector_bytes += 64
        self.limit(max_bytes)
        self.addresses = np.zeros(0, dtype=np.int64)  # of the slots' first rows
        self.slabs: list[Any] = []
        self._free: list[int] = []  # slots
        self._young: list[NDArray[np.int64]] = []  # computed since the last collection
        self.cache = _new_cache(0)

    @property
    def n_vectors(self) -> int:
        """Slots there are, used or not."""
        return self.addresses.size

    def limit(self, max_bytes: int) -> None:
        """How many bytes there are from now on; what is there stays."""
        self.max_vectors = max_bytes // self.vector_bytes

    def make_room(self, n_wanted: int, pinned: NDArray[np.int64]) -> None:
        """Forget as many vectors of nodes that are not pinned as it takes to have room for so many."""
        n_short = n_wanted - len(self._free) - max(self.max_vectors - self.n_vectors, 0)
        if n_short > 0:
            is_kept = self.cache.slot >= 0
            is_kept[pinned] = False
            dropped = np.flatnonzero(is_kept)[:n_short]
            slots = self.cache.slot[dropped].tolist()
            # In this order: an interrupt in between loses a few vectors, and gives none to two nodes.
            self.cache.slot[dropped] = -1
            self._free.extend(slots)

    def resize(self, n_nodes: int) -> Cache:
        """The cache with an entry for each of so many nodes."""
        known = self.cache.slot.size
        if n_nodes > known:
            grown = _new_cache(max(n_nodes, 2 * known))
            grown.slot[:known], grown.was_computed[:known] = self.cache
            self.cache = grown
        return self.cache

    def free_slots(self, n_wanted: int) -> NDArray[np.int64]:
        """Up to `n_wanted` unused slots; they stay unused until `keep` takes them from the front."""
        while len(self._free) < n_wanted and self.n_vectors < self.max_vectors:
            n_new = min(max(self._slab_bytes // self.vector_bytes, 1), self.max_vectors - self.n_vectors)
            slab, start = self._allocate(n_new * self.vector_bytes)
            self.slabs.append(slab)
            first = self.n_vectors
            new = start + self.vector_bytes * np.arange(n_new, dtype=np.int64)
            self.addresses = np.concatenate([self.addresses, new])
            self._free.extend(reversed(range(first, first + n_new)))
        n_found = min(n_wanted, len(self._free))
        return np.array(self._free[len(self._free) - n_found :][::-1], dtype=np.int64)

    def keep(self, nodes: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
        """Note that these nodes' vectors have been computed in these slots."""
        # In this order: an interrupt in between loses a few vectors, and gives none to two nodes.
        del self._free[len(self._free) - nodes.size :]
        self.cache.slot[nodes] = slots

    def addresses_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Addresses of these nodes' vectors, 0 where none is kept."""
        slots = self.cache.slot[nodes]
        found = np.zeros(slots.shape, dtype=np.int64)
        found[slots >= 0] = self.addresses[slots[slots >= 0]]
        return found

    def computed(self, nodes: NDArray[np.int64]) -> None:
        """Note that these nodes were computed."""
        self._young.append(nodes)

    def collected(self, ids: NDArray[np.int64]) -> None:
        """Renumber nodes after a collection; vectors of dropped nodes become free."""
        old = self.resize(ids.size)
        for nodes in self._young:
            old.was_computed[nodes] = True
        self._young.clear()
        is_live = ids >= 0
        dropped = old.slot[: ids.size][~is_live]
        self._free.extend(dropped[dropped >= 0].tolist())
        self.cache = _new_cache(old.slot.size)
        self.cache.slot[ids[is_live]] = old.slot[: ids.size][is_live]
        self.cache.was_computed[ids[is_live]] = old.was_computed[: ids.size][is_live]

    def forget(self) -> None:
        """Drop everything: the next forest is another one."""
        # In this order: an interrupt in between leaves no node with memory that is gone.
        self.cache = _new_cache(0)
        self._free, self._young = [], []
        self.addresses = np.zeros(0, dtype=np.int64)
        self.slabs = []


def _new_cache(n_nodes: int) -> Cache:
    return Cache(np.full(n_nodes, -1, dtype=np.int64), np.zeros(n_nodes, dtype=np.bool_))
