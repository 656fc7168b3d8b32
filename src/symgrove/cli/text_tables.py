"""Tables in text: what separates the fields, and rows that have too many or too few of them."""

from __future__ import annotations

import csv
import io
import math

from symgrove.cli.troubles import Troubles

SEPARATORS = (",", ";", "\t", "|")
ROWS_LOOKED_AT = 200  # to find the separator
MOST_ROWS_NAMED = 5
Rows = list[list[str]]


def rows_of_text(content: bytes, separator: str | None, troubles: Troubles) -> tuple[Rows, str]:
    """Rows that are not empty, the first of which are the names of the columns, and the separator."""
    label = troubles.label
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{label} is not UTF-8 text ({error.reason} at byte {error.start}); convert it.") from error
    if "\0" in text:
        raise ValueError(
            f"{label} holds zero bytes; it is no table in text. Say --input-format parquet or xlsx if it is one."
        )
    found = separator or _separator_of(text)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=found) if row]
    except csv.Error as error:
        raise ValueError(f"{label} cannot be read as a table: {error}.") from error
    if not rows:
        raise ValueError(f"{label} has no rows.")
    if all(is_finite(name) for name in rows[0]):
        raise ValueError(f"the first row of {label} is all numbers; the first row must be the names of the columns.")
    return _rectangular(rows, found, text, troubles), found


def _separator_of(text: str) -> str:
    """What gives most rows as many fields as the header has, and more than one."""
    best, best_share = SEPARATORS[0], 0.0
    for separator in SEPARATORS:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            rows = [row for row, _ in zip((r for r in reader if r), range(ROWS_LOOKED_AT), strict=False)]
        except csv.Error:
            continue
        if not rows or len(rows[0]) < 2:
            continue
        share = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if share > best_share:
            best, best_share = separator, share
    return best


def _rectangular(rows: Rows, separator: str, text: str, troubles: Troubles) -> Rows:
    """Rows with as many fields as the header; others are a trouble, and so is one column that looks like several."""
    n, likely = len(rows[0]), _separator_of(text)
    if n == 1 and likely in rows[0][0] and likely != separator:
        troubles.add(f"{troubles.label} has one column, {rows[0][0]!r:.60}. Did you mean --separator {likely!r}?")
        return rows
    odd = [(i, len(row)) for i, row in enumerate(rows, start=1) if len(row) != n]
    for i, n_fields in odd[:MOST_ROWS_NAMED]:
        troubles.add(
            f"row {i} of {troubles.label} has {n_fields} fields, the header {n}. Is {separator!r} the separator? "
            "Another one is given with --separator."
        )
    if len(odd) > MOST_ROWS_NAMED:
        troubles.add(f"so have {len(odd) - MOST_ROWS_NAMED} more rows.")
    return [[*row[:n], *[""] * (n - len(row))] for row in rows] if odd else rows


def number_of(text: str) -> float | None:
    """A number as Python writes it, finite or not; None for other texts."""
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) or "_" in text else value


def is_finite(text: str) -> bool:
    """Whether a text is a finite number."""
    value = number_of(text)
    return value is not None and math.isfinite(value)
