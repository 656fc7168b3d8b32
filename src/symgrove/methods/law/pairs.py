"""The best pairs of many: a buffer that is thinned out when it is full, so that no winner is dropped silently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import Kernel
from symgrove.blas import product
from symgrove.methods.law.pair_kernels import scan_pairs

Floats = NDArray[np.float32]
Pairs = list[tuple[int, int]]
Stop = Callable[[], bool]
BUFFER = 1 << 17
N_AT_ONCE = 4000  # vectors
N_IN_CACHE = 2048  # vectors that are made together
LOG_FACTOR = 7.0  # a unit of cost is about five bits
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


def best_pairs(
    vectors: Floats, common: Floats, factor: Floats, n_cheap: int, n_close: int, best: BestPairs, stop: Stop
) -> Pairs:
    """The pairs of unit vectors that describe a target best, each with one of the first, or of those closest to it.

    `common` are products with the target, `factor` is `factor_of_cost`. `stop` is asked between parts of the work.
    """
    close = closest(common, factor)[:n_close]
    left = np.unique(np.concatenate([np.arange(min(n_cheap, len(vectors))), close]))
    own, own_common, own_factor = np.ascontiguousarray(vectors[left]), common[left], factor[left]
    for start in range(0, len(vectors), N_AT_ONCE):
        products = product(own, vectors[start : start + N_AT_ONCE].T)
        best.scan(scan_pairs, (products, own_common, common, own_factor, factor), left.size, start)
        if stop():
            break
    return [(int(left[i]), j) for i, j in best]


def factor_of_cost(cost: NDArray[np.int64], n_rows: int) -> Floats:
    """What the share that an atom leaves is multiplied by: of two descriptions as long, the simpler atom's is better.

    Among hundreds of millions of pairs, many follow the noise of a few rows; the law is one of the simple ones.
    """
    return np.asarray(np.exp(LOG_FACTOR * (cost - cost.min()) / n_rows), dtype=np.float32)


def closest(common: Floats, factor: Floats) -> NDArray[np.intp]:
    """Places of vectors, those first that describe a target best."""
    return np.argsort((1 - common * common) * factor, kind="stable")


def limit_of(common: Floats, factor: Floats) -> float:
    """What a pair must describe: a little more than the best vector alone."""
    highest = 1 - float(((1 - common * common) * factor).min())
    return highest + 0.05 * (1 - highest)


def _first_of_each(atoms: NDArray[np.int32], score: NDArray[np.float32], n: int) -> NDArray[np.intp]:
    """The n places with the highest scores of each atom."""
    order = np.lexsort((-score, atoms))
    own = atoms[order]
    is_first = np.append(True, own[1:] != own[:-1])
    place = np.arange(own.size)
    start = np.maximum.accumulate(np.where(is_first, place, 0))
    found: NDArray[np.intp] = order[place - start < n]
    return found
