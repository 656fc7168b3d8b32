"""Arrays and data frames of Dask as rows on workers: a block is computed on the worker that keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symgrove.shards.cluster import Cluster
from symgrove.shards.pieces import RawPiece, RowsPart, overlapping, rows_of, rows_of_a_piece, sliced, together

BYTES_OF_A_VALUE, BYTES_OF_AN_OBJECT = 8, 64
ROWS_OF_A_CHUNK = 1 << 20  # of arrays in the memory of this process that go with a collection


def is_collection(X: Any) -> bool:
    """An array, a frame or a series of Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_frame(X: Any) -> bool:
    """Whether a collection is a data frame or a column of one."""
    return is_collection(X) and hasattr(X, "to_bag") and hasattr(X, "map_partitions")


@dataclass(frozen=True)
class Chunks:
    """A collection in parts by rows, each a promise; their lengths are known."""

    parts: tuple[RowsPart, ...]
    n_bytes: int

    @property
    def n_rows(self) -> int:
        """Of all parts."""
        return sum(part.n_rows for part in self.parts)


def chunks_of(values: Any, client: Any) -> Chunks:
    """Of a collection, whose lengths are counted where Dask does not know them, or of an array in memory."""
    if not is_collection(values):
        import dask.array

        values = dask.array.from_array(np.asarray(values), chunks=(ROWS_OF_A_CHUNK, *np.shape(values)[1:]))
    if is_frame(values):
        promises = list(values.to_delayed())
        lengths = _lengths(promises, client)
        dtypes = list(values._meta.dtypes) if values.ndim > 1 else [values._meta.dtype]
        n_bytes = sum(BYTES_OF_A_VALUE if dtype.kind in "biuf" else BYTES_OF_AN_OBJECT for dtype in dtypes)
        return _chunks(promises, lengths, n_bytes)
    if values.ndim > 1:
        values = values.rechunk(dict.fromkeys(range(1, values.ndim), -1))
    promises = list(values.to_delayed().ravel())
    lengths = list(values.chunks[0])
    if any(np.isnan(length) for length in lengths):
        lengths = _lengths(promises, client)
    n_columns = int(np.prod(values.shape[1:], dtype=int))
    return _chunks(promises, lengths, n_columns * values.dtype.itemsize)


def _chunks(promises: Sequence[Any], lengths: Sequence[Any], bytes_of_a_row: int) -> Chunks:
    parts = tuple(RowsPart(int(n), own) for n, own in zip(lengths, promises, strict=True) if n)
    return Chunks(parts, sum(part.n_rows for part in parts) * bytes_of_a_row)


def _lengths(promises: Sequence[Any], client: Any) -> list[int]:
    from dask.delayed import delayed

    counts = [delayed(len)(own) for own in promises]
    return [int(n) for n in client.gather(client.compute(counts))]


@dataclass(frozen=True)
class CollectionSource:
    """Rows of collections as blocks of a table (shards/table.py). Of each row of X, y and perhaps a weight.

    Attributes
    ----------
    n_columns : int
        Of X.
    room : int
        Bytes that workers may keep together.
    """

    X: Chunks
    y: Chunks
    weight: Chunks | None
    n_columns: int
    room: int = 0
    reads_again: bool = field(default=False, init=False)

    @property
    def n_rows(self) -> int:
        return self.X.n_rows

    @property
    def keeps(self) -> bool:
        """Whether there is room for all blocks."""
        return sum(own.n_bytes for own in (self.X, self.y, self.weight) if own is not None) <= self.room

    def make(self, cluster: Cluster, worker: str, rows: slice) -> tuple[Any, ...]:
        from dask.delayed import delayed

        gathered = [
            None
            if own is None
            else [(promise, low, high) for promise, low, high in overlapping(own.parts, *_ends(rows))]
            for own in (self.X, self.y, self.weight)
        ]
        # One promise for each of X, y and weight, computed where the block is to be.
        promises = [None if parts is None else delayed(_gathered)(parts) for parts in gathered]
        futures = [None if p is None else _start(cluster, worker, p) for p in promises]
        return ComputedBlock, rows.start, self.n_columns, *futures


def _ends(rows: slice) -> tuple[int, int]:
    return rows.start, rows.stop


def _start(cluster: Cluster, worker: str, promise: Any) -> Any:
    # Others may compute it: Dask restricts chunks of the user too, which could never be made again without this worker.
    return cluster.client.compute(promise, workers=[worker], allow_other_workers=True)


def _gathered(parts: list[tuple[Any, int, int]]) -> Any:
    return together([sliced(value, low, high) for value, low, high in parts])


class ComputedBlock:
    """Rows of one block in the memory of a worker."""

    def __init__(self, start: int, n_columns: int, X: Any, y: Any, weight: Any) -> None:
        self.start, self.X, self.y, self.weight = start, X, y, weight
        self.n_at_once = rows_of_a_piece(n_columns)

    def pieces(self) -> Iterator[RawPiece]:
        n_rows = len(self.X)
        for start in range(0, n_rows, self.n_at_once):
            ends = start, min(start + self.n_at_once, n_rows)
            own = (None if v is None else rows_of([RowsPart(n_rows, v)], *ends) for v in (self.X, self.y, self.weight))
            yield RawPiece(self.start + start, *own)


@dataclass(frozen=True)
class HostSource:
    """Arrays in the memory of this process as blocks of a table, the way collections are."""

    X: Any
    y: Any
    weight: Any = None
    room: int = 0
    reads_again: bool = field(default=False, init=False)
    keeps: bool = field(default=True, init=False)

    @property
    def n_rows(self) -> int:
        return len(self.X)

    def make(self, cluster: Cluster, worker: str, rows: slice) -> tuple[Any, ...]:
        values = [None if v is None else sliced(v, *_ends(rows)) for v in (self.X, self.y, self.weight)]
        return ComputedBlock, rows.start, self.X.shape[1], *values
