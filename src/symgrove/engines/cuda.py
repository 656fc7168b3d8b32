"""The CUDA engine: rows and vectors live on a card of NVIDIA.

All steps of a schedule are one launch: a block of threads has some rows, and intermediate results stay in its shared
memory. Rows go through in chunks, so that outputs and partial sums fit; sums of panels are added in the order of the
rows, so a card gives the same bits in every run.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import Dataset, make_dataset
from symgrove.engines.base import Roots, WeightedTerms
from symgrove.engines.cuda_card import Card, Spill, missing_for_cuda, the_card
from symgrove.engines.cuda_source import kernel_source
from symgrove.engines.cuda_sums import (
    Chunk,
    ErrorsOnCard,
    MomentsOnCard,
    OnCard,
    PairsOnCard,
    TermsOnCard,
    centre_on_card,
)
from symgrove.engines.cuda_vectors import (
    PANEL,
    ROWS_OF_A_TILE,
    CardOperations,
    CardVectors,
    Kernels,
    n_padded,
    vectors_at,
    vectors_in,
)
from symgrove.engines.passes import FoundCentre
from symgrove.engines.program_engine import PartOfRows, ProgramEngine, check_total, locked
from symgrove.engines.resident import Room
from symgrove.engines.schedule import Schedule, make_schedule, share_scratch
from symgrove.engines.schedule_kernels import COPY, FILL
from symgrove.engines.threads import Threads
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest, as_roots
from symgrove.forest.primitives import PrimitiveSet

# As in the kernels.
EVALUATORS = 128
BYTES_OF_A_SCRATCH_ROW = EVALUATORS * 16
# Scratch rows in shared memory, the most used ones: more leave fewer threads to a multiprocessor, fewer make more rows
# go to the second-level cache.
MOST_SHARED_ROWS = 12
MOST_BLOCKS = 16  # of a multiprocessor
SHARE_OF_CARD = 0.35  # of its memory, if no budget is given
# A card's memory falls to pieces if large arrays of many sizes come and go: kept vectors lie in slabs of this size, and
# room for others grows by so much.
SLAB_BYTES = 1 << 29
GROWTH = 1.25
MOST_SPILLED_BYTES = 1 << 30
SHARE_OF_ROOM = 0.5  # of the budget, beyond which the room is not larger than it must be
STEP = np.dtype([("out", np.int64), ("left", np.int64), ("right", np.int64), ("scalar", np.float64)])


@dataclass(frozen=True)
class CardPlan:
    """A schedule, with the places of its slots but for the roots' outputs.

    Attributes
    ----------
    schedule : Schedule
    places : int64 array
        Of features, kept vectors, roots (0) and scratch.
    n_scratch : int
        Scratch rows.
    """

    schedule: Schedule
    places: NDArray[np.int64]
    n_scratch: int

    @property
    def n_roots(self) -> int:
        return self.schedule.n_roots

    def steps(self, outputs: NDArray[np.int64]) -> NDArray[Any]:
        """Steps as the kernel reads them, given addresses of row 0 of the roots' outputs."""
        places, schedule = self.places.copy(), self.schedule
        places[schedule.ranges.roots : schedule.ranges.scratch] = outputs
        code, out, left, right = schedule.steps
        steps = np.zeros(code.size, dtype=STEP)
        steps["out"] = (places[out] << 8) | code
        # What is not there is not read: constants have no operand, and a right operand that is the left one is known.
        steps["left"] = np.where(code == FILL, 0, places[left])
        steps["right"] = np.where(right < 0, steps["left"], places[right])
        steps["scalar"] = schedule.scalars
        return steps


