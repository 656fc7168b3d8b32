"""Bootstrap samples of rows that lie in blocks: every block draws its own counts, wherever it is.

First each block learns how many rows sample j draws from it, by one binomial draw for each block; then it draws so many
of its own rows. Together the counts are multinomial with equal probabilities, as if all rows were in one place. Streams
are keyed by seed, sample and block, so that a block's counts depend on nothing but the sizes of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    totals = np.zeros((n_samples, len(sizes)), dtype=np.int64)
    for j in range(n_samples):
        rng = stream(seed, "blocks", j)
        n_drawn, n_ahead = n_rows, n_rows
        for b, size in enumerate(sizes):
            # Exact: of the draws that no earlier block has, each falls into this one with this probability.
            totals[j, b] = n_drawn if size == n_ahead else rng.binomial(n_drawn, size / n_ahead)
            n_drawn -= int(totals[j, b])
            n_ahead -= size
    return totals


def counts_of_block(n_rows: int, totals: Totals, seed: int, block: int, dtype: Any = np.uint8) -> NDArray[Any]:
    """Counts of the rows of one block, (n_samples, n_rows); `totals`, (n_samples,), are what samples draw from it."""
    counts = np.empty((totals.size, n_rows), dtype=dtype)
    for j, total in enumerate(totals.tolist()):
        drawn = stream(seed, "bootstrap of a block", j, block).integers(max(n_rows, 1), size=total)
        counts[j] = np.bincount(drawn, minlength=n_rows)
    return counts
