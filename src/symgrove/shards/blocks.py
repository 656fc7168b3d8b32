"""The cut of rows into blocks: the same whatever the cluster, so that sums over blocks have the same bits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

# Constants, because the order of sums, and so the last bits, depend on them.
PANEL_ROWS = 2048  # of the engines; a block has whole panels
MOST_BLOCKS = 64


class RowBlock(NamedTuple):
    """A block where it lives.

    Attributes
    ----------
    number : int
    start, stop : int
        Its rows among all rows.
    value : Any
        What the table holds for it: what its source made, or what was derived from that.
    """

    number: int
    start: int
    stop: int
    value: Any

    @property
    def n_rows(self) -> int:
        """Of this block."""
        return self.stop - self.start


def cut(n_rows: int, block_rows: int = PANEL_ROWS) -> tuple[slice, ...]:
    """Ranges of rows: 64, or fewer of at most about `block_rows`; each has whole panels, but for the last panel."""
    n_panels = -(-n_rows // PANEL_ROWS)
    n_blocks = min(-(-n_rows // block_rows), MOST_BLOCKS)
    starts = [n_panels * i // n_blocks * PANEL_ROWS for i in range(n_blocks)] + [n_rows]
    return tuple(slice(a, b) for a, b in pairwise(starts))
