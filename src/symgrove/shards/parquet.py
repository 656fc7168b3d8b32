"""Parquet files as rows on workers: each reads rows of its blocks when they are needed, and keeps what it has room for.

Blocks do not depend on how rows are divided among files and row groups. Of a row group that lies in two blocks, each
reads its own rows and skips the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.shards.cluster import Cluster
from symgrove.shards.pieces import GivenColumns, RawPiece, rows_of_a_piece

BYTES_READ_AT_A_TIME = 1 << 20  # of each column
BYTES_OF_A_NUMBER, BYTES_OF_A_TEXT = 8, 64
MOST_GROUPS = 16  # that some rows are taken from
ENDINGS = (".parquet", ".pq")


class RowGroup(NamedTuple):
    """A row group of a file."""

    path: str
    number: int
    n_rows: int


@dataclass(frozen=True)
class ParquetFiles:
    """Files with the same columns, one after the other.

    Attributes
    ----------
    label : str
        For people.
    groups : tuple of RowGroup
    numbers, texts : tuple of str
        Columns of numbers, and of texts or truth values.
    others : dict of str to str
        The types of columns that are neither.
    whole : tuple of str
        Columns of whole numbers.
    n_bytes : int
        That the files take.
    """

    label: str
    groups: tuple[RowGroup, ...]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    others: dict[str, str]
    whole: tuple[str, ...]
    n_bytes: int

    @property
    def n_rows(self) -> int:
        """Of all files."""
        return sum(group.n_rows for group in self.groups)

    @property
    def n_files(self) -> int:
        """That have rows."""
        return len({group.path for group in self.groups})

    def record_batches(self, n_at_a_time: int, names: Sequence[str] | None = None) -> Iterator[Any]:
        """All rows, some at a time, as pyarrow has them; columns in one order, which files may have in others."""
        wanted = list(names or self.names)
        for path in dict.fromkeys(group.path for group in self.groups):
            with _opened(path) as file:
                for batch in file.iter_batches(batch_size=n_at_a_time, columns=wanted):
                    yield batch.select(wanted)

    def some_rows(self, names: Sequence[str], n_rows: int, labels: ParquetColumns) -> dict[str, NDArray[Any]]:
        """So many rows, from the beginnings of row groups in all parts."""
        groups = self.groups[:: max(1, len(self.groups) // MOST_GROUPS)]
        n_of_each = -(-n_rows // len(groups))
        found: list[dict[str, NDArray[Any]]] = []
        for group in groups:
            own = {"batch_size": n_of_each, "row_groups": [group.number], "columns": list(names)}
            with _opened(group.path) as file:
                batch = next(file.iter_batches(**own))
            found.append(
                {n: _values(self, n, batch.column(n), is_whole=labels.is_whole and n in labels.columns) for n in names}
            )
        return _joined(found)

    def columns(self, names: Sequence[str]) -> ParquetColumns:
        """Some of the columns, as X or y of a fit."""
        for name in names:
            if name in self.others:
                raise ValueError(
                    f"column {name!r} of {self.label} holds values of type {self.others[name]}; only numbers and texts "
                    "can be used. Leave it out."
                )
            if name not in self.names:
                raise ValueError(f"{self.label} has no column {name!r}. Columns: {', '.join(map(repr, self.names))}.")
        return ParquetColumns(self, tuple(names))


@dataclass(frozen=True)
class ParquetColumns:
    """Some columns of Parquet files, whose rows stay there."""

    files: ParquetFiles
    columns: tuple[str, ...]
    is_whole: bool = False  # numbers are given as whole ones: labels

    def of_whole_numbers(self) -> ParquetColumns:
        """The same, numbers as labels."""
        return replace(self, is_whole=True)

    def of(self, columns: dict[str, NDArray[Any]]) -> GivenColumns:
        """Such columns in memory."""
        return GivenColumns(columns, len(next(iter(columns.values()))))

    def batches(self, n_at_a_time: int) -> Iterator[dict[str, NDArray[Any]]]:
        """All rows of these columns, some at a time, in this process."""
        for batch in self.files.record_batches(n_at_a_time, self.columns):
            yield {name: _values(self.files, name, batch.column(name)) for name in self.columns}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.files.n_rows, len(self.columns)

    def __len__(self) -> int:
        return self.files.n_rows

    def empty(self) -> GivenColumns:
        """The columns without rows: texts are objects."""
        kinds = {name: object if name in self.files.texts else np.float64 for name in self.columns}
        return GivenColumns({name: np.empty(0, dtype=kind) for name, kind in kinds.items()}, 0)


def open_parquet(pattern: str) -> ParquetFiles:
    """Files by a pattern such as part-*.parquet, a folder of such files, or one file."""
    parquet, arrow = _modules()
    paths = paths_of(pattern)
    schema: Any = None
    groups: list[RowGroup] = []
    for path in paths:
        try:
            with parquet.ParquetFile(path) as file:
                own, metadata = file.schema_arrow, file.metadata
                sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        except (arrow.ArrowInvalid, OSError) as error:
            raise ValueError(f"{path!r} cannot be read as Parquet: {error}.") from error
        schema = own if schema is None else schema
        if _kinds(own) != _kinds(schema):
            raise ValueError(f"{path!r} has other columns, or of other types, than {paths[0]!r}: all must be alike.")
        groups += [RowGroup(path, i, n_rows) for i, n_rows in enumerate(sizes) if n_rows]
    if not groups:
        raise ValueError(f"{pattern!r} has no rows.")
    kinds = _kinds(schema)
    return ParquetFiles(
        label=repr(pattern),
        groups=tuple(groups),
        names=tuple(kinds),
        numbers=tuple(name for name, kind in kinds.items() if kind in ("number", "whole")),
        texts=tuple(name for name, kind in kinds.items() if kind == "text"),
        others={field.name: str(field.type) for field in schema if kinds[field.name] == "other"},
        whole=tuple(name for name, kind in kinds.items() if kind == "whole"),
        n_bytes=sum(Path(path).stat().st_size for path in paths),
    )


def _opened(path: str) -> Any:
    """A file that is read as it is needed, not row group by row group."""
    parquet, _ = _modules()
    return parquet.ParquetFile(path, buffer_size=BYTES_READ_AT_A_TIME, pre_buffer=False)


def _modules() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow, which is not installed. Install symgrove[parquet].") from error
    return pyarrow.parquet, pyarrow


def paths_of(pattern: str) -> list[str]:
    """The files that a pattern, a folder or a name stands for."""
    place = Path(pattern)
    if place.is_dir():
        found = sorted(str(path) for ending in ENDINGS for path in place.rglob(f"*{ending}"))
    else:
        found = [pattern] if place.is_file() else sorted(glob(pattern, recursive=True))
    if not found:
        raise ValueError(
            f"there is no file {pattern!r}." if not place.is_dir() else f"{pattern!r} has no Parquet files."
        )
    return found


def _kinds(schema: Any) -> dict[str, str]:
    """Of each column: number, whole, text or other."""
    _, arrow = _modules()
    types = arrow.types

    def kind(own: Any) -> str:
        if types.is_dictionary(own):
            own = own.value_type
        if types.is_integer(own):
            return "whole"
        if types.is_floating(own) or types.is_decimal(own):
            return "number"
        is_text = types.is_string(own) or types.is_large_string(own) or types.is_boolean(own)
        return "text" if is_text else "other"

    return {field.name: kind(field.type) for field in schema}


@dataclass(frozen=True)
class ParquetSource:
    """Rows of Parquet files as blocks of a table (shards/table.py).

    Attributes
    ----------
    X, y : ParquetColumns
    weight : str or None
        The column of sample weights.
    room : int
        Bytes that workers may keep together.
    """

    X: ParquetColumns
    y: ParquetColumns
    weight: str | None = None
    room: int = 0
    reads_again: bool = field(default=True, init=False)  # blocks read for themselves what they have no room for

    @property
    def n_rows(self) -> int:
        return self.X.files.n_rows

    def make(self, cluster: Cluster, worker: str, rows: slice) -> tuple[Any, ...]:
        names = list(dict.fromkeys([*self.X.columns, *self.y.columns, *([self.weight] if self.weight else [])]))
        first, skipped, groups = 0, 0, list[RowGroup]()
        for group in self.X.files.groups:
            last = first + group.n_rows
            if first < rows.stop and last > rows.start:
                if not groups:
                    skipped = rows.start - first
                groups.append(group)
            first = last
        share = int(self.room * (rows.stop - rows.start) / self.n_rows)
        return ParquetBlock, self, tuple(groups), tuple(names), skipped, rows.start, rows.stop, share


class ParquetBlock:
    """Rows of one block on a worker: read from files, the first pieces only once as far as there is room."""

    def __init__(
        self,
        source: ParquetSource,
        groups: tuple[RowGroup, ...],
        names: tuple[str, ...],
        skipped: int,
        start: int,
        stop: int,
        room: int,
    ) -> None:
        self.source, self.groups, self.names = source, groups, names
        self.skipped, self.start, self.stop, self.room = skipped, start, stop, room
        self.n_at_once = rows_of_a_piece(len(source.X.columns))
        self._kept: list[dict[str, NDArray[Any]]] = []
        self._n_kept = 0

    def pieces(self) -> Iterator[RawPiece]:
        start = self.start
        for columns in self._kept:
            yield self._piece(start, columns)
            start += self.n_at_once
        may_keep = True
        for read in self._read(start) if start < self.stop else ():
            columns = read
            n_bytes = sum(map(_bytes_of, columns.values()))
            may_keep = may_keep and self._n_kept + n_bytes <= self.room
            if may_keep:
                columns = {name: values.copy() for name, values in read.items()}  # not views of longer ones
                self._kept.append(columns)
                self._n_kept += n_bytes
            yield self._piece(start, columns)
            start += self.n_at_once

    def _piece(self, start: int, columns: dict[str, NDArray[Any]]) -> RawPiece:
        own, source = columns, self.source
        n_rows = len(next(iter(own.values())))
        y = [own[name] for name in source.y.columns]
        X = GivenColumns({name: own[name] for name in source.X.columns}, n_rows)
        return RawPiece(start, X, y[0] if len(y) == 1 else np.stack(y, axis=1), source.weight and own[source.weight])

    def _read(self, start: int) -> Iterator[dict[str, NDArray[Any]]]:
        """Columns of the rows from start on, in pieces of the right size."""
        waiting: list[dict[str, NDArray[Any]]] = []
        n_waiting, left = 0, self.stop - start
        for columns in self._batches(self.skipped + start - self.start):
            n_rows = min(len(next(iter(columns.values()))), left)
            waiting.append({name: values[:n_rows] for name, values in columns.items()})
            n_waiting, left = n_waiting + n_rows, left - n_rows
            while n_waiting >= self.n_at_once or (left == 0 and n_waiting):
                joined = _joined(waiting)
                yield {name: values[: self.n_at_once] for name, values in joined.items()}
                n_waiting = max(n_waiting - self.n_at_once, 0)
                waiting = [{name: values[self.n_at_once :] for name, values in joined.items()}] if n_waiting else []
            if left == 0:
                return

    def _batches(self, skipped: int) -> Iterator[dict[str, NDArray[Any]]]:
        for group in self.groups:
            if skipped >= group.n_rows:
                skipped -= group.n_rows
                continue
            with _opened(group.path) as file:
                own = {"batch_size": self.n_at_once, "row_groups": [group.number], "columns": list(self.names)}
                for batch in file.iter_batches(**own, use_threads=False):
                    if skipped >= batch.num_rows:
                        skipped -= batch.num_rows
                        continue
                    rest, skipped = batch.slice(skipped), 0
                    yield {name: self._values(name, rest.column(name)) for name in self.names}

    def _values(self, name: str, column: Any) -> NDArray[Any]:
        y = self.source.y
        is_label = name in y.columns and (y.is_whole or name in y.files.whole)
        return _values(y.files, name, column, is_whole=is_label)


def _values(files: ParquetFiles, name: str, column: Any, *, is_whole: bool = False) -> NDArray[Any]:
    """A column of some rows: numbers, NaN where there is none, or texts."""
    if name in files.texts:
        return _texts(column)
    found = np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    if not is_whole or column.null_count:
        return found
    return (
        found.astype(np.int64) if np.all(np.abs(found) < 2**53) else np.asarray(column.to_numpy(zero_copy_only=False))
    )


def _texts(column: Any) -> NDArray[Any]:
    """Texts, None where there is none; truth values as texts."""
    given = column.to_pylist()
    if any(isinstance(value, bool) for value in given):
        given = [None if value is None else str(value) for value in given]
    found = np.empty(len(given), dtype=object)
    found[:] = given
    return found


def _joined(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _bytes_of(values: NDArray[Any]) -> int:
    return values.size * (BYTES_OF_A_TEXT if values.dtype == object else BYTES_OF_A_NUMBER)
