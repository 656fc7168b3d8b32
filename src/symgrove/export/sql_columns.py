"""From columns to features, and numbers and texts, as queries write them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from symgrove.models.plan import Plan

_TEXT = {"sqlite": "TEXT", "duckdb": "VARCHAR"}


def features_of(plan: Plan, dialect: str, prefix: str) -> list[str]:
    """Features from columns of the names <prefix>c0, <prefix>c1, ..."""
    found = []
    for j, column in enumerate(plan.columns):
        name = f"{prefix}c{j}"
        is_missing = f"{name} IS NULL"
        if column.categories is not None:
            text = f"CAST({name} AS {_TEXT[dialect]})"
            known = [_texts(c, column.categories) for c in column.categories]
            found += [f"CASE WHEN {text} IN ({c}) THEN 1e0 ELSE 0e0 END" for c in known]
            if column.has_others:
                found.append(f"CASE WHEN {text} NOT IN ({', '.join(known)}) THEN 1e0 ELSE 0e0 END")
        else:
            given = name
            if dialect == "duckdb" and not math.isnan(column.fill):
                given = f"nullif({name}, CAST('nan' AS DOUBLE))"
            value = given if math.isnan(column.fill) else f"coalesce({given}, {number(column.fill)})"
            found += [value] if column.date is None else _date_parts(value, dialect, has_time=column.date.has_time)
            is_missing = f"{given} IS NULL"
        if column.has_indicator:
            found.append(f"CASE WHEN {is_missing} THEN 1e0 ELSE 0e0 END")
    return found


def _date_parts(days: str, dialect: str, *, has_time: bool) -> list[str]:
    """Of days since 1970-01-01."""
    whole = f"floor({days})"
    if dialect == "sqlite":
        found = [f"CAST(strftime('%{letter}', 2440587.5e0 + {whole}) AS REAL)" for letter in "Ym"]
    else:
        date = f"(DATE '1970-01-01' + CAST({whole} AS INTEGER))"
        found = [f"CAST({function}({date}) AS DOUBLE)" for function in ("year", "month")]
    weekday = f"({whole} + 3e0 - floor(({whole} + 3e0) / 7e0) * 7e0 + 1e0)"
    return [days, *found, weekday, *([f"24e0 * ({days} - {whole})"] if has_time else [])]


def number(value: float) -> str:
    """A double: without an exponent DuckDB would take it for a decimal number."""
    text = repr(float(value))
    text = text if "e" in text else text + "e0"
    return f"({text})" if text[0] == "-" else text


def literal(value: object) -> str:
    """A class, or a text."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    return number(value) if isinstance(value, float) else "'" + str(value).replace("'", "''") + "'"


def _texts(category: str, others: Sequence[str]) -> str:
    """What a category may look like as a text of the database: whole numbers with a point, truth values in small."""
    also = {"True": "true", "False": "false"}.get(category)
    if re.fullmatch(r"-?[0-9]+", category):
        also = f"{category}.0"
    return ", ".join(map(literal, [category] if also is None or also in others else [category, also]))
