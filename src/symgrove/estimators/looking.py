"""What rows that are not in memory show: checks of every row, categories, medians, and how features and targets spread.

Workers look at their blocks, a piece at a time, as `read_rows` checks arrays; what they find is put together here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import numeric_vector
from symgrove.estimators.input import read_rows
from symgrove.fitness.bootstrap import NO_WEIGHT
from symgrove.methods.problem import HowToPass, Rows
from symgrove.methods.spread_rows import Blocks, Facts, summed
from symgrove.models.block_sums import Sketch, joined, thinned
from symgrove.models.columns import SeenColumn, TableColumn, TableColumns, weighted_median
from symgrove.shards.pieces import RawPiece

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

Matrix = NDArray[np.float64]
MOST_TEXTS = 100_000  # of a column that are counted, 30 of which are features
TOO_MANY_TEXTS = (
    "column {!r} of categories has more than {:,} different values, which name rows rather than kinds. Leave it "
    "out, or make fewer categories of it."
)


@dataclass(frozen=True)
class PieceRules:
    """How pieces are checked: as of an estimator of this kind, with these columns of categories."""

    kind: type[Estimator]
    categorical: tuple[bool, ...] | None
    target: dict[str, Any]
    is_numeric: bool
    has_facts: bool
    is_hashed: bool

    def check(self, given: RawPiece) -> Look:
        """What a piece shows; an error in it is part of that."""
        try:
            return self._look(given)
        except ValueError as error:
            return Look(trouble=error)

    def _look(self, given: RawPiece) -> Look:
        own = None if self.categorical is None else list(self.categorical)
        probe = self.kind(categorical_features=own)
        checked = read_rows(probe, given.X, given.y, None, self.target)
        weight = None if given.weight is None else checked_weight(given)
        counted = np.ones(len(checked.X), dtype=bool) if weight is None else weight > 0
        table, y = checked.X[counted], np.asarray(checked.y)[counted]
        known = None if weight is None else weight[counted]
        columns = tuple(_column_look(c, v, known) for c, v in zip(checked.columns, table.T, strict=True))
        look = Look(int(counted.sum()), columns, n_given=len(checked.X))
        if self.is_hashed:
            look = look._replace(digests=(_digest(table, y, known),))
        if not self.is_numeric:
            labels, place = np.unique(np.asarray(checked.y), return_inverse=True)
            return look._replace(labels=labels, counts=_counts(place, labels.size, np.stack([counted, counted >= 0])))
        targets = (y[:, None] if y.ndim == 1 else y).astype(np.float64)
        if not len(y):
            return look
        look = look._replace(ends=np.stack([targets.min(axis=0), targets.max(axis=0)]))
        look = look._replace(points=tuple((Sketch.of(np.asarray(t), known),) for t in targets.T))
        is_plain = self.has_facts and checked.columns.is_plain and not np.isnan(table.sum())
        if is_plain:
            rows = Rows(table, np.ascontiguousarray(targets.T), known, np.empty(0, dtype=np.intp))
            look = look._replace(facts=Facts.of(rows, HowToPass()))
        return look


class ColumnLook(NamedTuple):
    """What some rows show of a column."""

    name: str
    n_missing: int
    sketches: tuple[Sketch, ...] = ()
    counts: dict[str, int] | None = None

    def __add__(self, other: ColumnLook) -> ColumnLook:  # type: ignore[override]
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = {c: self.counts.get(c, 0) + other.counts.get(c, 0) for c in {**self.counts, **other.counts}}
        return ColumnLook(self.name, self.n_missing + other.n_missing, self.sketches + other.sketches, counts)

    def thinned(self) -> ColumnLook:
        """With one sketch."""
        return self._replace(sketches=(thinned(self.sketches),)) if self.sketches else self


class Look(NamedTuple):
    """What some rows show, or the first error in them.

    Attributes
    ----------
    n_rows : int
        With weight.
    ends : (2, n_targets) or None
        The least and the largest target.
    points : tuple of tuples of Sketch
        Of each target.
    labels, counts : (n_labels,) or None, (2, n_labels) or None
        And how many rows have each: with weight, and in all.
    facts : Facts or None
        None also where a value is missing.
    """

    n_rows: int = 0
    columns: tuple[ColumnLook, ...] = ()
    ends: Matrix | None = None
    points: tuple[tuple[Sketch, ...], ...] = ()
    labels: NDArray[Any] | None = None
    counts: NDArray[Any] | None = None
    facts: Facts | None = None
    digests: tuple[bytes, ...] = ()
    trouble: ValueError | None = None
    n_given: int = 0

    def __add__(self, other: Look) -> Look:  # type: ignore[override]
        if self.trouble is not None or other.trouble is not None:
            return self if self.trouble is not None else other
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        for column in columns:
            if column.counts is not None and len(column.counts) > MOST_TEXTS:
                return Look(trouble=ValueError(TOO_MANY_TEXTS.format(column.name, MOST_TEXTS)))
        labels, counts = self.labels, self.counts
        if labels is not None and other.labels is not None:
            labels, place = np.unique(np.concatenate([labels, other.labels]), return_inverse=True)
            counts = _counts(place, labels.size, np.concatenate([self.counts, other.counts], axis=1))
        has_facts = (self.facts is not None or not self.n_rows) and (other.facts is not None or not other.n_rows)
        facts = [own.facts for own in (self, other) if own.facts is not None]
        return Look(
            self.n_rows + other.n_rows,
            columns,
            _ends(self.ends, other.ends),
            _joined(self.points, other.points),
            labels,
            counts,
            reduce(add, facts) if has_facts and facts else None,
            self.digests + other.digests,
            n_given=self.n_given + other.n_given,
        )

    def classes(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Labels of rows with weight, and how many rows of any weight have each."""
        assert self.labels is not None
        assert self.counts is not None
        is_there = self.counts[0] > 0
        return self.labels[is_there], self.counts[1][is_there]

    def thinned(self) -> Look:
        """With one sketch of each column."""
        return self._replace(
            columns=tuple(c.thinned() for c in self.columns),
            points=tuple((thinned(own),) for own in self.points),
            facts=None if self.facts is None else self.facts.thinned(),
        )

    def columns_of(self, names: Sequence[str]) -> TableColumns:
        """Columns that know all categories, medians, and where values are missing."""
        known = [TableColumn(n, categories=_sorted(c.counts)) for n, c in zip(names, self.columns, strict=True)]
        seen = []
        for own, column in zip(self.columns, known, strict=True):
            if own.counts is None:
                median = weighted_median(*joined(own.sketches)) if own.sketches else 0.0
                seen.append(SeenColumn(self.n_rows, own.n_missing, median))
            else:
                counts = np.array([own.counts[c] for c in column.categories or ()], dtype=np.intp)
                seen.append(SeenColumn(self.n_rows, own.n_missing, 0.0, counts))
        return TableColumns(tuple(known)).knowing(seen)


