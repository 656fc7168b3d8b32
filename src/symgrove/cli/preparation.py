"""From a table to features and target: which columns, what is done about missing values and texts.

What was done is a plain dictionary in the model file, so that predictions do the same.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from symgrove.cli._common import nearest
from symgrove.cli.tables import Column, DataTable
from symgrove.models.document import Entries

MISSING = ("error", "drop", "mean", "median")
TEXTS = ("error", "drop", "one-hot")
TASKS = ("auto", "regression", "classification")
MOST_CLASSES = 10  # of whole numbers that are taken for labels
MOST_CATEGORIES = 100


@dataclass(frozen=True)
class Source:
    """A column of the table that features are made of.

    `fill` stands in for missing numbers; `categories` make a feature of 0 and 1 each.
    """

    name: str
    fill: float | None
    categories: tuple[str, ...] | None

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.name] if self.categories is None else [f"{self.name}={c}" for c in self.categories]


@dataclass(frozen=True)
class Preparation:
    """What makes features of a table."""

    target: str
    missing: str
    sources: tuple[Source, ...]

    @property
    def features(self) -> list[str]:
        """Names of all features."""
        return [feature for source in self.sources for feature in source.features]

    def to_document(self) -> dict[str, Any]:
        """For the model file."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Any) -> Preparation:
        """From a model file, checked."""
        entries = Entries(document, "'table'")
        sources = []
        for own in entries.each("sources"):
            categories = None
            if own.any("categories") is not None:
                categories = tuple(own.items("categories"))
                if not all(isinstance(c, str) for c in categories):
                    raise ValueError("'categories' of the model file must be texts.")
            fill = None if own.any("fill") is None else own.number("fill")
            sources.append(Source(own.text("name"), fill, categories))
        return cls(entries.text("target"), entries.text("missing", MISSING), tuple(sources))

    def features_of(self, table: DataTable) -> tuple[np.ndarray[Any, Any], list[int], list[str]]:
        """Features of the rows that are complete, which rows these are, and what was odd."""
        for source in self.sources:
            check_column(table, source.name, "the model needs the column")
        notes: list[str] = []
        columns = [column for source in self.sources for column in _columns(source, table, notes)]
        rows = [i for i in range(table.n_rows) if all(column[i] is not None for column in columns)]
        n_missing = table.n_rows - len(rows)
        if n_missing and self.missing != "drop":
            holes = [s.name for s in self.sources if any(v is None for v in table.column(s.name))]
            raise ValueError(
                f"missing values in {', '.join(map(repr, holes))}. The model was fitted on complete rows; fill them "
                "in, or fit with --missing drop, mean or median."
            )
        if n_missing:
            notes.append(f"{n_missing} rows with missing values have no prediction")
        X = np.array([[column[i] for column in columns] for i in rows], dtype=np.float64)
        return X.reshape(len(rows), len(columns)), rows, notes


def check_column(table: DataTable, name: str, what: str) -> None:
    """See that a column is there, or name the nearest."""
    if name not in table.given:
        known = list(table.given)
        shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
        raise ValueError(f"{what} {name!r}, which is not there.{nearest(name, known)} Columns: {shown}.")


def _columns(source: Source, table: DataTable, notes: list[str]) -> list[Column]:
    """The features of one source; None where a value is missing."""
    if source.categories is None:
        column = table.column(source.name)
        if table.is_text(source.name):
            text = next(v for v in column if isinstance(v, str))
            raise ValueError(f"column {source.name!r} must be numbers as it was for the fit, but holds {text!r}.")
        return [[source.fill if v is None else v for v in column]]
    texts = table.texts(source.name)
    new = sorted({t for t in texts if t is not None} - set(source.categories))
    if new:
        shown = ", ".join(map(repr, new[:5]))
        notes.append(
            f"column {source.name!r} has values that the fit did not see ({shown}); all its features are 0 there"
        )
    # With --missing mean or median, a missing text is a category of its own: none of those known.
    fills = source.fill is not None
    return [[(0.0 if fills else None) if t is None else float(t == c) for t in texts] for c in source.categories]


