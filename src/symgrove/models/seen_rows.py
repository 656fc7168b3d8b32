"""Which rows a model was fitted on, as 32-bit marks: enough to tell, later and elsewhere, whether rows are new to it.

A row is its features and its target. A mark does not give it away. Of rows that are new, about one in 4 billion per row
of the fit is taken for a known one; a copy of a known row is known.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.models.row_blocks import row_blocks

MOST_ROWS = 50_000  # of larger data no marks are kept
ROWS_AT_A_TIME = 512  # that are copied
Matrix = NDArray[np.float64]
Marks = NDArray[np.uint32]


def marks_of(X: Matrix, targets: Matrix) -> Marks:
    """A mark for each row, of features and targets, (n_targets, n_rows)."""
    digests = b"".join(
        hashlib.blake2b(row.tobytes(), digest_size=4).digest()
        for block in row_blocks(len(X), ROWS_AT_A_TIME)
        for row in np.column_stack([X[block], targets[:, block].T]).astype(np.float64) + 0.0  # -0.0 becomes 0.0
    )
    return np.frombuffer(digests, dtype="<u4").astype(np.uint32)


def seen_rows(parts: Sequence[tuple[Matrix, Matrix]]) -> Marks | None:
    """Sorted marks of all rows, or None if they are too many."""
    if sum(len(X) for X, _ in parts) > MOST_ROWS:
        return None
    return np.unique(np.concatenate([marks_of(X, targets) for X, targets in parts]))


def join_marks(first: Marks | None, second: Marks | None) -> Marks | None:
    """Marks of both; None if one is not known, or if they are too many."""
    if first is None or second is None or first.size + second.size > MOST_ROWS:
        return None
    return np.union1d(first, second)


class SaidLeftOut(NamedTuple):
    """What parts of a model predict for training rows that they were not fitted on; marks are sorted."""

    marks: Marks
    predictions: Matrix

    def of(self, marks: Marks) -> Matrix:
        """Of rows, by their marks; NaN where nothing is known."""
        if not self.marks.size:
            return np.full(marks.size, np.nan)
        places = np.minimum(np.searchsorted(self.marks, marks), self.marks.size - 1)
        return np.where(self.marks[places] == marks, self.predictions[places], np.nan)


def said_left_out(X: Matrix, targets: Matrix, predictions: Matrix | None) -> SaidLeftOut | None:
    """Of one target; None if there are several, too many rows or no predictions."""
    if predictions is None or len(targets) > 1 or len(X) > MOST_ROWS:
        return None
    marks = marks_of(X, targets)
    order = np.argsort(marks, kind="stable")
    return SaidLeftOut(marks[order], predictions[0, order])


def to_text(marks: Marks) -> str:
    """For a model file."""
    return base64.b64encode(marks.astype("<u4").tobytes()).decode("ascii")


def from_text(text: str) -> Marks:
    """Undo `to_text`, or a ValueError."""
    content = base64.b64decode(text, validate=True)
    if len(content) % 4 or len(content) > 4 * MOST_ROWS:
        raise ValueError("marks of rows are damaged.")
    return np.unique(np.frombuffer(content, dtype="<u4").astype(np.uint32))
