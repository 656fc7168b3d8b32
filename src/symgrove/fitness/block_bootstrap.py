"""Bootstrap samples of rows that lie in blocks: every block draws its own counts, wherever it is.

First each block learns how many rows sample j draws from it, by one binomial draw for each block; then it draws so many
of its own rows. Together the counts are multinomial with equal probabilities, as if all rows were in one place. Streams
are keyed by seed, sample and block, so that a block's counts depend on nothing but the sizes of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_whole
from symgrove.rng import stream

Totals = NDArray[np.int64]


def block_totals(sizes: Sequence[int], n_samples: int, seed: int) -> Totals:
    """How many rows each sample draws from each block, (n_samples, n_blocks); each row sums to that of the sizes."""
    check_whole("n_samples", n_samples, 1)
    check_whole("seed", seed, 0)
    for size in sizes:
        check_whole("sizes", size, 0)
    n_rows = sum(sizes)
    check_whole("the sum of sizes", n_rows, 1)
    return np.stack([_totals_of_sample(sizes, seed, j) for j in range(n_samples)])


def _totals_of_sample(sizes: Sequence[int], seed: int, j: int) -> Totals:
    """Of sample j alone, (n_blocks,)."""
    totals = np.zeros(len(sizes), dtype=np.int64)
    rng = stream(seed, "blocks", j)
    n_drawn = n_ahead = sum(sizes)
    for b, size in enumerate(sizes):
        # Exact: of the draws that no earlier block has, each falls into this one with this probability.
        totals[b] = n_drawn if size == n_ahead else rng.binomial(n_drawn, size / n_ahead)
        n_drawn -= int(totals[b])
        n_ahead -= size
    return totals


def counts_of_block(n_rows: int, totals: Totals, seed: int, block: int, dtype: Any = np.uint8) -> NDArray[Any]:
    """Counts of the rows of one block, (n_samples, n_rows); `totals`, (n_samples,), are what samples draw from it."""
    counts = np.empty((totals.size, n_rows), dtype=dtype)
    for j, total in enumerate(totals.tolist()):
        counts[j] = _counts_of_sample(n_rows, total, seed, j, block)
    return counts


def _counts_of_sample(n_rows: int, total: int, seed: int, j: int, block: int) -> NDArray[np.intp]:
    drawn = stream(seed, "bootstrap of a block", j, block).integers(max(n_rows, 1), size=total)
    return np.bincount(drawn, minlength=n_rows)


@dataclass(frozen=True)
class SpreadCounts:
    """Counts that are drawn where the rows are: this says which, and stands in for a matrix (n_samples, n_rows).

    Attributes
    ----------
    sizes : tuple of int
        Rows of each block.
    seed : int
    samples : tuple of int or None
        Which bootstrap samples, by number; None: all rows once, which is one sample.
    is_left_out : bool
        Counts are 1 on the rows that a sample did not draw, and 0 on the others.
    """

    sizes: tuple[int, ...]
    seed: int = 0
    samples: tuple[int, ...] | None = None
    is_left_out: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return (1 if self.samples is None else len(self.samples)), sum(self.sizes)

    def of_block(self, block: int) -> NDArray[np.uint8]:
        """Counts of the rows of one block, (n_samples, n_rows of the block)."""
        n_rows = self.sizes[block]
        if self.samples is None:
            return np.ones((1, n_rows), dtype=np.uint8)
        counts = np.empty((len(self.samples), n_rows), dtype=np.uint8)
        for i, j in enumerate(self.samples):
            own = _counts_of_sample(n_rows, self._totals[i][block], self.seed, j, block)
            counts[i] = own == 0 if self.is_left_out else own
        return counts

    def of_rows(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Counts of some rows among all, ascending, (n_samples, n_rows of them); of one block after the other."""
        counts = np.empty((self.shape[0], rows.size), dtype=np.intp)
        starts = np.append(0, np.cumsum(self.sizes))
        cuts = np.searchsorted(rows, starts)
        for block, (first, stop) in enumerate(pairwise(cuts.tolist())):
            if stop > first:
                counts[:, first:stop] = self.of_block(block)[:, rows[first:stop] - starts[block]]
        return counts

    @cached_property
    def _totals(self) -> list[list[int]]:
        return [_totals_of_sample(self.sizes, self.seed, j).tolist() for j in self.samples or ()]

    def take(self, places: NDArray[np.intp]) -> SpreadCounts:
        """Some of the samples, as often as wanted."""
        known = self.samples
        return self if known is None else replace(self, samples=tuple(known[i] for i in places.tolist()))

    def distinct(self) -> tuple[SpreadCounts, NDArray[np.intp]]:
        """Each sample once, and the place there of every one of these."""
        if self.samples is None:
            return self, np.zeros(1, dtype=np.intp)
        samples, place = np.unique(self.samples, return_inverse=True)
        return replace(self, samples=tuple(samples.tolist())), place

    def joined(self, other: SpreadCounts) -> SpreadCounts:
        """Samples of both, which are of the same rows and seed."""
        return replace(self, samples=(*(self.samples or ()), *(other.samples or ())))
