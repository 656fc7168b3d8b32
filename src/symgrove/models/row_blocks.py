"""Predictions are made for some rows at a time, so that they take little memory however many rows there are."""

from __future__ import annotations

from collections.abc import Iterator

# Numbers in one array of a block of rows; a few such arrays are alive at the same time. Small enough for the caches,
# large enough that what a block costs in itself does not count.
VALUES_AT_A_TIME = 1 << 18
FEWEST_ROWS = 2048  # that engines work on at a time


def rows_at_a_time(n_values: int, at_most: int = VALUES_AT_A_TIME, fewest: int = FEWEST_ROWS) -> int:
    """How many rows a block has, a multiple of the fewest, if a row has so many values."""
    return max(at_most // max(n_values, 1) // fewest, 1) * fewest


def row_blocks(n_rows: int, n_at_once: int) -> Iterator[slice]:
    """Ranges of rows, one after the other."""
    for start in range(0, n_rows, n_at_once):
        yield slice(start, min(start + n_at_once, n_rows))
