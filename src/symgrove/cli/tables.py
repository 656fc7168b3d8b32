"""Tables of data: CSV, TSV and Parquet, from files and pipes and back."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FORMATS = ("csv", "tsv", "parquet")
MISSING = {"", "na", "n/a", "nan", "+nan", "-nan", "null", "none", "?"}
Column = list[Any]  # numbers or texts; None where a value is missing


@dataclass(frozen=True)
class DataTable:
    """Columns by name, as they were given: texts of a CSV file, values of a Parquet file."""

    given: dict[str, list[Any]]
    label: str
    first_row: int  # number of the first row, as people count who look at the file

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.given.values()))) if self.given else 0

    @cached_property
    def _typed(self) -> dict[str, Column]:
        return {}

    def column(self, name: str) -> Column:
        """All finite numbers, or all texts, apart from None."""
        if name not in self._typed:
            self._typed[name] = self._finite(name, self.as_given(name))
        return self._typed[name]

    def as_given(self, name: str) -> Column:
        """All numbers, which may be infinite, or all texts, apart from None."""
        return _plain(self.given[name], name, self.label)

    def _finite(self, name: str, column: Column) -> Column:
        for i, value in enumerate(column):
            if isinstance(value, float) and math.isinf(value):
                raise ValueError(
                    f"column {name!r} of {self.label} has an infinite number, {_shown(self.given[name][i])}, in row "
                    f"{self.first_row + i}; only finite ones (up to 1.8e308) can be used. Correct it, leave it empty "
                    "(a missing value), or leave the column out with --ignore."
                )
        return column

    def texts(self, name: str) -> Column:
        """The values as they were written, whatever the other rows hold."""
        return [None if _is_missing(v) else _shown(v).strip() for v in self.given[name]]

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts."""
        return any(isinstance(v, str) for v in self.column(name))


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def format_of(path: str, wanted: str | None) -> str:
    """The format of a file, from the option or the ending of its name."""
    if wanted is not None:
        if wanted not in FORMATS:
            raise ValueError(f"unknown format {wanted!r}; accepted: {', '.join(FORMATS)}.")
        return wanted
    suffix = Path(path).suffix.lower()
    return {".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}.get(suffix, "csv")


def read_table(path: str, wanted: str | None = None, separator: str | None = None) -> DataTable:
    """Read a table; `-` is standard input."""
    kind = format_of(path, wanted)
    content = _read_input() if path == "-" else _read(path)
    label = "standard input" if path == "-" else repr(path)
    if not content:
        raise ValueError(f"{label} is empty.")
    if kind == "parquet":
        return _from_parquet(content, label)
    return _from_text(content, label, separator or ("\t" if kind == "tsv" else ","))


def _read_input() -> bytes:
    if sys.stdin is None:
        raise ValueError("standard input is closed, and the data should come from there. Open it, or name a file.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise ValueError(f"standard input cannot be read ({error.strerror or error}).") from error


def _read(path: str) -> bytes:
    file = Path(path)
    if not file.exists():
        near = [other.name for other in file.parent.glob("*")] if file.parent.is_dir() else []
        from symgrove.cli._common import nearest

        raise ValueError(f"there is no file {path!r}.{nearest(file.name, near)}")
    if file.is_dir():
        raise ValueError(f"{path!r} is a folder; name a file.")
    return file.read_bytes()


def _from_text(content: bytes, label: str, separator: str) -> DataTable:
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
    other = next((c for c in ";\t|" if c in header[0]), None) if len(header) == 1 else None
    if other is not None:
        raise ValueError(
            f"{label} has one column, {header[0]!r:.60}. Is {other!r} the separator? Give it with --separator."
        )
    if all(_number(name) is not None and math.isfinite(float(name)) for name in header):
        raise ValueError(f"the first row of {label} is all numbers; the first row must be the names of the columns.")
    _check_header(header, label)
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"row {number} of {label} has {len(row)} fields, the header {len(header)}. Is {separator!r} the "
                "separator? Another one is given with --separator."
            )
    return DataTable({name: [row[i] for row in body] for i, name in enumerate(header)}, label, 2)


def _check_header(header: Sequence[str], label: str) -> None:
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ValueError(f"{label} has columns of the same name: {', '.join(map(repr, repeated))}.")
    if "" in header:
        raise ValueError(f"column {list(header).index('') + 1} of {label} has no name.")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) or "_" in text else value


def _from_parquet(content: bytes, label: str) -> DataTable:
    parquet, arrow = _arrow()
    try:
        table = parquet.read_table(io.BytesIO(content))
    except (arrow.ArrowInvalid, OSError) as error:
        raise ValueError(f"{label} cannot be read as Parquet: {error}.") from error
    _check_header(table.column_names, label)
    return DataTable({name: table.column(name).to_pylist() for name in table.column_names}, label, 1)


def _plain(values: list[Any], name: str, label: str) -> Column:
    """Numbers if all that is there are numbers, finite or not, else texts; None for what is missing."""
    found = [None if _is_missing(v) else v for v in values]
    known = [v for v in found if v is not None]
    odd = next((v for v in known if not isinstance(v, (str, bool, int, float))), None)
    if odd is not None:
        kind = type(odd).__name__
        raise ValueError(
            f"column {name!r} of {label} holds values of type {kind}; only numbers and texts can be used. Leave it out "
            "with --ignore."
        )
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known):
        return [None if v is None else float(v) for v in found]
    texts = [None if v is None else str(v).strip() for v in found]
    numbers = [None if t is None else _number(t) for t in texts]
    if any(isinstance(v, bool) for v in known) or any(
        n is None and t is not None for n, t in zip(numbers, texts, strict=True)
    ):
        return list(texts)
    return list(numbers)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow, which is not installed. Install symgrove[parquet].") from error
    return pyarrow.parquet, pyarrow


def table_as_bytes(columns: dict[str, Column], kind: str) -> bytes:
    """The content of a file of this format."""
    return _to_parquet(columns) if kind == "parquet" else _to_text(columns, "\t" if kind == "tsv" else ",").encode()


def _to_text(columns: dict[str, Column], separator: str) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if v is None else _shown(v) for v in row])
    return stream.getvalue()


def _shown(value: Any) -> str:
    """Numbers so that they read back to the same bits, whole ones without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _to_parquet(columns: dict[str, Column]) -> bytes:
    parquet, arrow = _arrow()
    sink = io.BytesIO()
    parquet.write_table(arrow.table({name: arrow.array(column) for name, column in columns.items()}), sink)
    return sink.getvalue()
