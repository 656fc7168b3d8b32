"""Dates as tables write them, as days since 1970-01-01, and the features that are made of them.

A column remembers its `DateFormat`, a part of the model. Dates of frames are taken too; a number is days.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.models.document import Document, Entries

ORDERS = ("ymd", "dmy", "mdy")
PARTS = ("days", "year", "month", "weekday")  # the first is a column's own number
PARTS_OF_TIME = (*PARTS, "hour")


def parse_date(value: Any, order: str) -> float:
    """Days since 1970-01-01, NaN where nothing is there; ValueError for what is no date.

    A text has the year first, or last and with four digits, then `order` says what comes before; a time may follow.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            raise ValueError(f"a date with a time zone: {value!r}")
        clock = value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
        return value.toordinal() - 719163 + clock / 86400
    if isinstance(value, datetime.date):
        return float(value.toordinal() - 719163)
    if not isinstance(value, str):
        return float(value)
    if value.strip().lower() in ("", "na", "n/a", "nan", "+nan", "-nan", "null", "none", "?"):
        return float("nan")
    time = r"(?:[T ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?)?"
    match = re.fullmatch(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})" + time, value.strip())
    year_first = match is not None
    if match is None and order != "ymd":
        match = re.fullmatch(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})" + time, value.strip())
    if match is None:
        raise ValueError(f"no date: {value!r}")
    parts = [int(match[1]), int(match[3]), int(match[4])]
    year, month, day = parts if year_first else parts[::-1] if order == "dmy" else (parts[2], *parts[:2])
    hour, minute, second = int(match[5] or 0), int(match[6] or 0), float(match[7] or 0)
    if hour > 23 or minute > 59 or second >= 60:
        raise ValueError(f"no time of a day: {value!r}")
    days = datetime.date(year, month, day).toordinal() - 719163
    return days + (hour * 3600 + minute * 60 + second) / 86400


def date_parts(days: NDArray[np.float64], *, has_time: bool) -> NDArray[np.float64]:
    """Features of dates: days since 1970-01-01, year, month from 1, weekday from 1 (Monday), and hours of the day."""
    whole = np.floor(days)
    date = whole.astype(np.int64).astype("datetime64[D]")
    months = date.astype("datetime64[M]").astype(np.int64)
    found = [days, np.floor_divide(months, 12) + 1970, months % 12 + 1, (whole + 3) % 7 + 1]
    return np.stack([*found, *([24 * (days - whole)] if has_time else [])], axis=1).astype(np.float64)


def shown_date(days: float) -> str:
    """A date, with a time if it has one."""
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=days)
    except OverflowError:
        return f"day {days:.10g}"
    return moment.isoformat(" ", "seconds") if days % 1 else moment.date().isoformat()


class DateFormat(NamedTuple):
    """How the dates of a column are written: the order of year, month and day; whether some have a time of day."""

    order: str = "ymd"
    has_time: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """Features of a date."""
        return PARTS_OF_TIME if self.has_time else PARTS

    @property
    def example(self) -> tuple[str, float]:
        """A text and its number."""
        date = {"ymd": "2025-12-31", "dmy": "31/12/2025", "mdy": "12/31/2025"}[self.order]
        text = f"{date} 06:00" if self.has_time else date
        return text, parse_date(text, self.order)

    def numbers(self, values: Any, name: str) -> NDArray[np.float64]:
        """Days since 1970-01-01 from texts and dates; numbers as they are, NaN where there is nothing."""
        if getattr(getattr(values, "dtype", None), "kind", "") == "M" and getattr(values.dtype, "tz", None) is None:
            moments = np.asarray(values).astype("datetime64[us]")
            days = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
            return np.where(np.isnat(moments), np.nan, days)
        found = []
        for value in np.asarray(values, dtype=object).tolist():
            try:
                found.append(parse_date(value, self.order))
            except (TypeError, ValueError):
                raise ValueError(
                    f"column {name!r} must be dates as it was for the fit, such as {self.example[0]!r} (or days since "
                    f"1970-01-01), but holds {value!r:.60}."
                ) from None
        return np.array(found, dtype=np.float64)

    def document(self) -> Document:
        """For the model file."""
        return {"kind": "date", "order": self.order, "has_time": self.has_time}


def date_format_from(entries: Entries) -> DateFormat:
    """Undo `document`."""
    return DateFormat(entries.text("order", ORDERS), entries.flag("has_time"))


def date_formats_of(values: Iterable[Any]) -> list[DateFormat]:
    """Formats in which all values that are there are dates; several if days cannot be told from months."""
    known = list(dict.fromkeys(v.strip() if isinstance(v, str) else v for v in values))
    has_time = any(":" in v if isinstance(v, str) else _has_time(v) for v in known)
    found = [order for order in ORDERS if known and all(_is(value, order) for value in known)]
    if "ymd" in found:
        return [DateFormat("ymd", has_time)]
    if all("." in text for text in known) and "dmy" in found:  # points are written where days come first
        return [DateFormat("dmy", has_time)]
    return [DateFormat(order, has_time) for order in found]


def _is(value: Any, order: str) -> bool:
    try:
        parse_date(value, order)
    except ValueError:
        return False
    return True


def _has_time(value: Any) -> bool:
    return isinstance(value, datetime.datetime) and value.time() != datetime.time()
