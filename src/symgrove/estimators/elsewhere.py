"""Training rows that are not in memory: what is checked of them on workers, and what is made of them there.

Collections of Dask and columns of Parquet files become blocks on a cluster for as long as a fit takes. The first pass
checks every row as `read_rows` checks arrays, and finds categories, medians, and how features and targets are spread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import numeric_vector
from symgrove._workers import n_workers
from symgrove.engines.registry import DEFAULT, ON_CARDS_ELSEWHERE, check_workers, default_memory_budget, is_far
from symgrove.estimators.input import categorical_columns, check_names, names_of, read_rows
from symgrove.fitness.bootstrap import NO_WEIGHT
from symgrove.forest.text import feature_labels
from symgrove.methods.memory import SHARE_OF_SPREAD_ROWS as SHARE_OF_BUDGET
from symgrove.methods.problem import HowToPass, Places, Rows
from symgrove.methods.spread_rows import Blocks, Facts, summed
from symgrove.models.block_sums import Sketch, joined, thinned
from symgrove.models.checked_rows import class_targets
from symgrove.models.coding import coded
from symgrove.models.columns import SeenColumn, TableColumn, TableColumns, weighted_median
from symgrove.models.seen_rows import MOST_ROWS
from symgrove.models.task import Task
from symgrove.shards.cluster import Cluster, open_cluster
from symgrove.shards.collections import CollectionSource, HostSource, chunks_of, is_collection, is_frame
from symgrove.shards.parquet import ParquetColumns, ParquetSource
from symgrove.shards.pieces import GivenColumns, RawPiece
from symgrove.shards.table import Table

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

Matrix = NDArray[np.float64]
SHARE_OF_WORKERS = 0.3  # of the memory that workers may use, for rows that they keep
ROOM_WITHOUT_LIMIT = 1 << 30  # where nobody has set a limit
LOSSES_WITH_LINES = ("absolute", "huber", "quantile")  # whose lines are found by several looks at all rows
TAKE_ROWS_ELSEWHERE = "Grove, 2SEGP, classic, independent or standard GP, DivNichGP, GOMEA or SpatialGP"
MOST_TEXTS = 100_000  # of a column that are counted, 30 of which are features
TOO_MANY_TEXTS = (
    "column {!r} of categories has more than {:,} different values, which name rows rather than kinds. Leave it "
    "out, or make fewer categories of it."
)


class Elsewhere(NamedTuple):
    """What a fit is given.

    Attributes
    ----------
    X, y : Any
        Without rows: names and types.
    table : Table
    has_room : bool
        Whether workers keep all blocks.
    room : int
        Bytes that workers may keep, of rows or of what is made of them.
    """

    X: Any
    y: Any
    table: Table
    has_room: bool
    room: int


def is_elsewhere(X: Any) -> bool:
    """Rows that are not in the memory of this process."""
    return isinstance(X, (ParquetColumns, HostSource)) or is_collection(X)


def described(X: Any) -> str:
    """What it is, for errors."""
    if isinstance(X, ParquetColumns):
        return f"columns of {X.files.label}"
    return "a dask data frame" if is_frame(X) else "a dask collection"


def _brought(X: Any) -> str:
    """How to have them in memory, for errors."""
    if isinstance(X, ParquetColumns):
        return "give one file that fits into memory, or an array or frame of the rows"
    return "pass arrays or frames, such as X.compute()"


@contextmanager
def given_rows(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Any, Any, Any]]:
    """What a fit is given, as it is; of rows elsewhere (`Elsewhere`, None, None) on a cluster, or in memory if few."""
    if not is_elsewhere(X):
        yield X, y, sample_weight
        return
    if not getattr(estimator, "takes_rows_elsewhere", False):
        raise ValueError(
            f"X is {described(X)}; {type(estimator).__name__} needs all rows in memory: {_brought(X)}, or take "
            f"{TAKE_ROWS_ELSEWHERE}, which go through rows in blocks."
        )
    if y is None and not isinstance(X, HostSource):
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    y = _of_one_column(y)
    with open_cluster(n_workers(estimator.n_jobs)) as cluster:
        if evolves_elsewhere(estimator) and is_far(estimator.engine):
            check_workers(estimator.engine, cluster)
        room = _room(estimator, cluster)
        # Files are read again for what is made of them, and that is kept instead of the rows.
        of_rows = 0 if evolves_elsewhere(estimator) and isinstance(X, ParquetColumns) else room
        source = _source_of(X, y, sample_weight, of_rows, cluster)
        if source.n_rows <= MOST_ROWS and not isinstance(X, HostSource):
            yield _in_memory(X, y, sample_weight, cluster)
            return
        check_can_evolve(estimator, X)
        with Table(cluster, source) as table:
            has_room = source.reads_again or source.keeps
            yield Elsewhere(_empty(X), _empty(y if y is not None else X.y), table, has_room, room), None, None


def evolves_elsewhere(estimator: Estimator) -> bool:
    """Whether all rows evolve programs where they are; Grove evolves on some of them, here."""
    return estimator.takes_rows_elsewhere and estimator.evolves_programs


def check_can_evolve(estimator: Estimator, X: Any) -> None:
    """Refuse parameters that need all rows in the memory of this process."""
    if not evolves_elsewhere(estimator):
        return
    if estimator.engine != DEFAULT and not is_far(estimator.engine):
        raise ValueError(
            f"X is {described(X)}, on whose rows {type(estimator).__name__} evolves by the processors of workers; "
            f"engine={estimator.engine!r} is for rows in memory. Leave it {DEFAULT!r}, or take {ON_CARDS_ELSEWHERE!r}."
        )
    own = estimator.get_params(deep=False)
    loss = own.get("loss")
    if isinstance(loss, str) and loss in LOSSES_WITH_LINES and own.get("linear_scaling", True):
        raise ValueError(
            f"X is {described(X)}, and the lines that loss={loss!r} gives members are found with all rows in memory. "
            "Take linear_scaling=False, a function as loss, or GroveRegressor."
        )


def _of_one_column(y: Any) -> Any:
    """A target in a frame or a matrix of one column as a vector, of which nobody warns for every piece."""
    if not is_collection(y) or y.ndim != 2 or y.shape[1] != 1:
        return y
    return y[y.columns[0]] if is_frame(y) else y[:, 0]


def _room(estimator: Estimator, cluster: Cluster) -> int:
    """Bytes that workers may keep of the rows."""
    if estimator.memory_budget is not None:
        return int(SHARE_OF_BUDGET * estimator.memory_budget)
    limit = cluster.memory()
    room = ROOM_WITHOUT_LIMIT if limit is None else int(SHARE_OF_WORKERS * limit)
    if evolves_elsewhere(estimator) and estimator.engine == ON_CARDS_ELSEWHERE:  # of whose memory workers say nothing
        return min(room, int(SHARE_OF_BUDGET * default_memory_budget(ON_CARDS_ELSEWHERE)))
    return room


def _source_of(X: Any, y: Any, sample_weight: Any, room: int, cluster: Cluster) -> Any:
    if isinstance(X, HostSource):
        return X
    if isinstance(X, ParquetColumns):
        others = [y] if sample_weight is None else [y, sample_weight]
        if not all(isinstance(own, ParquetColumns) and own.files == X.files for own in others):
            raise ValueError("X has columns of Parquet files; y and sample_weight must be columns of the same files.")
        names = () if sample_weight is None else sample_weight.columns
        if len(names) > 1:
            raise ValueError(f"sample_weight must be one column, got {len(names)}: {', '.join(map(repr, names))}.")
        return ParquetSource(X, y, names[0] if names else None, room)
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"X must be a matrix or a frame, got an array of shape {X.shape}. Reshape your data.")
    if sample_weight is not None and not np.ndim(sample_weight):
        raise ValueError(f"sample_weight must be a number for each row, got {sample_weight!r}.")
    parts = [None if own is None else chunks_of(own, cluster.client) for own in (X, y, sample_weight)]
    sizes = [own.n_rows for own in parts if own is not None]
    if len(set(sizes)) > 1:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {sizes}")
    if not sizes[0]:
        raise ValueError("X has no rows.")
    assert parts[0] is not None
    assert parts[1] is not None
    return CollectionSource(parts[0], parts[1], parts[2], X.shape[1], room)


def _in_memory(X: Any, y: Any, sample_weight: Any, cluster: Cluster) -> tuple[Any, Any, Any]:
    """Few rows are brought here."""
    if not isinstance(X, ParquetColumns):
        from dask.base import compute

        with cluster.client.as_current():
            found: tuple[Any, Any, Any] = compute(X, y, sample_weight)
        return found
    source = _source_of(X, y, sample_weight, 0, cluster)
    make, *given = source.make(cluster, "", slice(0, source.n_rows))
    pieces = list(make(*given).pieces())
    columns = {name: np.concatenate([piece.X[name] for piece in pieces]) for name in X.columns}
    weight = None if sample_weight is None else np.concatenate([piece.weight for piece in pieces])
    return GivenColumns(columns, source.n_rows), np.concatenate([piece.y for piece in pieces]), weight


def _empty(values: Any) -> Any:
    if isinstance(values, HostSource):
        return np.empty((0, *values.X.shape[1:]), dtype=values.X.dtype)
    if isinstance(values, ParquetColumns):
        return values.empty()
    if is_frame(values):
        return values._meta
    return np.empty((0, *np.shape(values)[1:]), dtype=getattr(values, "dtype", None))


# What is checked and found out


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


# What is made of rows


@dataclass(frozen=True)
class RowCoder:
    """From rows as they were given to those of the fit.

    Attributes
    ----------
    label_weights : (n_classes,) or None
        What rows of each class weigh, besides their own weights.
    left_out : (n_left_out,)
        Positions, ascending.
    """

    columns: TableColumns
    is_frame: bool
    task: Task
    label_weights: Matrix | None = None
    left_out: Places | None = None

    def without(self, positions: Places) -> RowCoder:
        """Leaves these out too."""
        return replace(self, left_out=np.sort(positions))

    def __call__(self, given: RawPiece) -> Rows:
        table = coded(given.X, self.columns) if self.is_frame else np.asarray(given.X, dtype=np.float64)
        X = np.ascontiguousarray(self.columns.features(table), dtype=np.float64)
        weight = None if given.weight is None else numeric_vector("sample_weight", given.weight)
        y, classes = np.asarray(given.y), self.task.classes
        if classes is None:
            numbers = y.astype(np.float64)
            targets = numbers.reshape(1, -1) if self.task.n_targets == 1 else np.ascontiguousarray(numbers.T)
        else:
            # Labels that only rows of weight 0 have are no classes; these rows are left out below.
            places = np.minimum(np.searchsorted(classes, y.ravel()), classes.size - 1)
            targets = class_targets(places, classes.size)
            if self.label_weights is not None:
                weight = self.label_weights[places] * (1.0 if weight is None else weight)
        rows = Rows(X, targets, weight, given.start + np.arange(len(X)))
        kept = np.ones(len(X), dtype=bool) if weight is None else weight > 0
        if self.left_out is not None:
            kept &= ~np.isin(rows.positions, self.left_out, assume_unique=True)
        return (rows if kept.all() else rows.take(np.flatnonzero(kept))).transformed(self.task)


def note_names(estimator: Estimator, given: Elsewhere) -> tuple[tuple[bool, ...] | None, list[str]]:
    """Note names and the number of columns; which of them hold categories, and what all are called."""
    from sklearn.utils.validation import validate_data

    X = given.X
    if not hasattr(X, "columns"):
        validate_data(estimator, np.empty((1, X.shape[1])), skip_check_array=True)
        found = categorical_columns(estimator.categorical_features, X, X.shape[1])
        return tuple(found) if any(found) else None, feature_labels(X.shape[1])
    check_names(X.columns)
    validate_data(estimator, X, skip_check_array=True)
    if isinstance(X, GivenColumns):
        estimator.feature_names_in_ = np.array(X.columns, dtype=object)
    found = categorical_columns(estimator.categorical_features, X, len(X.columns))
    return tuple(found), feature_labels(len(found), names_of(estimator))
