"""Which rows a model was fitted on, as 32-bit marks: enough to tell, later and elsewhere, whether rows are new to it.

A mark does not give a row away. Of rows that are new, about one in 4 billion per row of the fit is taken for a known
one.
"""

from __future__ import annotations

import base64
import hashlib

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 50_000  # of larger data no marks are kept


def marks_of(X: NDArray[np.float64]) -> NDArray[np.uint32]:
    """A mark for each row."""
    rows = np.ascontiguousarray(X + 0.0)  # -0.0 becomes 0.0
    digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=4).digest() for row in rows)
    return np.frombuffer(digests, dtype="<u4").astype(np.uint32)


def seen_rows(X: NDArray[np.float64]) -> NDArray[np.uint32] | None:
    """Sorted marks of the rows, or None if they are too many."""
    return np.unique(marks_of(X)) if len(X) <= MOST_ROWS else None


def to_text(marks: NDArray[np.uint32]) -> str:
    """For a model file."""
    return base64.b64encode(marks.astype("<u4").tobytes()).decode("ascii")


def from_text(text: str) -> NDArray[np.uint32]:
    """Undo `to_text`, or a ValueError."""
    content = base64.b64decode(text, validate=True)
    if len(content) % 4 or len(content) > 4 * MOST_ROWS:
        raise ValueError("marks of rows are damaged.")
    return np.unique(np.frombuffer(content, dtype="<u4").astype(np.uint32))
