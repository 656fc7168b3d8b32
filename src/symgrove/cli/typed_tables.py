"""Tables whose cells know what they are: Parquet files and Excel workbooks."""

from __future__ import annotations

import datetime
import io
import math
import zipfile
from typing import Any

from symgrove.cli._common import nearest

ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")  # what formulas of Excel may give
Columns = tuple[list[str], list[list[Any]]]  # names, and values of each


def columns_of_parquet(content: bytes, label: str) -> Columns:
    """Columns of a Parquet file."""
    parquet, arrow = arrow_modules()
    try:
        table = parquet.read_table(io.BytesIO(content))
    except (arrow.ArrowInvalid, OSError) as error:
        raise ValueError(f"{label} cannot be read as Parquet: {error}.") from error
    return list(table.column_names), [table.column(name).to_pylist() for name in table.column_names]


def arrow_modules() -> tuple[Any, Any]:
    """pyarrow's modules, or what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow, which is not installed. Install symgrove[parquet].") from error
    return pyarrow.parquet, pyarrow


def columns_of_workbook(content: bytes, label: str, wanted: str | None) -> tuple[Columns, list[str]]:
    """Columns of a sheet, the first one if none is named, and what to tell: formulas count as what they gave last."""
    openpyxl = _openpyxl()
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"{label} cannot be read as an Excel workbook (.xlsx): {error}.") from error
    names = [sheet.title for sheet in book.worksheets]
    if wanted is not None and wanted not in names:
        raise ValueError(
            f"{label} has no sheet {wanted!r}.{nearest(wanted, names)} Sheets: {', '.join(map(repr, names))}."
        )
    sheet = book.worksheets[0] if wanted is None else book[wanted]
    rows = [list(row) for row in sheet.iter_rows(values_only=True) if any(v is not None for v in row)]
    if not rows:
        raise ValueError(f"the sheet {sheet.title!r} of {label} has no rows.")
    n_errors = sum(value in ERRORS for row in rows for value in row if isinstance(value, str))
    if n_errors:
        rows = [[None if isinstance(v, str) and v in ERRORS else v for v in row] for row in rows]
    width = max(max((k for k, v in enumerate(row) if v is not None), default=0) for row in rows) + 1
    header = ["" if v is None else str(v).strip() for v in (rows[0] + [None] * width)[:width]]
    columns = [[row[k] if k < len(row) else None for row in rows[1:]] for k in range(width)]
    is_one_of_many = wanted is None and len(names) > 1
    notes = [f"of {len(names)} sheets, {sheet.title!r} is read; --sheet names another"] if is_one_of_many else []
    if n_errors:
        notes.append(f"{n_errors} cells with errors of Excel, such as #N/A, are missing values")
    return (header, columns), notes


def to_workbook(columns: dict[str, list[Any]]) -> bytes:
    """A workbook of one sheet; texts are texts, also where they begin like a formula."""
    openpyxl = _openpyxl()
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def cell(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if value is None or isinstance(value, (bool, int, float)) or _is_plain_date(value):
            return value
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", str(value)))
        made.data_type = "s"
        return made

    for row in ([*columns], *zip(*columns.values(), strict=True)):
        sheet.append([cell(value) for value in row])
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _is_plain_date(value: Any) -> bool:
    """Of a kind that cells hold: Excel knows no time zones."""
    return isinstance(value, datetime.date) and getattr(value, "tzinfo", None) is None


def _openpyxl() -> Any:
    """The module, or what to install."""
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError("Excel workbooks need openpyxl, which is not installed. Install symgrove[excel].") from error
    return openpyxl
