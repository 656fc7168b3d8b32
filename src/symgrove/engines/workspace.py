"""Buffers of one thread.

Rows come in two sizes. A block is what a step computes at a time: a few dozen scratch rows of a block stay in the
first-level cache. A panel is what a thread works on at a time: the outputs of all programs on a panel are one matrix,
and its product with the weights is one call. Both are constants, because the order of sums, and so the last bits,
depend on them.
"""

from __future__ import annotations

import math
from threading import Lock
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
        self._rooms: dict[str, NDArray[Any]] = {}

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

    def room(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Room under a name for what is made of a panel, as whoever had it last left it."""
        n = math.prod(shape)
        held = self._rooms.get(name)
        if held is None or held.size < n or held.dtype != dtype:
            held = self._rooms[name] = np.empty(n, dtype=dtype)
        return held[:n].reshape(shape)


class Workspaces:
    """Workspaces that wait to be used again: fresh memory costs page faults. Engines may share them.

    Everything that a panel takes is in them. On workers of Dask, where memory goes back to the system at once, fresh
    arrays of a panel's size took as long as half of the arithmetic.
    """

    def __init__(self, n_rows: int, dtype: np.dtype[Any]) -> None:
        self._n_rows = n_rows
        self._dtype = dtype
        self._waiting: list[Workspace] = []
        self._lock = Lock()

    def clear(self) -> None:
        """Free the memory."""
        with self._lock:
            self._waiting = []

    def keep(self, n_roots: int, n_scratch_rows: int) -> None:
        """Free those of another size: they go before new ones come."""
        with self._lock:
            self._waiting = [w for w in self._waiting if w.fits(n_roots, n_scratch_rows)]

    def borrow(self, n_roots: int, n_scratch_rows: int) -> Workspace:
        """One for this plan."""
        with self._lock:
            while self._waiting:
                workspace = self._waiting.pop()
                if workspace.fits(n_roots, n_scratch_rows):
                    workspace.n_roots = n_roots
                    return workspace
        return Workspace(n_roots, n_scratch_rows, self._n_rows, self._dtype)

    def give_back(self, workspace: Workspace) -> None:
        """For whoever needs one next."""
        with self._lock:
            self._waiting.append(workspace)


def bytes_needed(
    n_roots: int, n_scratch_rows: int, n_columns: int, n_rows: int, itemsize: int, *, has_rows: bool
) -> int:
    """Bytes that a panel of `n_rows` takes: buffers, and results of `n_columns` numbers a program.

    With `has_rows`, outputs go to rows of their own.
    """
    buffers = Workspace.n_bytes(0 if has_rows else n_roots, n_scratch_rows, n_rows, itemsize)
    # Two thirds of the results are products with a row of weights; then the results twice.
    weights = n_columns * 2 // 3 * n_rows * itemsize
    return buffers + weights + 2 * 8 * n_roots * n_columns
