"""The CPU engine: serial kernels over row panels, on a pool of threads that the engine owns.

A panel is computed by one thread, and the panels' sums are added in the order of the rows: the same bits for any number
of threads. The first panel goes first, because the programs' centres are found on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_whole
from symgrove.blas import single_blas_thread
from symgrove.dataset import Dataset, make_dataset
from symgrove.engines import evaluation_kernels
from symgrove.engines.base import DEFAULT_MEMORY_BUDGET, Roots, WeightedTerms
from symgrove.engines.blocks import BlockTable
from symgrove.engines.passes import (
    CentrePass,
    ExactMomentPass,
    FoundCentre,
    MomentPass,
    OutputPass,
    Pass,
    SumPass,
    WritePass,
    error_pass,
)
from symgrove.engines.placing import PlacedSchedule, place
from symgrove.engines.program_engine import PartOfRows, ProgramEngine, locked
from symgrove.engines.resident import HostOperations, PlacedVectors, Room, vectors_at, vectors_in
from symgrove.engines.schedule import make_schedule
from symgrove.engines.threads import Threads, Work
from symgrove.engines.workspace import BLOCK_ROWS, PANEL_ROWS, Workspaces, bytes_needed
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest, as_roots
from symgrove.forest.primitives import PrimitiveSet

# Batches of programs are cut so that the buffers of this many threads fit. A constant, because the bits of matrix
# products depend on the batch, and must not depend on the number of threads.
N_WORKSPACES = 4
FEWEST_ROWS_FOR_THREADS = 1024  # of work on resident vectors; below, handing it over takes longer


class CpuEngine(ProgramEngine, HostOperations):
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
    part : PartOfRows, optional
        If the data are some rows of many.
    workspaces : Workspaces, optional
        Buffers, if other engines use them too.

    Examples
    --------
    >>> import symgrove as sg
    >>> data = sg.make_dataset([[1.0], [2.0], [3.0], [4.0]], [2.0, 4.0, 6.0, 8.0])
    >>> primitives = sg.PrimitiveSet(("add", "mul"))
    >>> forest = sg.Forest(1, primitives)
    >>> roots = [sg.parse(forest, "x0 + x0"), sg.parse(forest, "x0 * x0")]
    >>> with sg.CpuEngine(data, primitives) as engine:
    ...     samples = engine.prepare(sg.bootstrap_counts(4, 2, seed=0))
    ...     scores = sg.score(engine, forest, roots, samples, sg.MeanSquaredError())
    >>> scores.errors.shape  # of two programs on two samples
    (2, 2)
    """

    def __init__(
        self,
        data: Dataset,
        primitives: PrimitiveSet,
        n_threads: int = 1,
        memory_budget: int | None = None,
        reserved: int = 0,
        part: PartOfRows | None = None,
        workspaces: Workspaces | None = None,
    ) -> None:
        check_whole("n_threads", n_threads, 1)
        budget = DEFAULT_MEMORY_BUDGET if memory_budget is None else memory_budget
        super().__init__(data, primitives, budget, reserved, part=part)
        self.n_threads = n_threads
        self.blocks = BlockTable(primitives, self.dtype)
        stride = data.columns.strides[0]
        self._feature_address = data.columns.ctypes.data + stride * np.arange(data.n_features, dtype=np.int64)
        self._panel_rows = min(PANEL_ROWS, data.n_rows)
        self._workspaces = Workspaces(self._panel_rows, self.dtype) if workspaces is None else workspaces
        self.threads = Threads(n_threads)
        self._room = Room(self.dtype)

    @staticmethod
    def default_memory_budget() -> int:
        """Bytes for vectors and buffers if nothing else is asked for."""
        return DEFAULT_MEMORY_BUDGET

    @staticmethod
    def described() -> str:
        """Where it would run on this machine."""
        return "everywhere"

    def close(self) -> None:
        """End the threads and free the vectors."""
        self.threads.close()
        self.forget()

    def forget(self) -> None:
        self._workspaces.clear()
        super().forget()

    # The contract: see engines/base.py

    @locked
    def moments(
        self,
        forest: Forest,
        roots: Roots,
        samples: Samples,
        *,
        expect_more: bool = False,
    ) -> Moments:
        return self._moments(forest, as_roots(forest, roots), samples, None, expect_more=expect_more)

    @locked
    def moments_about(
        self, centre: FoundCentre, forest: Forest, roots: Roots, samples: Samples, *, expect_more: bool
    ) -> Moments:
        """Moments about centres that `centres` of the engine of the first panel has found."""
        return self._moments(forest, as_roots(forest, roots), samples, centre, expect_more=expect_more)

    @locked
    def centres(self, forest: Forest, roots: Roots) -> FoundCentre:
        """Centres of programs, if the data are the first panel."""
        roots = as_roots(forest, roots)
        found = FoundCentre(*np.empty((2, roots.size), dtype=self.dtype))
        for rows, plan in self._plans(forest, roots, 0, keep_roots=True):
            look = CentrePass()
            self._run(plan, look)
            found.shift[rows], found.scale[rows] = look.centre
        return found

    def _moments(
        self, forest: Forest, roots: Roots, samples: Samples, centre: FoundCentre | None, *, expect_more: bool
    ) -> Moments:
        n_programs, n_samples = len(roots), samples.total.size
        sums = np.empty((3, n_programs, n_samples))
        shift, scale, reach = np.empty((3, n_programs))
        for rows, plan in self._plans(forest, roots, 3 * n_samples, samples, keep_roots=expect_more):
            own = None if centre is None else FoundCentre(centre.shift[rows], centre.scale[rows])
            look = MomentPass(samples, self._target.in_dtype, own)
            result = self._run(plan, look)
            sums[:, rows] = result.sums
            shift[rows], scale[rows] = look.shift, look.scale
            reach[rows] = result.reach_bits.view(self.dtype)
        return Moments(Centre(shift[:, None], scale[:, None]), reach, *sums)

    @locked
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
        roots = as_roots(forest, roots)
        self._check_row_loss(row_loss)
        sums = np.empty((len(roots), samples.total.size))
        for rows, plan in self._plans(forest, roots, sums.shape[1], samples):
            own = Scaling(scaling.slope[rows], scaling.intercept[rows])
            sums[rows] = self._run(plan, error_pass(samples, self.data.y, own, row_loss, threshold))
        return sums

    @locked
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

    @locked
    def weighted_sums(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> NDArray[np.float64]:
        sums = np.zeros((terms.n_members, self.n_rows))
        for programs, plan in self._plans(forest, as_roots(forest, roots), 0, in_passing=True):
            self._run(plan, SumPass(plan, programs, terms, sums))
        return sums

    def weighted_vectors(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> PlacedVectors:
        return vectors_in(self.weighted_sums(forest, roots, terms))

    def _new_rows(self, n_vectors: int) -> NDArray[Any]:
        return np.empty((n_vectors, self.n_rows), dtype=self.dtype)

    def _vectors_in(self, rows: NDArray[Any]) -> PlacedVectors:
        return vectors_in(rows, self.n_rows)

    def _vectors_at(self, address: NDArray[np.int64]) -> PlacedVectors:
        return vectors_at(address, self.dtype, self.n_rows, self._store.slabs, self.data)

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
        self.threads.share_out(work, tasks, n_parts, self._between_panels)

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
        order = self._in_order(forest, roots, samples)
        roots = roots[order]
        waiting = [slice(0, roots.size)] if roots.size else []
        while waiting:
            part = waiting.pop()
            plan = self._plan(forest, roots[part], keep_roots, in_passing)
            needed = N_WORKSPACES * self._workspace_bytes(plan, n_columns, has_rows=has_rows)
            if needed > self._workspace_room:
                n_roots = part.stop - part.start
                if n_roots == 1:
                    self._check_room(int(roots[part.start]), needed)
                middle = part.start + n_roots // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                continue
            yield order[part], plan

    def _plan(self, forest: Forest, roots: Roots, keep_roots: bool, in_passing: bool) -> PlacedSchedule:
        schedule = make_schedule(forest, roots, self._store, self._epsilon, self.dtype, keep_roots)
        self.blocks.compile(np.flatnonzero(np.bincount(schedule.steps.code)))
        return place(schedule, self._feature_address, self._store.addresses, in_passing=in_passing)

    def _workspace_bytes(self, plan: PlacedSchedule, n_columns: int, *, has_rows: bool) -> int:
        sizes = plan.n_roots, plan.n_scratch_rows, n_columns, self._panel_rows, self.dtype.itemsize
        return bytes_needed(*sizes, has_rows=has_rows)

    def _run(self, plan: PlacedSchedule, look: Pass, rows: slice | None = None) -> Any:
        """Compute a plan over a range of rows and return the pass's result; then keep what is to be kept."""
        rows = rows or slice(0, self.data.n_rows)
        self._workspaces.keep(plan.n_roots if look.results is None else 0, plan.n_scratch_rows)
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
            others = self.threads.in_order(partial(self._run_panel, plan, look), panels[1:], n_buffers)
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
        workspace = self._workspaces.borrow(n_roots, plan.n_scratch_rows)
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
        self._workspaces.give_back(workspace)
        return partial
