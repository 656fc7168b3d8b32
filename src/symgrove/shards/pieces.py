"""Blocks that are gone through piece by piece, so that what a worker needs at a time does not grow with its block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from symgrove.shards.blocks import PANEL_ROWS

# Rows and values of a piece, at most. Constants, because sums are made piece by piece.
MOST_ROWS = 32 * PANEL_ROWS
MOST_VALUES = 1 << 19


class RawPiece(NamedTuple):
    """Rows as they were given, from `start` on: matrices, vectors, frames or `GivenColumns`."""

    start: int
    X: Any
    y: Any
    weight: Any


class PiecewiseBlock(Protocol):
    """What a block of rows holds: a way to go through them."""

    def pieces(self) -> Iterator[RawPiece]:
        """One after the other, every time the same."""
        ...


class GivenColumns:
    """Columns by name, the little of a data frame that is asked for."""

    def __init__(self, given: dict[str, np.ndarray[Any, Any]], n_rows: int) -> None:
        self.given = given
        self.columns = list(given)
        self.shape = (n_rows, len(given))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self.given[name]


def rows_of_a_piece(n_columns: int) -> int:
    """Whole panels."""
    return max(1, min(MOST_ROWS, MOST_VALUES // max(n_columns, 1)) // PANEL_ROWS) * PANEL_ROWS


class RowsPart(NamedTuple):
    """Something with so many rows, or a promise of it."""

    n_rows: int
    value: Any


def overlapping(parts: Sequence[RowsPart], start: int, stop: int) -> Iterator[tuple[Any, int, int]]:
    """Of parts that follow each other: those with rows from start to stop, and which rows of each these are."""
    first = 0
    for part in parts:
        low, high = max(start - first, 0), min(stop - first, part.n_rows)
        if low < high:
            yield part.value, low, high
        first += part.n_rows


def rows_of(parts: Sequence[RowsPart], start: int, stop: int) -> Any:
    """Rows of parts that are here, put together."""
    return together([sliced(value, low, high) for value, low, high in overlapping(parts, start, stop)])


def sliced(X: Any, low: int, high: int) -> Any:
    """Some rows of a matrix, a vector or a frame of pandas."""
    return X.iloc[low:high] if hasattr(X, "iloc") else X[low:high]


def together(parts: Sequence[Any]) -> Any:
    """Rows of several, one after the other."""
    X = parts[0]
    if len(parts) == 1:
        return X
    if hasattr(X, "iloc"):
        import pandas

        return pandas.concat(list(parts))
    return np.concatenate(list(parts))
