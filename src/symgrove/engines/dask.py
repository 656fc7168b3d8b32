"""The Dask engine: rows live in blocks on the workers of a cluster; what was asked comes back as small sums.

A block has an engine of its own on its worker. Its sums are added in an order that depends only on the number of
blocks (`block_sums.py`), so no bit depends on how many workers there are, or which block is where. A worker that missed
something, because it is new or has taken over a lost block, says so and gets what it lacks (`dask_rows.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole
from symgrove.dataset import Dataset
from symgrove.engines.base import DEFAULT_MEMORY_BUDGET, Function, Index, Matrix, Roots, WeightedTerms
from symgrove.engines.cpu import N_WORKSPACES
from symgrove.engines.dask_blocks import MomentSum, SummaryOfRows, Weighed
from symgrove.engines.dask_engines import BlockEngines, EnginesOnProcessors
from symgrove.engines.dask_messages import Numbered, pickled
from symgrove.engines.dask_rows import EVALUATE, WEIGHTED, DaskRows, TableRows
from symgrove.engines.dask_vectors import DaskVectors, Made
from symgrove.engines.forest_mirror import nodes_of_programs
from symgrove.engines.program_engine import check_total, locked, workspace_room
from symgrove.engines.resident import (
    check_distances,
    check_rows,
    check_sets,
    checked_factors,
    checked_index,
    checked_rows,
)
from symgrove.engines.threads import ONE_THREAD
from symgrove.engines.workspace import PANEL_ROWS, bytes_needed
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.bootstrap import check_counts, check_sample_weight, compact_counts
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples, Target
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.fitness.terms import VectorSummary
from symgrove.forest.forest import Forest, Ids, as_roots
from symgrove.forest.primitives import PrimitiveSet
from symgrove.shards.cluster import Cluster, described, missing_for_dask

MOST_REMEMBERED = 4  # arrays of the host that summaries had lately


class DaskEngine:
    """Evaluates programs on a cluster: the user's current client's, or else processes of this machine.

    Parameters
    ----------
    data : Dataset or TableRows
        Rows of this process, which are sent once; or rows that are there already.
    primitives : PrimitiveSet
        Of the forests whose programs will be evaluated.
    n_threads : int
        Processes of one thread, if there is no client. Results do not depend on it.
    memory_budget : int, optional
        Bytes for kept vectors of all rows, wherever they are, and for buffers, which each worker has; 2 GiB by default.
    reserved : int
        Bytes of the budget that others take.
    """

    is_far = True
    engines: type[BlockEngines] = EnginesOnProcessors  # of blocks
    budget_without_number = DEFAULT_MEMORY_BUDGET
    threads = ONE_THREAD  # this machine's processors are its workers', as a rule

    def __init__(
        self,
        data: Dataset | TableRows,
        primitives: PrimitiveSet,
        n_threads: int = 1,
        memory_budget: int | None = None,
        reserved: int = 0,
    ) -> None:
        if not isinstance(data, (Dataset, TableRows)) or not isinstance(primitives, PrimitiveSet):
            raise TypeError("DaskEngine takes a Dataset (symgrove.make_dataset) or TableRows, and a PrimitiveSet.")
        check_whole("n_threads", n_threads, 1)
        self.memory_budget = self.budget_without_number if memory_budget is None else memory_budget
        check_whole("memory_budget", self.memory_budget, 1)
        check_whole("reserved", reserved, 0)
        self.data = data
        self.dtype = data.dtype
        self._rows = DaskRows(data, primitives, n_threads, int(self.memory_budget), reserved, self.engines)
        self._workspace_room = workspace_room(self.memory_budget, reserved)
        self._samples: dict[int, Made] = {}
        self._remembered: list[tuple[Matrix, Made]] = []
        self._lock = self._rows.lock

    @classmethod
    def default_memory_budget(cls) -> int:
        """Bytes for vectors and buffers if nothing else is asked for; an error without the package."""
        missing = missing_for_dask()
        if missing:
            raise RuntimeError(f"engine='dask' cannot run here: {missing}.")
        return cls.budget_without_number

    @classmethod
    def check_workers(cls, cluster: Cluster) -> None:
        """Refuse a cluster whose workers cannot run the engines of blocks."""
        cls.engines.check(cluster, None)

    @staticmethod
    def described() -> str:
        """Where it would run now, or what is missing."""
        return described()

    @property
    def n_rows(self) -> int:
        return self._rows.n_rows

    @property
    def n_features(self) -> int:
        return self.data.n_features

    @property
    def primitives(self) -> PrimitiveSet:
        return self._rows.primitives

    @property
    def target(self) -> NDArray[np.float64]:
        return self.data.y if isinstance(self.data, Dataset) else self.target_of(np.arange(self.n_rows))

    @locked
    def target_of(self, rows: Index) -> NDArray[np.float64]:
        """On some rows: all of a table's may be more than there is room for here."""
        return self.data.y[rows] if isinstance(self.data, Dataset) else self._of_rows("targets", (), rows, ())

    @locked
    def weighted_target_of(self, rows: Index) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The target and sample weights on some rows of a table; the largest weight of all rows is 1."""
        y, weight = self._of_rows("weighted targets", (), rows, (2,))
        return y, weight

    @property
    def n_computed(self) -> int:
        """Node evaluations so far."""
        with self._lock:
            self._rows.flush()
        return self._rows.n_computed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @locked
    def close(self) -> None:
        """Leave the cluster; what handles stand for comes again if it is needed."""
        self._rows.close()

    @locked
    def forget(self) -> None:
        self._rows.forget()

    def watch(self, check: Callable[[], None] | None) -> None:
        self._rows.watch(check)

    @locked
    def collected(self, forest: Forest, ids: Ids) -> None:
        self._rows.collected(forest, ids)

    # Programs to sums: see engines/base.py

    @locked
    def prepare(self, counts: ArrayLike | SpreadCounts, sample_weight: ArrayLike | None = None) -> Samples:
        if isinstance(counts, SpreadCounts):  # weights are with the rows
            matrix: Any = counts
            sample_weight = None
        else:
            matrix = compact_counts(check_counts(counts, self.n_rows), self.dtype)
        row_weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, self.n_rows)
            row_weight = (weight / weight.max()).astype(self.dtype)  # see ProgramEngine.prepare
        found: Weighed = self._rows.ask("target", (self._known(matrix, row_weight),))
        for j, total in enumerate(found.weight):
            check_total(j, total)
        target = Target(found.mean, found.squares / found.weight, *self._rows.target)
        return Samples(matrix, row_weight, self.dtype, found.weight, target)

    @locked
    def moments(self, forest: Forest, roots: Roots, samples: Samples, *, expect_more: bool = False) -> Moments:
        roots, known = self._checked(forest, roots, samples)
        order = np.argsort(roots)
        cuts = self._cuts(forest, roots[order], 3 * samples.total.size)
        found: MomentSum = self._rows.ask("moments", (roots[order], cuts, known, expect_more))
        back = np.argsort(order)
        assert found.centre is not None
        centre = Centre(*(own[back, None].astype(np.float64) for own in found.centre))
        sums = np.ascontiguousarray(found.sums[:, back])
        return Moments(centre, found.reach[back], *sums)

    @locked
    def exact_moments(
        self, forest: Forest, roots: Roots, samples: Samples, centre: Centre, wanted: NDArray[np.bool_]
    ) -> Moments:
        roots, known = self._checked(forest, roots, samples)
        found: MomentSum = self._rows.ask("exact moments", (roots, known, centre, wanted))
        return Moments(centre, found.reach, *found.sums)

    @locked
    def errors(
        self,
        forest: Forest,
        roots: Roots,
        scaling: Scaling,
        samples: Samples,
        row_loss: RowLoss | Deviation | OwnRowLoss,
        threshold: float = THRESHOLD,
    ) -> NDArray[np.float64]:
        roots, known = self._checked(forest, roots, samples)
        found: Matrix = self._rows.ask("errors", (roots, scaling, known, pickled(row_loss), threshold))
        return found

    @locked
    def outputs(
        self, forest: Forest, roots: Roots, rows: slice | NDArray[np.intp] | None = None
    ) -> NDArray[np.floating]:
        roots = self._checked_roots(forest, roots)
        if isinstance(rows, np.ndarray):
            return self._of_rows("outputs", (roots,), rows, (roots.size,), self.dtype)
        start, stop, step = (rows or slice(None)).indices(self.n_rows)
        if step != 1:
            raise ValueError(f"rows must be a range without steps, got {rows}.")
        ranges = [slice(max(start, b.start) - b.start, min(stop, b.stop) - b.start) for b in self._rows.blocks]
        own_ranges = [own if own.start < own.stop else None for own in ranges]
        parts = [part for part in self._rows.ask("outputs", (roots,), own_ranges) if part is not None]
        return np.concatenate(parts, axis=1) if parts else np.empty((roots.size, 0), dtype=self.dtype)

    @locked
    def weighted_sums(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> Matrix:
        roots = self._checked_roots(forest, roots)
        return np.concatenate(self._rows.ask("weighted sums", (roots, terms)), axis=1)

    # Vectors that stay: see engines/base.py

    @locked
    def evaluate(self, forest: Forest, roots: Roots, *, keep: bool = False) -> DaskVectors:
        roots = self._checked_roots(forest, roots)
        again = ("evaluate again", nodes_of_programs(forest, roots))
        return self._vectors(self._rows.make(EVALUATE, (roots, keep), roots.size, again=again))

    @locked
    def weighted_vectors(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> DaskVectors:
        roots = self._checked_roots(forest, roots)
        again = ("weighted again", (*nodes_of_programs(forest, roots), terms))
        return self._vectors(self._rows.make(WEIGHTED, (roots, terms), terms.n_members, again=again))

    @locked
    def put(self, rows: ArrayLike) -> DaskVectors:
        own = np.array(rows, dtype=np.float64, order="C", ndmin=2)
        if own.ndim != 2 or own.shape[1] != self.n_rows:
            raise ValueError(f"rows must have shape (n_vectors, {self.n_rows}), got {own.shape}.")
        return self._vectors(self._rows.make("put", (), len(own), rows_of=partial(_rows_of, _compact(own))))

    def fetch(self, vectors: DaskVectors) -> Matrix:
        parts: list[Matrix] = vectors.home.ask("fetch", (vectors.chosen,))
        return np.concatenate(parts, axis=1)

    @locked
    def combine(self, coefficients: Matrix, vectors: DaskVectors, index: Index | None = None) -> DaskVectors:
        coefficients = np.array(coefficients, dtype=np.float64, order="C")
        own_index = checked_index(index, vectors, len(coefficients))
        if own_index.shape != coefficients.shape:
            raise ValueError(f"coefficients of shape {coefficients.shape} do not go with {own_index.shape} vectors.")
        self._rows.check_same(vectors)
        arguments = coefficients, vectors.chosen, _small(index)
        return self._vectors(self._rows.make("combine", arguments, len(coefficients), [vectors]))

    @locked
    def apply(self, function: Function, *vectors: DaskVectors) -> DaskVectors:
        check_sets(*vectors)
        self._rows.check_same(*vectors)
        sets = tuple(own.chosen for own in vectors)
        as_now = pickled(function)  # it may hold numbers that change before workers hear of it
        return self._vectors(self._rows.make("apply", (as_now, sets), len(vectors[0]), vectors))

    @locked
    def distances(
        self, vectors: DaskVectors, index: Index, centres: Matrix, factors: NDArray[np.float64]
    ) -> DaskVectors:
        own_index = checked_index(index, vectors, len(index))
        centres, factors = (np.array(given, dtype=np.float64, order="C") for given in (centres, factors))
        check_distances(own_index, centres, factors)
        self._rows.check_same(vectors)
        arguments = vectors.chosen, _small(own_index), centres, factors
        return self._vectors(self._rows.make("distances", arguments, len(own_index), [vectors]))

    @locked
    def sums(self, function: Function, *vectors: DaskVectors, weights: DaskVectors | None = None) -> Matrix:
        check_sets(*vectors, *([] if weights is None else [weights]))
        self._rows.check_same(*vectors, weights)
        sets = tuple(own.chosen for own in vectors)
        found: Matrix = self._rows.ask("sums", (pickled(function), _chosen(weights), sets))
        return found

    @locked
    def products(
        self,
        left: DaskVectors,
        right: DaskVectors,
        weights: DaskVectors | None = None,
        left_index: Index | None = None,
        right_index: Index | None = None,
    ) -> Matrix:
        checked_factors(left, right, weights, left_index, right_index)
        self._rows.check_same(left, right, weights)
        arguments = left.chosen, right.chosen, _chosen(weights), _small(left_index), _small(right_index)
        found: Matrix = self._rows.ask("products", arguments)
        return found

    @locked
    def squares(self, vectors: DaskVectors, weights: DaskVectors, index: Index | None = None) -> Matrix:
        check_rows(vectors, weights)
        self._rows.check_same(vectors, weights)
        found: Matrix = self._rows.ask("squares", (vectors.chosen, weights.chosen, _small(index)))
        return found

    @locked
    def summaries(self, vectors: DaskVectors, weight: Matrix, direction: Matrix) -> VectorSummary:
        weight, direction = checked_rows(weight, direction, self.n_rows)
        self._rows.check_same(vectors)
        own = Numbered(self._brought(weight).number), Numbered(self._brought(direction).number)
        found: SummaryOfRows = self._rows.ask("summaries", (vectors.chosen, *own))
        with np.errstate(all="ignore"):
            spread = np.sqrt(found.weighed.squares / found.weighed.weight)
        return VectorSummary(found.low, found.high, found.weighed.mean, spread, found.projection)

    def _of_rows(
        self, question: str, arguments: tuple[Any, ...], rows: Index, shape: tuple[int, ...], dtype: Any = np.float64
    ) -> NDArray[Any]:
        """Numbers of some rows, from the blocks that have them."""
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
        chosen = np.where(chosen < 0, chosen + self.n_rows, chosen)  # as NumPy reads an index
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < self.n_rows):
            raise IndexError(f"rows must be from 0 to {self.n_rows - 1}, got {chosen.min()} to {chosen.max()}.")
        where = [np.flatnonzero((chosen >= own.start) & (chosen < own.stop)) for own in self._rows.blocks]
        wanted = [chosen[own] - block.start for own, block in zip(where, self._rows.blocks, strict=True)]
        out = np.empty((*shape, chosen.size), dtype=dtype)
        found = self._rows.ask(question, arguments, [own if own.size else None for own in wanted])
        for own, part in zip(where, found, strict=True):
            if part is not None:
                out[..., own] = part
        return out

    # What goes to workers

    def _vectors(self, made: Made) -> DaskVectors:
        return DaskVectors.of(self._rows, self.n_rows, made)

    def _checked_roots(self, forest: Forest, roots: Roots) -> Roots:
        """Distinct roots of a forest that workers will know."""
        roots = as_roots(forest, roots)
        if np.unique(roots).size < roots.size:
            raise ValueError("roots must be distinct.")
        self._rows.follow(forest)
        return roots

    def _checked(self, forest: Forest, roots: Roots, samples: Samples) -> tuple[Roots, Numbered]:
        """Roots and samples."""
        roots = self._checked_roots(forest, roots)
        n_rows = samples.counts.shape[1]
        if n_rows != self.n_rows:
            raise ValueError(f"samples have {n_rows} rows, the data {self.n_rows}; prepare them with this engine.")
        return roots, self._known(samples.counts, samples.row_weight)

    def _known(self, counts: NDArray[Any] | SpreadCounts, row_weight: NDArray[np.floating] | None) -> Numbered:
        """Samples by number; they are brought once, and go when nobody has their counts any more."""
        key = id(counts)
        if key not in self._samples:
            if isinstance(counts, SpreadCounts):
                self._samples[key] = self._rows.make("drawn", (replace(counts),), 0)  # a copy: nobody else holds it
            else:
                own = partial(_samples_of, weakref.ref(counts), row_weight)
                self._samples[key] = self._rows.make("samples", (), 0, rows_of=own)
            weakref.finalize(counts, self._samples.pop, key, None)
        return Numbered(self._samples[key].number)

    def _brought(self, row: Matrix) -> Made:
        """Numbers of rows; those that come again are known."""
        for known, made in self._remembered:
            if np.array_equal(known, row):
                return made
        made = self._rows.make("rows", (), 0, rows_of=partial(_rows_of, own := row.copy()))
        self._remembered = [*self._remembered[1 - MOST_REMEMBERED :], (own, made)]
        return made

    def _cuts(self, forest: Forest, roots: Roots, n_columns: int) -> list[int]:
        """Where ascending roots are cut so that buffers have room for each part, whatever a worker has kept.

        Sums in the engine's dtype depend on it in the last bits.
        """
        cuts, waiting = [0], [(0, roots.size)]
        while waiting:
            first, stop = waiting.pop()
            if stop - first > 1 and not self._fits(forest, roots[first:stop], n_columns):
                middle = (first + stop) // 2
                waiting += [(middle, stop), (first, middle)]
            else:
                cuts.append(stop)
        return cuts

    def _fits(self, forest: Forest, roots: Roots, n_columns: int) -> bool:
        def has_room(n_scratch: int) -> bool:
            sizes = roots.size, n_scratch, n_columns, PANEL_ROWS, self.dtype.itemsize
            return N_WORKSPACES * bytes_needed(*sizes, has_rows=False) <= self._workspace_room

        return has_room(len(forest)) or has_room(len(forest.reachable(roots)))


def _rows_of(array: NDArray[Any], rows: slice) -> NDArray[np.float64]:
    return array[..., rows].copy(order="C")


def _samples_of(counts: Any, row_weight: NDArray[np.floating] | None, rows: slice) -> tuple[Any, Any]:
    # A copy, because a worker within this process would keep all counts alive.
    own = counts()[:, rows].copy(order="C")
    return own, None if row_weight is None else row_weight[rows].copy()


def _compact(rows: Matrix) -> NDArray[Any]:
    """Small whole numbers in a byte each: counts, ones, labels."""
    with np.errstate(invalid="ignore"):
        small = rows.astype(np.uint8)
    is_same = np.array_equal(small, rows) and not np.signbit(rows).any()
    return small if is_same else rows


def _small(index: Index | None) -> NDArray[np.int32] | None:
    return None if index is None else np.array(index, dtype=np.int32)


def _chosen(vectors: DaskVectors | None) -> Any:
    return None if vectors is None else vectors.chosen
