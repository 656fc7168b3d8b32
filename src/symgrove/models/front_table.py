"""Fronts as tables: rows of plain values, lines of text, HTML with formulas as MathML."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symgrove.models.front import FrontPoint

# What columns of numbers are called where people read them, and how they are written.
NUMBERS = {
    "size": ("nodes", "d"),
    "n_parts": ("parts", "d"),
    "error": ("error", ".4g"),
    "held_out_error": ("held out", ".4g"),
    "description_length": ("bits", ".1f"),
}
CHOSEN = "*"
LONGEST_TEXT = 120  # characters of a formula, where the table is not asked for


def rows(points: Sequence[FrontPoint], chosen: int | None, write: Callable[[FrontPoint], str]) -> list[dict[str, Any]]:
    """A dict for each point, with numbers that are known of any, and formulas if all points have one."""
    known = [name for name in NUMBERS if any(_is_known(getattr(point, name)) for point in points)]
    has_formulas = all(point.has_formula for point in points)
    found: list[dict[str, Any]] = []
    for k, point in enumerate(points):
        found.append({name: getattr(point, name) for name in known} | {"is_chosen": k == chosen})
        if has_formulas:
            found[-1]["formula"] = write(point)
    return found


def _is_known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def lines(found: Sequence[dict[str, Any]], longest: int | None = None) -> list[str]:
    """Rows as text, headings first; formulas of at most `longest` characters."""
    names = [name for name in NUMBERS if found and name in found[0]]
    columns = [[NUMBERS[name][0], *(_number(row[name], name) for row in found)] for name in names]
    widths = [max(map(len, column)) for column in columns]
    ends = (
        [f"  {text}" for text in ("formula", *(_short(row["formula"], longest) for row in found))]
        if (found and "formula" in found[0])
        else [""] * (len(found) + 1)
    )
    marks = [" ", *(CHOSEN if row["is_chosen"] else " " for row in found)]
    return [
        mark + "".join(f"  {text:>{width}}" for text, width in zip(texts, widths, strict=True)) + end
        for mark, texts, end in zip(marks, zip(*columns, strict=True), ends, strict=True)
    ]


def _number(value: float | None, name: str) -> str:
    return format(value, NUMBERS[name][1]) if _is_known(value) else ""


def _short(text: str, longest: int | None) -> str:
    return text if longest is None or len(text) <= longest else text[:longest] + " ..."


def as_html(found: Sequence[dict[str, Any]]) -> str:
    """A table element of rows whose formulas are HTML."""
    names = [name for name in NUMBERS if found and name in found[0]]
    left = " style='text-align:left'"
    has_formulas = bool(found) and "formula" in found[0]
    heads = ["<th></th>", *(f"<th>{NUMBERS[name][0]}</th>" for name in names)]
    heads += [f"<th{left}>formula</th>"] if has_formulas else []
    body = []
    for row in found:
        cells = [f"<td>{CHOSEN if row['is_chosen'] else ''}</td>"]
        cells += [f"<td>{_number(row[name], name)}</td>" for name in names]
        cells += [f"<td{left}>{row['formula']}</td>"] if has_formulas else []
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(body)}</tbody></table>"
