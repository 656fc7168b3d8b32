"""The best pairs of many: a buffer that is thinned out when it is full, so that no winner is dropped silently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import Kernel

BUFFER = 1 << 17
N_PER_ATOM = 60  # pairs of one atom that are kept; with a few, similar pairs crowd out all others


class BestPairs:
    """The pairs with the highest scores, not too many of any one atom.

    Parameters
    ----------
    n_most : int
    limit : float
        Scores below it are not kept.
    n_per_atom : int
    """

    def __init__(self, n_most: int, limit: float, n_per_atom: int = N_PER_ATOM) -> None:
        self.n_most, self.limit, self.n_per_atom = n_most, limit, n_per_atom
        self.left, self.right = np.zeros((2, BUFFER), dtype=np.int32)
        self.score = np.zeros(BUFFER, dtype=np.float32)
        self.n = 0

    def scan(self, kernel: Kernel, arrays: tuple[Any, ...], n_left: int, first_right: int) -> None:
        """Ask a kernel for pairs, as often as the buffer is full."""
        first = 0
        while True:
            out = self.left, self.right, self.score
            self.n, first = kernel(*arrays, first_right, self.limit, *out, self.n, first)
            if first >= n_left:
                break
            self._thin_out()
        if self.n > 3 * self.n_most:
            self._thin_out()

    def _thin_out(self) -> None:
        kept = np.arange(self.n)
        for atoms in (self.left, self.right):
            kept = kept[_first_of_each(atoms[kept], self.score[kept], self.n_per_atom)]
        kept = kept[np.argsort(-self.score[kept], kind="stable")][: self.n_most]
        for column in (self.left, self.right, self.score):
            column[: kept.size] = column[kept]
        self.n = kept.size
        if self.n == self.n_most:
            self.limit = float(self.score[self.n - 1])

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Pairs, the best first."""
        self._thin_out()
        return iter(list(zip(self.left[: self.n].tolist(), self.right[: self.n].tolist(), strict=True)))


def _first_of_each(atoms: NDArray[np.int32], score: NDArray[np.float32], n: int) -> NDArray[np.intp]:
    """The n places with the highest scores of each atom."""
    order = np.lexsort((-score, atoms))
    own = atoms[order]
    is_first = np.append(True, own[1:] != own[:-1])
    place = np.arange(own.size)
    start = np.maximum.accumulate(np.where(is_first, place, 0))
    found: NDArray[np.intp] = order[place - start < n]
    return found
