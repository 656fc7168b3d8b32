"""Tables of data: CSV, TSV, Excel and Parquet, from files and pipes and back."""

from __future__ import annotations

import csv
import gzip
import io
import math
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from symgrove.cli.formats import FoundFormats, find_formats
from symgrove.cli.text_tables import number_of, rows_of_text
from symgrove.cli.troubles import Troubles
from symgrove.cli.typed_tables import arrow_modules, columns_of_parquet, columns_of_workbook, to_workbook
from symgrove.models.columns import TextFormat
from symgrove.models.date_text import ORDERS, DateFormat
from symgrove.models.number_text import DECIMALS, MISSING

FORMATS = ("csv", "tsv", "parquet", "xlsx")  # that are written
READ = (*FORMATS, "xlsm")
GZIP = b"\x1f\x8b"  # how compressed files begin
Column = list[Any]  # numbers or texts; None where a value is missing


@dataclass(frozen=True)
class DataTable:
    """Columns by name, as they were given: texts of a CSV file, values of a Parquet file."""

    given: dict[str, list[Any]]
    label: str
    first_row: int  # number of the first row, as people count who look at the file
    troubles: Sequence[str] = ()  # that make it useless
    notes: Sequence[str] = ()  # what a user must know of how it was read
    decimal: str | None = None  # what numbers in texts have; None: found out
    dates: str | None = None  # which of day and month comes first; None: found out

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
            form = self.formats.get(name)
            if name in self._found.unclear:
                raise ValueError(f"column {name!r} of {self.label} has {self._found.unclear[name]}")
            self._typed[name] = self._finite(name, self.as_given(name) if form is None else self._read(name, form))
        return self._typed[name]

    def _read(self, name: str, form: TextFormat) -> Column:
        return [None if math.isnan(v) else v for v in form.numbers(self.given[name], name).tolist()]

    @cached_property
    def _found(self) -> FoundFormats:
        return find_formats(self.given, self.decimal, self.dates)

    @property
    def formats(self) -> dict[str, TextFormat]:
        """How texts are numbers or dates, of columns where they are not as in Python."""
        return self._found.formats

    def is_date(self, name: str) -> bool:
        """Whether a column holds dates."""
        return isinstance(self.formats.get(name), DateFormat)

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


class TableFormat(NamedTuple):
    """What the options say about a file: None where the file tells."""

    kind: str | None = None
    separator: str | None = None
    sheet: str | None = None
    decimal: str | None = None
    dates: str | None = None


def format_of(path: str, wanted: str | None, accepted: Sequence[str] = FORMATS) -> str:
    """The format of a file, from the option or the ending of its name, .gz left out."""
    if wanted is not None:
        if wanted not in accepted:
            raise ValueError(f"unknown format {wanted!r}; accepted: {', '.join(accepted)}.")
        return wanted
    suffix = Path(path.lower().removesuffix(".gz")).suffix
    known = {".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".xlsm": "xlsm"}
    found = known.get(suffix, "csv")
    if found not in accepted:
        raise ValueError(
            f"tables are written as {', '.join(accepted)}; a workbook with macros such as {path!r} is read only."
        )
    return found


def read_table(path: str, given: TableFormat | None = None, shown: str | None = None) -> DataTable:
    """Read a table; `-` is standard input. What is wrong with it is among its troubles, which name it as `shown`."""
    given = given or TableFormat()
    if given.decimal not in (None, *DECIMALS):
        raise ValueError(f"--decimal must be . or , (a comma), got {given.decimal!r}.")
    if given.dates not in (None, *ORDERS):
        raise ValueError(f"--dates must be one of {', '.join(ORDERS)}, got {given.dates!r}.")
    kind = format_of(path, given.kind, READ)
    content = _read_input() if path == "-" else _read(path)
    label = "standard input" if path == "-" else repr(shown or path)
    content = _unpacked(content, label)
    if not content:
        raise ValueError(f"{label} is empty.")
    is_workbook = kind in ("xlsx", "xlsm")
    if given.sheet is not None and not is_workbook:
        raise ValueError(f"--sheet is for Excel workbooks, and {label} is read as {kind}.")
    troubles, notes = Troubles(label), list[str]()
    if kind == "parquet":
        names, columns = columns_of_parquet(content, label)
    elif is_workbook:
        (names, columns), notes = columns_of_workbook(content, label, given.sheet)
    else:
        rows, _ = rows_of_text(content, given.separator or ("\t" if kind == "tsv" else None), troubles)
        names = [name.strip() for name in rows[0]]
        columns = [[row[i] for row in rows[1:]] for i in range(len(names))]
    _check_header(names, troubles)
    first_row = 1 if kind == "parquet" else 2
    return DataTable(
        dict(zip(names, columns, strict=True)), label, first_row, troubles.found, notes, given.decimal, given.dates
    )


def _unpacked(content: bytes, label: str) -> bytes:
    if not content.startswith(GZIP):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{label} is compressed, and cannot be unpacked: {error}.") from error


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


def _check_header(header: Sequence[str], troubles: Troubles) -> None:
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        troubles.add(f"{troubles.label} has columns of the same name: {', '.join(map(repr, repeated))}.")
    for i, name in enumerate(header, start=1):
        if not name:
            troubles.add(f"column {i} of {troubles.label} has no name.")


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
    numbers = [None if t is None else number_of(t) for t in texts]
    if any(isinstance(v, bool) for v in known) or any(
        n is None and t is not None for n, t in zip(numbers, texts, strict=True)
    ):
        return list(texts)
    return list(numbers)


def table_as_bytes(columns: dict[str, Column], kind: str, path: str = "-") -> bytes:
    """The content of a file of this format; compressed if the name says so."""
    if kind == "parquet":
        return _to_parquet(columns)
    if kind == "xlsx":
        return to_workbook(columns)
    content = _to_text(columns, "\t" if kind == "tsv" else ",").encode()
    return gzip.compress(content, mtime=0) if path.lower().endswith(".gz") else content


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
    parquet, arrow = arrow_modules()
    sink = io.BytesIO()
    parquet.write_table(arrow.table({name: arrow.array(column) for name, column in columns.items()}), sink)
    return sink.getvalue()