def targets_of(table: DataTable, given: str) -> list[str]:
    """The columns to predict: names with commas between them, or one that may have commas of its own."""
    names = [given] if given in table.given else [name.strip() for name in given.split(",") if name.strip()] or [given]
    for name in names:
        check_column(table, name, "the target is")
    if len(set(names)) < len(names):
        raise ValueError(f"--target names a column twice: {given!r}.")
    return names


def prepare(
    table: DataTable, targets: Sequence[str], features: Sequence[str], ignore: Sequence[str], missing: str, texts: str
) -> Preparation:
    """Decide which columns are used and how; a clear error if the options do not say what to do."""
    for name in (*features, *ignore):
        check_column(table, name, "an option names the column")
    chosen = list(features) or [name for name in table.given if name not in targets and name not in ignore]
    for target in targets:
        if target in chosen:
            raise ValueError(f"the target {target!r} cannot be a feature too.")
    chosen = _without_texts(table, chosen, texts)
    if not chosen:
        raise ValueError("no features are left besides the target.")
    holes = [name for name in chosen if any(v is None for v in table.column(name))]
    if holes and missing == "error":
        n_rows = sum(any(table.column(name)[i] is None for name in holes) for i in range(table.n_rows))
        raise ValueError(
            f"missing values in {', '.join(map(repr, holes))} ({n_rows} of {table.n_rows} rows). Choose: --missing "
            "drop (leave these rows out), --missing mean or --missing median (fill in), or --ignore COLUMN."
        )
    empty = [name for name in chosen if all(v is None for v in table.column(name))]
    if empty:
        raise ValueError(f"columns without any value: {', '.join(map(repr, empty))}. Leave them out with --ignore.")
    return Preparation(",".join(targets), missing, tuple(_source(table, name, missing) for name in chosen))


def _without_texts(table: DataTable, chosen: list[str], texts: str) -> list[str]:
    found = [name for name in chosen if table.is_text(name)]
    if found and texts == "error":
        raise ValueError(
            f"columns of text: {', '.join(map(repr, found))}. Choose: --text one-hot (a feature of 0 and 1 for each "
            "value), --text drop (leave these columns out), or --ignore COLUMN."
        )
    return [name for name in chosen if name not in found] if texts == "drop" else chosen


def _source(table: DataTable, name: str, missing: str) -> Source:
    known = [v for v in table.column(name) if v is not None]
    if table.is_text(name):
        categories = tuple(sorted({t for t in table.texts(name) if t is not None}))
        if len(categories) > MOST_CATEGORIES:
            raise ValueError(
                f"column {name!r} has {len(categories)} different texts, more than {MOST_CATEGORIES}: too many for "
                "a feature each. Leave it out with --ignore."
            )
        return Source(name, 0.0 if missing in ("mean", "median") else None, categories)
    fill = None
    if missing in ("mean", "median"):
        fill = float(statistics.fmean(known) if missing == "mean" else statistics.median(known))
    return Source(name, fill, None)


def target_of(table: DataTable, name: str, rows: Sequence[int], task: str) -> tuple[np.ndarray[Any, Any], str]:
    """The target of some rows, and the task: texts, or few different whole numbers, are classes."""
    values = [table.column(name)[i] for i in rows]
    if table.is_text(name):
        if task == "regression":
            raise ValueError(f"the target {name!r} holds texts, which is no regression; leave out --task.")
        return np.array([table.texts(name)[i] for i in rows]), "classification"
    is_whole = all(float(v).is_integer() and abs(v) < 2**53 for v in values)
    is_few = is_whole and len(set(values)) <= MOST_CLASSES
    found = ("classification" if is_few else "regression") if task == "auto" else task
    if found == "classification":
        if not is_whole:
            raise ValueError(f"the target {name!r} holds numbers that are not whole (or beyond 2^53): no classes.")
        return np.array([int(v) for v in values]), found
    return np.array(values, dtype=np.float64), found
