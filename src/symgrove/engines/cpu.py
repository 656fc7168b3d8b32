"""The CPU engine: serial kernels over row panels, on a pool of threads that the engine owns.

A panel is computed by one thread, and the panels' sums are added in the order of the rows: the same bits for any number
of threads. The first panel goes first, because the programs' centres are found on it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import wraps
from itertools import islice
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole
from symgrove.blas import product, single_blas_thread
from symgrove.dataset import Dataset, make_dataset
from symgrove.engines import evaluation_kernels
from symgrove.engines.base import DEFAULT_MEMORY_BUDGET, Roots
from symgrove.engines.blocks import BlockTable
from symgrove.engines.passes import ErrorPass, ExactMomentPass, MomentPass, OutputPass, OwnErrorPass, Pass
from symgrove.engines.placing import PlacedSchedule, place
from symgrove.engines.schedule import make_schedule
from symgrove.engines.vectors import VectorStore
from symgrove.engines.workspace import BLOCK_ROWS, PANEL_ROWS, Workspace
from symgrove.fitness.bootstrap import check_counts, check_sample_weight
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples, Target
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest, as_roots
from symgrove.forest.primitives import PrimitiveSet

WORKSPACE_SHARE = 0.25  # of the budget, for the buffers of all threads
VECTOR_SHARE = 0.65  # for vectors; what is left is for plans and bookkeeping
# Batches of programs are cut so that the buffers of this many threads fit. A constant, because the bits of matrix
# products depend on the batch, and must not depend on the number of threads.
N_WORKSPACES = 4


def _locked(method: Callable[..., Any]) -> Callable[..., Any]:
    """One evaluation at a time: threads that share an engine would share its vectors and buffers."""

    @wraps(method)
    def run(self: CpuEngine, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return run


class CpuEngine:
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
        Bytes for kept vectors and buffers, 2 GiB by default; data and counts are not included. Results depend on it
        only in rounding, and only when it is so small that programs are evaluated in batches.
    """

    def __init__(
        self, data: Dataset, primitives: PrimitiveSet, n_threads: int = 1, memory_budget: int | None = None
    ) -> None:
        if not isinstance(data, Dataset) or not isinstance(primitives, PrimitiveSet):
            raise TypeError("CpuEngine takes a Dataset (symgrove.make_dataset) and a PrimitiveSet.")
        check_whole("n_threads", n_threads, 1)
        check_whole("memory_budget", memory_budget, 1, is_optional=True)
        budget = DEFAULT_MEMORY_BUDGET if memory_budget is None else int(memory_budget)
        self.data = data
        self.dtype = data.dtype
        self.n_threads = n_threads
        self.memory_budget = budget
        self.blocks = BlockTable(primitives, self.dtype)
        self.n_computed = 0  # node evaluations so far
        stride = data.columns.strides[0]
        self._feature_address = data.columns.ctypes.data + stride * np.arange(data.n_features, dtype=np.int64)
        self._store = VectorStore(data.n_rows, self.dtype, int(budget * VECTOR_SHARE))
        self._forest: Forest | None = None
        self._epoch = 0
        self._target_centre, self._target_scale = _robust_centre(data.y)
        self._target = (data.y - self._target_centre) / self._target_scale
        self._target_in_dtype = self._target.astype(self.dtype)
        self._is_binary = bool(np.isin(data.y, (0.0, 1.0)).all())
        self._panel_rows = min(PANEL_ROWS, data.n_rows)
        self._workspaces: list[Workspace] = []
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        self._between_panels: Callable[[], None] | None = None
        self._lock = RLock()

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
        if self._pool is not None and self._pool_process == os.getpid():
            self._pool.shutdown()
        self._pool = None
        self._workspaces.clear()
        self._store.forget()
        self._forest = None

    # The contract: see engines/base.py

    def prepare(self, counts: ArrayLike, sample_weight: ArrayLike | None = None) -> Samples:
        matrix = check_counts(counts, self.data.n_rows)
        weights = np.array(matrix, dtype=self.dtype, order="C")
        if sample_weight is not None:
            # Only their ratios matter; the largest is 1, so that none overflows in float32.
            weight = check_sample_weight(sample_weight, self.data.n_rows)
            weights *= (weight / weight.max()).astype(self.dtype)
        total, mean, variance = np.zeros((3, weights.shape[0]))
        for j, row in enumerate(weights):
            w = row.astype(np.float64)
            total[j] = w.sum()
            if not total[j] > 0:
                raise ValueError(f"sample {j} has no rows of positive weight.")
            mean[j] = product(w, self._target) / total[j]
            variance[j] = product(w, (self._target - mean[j]) ** 2) / total[j]
        return Samples(weights, total, Target(mean, variance, self._target_centre, self._target_scale))

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
            look = MomentPass(samples, self._target_in_dtype)
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
            result = self._run(plan, ExactMomentPass(samples, self._target, own, wanted[rows]))
            sums[:, rows], reach[rows] = result.sums, result.reach
        return Moments(centre, reach, *sums)

    @_locked
    def errors(
        self,
        forest: Forest,
        roots: Roots,
        scaling: Scaling,
        samples: Samples,
        row_loss: RowLoss | OwnRowLoss,
        threshold: float = THRESHOLD,
    ) -> NDArray[np.float64]:
        roots = as_roots(forest, roots)
        if row_loss is RowLoss.MISCLASSIFIED and not self._is_binary:
            raise ValueError("the classification error needs targets of 0 and 1; encode the labels first.")
        sums = np.empty((len(roots), samples.total.size))
        for rows, plan in self._plans(forest, roots, sums.shape[1], samples):
            own = Scaling(scaling.slope[rows], scaling.intercept[rows])
            look: Pass
            if isinstance(row_loss, OwnRowLoss):
                look = OwnErrorPass(samples, self.data.y, own, row_loss.block)
            else:
                look = ErrorPass(samples, self.data.y, own, row_loss, threshold)
            sums[rows] = self._run(plan, look)
        return sums

    @_locked
    def outputs(
        self, forest: Forest, roots: Roots, rows: slice | NDArray[np.intp] | None = None
    ) -> NDArray[np.floating]:
        if isinstance(rows, np.ndarray):  # few, so that evaluating them alone costs little
            some = make_dataset(self.data.columns[:, rows].T, self.data.y[rows], self.dtype)
            with CpuEngine(some, self.primitives) as small:
                return small.outputs(forest, roots)
        start, stop, step = (rows or slice(None)).indices(self.data.n_rows)
        if step != 1:
            raise ValueError(f"rows must be a range without steps, got {rows}.")
        roots = as_roots(forest, roots)
        out = np.empty((len(roots), max(stop - start, 0)), dtype=self.dtype)
        for programs, plan in self._plans(forest, roots, 0) if out.size else ():
            self._run(plan, OutputPass(out, programs, start), slice(start, stop))
        return out

    @_locked
    def collected(self, forest: Forest, ids: NDArray[np.int64]) -> None:
        if forest is self._forest and forest.epoch == self._epoch + 1:
            self._store.collected(ids)
            self._epoch += 1

    def map(self, function: Callable[[int], None], n_calls: int) -> None:
        """Call a function with 0 .. n_calls - 1, on the engine's threads; it must not evaluate programs itself."""
        if self.n_threads == 1 or n_calls < 2:
            for i in range(n_calls):
                function(i)
            return
        running = [self._threads().submit(function, i) for i in range(n_calls)]
        try:
            for future in running:
                future.result()
        finally:
            for future in running:
                future.cancel()
            wait(running)

    # Plans and the row loop

    def _plans(
        self,
        forest: Forest,
        roots: Roots,
        n_columns: int,
        samples: Samples | None = None,
        *,
        keep_roots: bool = False,
    ) -> Iterator[tuple[NDArray[np.intp], PlacedSchedule]]:
        """Plans for batches of programs whose buffers stay within the budget, with the positions of the programs.

        Each plan is run before the next is made, because running it fills vectors that the next may use.
        """
        if samples is not None and samples.weights.shape[1:] != (self.data.n_rows,):
            n_rows = samples.weights.shape[1]
            raise ValueError(f"samples have {n_rows} rows, the data {self.data.n_rows}; prepare them with this engine.")
        order = np.argsort(roots)
        roots = roots[order]
        if (roots[1:] == roots[:-1]).any():
            raise ValueError("roots must be distinct.")
        if self._forest is not forest or self._epoch != forest.epoch:
            self._check_forest(forest)
            self._store.forget()
            self._forest, self._epoch = forest, forest.epoch
        waiting = [slice(0, roots.size)] if roots.size else []
        while waiting:
            part = waiting.pop()
            plan = self._plan(forest, roots[part], keep_roots)
            needed = N_WORKSPACES * self._workspace_bytes(plan, n_columns)
            if needed > WORKSPACE_SHARE * self.memory_budget:
                n_roots = part.stop - part.start
                if n_roots == 1:
                    raise ValueError(
                        f"memory_budget={self.memory_budget} bytes is too small for program {roots[part.start]}; "
                        f"it needs at least {int(needed / WORKSPACE_SHARE) + 1}."
                    )
                middle = part.start + n_roots // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                continue
            yield order[part], plan

    def _plan(self, forest: Forest, roots: Roots, keep_roots: bool) -> PlacedSchedule:
        schedule = make_schedule(forest, roots, self._store, self.blocks.epsilon, self.dtype, keep_roots)
        self.blocks.compile(np.flatnonzero(np.bincount(schedule.steps.code)))
        return place(schedule, self._feature_address, self._store.addresses)

    def _check_forest(self, forest: Forest) -> None:
        """Refuse forests of other data or primitives: their nodes would be read as something else."""
        if forest.n_features != self.data.n_features:
            raise ValueError(f"the forest has {forest.n_features} features, the data {self.data.n_features}.")
        if not forest.primitives.is_same(self.blocks.primitives):
            raise ValueError("the forest and the engine must have the same primitives and epsilon.")

    def _workspace_bytes(self, plan: PlacedSchedule, n_columns: int) -> int:
        buffers = Workspace.n_bytes(plan.n_roots, plan.n_scratch_rows, self._panel_rows, self.dtype.itemsize)
        # Of the n_columns results of a program, two thirds are products with a row of weights; then the results twice.
        weights = n_columns * 2 // 3 * self._panel_rows * self.dtype.itemsize
        return buffers + weights + 2 * 8 * plan.n_roots * n_columns

    def _run(self, plan: PlacedSchedule, look: Pass, rows: slice | None = None) -> Any:
        """Compute a plan over a range of rows and return the pass's result; then keep what is to be kept."""
        rows = rows or slice(0, self.data.n_rows)
        # Buffers of another size go before new ones come.
        self._workspaces = [w for w in self._workspaces if w.fits(plan.n_roots, plan.n_scratch_rows)]
        panels = [
            slice(i, min(i + self._panel_rows, rows.stop)) for i in range(rows.start, rows.stop, self._panel_rows)
        ]
        with single_blas_thread:
            total = self._run_panel(plan, look, panels[0], is_first=True)
            if self._between_panels is not None:
                self._between_panels()
            for partial in self._map_panels(plan, look, panels[1:]):
                look.merge(total, partial)
                if self._between_panels is not None:
                    self._between_panels()
        if rows.start == 0 and rows.stop == self.data.n_rows:
            self._store.keep(plan.schedule.kept, plan.schedule.kept_slots)
            self._store.computed(plan.schedule.computed)
        self.n_computed += plan.schedule.n_steps
        return total

    def _map_panels(self, plan: PlacedSchedule, look: Pass, panels: list[slice]) -> Iterator[Any]:
        """Partial results of the panels in order; no more panels are under way than the budget has buffers for."""
        n_buffers = int(WORKSPACE_SHARE * self.memory_budget) // self._workspace_bytes(plan, look.n_columns)
        window = min(2 * self.n_threads, n_buffers)
        if self.n_threads == 1 or window < 2 or len(panels) < 2:
            for panel in panels:
                yield self._run_panel(plan, look, panel)
            return
        pool = self._threads()
        waiting = iter(panels)
        running = deque(pool.submit(self._run_panel, plan, look, panel) for panel in islice(waiting, window))
        try:
            while running:
                partial = running[0].result()  # still in `running` if an interrupt comes now
                running.popleft()
                running.extend(pool.submit(self._run_panel, plan, look, panel) for panel in islice(waiting, 1))
                yield partial
        finally:
            # Also after an exception: a panel that went on would write to vectors that the next plan may use.
            for future in running:
                future.cancel()
            wait(running)

    def _threads(self) -> ThreadPoolExecutor:
        """The pool, made anew in a forked process, where the parent's threads do not exist."""
        if self._pool is None or self._pool_process != os.getpid():
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="symgrove")
            self._pool_process = os.getpid()
        return self._pool

    def _run_panel(self, plan: PlacedSchedule, look: Pass, panel: slice, *, is_first: bool = False) -> Any:
        workspace = self._borrow_workspace(plan)
        values, scratch = workspace.values, workspace.scratch
        frame = evaluation_kernels.Frame(
            values.ctypes.data,
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
        evaluation_kernels.run_steps(plan.steps, schedule.scalars, schedule.n_steps, self.blocks.addresses, frame)
        if is_first:
            look.start(values, panel.stop - panel.start)
        partial = look.reduce(workspace, panel)
        self._workspaces.append(workspace)
        return partial

    def _borrow_workspace(self, plan: PlacedSchedule) -> Workspace:
        """A workspace for this plan, reused when one is large enough: fresh memory costs page faults."""
        while True:
            try:
                workspace = self._workspaces.pop()
            except IndexError:  # none left, or another thread was faster
                break
            if workspace.fits(plan.n_roots, plan.n_scratch_rows):
                workspace.n_roots = plan.n_roots
                return workspace
        return Workspace(plan.n_roots, plan.n_scratch_rows, self._panel_rows, self.dtype)


def _robust_centre(y: NDArray[np.float64]) -> tuple[float, float]:
    """Centre and scale of the target that outliers do not reach: median, and median distance from it."""
    centre = float(np.median(y))
    distance = np.abs(y - centre)
    for scale in (np.median(distance), distance.max()):
        if np.isfinite(scale) and scale > 0:
            return centre, float(scale)
    return centre, 1.0
