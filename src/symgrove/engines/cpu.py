"""The CPU engine: serial kernels over row panels, on a pool of threads that the engine owns.

A panel is computed by one thread, and the panels' sums are added in the order of the rows: the same bits for any number
of threads. The first panel goes first, because the programs' centres are found on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial, wraps
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole
from symgrove.blas import product, single_blas_thread
from symgrove.dataset import Dataset, make_dataset
from symgrove.engines import evaluation_kernels
from symgrove.engines.base import (
    DEFAULT_MEMORY_BUDGET,
    SHARE_OF_VECTORS,
    VECTORS_WRITTEN_AT_A_TIME,
    Roots,
    WeightedTerms,
)
from symgrove.engines.blocks import BlockTable
from symgrove.engines.passes import ExactMomentPass, MomentPass, OutputPass, Pass, SumPass, WritePass, error_pass
from symgrove.engines.placing import PlacedSchedule, place
from symgrove.engines.resident import HostOperations, HostVectors, Room, vectors_at, vectors_in
from symgrove.engines.schedule import make_schedule
from symgrove.engines.threads import Threads, Work
from symgrove.engines.vectors import VectorStore
from symgrove.engines.workspace import BLOCK_ROWS, PANEL_ROWS, Workspace
from symgrove.fitness.bootstrap import check_counts, check_sample_weight, compact_counts
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples, Target
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest, as_roots
from symgrove.forest.primitives import PrimitiveSet

WORKSPACE_SHARE = 0.25  # of the budget, for the buffers of all threads
PLAN_SHARE = 0.1  # for plans and bookkeeping; vectors have what is left
# What others take of the budget is taken from the vectors, which change no bits, and only then from everything else.
SHARE_OF_REST = WORKSPACE_SHARE / (WORKSPACE_SHARE + PLAN_SHARE)
# Batches of programs are cut so that the buffers of this many threads fit. A constant, because the bits of matrix
# products depend on the batch, and must not depend on the number of threads.
N_WORKSPACES = 4
FEWEST_ROWS_FOR_THREADS = 1024  # of work on resident vectors; below, handing it over takes longer


def _locked(method: Callable[..., Any]) -> Callable[..., Any]:
    """One evaluation at a time: threads that share an engine would share its vectors and buffers."""

    @wraps(method)
    def run(self: CpuEngine, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return run


class CpuEngine(HostOperations):
    """Evaluates programs on the CPU.

    Parameters
    ----------
    data : Dataset
        Training data; its dtype is what programs are evaluated in.
    primitives : PrimitiveSet
        Of the forests whose programs will be evaluated.
    n_threads : int
        Threads over row panels. Results do not depend on it, to the last bit.
    memory_budget : int, optional
        Bytes for kept vectors, buffers, and what is reserved; 2 GiB by default. Results depend on it only in rounding,
        and only when it is so small that programs are evaluated in batches.
    reserved : int
        Bytes of the budget that others take: data, samples, results of the method.
    """

    def __init__(
        self,
        data: Dataset,
        primitives: PrimitiveSet,
        n_threads: int = 1,
        memory_budget: int | None = None,
        reserved: int = 0,
    ) -> None:
        if not isinstance(data, Dataset) or not isinstance(primitives, PrimitiveSet):
            raise TypeError("CpuEngine takes a Dataset (symgrove.make_dataset) and a PrimitiveSet.")
        check_whole("n_threads", n_threads, 1)
        check_whole("memory_budget", memory_budget, 1, is_optional=True)
        check_whole("reserved", reserved, 0)
        budget = DEFAULT_MEMORY_BUDGET if memory_budget is None else int(memory_budget)
        self.data = data
        self.dtype = data.dtype
        self.n_threads = n_threads
        self.memory_budget = budget
        self._reserved = reserved
        self.blocks = BlockTable(primitives, self.dtype)
        self.n_computed = 0  # node evaluations so far
        stride = data.columns.strides[0]
        self._feature_address = data.columns.ctypes.data + stride * np.arange(data.n_features, dtype=np.int64)
        self._workspace_room = min(WORKSPACE_SHARE * budget, SHARE_OF_REST * max(budget - reserved, 0))
        # Whatever the number of threads: what is kept decides how programs are cut into batches.
        vector_room = max(int((1 - PLAN_SHARE) * budget - self._workspace_room) - reserved, 0)
        self._store = VectorStore(data.n_rows, self.dtype, vector_room)
        self._forest: Forest | None = None
        self._epoch = 0
        self._panel_rows = min(PANEL_ROWS, data.n_rows)
        self._workspaces: list[Workspace] = []
        self._threads = Threads(n_threads)
        self._between_panels: Callable[[], None] | None = None
        self._lock = RLock()
        self._room = Room(self.dtype)

    @property
    def n_rows(self) -> int:
        return self.data.n_rows

    @property
    def n_features(self) -> int:
        return self.data.n_features

    @property
    def primitives(self) -> PrimitiveSet:
        return self.blocks.primitives

    @property
    def target(self) -> NDArray[np.float64]:
        return self.data.y

    def __enter__(self) -> Self:
        return self

    def watch(self, check: Callable[[], None] | None) -> None:
        self._between_panels = check

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads and free the vectors."""
        self._threads.close()
        self.forget()

    def forget(self) -> None:
        self._workspaces.clear()
        self._room.clear()
        self._store.forget()
        self._forest = None

    @cached_property
    def _target(self) -> _ScaledTarget:
        y = self.data.y
        centre, scale = _robust_centre(y)
        values = (y - centre) / scale
        is_binary = bool(np.isin(y, (0.0, 1.0)).all())
        return _ScaledTarget(centre, scale, values, values.astype(self.dtype, copy=False), is_binary)

    # The contract: see engines/base.py

    def prepare(self, counts: ArrayLike, sample_weight: ArrayLike | None = None) -> Samples:
        matrix = compact_counts(check_counts(counts, self.data.n_rows), self.dtype)
        row_weight = None
        if sample_weight is not None:
            # Only their ratios matter; the largest is 1, so that none overflows in float32.
            weight = check_sample_weight(sample_weight, self.data.n_rows)
            row_weight = (weight / weight.max()).astype(self.dtype)
        total, mean, variance = np.zeros((3, matrix.shape[0]))
        scaled = self._target.values
        target = Target(mean, variance, self._target.centre, self._target.scale)
        samples = Samples(matrix, row_weight, self.dtype, total, target)
        for j in range(total.size):
            w = samples.of_rows(slice(None), j).astype(np.float64, copy=False)
            total[j] = w.sum()
            if not total[j] > 0:
                raise ValueError(f"sample {j} has no rows of positive weight.")
            mean[j] = product(w, scaled) / total[j]
            variance[j] = product(w, (scaled - mean[j]) ** 2) / total[j]
        return samples

    @_locked
    def moments(
        self,
        forest: Forest,
        roots: Roots,
        samples: Samples,
        *,
        expect_more: bool = False,
    ) -> Moments:
        roots = as_roots(forest, roots)
        n_programs, n_samples = len(roots), samples.total.size
        sums = np.empty((3, n_programs, n_samples))
        shift, scale, reach = np.empty((3, n_programs))
        for rows, plan in self._plans(forest, roots, 3 * n_samples, samples, keep_roots=expect_more):
            look = MomentPass(samples, self._target.in_dtype)
            result = self._run(plan, look)
            sums[:, rows] = result.sums
            shift[rows], scale[rows] = look.shift, look.scale
            reach[rows] = result.reach_bits.view(self.dtype)
        return Moments(Centre(shift[:, None], scale[:, None]), reach, *sums)

    @_locked
    def exact_moments(
        self, forest: Forest, roots: Roots, samples: Samples, centre: Centre, wanted: NDArray[np.bool_]
    ) -> Moments:
        roots = as_roots(forest, roots)
        n_programs, n_samples = len(roots), samples.total.size
        sums = np.empty((3, n_programs, n_samples))
        reach = np.empty((n_programs, n_samples))
        for rows, plan in self._plans(forest, roots, 4 * n_samples, samples):
            own = Centre(centre.shift[rows], centre.scale[rows])
            result = self._run(plan, ExactMomentPass(samples, self._target.values, own, wanted[rows]))
            sums[:, rows], reach[rows] = result.sums, result.reach
        return Moments(centre, reach, *sums)

    @_locked
    def errors(
        self,
        forest: Forest,
        roots: Roots,
        scaling: Scaling,
        samples: Samples,
        row_loss: RowLoss | Deviation | OwnRowLoss,
        threshold: float = THRESHOLD,
    ) -> NDArray[np.float64]:
        roots = as_roots(forest, roots)
        if row_loss is RowLoss.MISCLASSIFIED and not self._target.is_binary:
            raise ValueError("the classification error needs targets of 0 and 1; encode the labels first.")
        sums = np.empty((len(roots), samples.total.size))
        for rows, plan in self._plans(forest, roots, sums.shape[1], samples):
            own = Scaling(scaling.slope[rows], scaling.intercept[rows])
            sums[rows] = self._run(plan, error_pass(samples, self.data.y, own, row_loss, threshold))
        return sums

    @_locked
    def outputs(
        self, forest: Forest, roots: Roots, rows: slice | NDArray[np.intp] | None = None
    ) -> NDArray[np.floating]:
        if isinstance(rows, np.ndarray):  # few, so that evaluating them alone costs little
            some = make_dataset(self.data.columns[:, rows].T, self.data.y[rows], self.dtype)
            with CpuEngine(some, self.primitives, memory_budget=self.memory_budget) as small:
                return small.outputs(forest, roots)
        start, stop, step = (rows or slice(None)).indices(self.data.n_rows)
        if step != 1:
            raise ValueError(f"rows must be a range without steps, got {rows}.")
        roots = as_roots(forest, roots)
        out = np.empty((len(roots), max(stop - start, 0)), dtype=self.dtype)
        if stop - start == self.n_rows and (np.diff(roots) > 0).all():  # in the order of the steps: no copy
            self._write(forest, roots, out)
            return out
        for programs, plan in self._plans(forest, roots, 0) if out.size else ():
            self._run(plan, OutputPass(out, programs, start), slice(start, stop))
        return out

    @_locked
    def weighted_sums(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> NDArray[np.float64]:
        sums = np.zeros((terms.n_members, self.n_rows))
        for programs, plan in self._plans(forest, as_roots(forest, roots), 0, in_passing=True):
            self._run(plan, SumPass(plan, programs, terms, sums))
        return sums

    @_locked
    def collected(self, forest: Forest, ids: NDArray[np.int64]) -> None:
        if forest is self._forest and forest.epoch == self._epoch + 1:
            self._store.collected(ids)
            self._epoch += 1

    # Vectors that stay

    @_locked
    def evaluate(self, forest: Forest, roots: Roots, *, keep: bool = False) -> HostVectors:
        roots = as_roots(forest, roots)
        if keep:
            return self._evaluate_and_keep(forest, roots)
        rows = self._room.rows(roots.size, self._store.vector_bytes)
        left = SHARE_OF_VECTORS * max(self.memory_budget - self._reserved, 0)
        self._store.limit(max(int(left) - self._room.n_bytes, 0))
        position = self._write(forest, roots, rows)
        return vectors_in(rows, self.n_rows)[position]

    def _evaluate_and_keep(self, forest: Forest, roots: Roots) -> HostVectors:
        self._know(forest)
        missing = np.flatnonzero(self._address_of(forest, roots) == 0)
        spare: list[tuple[NDArray[np.intp], HostVectors]] = []
        for start in range(0, missing.size, VECTORS_WRITTEN_AT_A_TIME):
            own = missing[start : start + VECTORS_WRITTEN_AT_A_TIME]
            self._store.make_room(own.size, roots)
            rows = np.empty((own.size, self.n_rows), dtype=self.dtype)
            position = self._write(forest, roots[own], rows, keep=True)
            left_over = self._address_of(forest, roots[own]) == 0  # constants, or there was no room
            if left_over.any():
                spare.append((own[left_over], vectors_in(rows[position[left_over]])))
        found = vectors_at(self._address_of(forest, roots), self.dtype, self.n_rows, self._store.slabs, self.data)
        for own, vectors in spare:
            found.places.address[own] = vectors.places.address
            found = HostVectors(found.places, self.n_rows, found.owners + vectors.owners)
        return found

    def _address_of(self, forest: Forest, roots: Roots) -> NDArray[np.int64]:
        """Where vectors of programs lie; 0: nowhere."""
        self._store.resize(len(forest))
        address = self._store.addresses_of(roots)
        is_feature = forest.columns.code[roots] == 0
        address[is_feature] = self._feature_address[forest.columns.left[roots[is_feature]]]
        return address

    def _write(self, forest: Forest, roots: Roots, rows: NDArray[Any], *, keep: bool = False) -> NDArray[np.intp]:
        """Write outputs to rows of an array; which row is each program's."""
        position = np.empty(roots.size, dtype=np.intp)
        first = 0
        for programs, plan in self._plans(forest, roots, 0, keep_roots=keep, has_rows=True):
            position[programs] = np.arange(first, first + programs.size)
            self._run(plan, WritePass(rows[first:]))
            first += programs.size
        return position

    def _share_out(self, work: Work, tasks: list[Any]) -> None:
        n_parts = self.n_threads if self.n_rows >= FEWEST_ROWS_FOR_THREADS else 1
        self._threads.share_out(work, tasks, n_parts, self._between_panels)

    # Plans and the row loop

    def _plans(
        self,
        forest: Forest,
        roots: Roots,
        n_columns: int,
        samples: Samples | None = None,
        *,
        keep_roots: bool = False,
        has_rows: bool = False,
        in_passing: bool = False,
    ) -> Iterator[tuple[NDArray[np.intp], PlacedSchedule]]:
        """Plans for batches of programs whose buffers stay within the budget, with the positions of the programs.

        With `has_rows`, outputs go to rows of their own, not to buffers; with `in_passing`, they are read at once.
        Each plan is run before the next is made, because running it fills vectors that the next may use.
        """
        if samples is not None and samples.counts.shape[1:] != (self.data.n_rows,):
            n_rows = samples.counts.shape[1]
            raise ValueError(f"samples have {n_rows} rows, the data {self.data.n_rows}; prepare them with this engine.")
        order = np.argsort(roots)
        roots = roots[order]
        if (roots[1:] == roots[:-1]).any():
            raise ValueError("roots must be distinct.")
        self._know(forest)
        waiting = [slice(0, roots.size)] if roots.size else []
        while waiting:
            part = waiting.pop()
            plan = self._plan(forest, roots[part], keep_roots, in_passing)
            needed = N_WORKSPACES * self._workspace_bytes(plan, n_columns, has_rows=has_rows)
            if needed > self._workspace_room:
                n_roots = part.stop - part.start
                if n_roots == 1:
                    raise ValueError(
                        f"memory_budget={self.memory_budget} bytes is too small for program {roots[part.start]}; "
                        f"it needs at least {self._budget_for(needed)}."
                    )
                middle = part.start + n_roots // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                continue
            yield order[part], plan

    def _plan(self, forest: Forest, roots: Roots, keep_roots: bool, in_passing: bool) -> PlacedSchedule:
        schedule = make_schedule(forest, roots, self._store, self.blocks.epsilon, self.dtype, keep_roots)
        self.blocks.compile(np.flatnonzero(np.bincount(schedule.steps.code)))
        return place(schedule, self._feature_address, self._store.addresses, in_passing=in_passing)

    def _know(self, forest: Forest) -> None:
        """Forget what is known of another forest, or of this one before it dropped nodes unheard."""
        if self._forest is not forest or self._epoch != forest.epoch:
            self._check_forest(forest)
            self._store.forget()
            self._forest, self._epoch = forest, forest.epoch

    def _budget_for(self, workspaces: int) -> int:
        """The smallest budget with room for buffers of so many bytes, besides what is reserved."""
        return int(max(workspaces / WORKSPACE_SHARE, self._reserved + workspaces / SHARE_OF_REST)) + 1

    def _check_forest(self, forest: Forest) -> None:
        """Refuse forests of other data or primitives: their nodes would be read as something else."""
        if forest.n_features != self.data.n_features:
            raise ValueError(f"the forest has {forest.n_features} features, the data {self.data.n_features}.")
        if not forest.primitives.is_same(self.blocks.primitives):
            raise ValueError("the forest and the engine must have the same primitives and epsilon.")

    def _workspace_bytes(self, plan: PlacedSchedule, n_columns: int, *, has_rows: bool) -> int:
        n_roots = 0 if has_rows else plan.n_roots
        buffers = Workspace.n_bytes(n_roots, plan.n_scratch_rows, self._panel_rows, self.dtype.itemsize)
        # Of the n_columns results of a program, two thirds are products with a row of weights; then the results twice.
        weights = n_columns * 2 // 3 * self._panel_rows * self.dtype.itemsize
        return buffers + weights + 2 * 8 * plan.n_roots * n_columns

    def _run(self, plan: PlacedSchedule, look: Pass, rows: slice | None = None) -> Any:
        """Compute a plan over a range of rows and return the pass's result; then keep what is to be kept."""
        rows = rows or slice(0, self.data.n_rows)
        # Buffers of another size go before new ones come.
        n_roots = plan.n_roots if look.results is None else 0
        self._workspaces = [w for w in self._workspaces if w.fits(n_roots, plan.n_scratch_rows)]
        panels = [
            slice(i, min(i + self._panel_rows, rows.stop)) for i in range(rows.start, rows.stop, self._panel_rows)
        ]
        with single_blas_thread:
            total = self._run_panel(plan, look, panels[0], is_first=True)
            if self._between_panels is not None:
                self._between_panels()
            # No more panels are under way than the budget has buffers for.
            has_rows = look.results is not None
            needed = self._workspace_bytes(plan, look.n_columns, has_rows=has_rows)
            n_buffers = int(self._workspace_room) // max(needed, 1)
            others = self._threads.in_order(partial(self._run_panel, plan, look), panels[1:], n_buffers)
            for result in others:
                look.merge(total, result)
                if self._between_panels is not None:
                    self._between_panels()
        if rows.start == 0 and rows.stop == self.data.n_rows:
            self._store.keep(plan.schedule.kept, plan.schedule.kept_slots)
            self._store.computed(plan.schedule.computed)
        self.n_computed += plan.schedule.n_steps
        return total

    def _run_panel(self, plan: PlacedSchedule, look: Pass, panel: slice, *, is_first: bool = False) -> Any:
        n_roots = plan.n_roots if look.results is None else 0
        workspace = self._borrow_workspace(n_roots, plan.n_scratch_rows)
        values, scratch = workspace.values if look.results is None else look.results, workspace.scratch
        first = 0 if look.results is None else panel.start * self.dtype.itemsize
        frame = evaluation_kernels.Frame(
            values.ctypes.data + first,
            values.strides[0],
            plan.n_roots,
            scratch.ctypes.data,
            scratch.strides[0],
            self.dtype.itemsize,
            panel.start,
            panel.stop - panel.start,
            BLOCK_ROWS,
        )
        schedule = plan.schedule
        work = plan.steps, schedule.scalars, schedule.n_steps, self.blocks.addresses, frame
        if isinstance(look, SumPass):
            evaluation_kernels.run_and_add(*work, look.program_of, look.terms, scratch, values)
        else:
            evaluation_kernels.run_steps(*work)
        if is_first:
            look.start(values, panel.stop - panel.start)
        partial = look.reduce(workspace, panel)
        self._workspaces.append(workspace)
        return partial

    def _borrow_workspace(self, n_roots: int, n_scratch_rows: int) -> Workspace:
        """A workspace for this plan, reused when one is large enough: fresh memory costs page faults."""
        while True:
            try:
                workspace = self._workspaces.pop()
            except IndexError:  # none left, or another thread was faster
                break
            if workspace.fits(n_roots, n_scratch_rows):
                workspace.n_roots = n_roots
                return workspace
        return Workspace(n_roots, n_scratch_rows, self._panel_rows, self.dtype)


class _ScaledTarget(NamedTuple):
    """The target, shifted and scaled so that sums lose few digits, in float64 and in the engine's dtype."""

    centre: float
    scale: float
    values: NDArray[np.float64]
    in_dtype: NDArray[np.floating]
    is_binary: bool


def _robust_centre(y: NDArray[np.float64]) -> tuple[float, float]:
    """Centre and scale of the target that outliers do not reach: median, and median distance from it."""
    centre = float(np.median(y))
    distance = np.abs(y - centre)
    for scale in (np.median(distance), distance.max()):
        if np.isfinite(scale) and scale > 0:
            return centre, float(scale)
    return centre, 1.0
