"""Evolutions of programs on rows that are elsewhere: engines whose data are made of the rows where these are.

A block's features are coded, scaled and laid out on its worker, in the dtype of the evolution. As many blocks as there
is room for stay so; the others are made again whenever all rows are asked for something, one for each thread of the
workers at a time. Bootstrap samples are drawn there too (fitness/block_bootstrap.py). No bit depends on what stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine
from symgrove.engines.dask_rows import TableRows
from symgrove.engines.registry import make_engine
from symgrove.fitness.named_losses import weighted_quantile
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.problem import Matrix
from symgrove.methods.spread_rows import Pieces, RowReader, SpreadRows
from symgrove.models.standardization import Standardization
from symgrove.shards.blocks import RowBlock
from symgrove.shards.table import Table


class SpreadTarget(NamedTuple):
    """What is known here of one target of rows that are elsewhere.

    Attributes
    ----------
    sizes : tuple of int
        Rows of each block.
    points, weight : (n_points,), (n_points,) or None
        Values with its quantiles, and what each stands for.
    """

    sizes: tuple[int, ...]
    points: Matrix
    weight: Matrix | None

    @classmethod
    def of(cls, rows: SpreadRows, k: int) -> SpreadTarget:
        """The target in place k."""
        return cls(sizes_of(rows), *rows.target_points(k))


def sizes_of(rows: SpreadRows) -> tuple[int, ...]:
    """Rows of each block that are not left out."""
    return tuple(rows.sizes.tolist())


class SpreadEngines(NamedTuple):
    """Engines on the same rows, one for each target.

    Attributes
    ----------
    standardization : Standardization
        Of the features.
    bytes_of_a_row : int
        That workers hold of a row while they are asked.
    engine : str
        The name, of one that is far.
    """

    rows: SpreadRows
    standardization: Standardization
    dtype: np.dtype[Any]
    primitives: PrimitiveSet
    n_threads: int
    memory_budget: int
    reserved: int
    bytes_of_a_row: int
    engine: str

    def make(self, k: int) -> Engine:
        """Of the target in place k."""
        rows, sizes = self.rows, sizes_of(self.rows)
        coded = rows.derived(
            (self.dtype.name, self.standardization.spread.tobytes()),
            columns_of_block,
            rows.blocks.read,
            sizes,
            rows.n_targets,
            self.standardization,
            self.dtype,
            rows.facts.largest_weight,
        )
        data = TableRows(
            coded, rows.n_features, self.dtype, *centre_of_target(rows, k), k, sizes, self._n_kept(coded, max(sizes))
        )
        return make_engine(data, self.primitives, self.n_threads, self.memory_budget, self.engine, self.reserved)

    def _n_kept(self, table: Table, n_largest: int) -> int | None:
        """Blocks that workers have room for, besides those that come and go; None: all."""
        room = self.rows.blocks.room
        if self.rows.n_rows * self.bytes_of_a_row <= room:
            return None
        of_a_block = n_largest * self.bytes_of_a_row
        n_coming = sum(table.cluster.workers().values())
        return max(0, int(room / of_a_block) - n_coming)


def columns_of_block(
    block: RowBlock,
    read: RowReader,
    sizes: tuple[int, ...],
    n_targets: int,
    standardization: Standardization,
    dtype: np.dtype[Any],
    largest_weight: float,
) -> dict[str, Any]:
    """A block's rows as engines want them (`TableRows`): written piece by piece, so that nothing is there twice."""
    n_rows, n_features = sizes[block.number], standardization.mean.size
    found: dict[str, Any] = {"X": np.empty((n_features, n_rows), dtype=dtype), "y": np.empty((n_targets, n_rows))}
    first = 0
    for rows in Pieces(block, read):
        own = slice(first, first + len(rows.X))
        with np.errstate(over="ignore"):  # a value too large for float32 is reported below
            found["X"][:, own] = standardization.apply(rows.X).T
        found["y"][:, own] = rows.targets
        if rows.weight is not None:
            found.setdefault("weight", np.empty(n_rows, dtype=dtype))[own] = rows.weight / largest_weight
        check_finite(found["X"][:, own], rows.positions)
        first = own.stop
    return found


def check_finite(columns: NDArray[np.floating], positions: NDArray[np.intp]) -> None:
    """Refuse features that are too large for their dtype."""
    is_finite = np.isfinite(columns)
    if not is_finite.all():
        feature, row = np.argwhere(~is_finite)[0]
        raise ValueError(f"X must be finite in {columns.dtype}; feature {feature} is not in row {positions[row]}.")


def centre_of_target(rows: SpreadRows, k: int) -> tuple[float, float]:
    """Median of a target, and the median distance from it; as far as a sketch knows, which is enough for scaling."""
    points, weight = rows.target_points(k)
    centre = weighted_quantile(points, weight, 0.5)
    low, high = rows.target_ends(k)
    for scale in (weighted_quantile(np.abs(points - centre), weight, 0.5), max(high - centre, centre - low)):
        if np.isfinite(scale) and scale > 0:
            return centre, float(scale)
    return centre, 1.0
