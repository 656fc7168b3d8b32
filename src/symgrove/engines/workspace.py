"""Buffers of one thread.

Rows come in two sizes. A block is what a step computes at a time: a few dozen scratch rows of a block stay in the
first-level cache. A panel is what a thread works on at a time: the outputs of all programs on a panel are one matrix,
and its product with the weights is one call. Both are constants, because the order of sums, and so the last bits,
depend on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 512
PANEL_ROWS = 4 * BLOCK_ROWS
# Buffer rows are a little longer, so that they do not all fall on the same cache lines.
ROW_PADDING = 16


class Workspace:
    """Outputs of a batch of programs on a panel of `n_rows`, their squares, and scratch rows for one block."""

    def __init__(self, n_roots: int, n_scratch_rows: int, n_rows: int, dtype: np.dtype[Any]) -> None:
        self._values, self._squares = np.empty((2, n_roots, n_rows + ROW_PADDING), dtype=dtype)
        self.scratch = np.empty((n_scratch_rows, BLOCK_ROWS + ROW_PADDING), dtype=dtype)
        self.n_roots = n_roots

    @staticmethod
    def n_bytes(n_roots: int, n_scratch_rows: int, n_rows: int, itemsize: int) -> int:
        """Bytes that a workspace of this size takes."""
        n_values = 2 * n_roots * (n_rows + ROW_PADDING) + n_scratch_rows * (BLOCK_ROWS + ROW_PADDING)
        return n_values * itemsize

    def fits(self, n_roots: int, n_scratch_rows: int) -> bool:
        """Whether the workspace is large enough for such a plan, and not so large that the budget would suffer."""
        is_enough = self._values.shape[0] >= n_roots and self.scratch.shape[0] >= n_scratch_rows
        return is_enough and self._values.shape[0] <= 1.25 * n_roots and self.scratch.shape[0] <= n_scratch_rows + 64

    @property
    def values(self) -> NDArray[np.floating]:
        """Outputs of the batch, (n_roots, at least n_rows)."""
        return self._values[: self.n_roots]

    @property
    def squares(self) -> NDArray[np.floating]:
        """Room for squares of the outputs."""
        return self._squares[: self.n_roots]
