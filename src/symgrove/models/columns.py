"""From the columns that a user gives to the features that programs read.

A number that is missing is filled in with the training median, and may have a feature [column is missing] beside it; a
category is a feature [column is value] for each value. Features in brackets are 1 where what they say is true, else 0.
A date is a number, days since 1970-01-01, and features such as [month of column].

Rows come as a *coded* table: a number for each column, which is the place of the category in columns of categories (one
past the last for values that have no feature), and NaN where there is nothing (models/coding.py makes it).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.models.date_text import DateFormat, date_format_from, date_parts, shown_date
from symgrove.models.document import Document, Entries
from symgrove.models.number_text import PERCENT, NumberFormat, number_format_from

Matrix = NDArray[np.float64]
MOST_CATEGORIES = 30  # with a feature of their own, the most frequent ones; the others share one
# Of the training rows: from so many without a number on, [column is missing] is a feature.
SHARE_FOR_INDICATOR, FEWEST_FOR_INDICATOR = 0.02, 5
TextFormat = NumberFormat | DateFormat
_RESERVED = ("missing", "another")  # words in the names of features


class TableColumn(NamedTuple):
    """A column.

    Attributes
    ----------
    name : str
    fill : float
        What stands in for a missing number: the weighted median of the training rows, 0 if they had none. NaN: not
        known, and then nothing may be missing.
    was_missing : bool
        Whether training rows had no value.
    has_indicator : bool
        Whether [name is missing] is a feature.
    categories : tuple of str, or None
        Values with a feature of their own; None for numbers.
    has_others : bool
        Whether [name is another] is a feature: any value that has none of its own.
    text_format : NumberFormat, DateFormat or None
        How texts are numbers or dates, where the rows of the fit came from a file that has such.
    """

    name: str
    fill: float = np.nan
    was_missing: bool = False
    has_indicator: bool = False
    categories: tuple[str, ...] | None = None
    has_others: bool = False
    text_format: TextFormat | None = None

    @property
    def features(self) -> list[str]:
        """Names of its features."""
        found = [self.name]
        if self.categories is not None:
            found = [f"[{self.name} is {_shown(c)}]" for c in self.categories]
            found += [f"[{self.name} is another]"] if self.has_others else []
        if self.date is not None:
            found = [f"[{part} of {self.name}]" for part in self.date.parts]
        return [*found, f"[{self.name} is missing]"] if self.has_indicator else found

    @property
    def n_features(self) -> int:
        """How many features it has."""
        n_values = 1 if self.categories is None else len(self.categories) + self.has_others
        return (n_values if self.date is None else len(self.date.parts)) + self.has_indicator

    @property
    def is_percent(self) -> bool:
        """Whether texts such as 12 % are hundredths."""
        return isinstance(self.text_format, NumberFormat) and self.text_format.sign == PERCENT

    @property
    def filled_in(self) -> str:
        """What stands in for a missing number, as a user writes it."""
        return f"{self.fill:.6g}" if self.date is None else shown_date(self.fill)

    @property
    def date(self) -> DateFormat | None:
        """How its dates are written, if it has dates: then its numbers are days since 1970-01-01."""
        return self.text_format if isinstance(self.text_format, DateFormat) else None


class SeenColumn(NamedTuple):
    """What training rows show of a column: its weighted median, or how many rows each of its categories has."""

    n_rows: int
    n_missing: int
    median: float
    counts: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class TableColumns:
    """All columns of a model, in the user's order."""

    columns: tuple[TableColumn, ...]

    def __iter__(self) -> Any:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        return "\n".join(self.notes) or "features are the columns as they are"

    @cached_property
    def is_plain(self) -> bool:
        """Whether features are the columns, missing numbers filled in."""
        return all(c.categories is None and not c.has_indicator and c.date is None for c in self.columns)

    @cached_property
    def categorical(self) -> list[int]:
        """Places of the columns of categories."""
        return [j for j, c in enumerate(self.columns) if c.categories is not None]

    @cached_property
    def takes_texts(self) -> bool:
        """Whether some columns may be given as texts."""
        return any(c.categories is not None or c.text_format is not None for c in self.columns)

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """The column that each feature is made of."""
        return np.repeat(np.arange(len(self.columns)), [c.n_features for c in self.columns])

    @cached_property
    def labels(self) -> list[str]:
        """Names of the features; those of columns are as they are, others longer if they would repeat one."""
        taken = {c.name for c in self.columns}
        found = []
        for column in self.columns:
            for label in column.features:
                free = label
                while free in taken and free != column.name:
                    free += "_"
                taken.add(free)
                found.append(free)
        return found

    @property
    def notes(self) -> list[str]:
        """What a reader of formulas must know."""
        filled = [c for c in self.columns if c.categories is None and c.was_missing]
        notes = [f"{c.name} means {c.name}, or {c.filled_in} where missing" for c in filled]
        notes += [f"{c.name} is 0.12 for 12 %" for c in self.columns if c.is_percent]
        has_flags = any(c.categories is not None or c.has_indicator for c in self.columns)
        if any(c.date is not None for c in self.columns):
            notes.append(
                "[days of ...] are since 1970-01-01, [month of ...] from 1 to 12, [weekday of ...] from 1 (Monday)"
            )
            notes += ["[... is ...] is 1 where what it says is true, else 0"] if has_flags else []
        elif has_flags:
            notes.append("[...] is 1 where what it says is true, else 0")
        return notes

    @property
    def identity(self) -> dict[str, Any]:
        """What makes a run another one besides the coded table: its categories, if there are any."""
        return {"categories": [c.categories for c in self.columns]} if self.categorical else {}

    # Rows

    def features(self, table: Matrix) -> Matrix:
        """Features of coded rows; the table itself if it is complete and they are its columns."""
        if self.is_plain:
            if not np.isnan(table.sum()):  # quicker than a look at every number, which are far from overflow
                return table
            table = table.copy()
            for j in np.flatnonzero(np.isnan(table).any(axis=0)):
                table[np.isnan(table[:, j]), j] = self.columns[j].fill
            return table
        found = np.empty((len(table), self.owners.size))
        place = 0
        for column, values in zip(self.columns, table.T, strict=True):
            is_missing = np.isnan(values)
            if column.date is not None:
                parts = date_parts(np.where(is_missing, column.fill, values), has_time=column.date.has_time)
                found[:, place : place + len(column.date.parts)] = parts
                place += len(column.date.parts)
            elif column.categories is None:
                found[:, place] = np.where(is_missing, column.fill, values)
                place += 1
            else:
                n_values = len(column.categories) + column.has_others
                found[:, place : place + n_values] = values[:, None] == np.arange(n_values)
                place += n_values
            if column.has_indicator:
                found[:, place] = is_missing
                place += 1
        return found

    def filled(self, table: Matrix) -> Matrix:
        """Coded rows with numbers filled in, and -1 for categories that are missing."""
        fills = np.array([column.fill if column.categories is None else -1.0 for column in self.columns])
        return np.where(np.isnan(table), fills, table)

    def values(self, table: Matrix) -> NDArray[Any]:
        """The user's values of coded rows, as objects: numbers, texts of categories, None where missing.

        A category without a feature of its own is an empty text, or a longer one if that has a feature.
        """
        found = np.array(table, dtype=object)
        for j, column in enumerate(self.columns):
            if column.categories is not None:
                other = ""
                while other in column.categories:
                    other += "?"
                texts = np.array([*column.categories, other], dtype=object)
                known = ~np.isnan(table[:, j])
                found[known, j] = texts[np.asarray(table[known, j], dtype=np.intp)]
            found[np.isnan(table[:, j]), j] = None
        return found

    # Learning

    def learned(self, table: Matrix, weight: Matrix | None) -> TableColumns:
        """Columns from training rows, coded by this value, which knows names and all categories."""
        return self.knowing([_seen(c, np.asarray(v), weight) for c, v in zip(self.columns, table.T, strict=True)])

    def knowing(self, seen: Sequence[SeenColumn]) -> TableColumns:
        """The same from what is known of training rows."""
        return TableColumns(tuple(_learned(c, own) for c, own in zip(self.columns, seen, strict=True)))

    def recoded(self, table: Matrix, final: TableColumns) -> Matrix:
        """A table that this value coded, as `final` codes it: places of the categories that it has kept."""
        changed = [j for j in self.categorical if self.columns[j].categories != final.columns[j].categories]
        if not changed:
            return table
        table = table.copy()
        for j in changed:
            kept = final.columns[j].categories or ()
            place = {c: float(k) for k, c in enumerate(kept)}
            new = np.array([*(place.get(c, len(kept)) for c in self.columns[j].categories or ()), len(kept)])
            known = ~np.isnan(table[:, j])
            table[known, j] = new[table[known, j].astype(np.intp)]
        return table

    # Files

    def document(self) -> list[Document]:
        """For the model file; names are there already."""
        return [
            {
                "fill": None if np.isnan(c.fill) else float(c.fill),
                "was_missing": c.was_missing,
                "has_indicator": c.has_indicator,
                "categories": None if c.categories is None else list(c.categories),
                "has_others": c.has_others,
                **({} if c.text_format is None else {"text_format": c.text_format.document()}),
            }
            for c in self.columns
        ]


