"""Training rows that are not in memory: which fits may have them, where they lie meanwhile, and how they are coded.

Collections of Dask and columns of Parquet files become blocks on a cluster for as long as a fit takes. A first pass
looks at every row (`looking.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import numeric_vector
from symgrove._workers import n_workers
from symgrove.engines.registry import DEFAULT, ON_CARDS_ELSEWHERE, check_workers, default_memory_budget, is_far
from symgrove.estimators.input import categorical_columns, check_names, names_of
from symgrove.forest.text import feature_labels
from symgrove.methods.memory import SHARE_OF_SPREAD_ROWS as SHARE_OF_BUDGET
from symgrove.methods.problem import Places, Rows
from symgrove.models.checked_rows import class_targets
from symgrove.models.coding import coded
from symgrove.models.columns import TableColumns
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
