"""Predictions are made for some rows at a time, so that they take little memory however many rows there are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

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


def in_order(work: Callable[[Any], Result], tasks: Iterable[Any], n_at_a_time: int) -> Iterator[Result]:
    """What is made of tasks, in their order, some of them under way at the same time."""
    with ThreadPoolExecutor(n_at_a_time) as pool:
        waiting: deque[Future[Result]] = deque()
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > n_at_a_time:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