class CudaEngine(ProgramEngine, CardOperations):
    """Evaluates programs on a card.

    Parameters
    ----------
    data : Dataset
        Training data; its dtype is what programs are evaluated in.
    primitives : PrimitiveSet
        Of the forests whose programs will be evaluated.
    n_threads : int
        Of the host, for others who use the engine: there is one card.
    memory_budget : int, optional
        Bytes of the card for kept vectors, buffers, and what is reserved; 35 % of its memory by default.
    reserved : int
        Bytes of the budget that others take.
    card : Card, optional
        The first one of this machine by default.
    part : PartOfRows, optional
        If the data are some rows of many.
    spill : Spill, optional
        Memory for scratch rows, if other engines use it too.
    """

    def __init__(
        self,
        data: Dataset,
        primitives: PrimitiveSet,
        n_threads: int = 1,
        memory_budget: int | None = None,
        reserved: int = 0,
        card: Card | None = None,
        part: PartOfRows | None = None,
        spill: Spill | None = None,
    ) -> None:
        self.card: Card = the_card() if card is None else card
        budget = share_of(self.card) if memory_budget is None else memory_budget
        self._slab_bytes = int(SLAB_BYTES * (1.0 if part is None else part.share))
        super().__init__(data, primitives, budget, reserved, self._allocate, self._slab_bytes, part)
        self.threads = Threads(n_threads)
        self.most_shared_rows = MOST_SHARED_ROWS
        self._spill = Spill(self.card) if spill is None else spill
        self._room = Room(self.dtype, self._new_room)
        self._columns = self._on_card(data.columns)
        stride = self._columns.shape[1] * self.dtype.itemsize
        self._feature_address = self.card.address(self._columns) + stride * np.arange(data.n_features, dtype=np.int64)
        self._codes = {row.code for row in primitives.functions}
        self.kernels = self._compiled()
        self._samples: dict[int, OnCard] = {}
        self._with_loss: dict[OwnRowLoss, Kernels] = {}

    @staticmethod
    def default_memory_budget() -> int:
        """Bytes for vectors and buffers if nothing else is asked for; an error without a card."""
        return share_of(the_card())

    @staticmethod
    def described() -> str:
        """Where it would run on this machine, or what is missing."""
        return missing_for_cuda() or the_card().described()

    def _allocate(self, n_bytes: int) -> tuple[Any, int]:
        slab = self.card.arrays.empty(n_bytes + 64, dtype=np.uint8)
        return slab, -(-self.card.address(slab) // 64) * 64

    def _new_room(self, shape: tuple[int, int], dtype: Any) -> Any:
        """Rows for vectors that are soon written over, some more than asked for if they are many."""
        n_rows, n = shape
        if n_rows * n * self.dtype.itemsize > self._slab_bytes:
            room = SHARE_OF_ROOM * self._share * max(self.memory_budget - self._reserved, 0)
            most = int(room) // (n * self.dtype.itemsize)
            n_rows = max(n_rows, min(int(GROWTH * n_rows), most))
            self.card.free_unused()
        return self.card.arrays.empty((n_rows, n), dtype=dtype)

    def _on_card(self, rows: NDArray[Any]) -> Any:
        """Rows of the host on the card, each as long as a vector."""
        found = self.card.arrays.zeros((len(rows), n_padded(rows.shape[1], rows.dtype.itemsize)), dtype=rows.dtype)
        found[:, : rows.shape[1]] = self.card.upload(rows)
        return found

    def _compiled(self, own_loss: OwnRowLoss | None = None) -> Kernels:
        rows = [row for code, row in self.primitives.by_code.items() if code in self._codes]
        loss = None if own_loss is None else (f"row loss {own_loss.name!r}", own_loss.function)
        return Kernels(self.card, kernel_source(rows, self.dtype, loss))

    def forget(self) -> None:
        had_vectors = bool(self._store.slabs)
        super().forget()
        if had_vectors:  # to free memory takes time, and engines that only predict come and go
            self.card.free_unused()

    def close(self) -> None:
        super().close()
        self.threads.close()
        self._samples.clear()
        self._with_loss.clear()

    # The contract: see engines/base.py

    def _sum_target(self, samples: Samples) -> None:
        arrays, own = self.card.arrays, self.samples_on_card(samples)
        counts = own.bytes if own.counts is None else own.counts
        total, mean, variance, *_ = samples.total, *samples.target
        for j in range(total.size):
            w = counts[j].astype(self.dtype)
            w = (w if own.row_weight is None else w * own.row_weight).astype(np.float64)
            total[j] = float(arrays.sum(w))
            check_total(j, total[j])
            mean[j] = float(arrays.sum(w * self.scaled_target)) / total[j]
            variance[j] = float(arrays.sum(w * (self.scaled_target - mean[j]) ** 2)) / total[j]

    @locked
    def moments(self, forest: Forest, roots: Roots, samples: Samples, *, expect_more: bool = False) -> Moments:
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
            for chunk in self._chunks(plan, 0):
                found.shift[rows], found.scale[rows] = centre_on_card(self.card, chunk)
        return found

    def _moments(
        self, forest: Forest, roots: Roots, samples: Samples, centre: FoundCentre | None, *, expect_more: bool
    ) -> Moments:
        sums = np.empty((3, roots.size, samples.total.size))
        shift, scale, reach = np.empty((3, roots.size))
        for rows, plan in self._plans(forest, roots, len(sums) * sums.shape[2], samples, keep_roots=expect_more):
            own = None if centre is None else FoundCentre(centre.shift[rows], centre.scale[rows])
            found = MomentsOnCard(self, samples, plan.n_roots, own)
            for chunk in self._chunks(plan, len(sums) * sums.shape[2]):
                found.add(chunk)
            sums[:, rows], shift[rows], scale[rows], reach[rows] = found.results()
        return Moments(Centre(shift[:, None], scale[:, None]), reach, *sums)

    @locked
    def exact_moments(
        self, forest: Forest, roots: Roots, samples: Samples, centre: Centre, wanted: NDArray[np.bool_]
    ) -> Moments:
        roots = as_roots(forest, roots)
        sums = np.zeros((3, roots.size, samples.total.size))
        reach = np.zeros(sums.shape[1:])
        for rows, plan in self._plans(forest, roots, 4 * sums.shape[2], samples):
            found = PairsOnCard(self, samples, centre, rows, wanted)
            for chunk in self._chunks(plan, 4 * sums.shape[2]):
                found.add(chunk)
            p, j = found.pairs
            sums[:, rows[p], j], reach[rows[p], j] = found.sums, found.reach
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
        sums = np.empty((roots.size, samples.total.size))
        for rows, plan in self._plans(forest, roots, 2 * sums.shape[1], samples):
            own = Scaling(scaling.slope[rows], scaling.intercept[rows])
            found = ErrorsOnCard(self, samples, own, row_loss, threshold)
            for chunk in self._chunks(plan, 2 * sums.shape[1]):
                found.add(chunk)
            sums[rows] = found.results()
        return sums

    @locked
    def outputs(
        self, forest: Forest, roots: Roots, rows: slice | NDArray[np.intp] | None = None
    ) -> NDArray[np.floating]:
        if isinstance(rows, np.ndarray):  # few, so that evaluating them alone costs little
            some = make_dataset(self.data.columns[:, rows].T, self.data.y[rows], self.dtype)
            with CudaEngine(some, self.primitives, 1, self.memory_budget, 0, self.card, None, self._spill) as small:
                return small.outputs(forest, roots)
        start, stop, step = (rows or slice(None)).indices(self.data.n_rows)
        if step != 1:
            raise ValueError(f"rows must be a range without steps, got {rows}.")
        roots = as_roots(forest, roots)
        out = np.empty((len(roots), max(stop - start, 0)), dtype=self.dtype)
        for programs, plan in self._plans(forest, roots, 0) if out.size else ():
            for chunk in self._chunks(plan, 0, slice(start, stop)):
                own = self.card.download(chunk.outputs[:, : chunk.stop - chunk.start])
                out[programs, chunk.start - start : chunk.stop - start] = own
        return out

    def weighted_sums(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> NDArray[np.float64]:
        return self.card.download(self._weighted(forest, roots, terms)[:, : self.n_rows])

    def weighted_vectors(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> CardVectors:
        return self._vectors_in(self._weighted(forest, roots, terms))

    @locked
    def _weighted(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> Any:
        """Sums of terms, each as long as a vector."""
        sums = self.card.arrays.zeros((terms.n_members, n_padded(self.n_rows, 8)), dtype=np.float64)
        for programs, plan in self._plans(forest, as_roots(forest, roots), 0):
            found = TermsOnCard(self, terms, programs)
            for chunk in self._chunks(plan, 0):
                found.add(chunk, sums)
        return sums

    # What sums read: see cuda_sums.py

    @cached_property
    def scaled_target(self) -> Any:
        """The standardised target, in float64."""
        return self.card.upload(self._target.values)

    @cached_property
    def scaled_target_in_dtype(self) -> Any:
        """The standardised target, in the engine's dtype."""
        return self.card.upload(self._target.in_dtype)

    @cached_property
    def target_on_card(self) -> Any:
        """The target, in float64."""
        return self.card.upload(self.data.y)

    def samples_on_card(self, samples: Samples) -> OnCard:
        """Counts and weights, brought to the card once."""
        key = id(samples.counts)
        if key not in self._samples:
            counts = self.card.upload(samples.counts)
            is_bytes = samples.counts.dtype == np.uint8
            weight = None if samples.row_weight is None else self.card.upload(samples.row_weight)
            self._samples[key] = OnCard(
                counts if is_bytes else None, None if is_bytes else counts.astype(self.dtype), weight
            )
            weakref.finalize(samples.counts, self._samples.pop, key, None)
        return self._samples[key]

    def kernels_with(self, loss: OwnRowLoss) -> Kernels:
        """Kernels that know a user's loss."""
        if loss not in self._with_loss:
            self._with_loss[loss] = self._compiled(loss)
        return self._with_loss[loss]

    # Plans and the row loop

    def _new_rows(self, n_vectors: int) -> Any:
        return self.card.arrays.empty((n_vectors, n_padded(self.n_rows, self.dtype.itemsize)), dtype=self.dtype)

    def _vectors_in(self, rows: Any) -> CardVectors:
        return vectors_in(self.kernels, rows, self.n_rows)

    def _vectors_at(self, address: NDArray[np.int64]) -> CardVectors:
        return vectors_at(self.kernels, address, self.dtype, self.n_rows, (*self._store.slabs, self._columns))

    def _write(self, forest: Forest, roots: Roots, rows: Any, *, keep: bool = False) -> NDArray[np.intp]:
        """Write outputs to rows of an array; which row is each program's."""
        position = np.empty(roots.size, dtype=np.intp)
        stride = rows.shape[1] * self.dtype.itemsize
        first = 0
        for programs, plan in self._plans(forest, roots, 0, keep_roots=keep, has_rows=True):
            position[programs] = own = np.arange(first, first + programs.size)
            self._look_up()
            self._compute(plan, 0, self.n_rows, self.card.address(rows) + stride * own)
            self._look_up()
            self._note(plan)
            first += programs.size
        return position

    def _plans(
        self,
        forest: Forest,
        roots: Roots,
        n_columns: int,
        samples: Samples | None = None,
        *,
        keep_roots: bool = False,
        has_rows: bool = False,
    ) -> Iterator[tuple[NDArray[np.intp], CardPlan]]:
        """Plans for batches of programs of which a tile fits into the buffers, with the positions of the programs.

        With `has_rows`, outputs go to rows of their own. Each plan is run before the next is made.
        """
        order = self._in_order(forest, roots, samples)
        roots = roots[order]
        waiting = [slice(0, roots.size)] if roots.size else []
        while waiting:
            part = waiting.pop()
            plan = self._plan(forest, roots[part], keep_roots)
            needed = plan.n_scratch * BYTES_OF_A_SCRATCH_ROW
            needed += 0 if has_rows else plan.n_roots * self._tile_bytes(n_columns)
            if needed > self._workspace_room:
                if plan.n_roots == 1:
                    self._check_room(int(roots[part.start]), needed)
                middle = part.start + plan.n_roots // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                continue
            yield order[part], plan

    def _tile_bytes(self, n_columns: int) -> int:
        """Of a program's outputs on a tile, and of so many sums of each of its panels."""
        n_panels = min(ROWS_OF_A_TILE // PANEL, -(-self.n_rows // PANEL))
        return n_panels * (PANEL * self.dtype.itemsize + 8 * n_columns)

    def _plan(self, forest: Forest, roots: Roots, keep_roots: bool) -> CardPlan:
        schedule = make_schedule(forest, roots, self._store, self._epsilon, self.dtype, keep_roots)
        codes = set(np.flatnonzero(np.bincount(schedule.steps.code)).tolist()) - {COPY, FILL}
        if not codes <= self._codes:
            self._codes |= codes
            self.kernels = self._compiled()
            self._with_loss.clear()
        rows, n_scratch = _by_use(schedule)
        roots_places = np.zeros(schedule.n_roots, dtype=np.int64)
        places = np.concatenate([self._feature_address, self._store.addresses, roots_places, -1 - rows])
        return CardPlan(schedule, places, n_scratch)

    def _chunks(self, plan: CardPlan, n_columns: int, rows: slice | None = None) -> Iterator[Chunk]:
        """Compute a plan over a range of rows, some at a time; then keep what is to be kept.

        Chunks are whole tiles, so that no sum depends on how much room there is.
        """
        rows = rows or slice(0, self.n_rows)
        room = self._workspace_room - plan.n_scratch * BYTES_OF_A_SCRATCH_ROW
        n_at_once = max(1, int(room) // (plan.n_roots * self._tile_bytes(n_columns))) * ROWS_OF_A_TILE
        n_longest = min(n_at_once, rows.stop - rows.start)
        # A chunk begins where 64 divides the place in the memory of whole vectors.
        aligned = rows.start // PANEL * PANEL
        stride = n_padded(n_longest + rows.start - aligned, self.dtype.itemsize)
        outputs = self.card.arrays.empty((plan.n_roots, stride), dtype=self.dtype)
        itemsize = self.dtype.itemsize
        place = self.card.address(outputs) + stride * itemsize * np.arange(plan.n_roots, dtype=np.int64)
        for start in range(rows.start, rows.stop, n_at_once):
            self._look_up()
            stop, offset = min(start + n_at_once, rows.stop), rows.start - aligned
            self._compute(plan, start - offset, stop, place - (start - offset) * itemsize)
            yield Chunk(outputs[:, offset:], stride, start, stop)
        self._look_up()
        if rows.start == 0 and rows.stop == self.n_rows:
            self._note(plan)

    def _note(self, plan: CardPlan) -> None:
        """Take note of what was computed, on all rows."""
        self._store.keep(plan.schedule.kept, plan.schedule.kept_slots)
        self._store.computed(plan.schedule.computed)

    def _spill_rows(self, n_blocks: int, n_spilled: int) -> Any:
        """Memory for scratch rows of blocks, as many as there is room for."""
        of_block = n_spilled * BYTES_OF_A_SCRATCH_ROW
        most = max(min(MOST_SPILLED_BYTES, int(self._workspace_room) // 4), of_block)
        return self._spill.rows(min(n_blocks * of_block, most), most)

    def _compute(self, plan: CardPlan, start: int, stop: int, outputs: NDArray[np.int64]) -> None:
        """Run the steps on a range of rows, with the addresses of row 0 of the outputs."""
        n_shared = min(plan.n_scratch, self.most_shared_rows)
        n_spilled = plan.n_scratch - n_shared
        shared = n_shared * BYTES_OF_A_SCRATCH_ROW
        n_blocks = self.card.n_processors * min(max(self.card.shared_bytes // (shared + 1024), 1), MOST_BLOCKS)
        n_blocks = min(n_blocks, -(-(stop - start) // (EVALUATORS * (16 // self.dtype.itemsize))))
        spill = self._spill_rows(n_blocks, n_spilled)
        if n_spilled:
            n_blocks = min(n_blocks, spill.size // (n_spilled * BYTES_OF_A_SCRATCH_ROW))
        steps = self.card.upload(plan.steps(outputs).view(np.uint8))
        n_steps = plan.schedule.n_steps
        arguments = steps, n_steps, start, stop, spill, n_shared, n_spilled
        self.kernels("evaluate", (n_blocks, 1), EVALUATORS, *arguments, shared=shared)
        self.n_computed += n_steps


def share_of(card: Card) -> int:
    """Bytes of a card that an engine has by default."""
    return int(SHARE_OF_CARD * card.total_bytes)


def _by_use(schedule: Schedule) -> tuple[NDArray[np.int64], int]:
    """A row for each scratch slot, and the number of rows; the most used rows come first."""
    rows, n_rows = share_scratch(schedule)
    slots = np.concatenate(schedule.steps[1:]) - schedule.ranges.scratch
    uses = np.bincount(rows[slots[slots >= 0]], minlength=n_rows)
    rank = np.empty(n_rows, dtype=np.int64)
    rank[np.argsort(-uses, kind="stable")] = np.arange(n_rows)
    return rank[rows], n_rows
