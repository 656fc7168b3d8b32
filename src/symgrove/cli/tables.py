"""Tables of data: CSV, TSV and Parquet, from files and pipes and back."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from symgrove._files import written_whole

FORMATS = ("csv", "tsv", "parquet")
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
Column = list[Any]  # numbers or texts; None where a value is missing


class Table(NamedTuple):
    """Columns by name; each is all numbers, or all texts, apart from None."""

    columns: dict[str, Column]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts."""
        return any(isinstance(v, str) for v in self.columns[name])


def format_of(path: str, wanted: str | None) -> str:
    """The format of a file, from the option or the ending of its name."""
    if wanted is not None:
        if wanted not in FORMATS:
            raise ValueError(f"unknown format {wanted!r}; accepted: {', '.join(FORMATS)}.")
        return wanted
    suffix = Path(path).suffix.lower()
    return {".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}.get(suffix, "csv")


def read_table(path: str, wanted: str | None = None, separator: str | None = None) -> Table:
    """Read a table; `-` is standard input."""
    kind = format_of(path, wanted)
    content = sys.stdin.buffer.read() if path == "-" else _read(path)
    label = "standard input" if path == "-" else repr(path)
    if not content:
        raise ValueError(f"{label} is empty.")
    if kind == "parquet":
        return _from_parquet(content, label)
    return _from_text(content, label, separator or ("\t" if kind == "tsv" else ","))


def _read(path: str) -> bytes:
    file = Path(path)
    if not file.exists():
        near = [other.name for other in file.parent.glob("*")] if file.parent.is_dir() else []
        from symgrove.cli._common import nearest

        raise ValueError(f"there is no file {path!r}.{nearest(file.name, near)}")
    if file.is_dir():
        raise ValueError(f"{path!r} is a folder; name a file.")
    return file.read_bytes()


def _from_text(content: bytes, label: str, separator: str) -> Table:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{label} is not UTF-8 text ({error.reason} at byte {error.start}); convert it.") from error
    if "\0" in text:
        raise ValueError(f"{label} holds zero bytes; it is no table in text. Say --input-format parquet if it is one.")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise ValueError(f"{label} cannot be read as a table: {error}.") from error
    rows = [row for row in rows if row]
    if not rows:
        raise ValueError(f"{label} has no rows.")
    header, body = [name.strip() for name in rows[0]], rows[1:]
    _check_header(header, label)
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"row {number} of {label} has {len(row)} fields, the header {len(header)}. Is {separator!r} the "
                "separator? Another one is given with --separator."
            )
    return Table({name: _typed([row[i] for row in body]) for i, name in enumerate(header)})


def _check_header(header: Sequence[str], label: str) -> None:
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ValueError(f"{label} has columns of the same name: {', '.join(map(repr, repeated))}.")
    if all(_number(name) is not None for name in header):
        raise ValueError(f"the first row of {label} is all numbers; the first row must be the names of the columns.")
    if "" in header:
        raise ValueError(f"column {list(header).index('') + 1} of {label} has no name.")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _typed(texts: list[str]) -> Column:
    """Numbers if all that is there are numbers, else texts; None for what is missing."""
    known = [None if text.strip().lower() in MISSING else text.strip() for text in texts]
    numbers = [None if text is None else _number(text) for text in known]
    if any(n is None and text is not None for n, text in zip(numbers, known, strict=True)):
        return list(known)
    return list(numbers)


def _from_parquet(content: bytes, label: str) -> Table:
    parquet, arrow = _arrow()
    try:
        table = parquet.read_table(io.BytesIO(content))
    except (arrow.ArrowInvalid, OSError) as error:
        raise ValueError(f"{label} cannot be read as Parquet: {error}.") from error
    _check_header(table.column_names, label)
    return Table({name: _plain(table.column(name).to_pylist(), name, label) for name in table.column_names})


def _plain(values: list[Any], name: str, label: str) -> Column:
    """Numbers or texts; booleans as texts."""
    found = [None if v is None or (isinstance(v, float) and math.isnan(v)) else v for v in values]
    known = [v for v in found if v is not None]
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known):
        return [None if v is None else float(v) for v in found]
    if all(isinstance(v, (str, bool)) for v in known):
        return [None if v is None else str(v) for v in found]
    kind = next(type(v).__name__ for v in known if not isinstance(v, (str, bool, int, float)))
    raise ValueError(f"column {name!r} of {label} holds values of type {kind}; only numbers and texts can be used.")


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow, which is not installed. Install symgrove[parquet].") from error
    return pyarrow.parquet, pyarrow


def write_table(table: Table, path: str, wanted: str | None = None) -> None:
    """Write a table; `-` is standard output."""
    kind = format_of(path, wanted)
    content = _to_parquet(table) if kind == "parquet" else _to_text(table, "\t" if kind == "tsv" else ",").encode()
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as temporary:
        temporary.write_bytes(content)


def _to_text(table: Table, separator: str) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerow(table.columns)
    for row in zip(*table.columns.values(), strict=True):
        writer.writerow(["" if v is None else _shown(v) for v in row])
    return stream.getvalue()


def _shown(value: Any) -> str:
    """Numbers so that they read back to the same bits, whole ones without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _to_parquet(table: Table) -> bytes:
    parquet, arrow = _arrow()
    sink = io.BytesIO()
    parquet.write_table(arrow.table({name: arrow.array(column) for name, column in table.columns.items()}), sink)
    return sink.getvalue()