def plain_columns(names: Sequence[str]) -> TableColumns:
    """Of models that do not know what stands in for missing values."""
    return TableColumns(tuple(TableColumn(name) for name in names))


def columns_from(parts: list[Entries], names: Sequence[str]) -> TableColumns:
    """Undo `document`, everything checked."""
    if len(parts) != len(names):
        raise ValueError(f"'columns' of the file must have {len(names)} items, got {len(parts)}.")
    found = []
    for name, own in zip(names, parts, strict=True):
        categories = None
        if own.any("categories") is not None:
            items = own.items("categories")
            if not all(isinstance(c, str) for c in items) or len(set(items)) != len(items):
                raise ValueError(f"'categories' of {own.where} must be different texts.")
            categories = tuple(items)
        fill, has_others = own.number("fill", is_optional=True), own.flag("has_others")
        form = _format_from(own.entries("text_format")) if "text_format" in own else None
        flags = own.flag("was_missing"), own.flag("has_indicator")
        column = TableColumn(name, fill, *flags, categories, has_others, form)
        if categories is not None and form is not None:
            raise ValueError(f"{own.where} cannot have both categories and a format of numbers or dates.")
        if column.date is not None and np.isnan(fill):
            raise ValueError(f"{own.where} must have a number for rows without a date.")
        if categories is None and (has_others or (column.has_indicator and np.isnan(fill))):
            raise ValueError(f"{own.where} must have categories, or a number for rows without one.")
        found.append(column)
    made = TableColumns(tuple(found))
    if not made.owners.size:
        raise ValueError("'columns' of the file make no features.")
    return made


