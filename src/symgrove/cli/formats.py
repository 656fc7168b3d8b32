"""How the columns of a file write numbers and dates, found out from all of them together."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

from symgrove.cli.text_tables import number_of
from symgrove.models.columns import TextFormat
from symgrove.models.date_text import DateFormat, date_formats_of
from symgrove.models.number_text import DECIMALS, MISSING, NumberFormat, format_of_texts


class FoundFormats(NamedTuple):
    """Formats of columns whose texts are not numbers as in Python, and what must be asked of others."""

    formats: dict[str, TextFormat]
    unclear: dict[str, str]


def find_formats(given: Mapping[str, list[Any]], decimal: str | None, dates: str | None) -> FoundFormats:
    """Look at all columns; `decimal` and `dates` say what is meant where values may mean two things."""
    texts = {name: known for name, values in given.items() if (known := _known_texts(values))}
    plain = {name for name, known in texts.items() if all(number_of(text) is not None for text in known)}
    found, unclear = _numbers(texts, plain, decimal)
    others = {name: known for name, known in texts.items() if name not in plain and name not in found}
    others |= {name: known for name, values in given.items() if (known := _known_dates(values))}
    own, more = _dates(others, dates)
    return FoundFormats({**found, **own}, {**unclear, **more})


def _numbers(
    texts: Mapping[str, list[str]], plain: set[str], decimal: str | None
) -> tuple[dict[str, NumberFormat], dict[str, str]]:
    """Where some columns can only have a decimal comma, and none only a decimal point, all columns have it."""
    can = {name: _possible(known) for name, known in texts.items() if name not in plain}
    needs_comma = any(list(forms) == [","] for forms in can.values())
    if needs_comma or decimal == ",":
        can |= {name: _possible(texts[name]) for name in plain}
    has_both = needs_comma and any(list(forms) == ["."] for forms in can.values())
    first = decimal or ("," if needs_comma and not has_both else ".")
    found = {name: forms.get(first) or next(iter(forms.values())) for name, forms in can.items() if forms}
    unclear = {}
    for name, forms in can.items():
        example = next((text for text in texts[name] if set(text) & {*DECIMALS}), None)
        if has_both and decimal is None and len(forms) > 1 and example is not None:
            unclear[name] = (
                f"numbers such as {example!r}, whose point or comma may be decimal, or between thousands; other "
                "columns have both. Say --decimal , or --decimal . (a point)."
            )
    return {name: form for name, form in found.items() if name not in plain or form.decimal == ","}, unclear


def _dates(values: Mapping[str, list[Any]], order: str | None) -> tuple[dict[str, DateFormat], dict[str, str]]:
    """Where days and months of a column cannot be told apart, the order of the other columns counts, if it is one."""
    can = {name: forms for name, known in values.items() if (forms := date_formats_of(known))}
    clear = {form.order for forms in can.values() for form in forms if len(forms) == 1} - {"ymd"}
    wanted = order or (next(iter(clear)) if len(clear) == 1 else None)
    found = {name: next((f for f in forms if f.order == wanted), forms[0]) for name, forms in can.items()}
    unclear = {
        name: f"dates such as {values[name][0]!r}, in which the day or the month may come first. Say --dates dmy or "
        "--dates mdy."
        for name, forms in can.items()
        if len(forms) > 1 and found[name].order != wanted
    }
    return found, unclear


def _possible(texts: list[str]) -> dict[str, NumberFormat]:
    """Formats in which all texts are numbers, by their decimal sign."""
    return {d: form for d in DECIMALS if (form := format_of_texts(texts, (d,)))}


def _known_texts(values: list[Any]) -> list[str]:
    """The different texts of a column that holds texts only, besides numbers and what is missing; else none."""
    if any(isinstance(v, bool) or not (v is None or isinstance(v, (str, int, float))) for v in values):
        return []
    return list(dict.fromkeys(v.strip() for v in values if isinstance(v, str) and v.strip().lower() not in MISSING))


def _known_dates(values: list[Any]) -> list[Any]:
    """The different values of a column of dates, some of which may be texts; none if there are others."""
    known = [v for v in values if not (v is None or (isinstance(v, str) and v.strip().lower() in MISSING))]
    has_dates = any(isinstance(v, datetime.date) for v in known)
    is_all = all(isinstance(v, (datetime.date, str)) for v in known)
    return list(dict.fromkeys(known)) if has_dates and is_all else []