def _sorted(counts: dict[str, int] | None) -> tuple[str, ...] | None:
    return None if counts is None else tuple(sorted(counts))


def _counts(places: NDArray[Any], n: int, weights: NDArray[Any]) -> NDArray[np.intp]:
    """Sums of each row of weights by place."""
    return np.stack([np.bincount(places.ravel(), own, n) for own in weights]).astype(np.intp)


def _joined(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of each target the sketches of both; either may be without rows."""
    return tuple(a + b for a, b in zip(first, second, strict=True)) if first and second else first or second


def _ends(first: Matrix | None, second: Matrix | None) -> Matrix | None:
    if first is None or second is None:
        return second if first is None else first
    return np.stack([np.minimum(first[0], second[0]), np.maximum(first[1], second[1])])


def _column_look(column: TableColumn, values: Matrix, weight: Matrix | None) -> ColumnLook:
    is_missing = np.isnan(values)
    n_missing = int(is_missing.sum())
    if column.categories is None:
        return ColumnLook(column.name, n_missing, (Sketch.of(np.asarray(values), weight),))
    counts = np.bincount(values[~is_missing].astype(np.intp), minlength=len(column.categories)).tolist()
    return ColumnLook(column.name, n_missing, (), {c: n for c, n in zip(column.categories, counts, strict=True) if n})


def checked_weight(given: RawPiece) -> Matrix:
    """Weights of a piece, refused as `check_sample_weight` refuses them, with the row among all."""
    weight = numeric_vector("sample_weight", given.weight)
    if weight.shape != (len(given.X),):
        raise ValueError(f"sample_weight must be a number for each row, got an array of shape {weight.shape}.")
    is_bad = ~(np.isfinite(weight) & (weight >= 0))
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise ValueError(f"sample_weight must be finite and not negative; row {given.start + row} has {weight[row]}.")
    return weight


def _digest(table: Matrix, y: NDArray[Any], weight: Matrix | None) -> bytes:
    found = hashlib.blake2b(np.ascontiguousarray(table).tobytes(), digest_size=16)
    found.update(repr(y.tolist()).encode() if y.dtype == object else np.ascontiguousarray(y).tobytes())
    found.update(b"" if weight is None else weight.tobytes())
    return found.digest()


class AsGiven:
    """Reads rows as they are."""

    def __call__(self, given: RawPiece) -> Any:
        return given


def look_at_all(blocks: Blocks, rules: PieceRules) -> tuple[list[Look], Look]:
    """What blocks show, and all of them together; the first error in the order of the rows is raised."""
    found = []
    for own in blocks.map(_looked, rules):
        if own is not None and own.trouble is not None:
            raise own.trouble
        found.append(own or Look())
    everything = reduce(add, (own for own in found if own.columns))
    if everything.trouble is not None:  # of texts, which no block alone has too many of
        raise everything.trouble
    if not everything.n_rows:
        raise ValueError(NO_WEIGHT)
    return found, everything


def _looked(pieces: Any, rules: PieceRules) -> Look | None:
    found: Look | None = summed(pieces, rules.check)
    return found if found is None or found.trouble is not None else found.thinned()