def _format_from(entries: Entries) -> TextFormat:
    is_date = entries.text("kind", ("number", "date")) == "date"
    return date_format_from(entries) if is_date else number_format_from(entries)


def _shown(category: str) -> str:
    """A category in the name of a feature; in quotation marks if it could be misread."""
    is_plain = category.isprintable() and category.strip() == category and category not in ("", *_RESERVED)
    return category if is_plain and not set(category) & set("[]`\"'") else json.dumps(category, ensure_ascii=True)


def _seen(column: TableColumn, values: Matrix, weight: Matrix | None) -> SeenColumn:
    is_missing = np.isnan(values)
    n_missing = int(is_missing.sum())
    if column.categories is not None:
        counts = np.bincount(values[~is_missing].astype(np.intp), minlength=len(column.categories))
        return SeenColumn(values.size, n_missing, 0.0, counts)
    known = None if weight is None else weight[~is_missing]
    return SeenColumn(values.size, n_missing, weighted_median(values[~is_missing] if n_missing else values, known))


def _learned(column: TableColumn, seen: SeenColumn) -> TableColumn:
    n_missing, was_missing = seen.n_missing, seen.n_missing > 0
    if column.categories is None:
        has_time = column.date is None or column.date.has_time
        fill = seen.median if has_time else float(np.floor(seen.median))
        enough = max(FEWEST_FOR_INDICATOR, SHARE_FOR_INDICATOR * seen.n_rows)
        has_indicator = enough <= n_missing < seen.n_rows
        return TableColumn(column.name, fill, was_missing, has_indicator, text_format=column.text_format)
    assert seen.counts is not None
    n_found = int((seen.counts > 0).sum())
    order = np.argsort(-seen.counts, kind="stable")[: min(n_found, MOST_CATEGORIES)]
    kept = tuple(column.categories[k] for k in np.sort(order))
    return TableColumn(column.name, 0.0, was_missing, was_missing, kept, n_found > MOST_CATEGORIES)


def weighted_median(values: Matrix, weight: Matrix | None = None) -> float:
    """The value with half of the weight below; between two such, their mean. Of nothing, 0."""
    if not values.size:
        return 0.0
    if weight is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    half = below[-1] / 2
    low = int(np.searchsorted(below, half, side="left"))
    high = int(np.searchsorted(below, half, side="right"))
    ordered = values[order]
    return float(0.5 * ordered[low] + 0.5 * ordered[min(high, ordered.size - 1)])
