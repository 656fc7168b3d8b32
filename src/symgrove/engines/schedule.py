"""Schedules: what to compute for a batch of programs, and when; where results lie is for each engine to say.

A schedule is valid for every row block. It holds only what is not known yet: walking down from the roots stops at
vectors that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symgrove.engines import schedule_kernels
from symgrove.engines.schedule_kernels import Cache, Ranges, Steps
from symgrove.forest.forest import Forest


class Store(Protocol):
    """Room for vectors that an engine keeps, in slots 0 .. n_vectors - 1."""

    @property
    def n_vectors(self) -> int: ...

    def resize(self, n_nodes: int) -> Cache:
        """What is known of so many nodes."""
        ...

    def free_slots(self, n_wanted: int) -> NDArray[np.int64]:
        """Up to so many unused slots; there may be more slots afterwards."""
        ...


@dataclass(frozen=True)
class Schedule:
    """Steps for a batch of distinct roots.

    Steps are in ascending order of node ids, and copies of roots come last: a step reads only features, vectors kept
    before, and what earlier steps wrote. No slot is written twice, so steps may also run in any other order that has
    each after those it reads from, for example level by level (`levels`).

    Attributes
    ----------
    steps : Steps
        Operands and results are slots: whole numbers in four ranges.
    scalars : array of n_steps
        The primitive's epsilon, or the value of a constant, in the engine's dtype.
    ranges : Ranges
        Slots of features, of kept vectors (by their slots in the store), of the roots' outputs, and of everything else.
    n_scratch : int
        Slots of the last range, one for each result in it; see `share_scratch`.
    computed : int64 array
        Nodes that the steps compute, without constants.
    kept, kept_slots : int64 arrays
        Those whose vectors are to be kept, and in which slots of the store.
    """

    steps: Steps
    scalars: NDArray[np.floating]
    ranges: Ranges
    n_scratch: int
    computed: NDArray[np.int64]
    kept: NDArray[np.int64]
    kept_slots: NDArray[np.int64]

    @property
    def n_steps(self) -> int:
        return self.steps.code.size

    @property
    def n_roots(self) -> int:
        return self.ranges.scratch - self.ranges.roots


def make_schedule(
    forest: Forest,
    roots: NDArray[np.int64],
    store: Store,
    epsilon: NDArray[np.float64],
    dtype: np.dtype[Any],
    keep_roots: bool,
) -> Schedule:
    """Plan the evaluation of distinct, ascending roots; with `keep_roots`, their vectors are kept if there is room.

    `epsilon` has an entry for each code of a primitive, `dtype` is that of the scalars.
    """
    cache = store.resize(len(forest))
    is_needed = np.empty(int(roots[-1]) + 1, dtype=np.bool_)
    n_needed, n_survivors = schedule_kernels.count_needed(forest.columns, roots, cache, is_needed)
    free = store.free_slots(n_survivors + (roots.size if keep_roots else 0))
    first_root = forest.n_features + store.n_vectors
    ranges = Ranges(forest.n_features, first_root, first_root + roots.size)
    n_most = n_needed + roots.size
    code = np.empty(n_most, dtype=np.int32)
    out, left, right = np.full((3, n_most), -1, dtype=np.int64)
    scalars = np.zeros(n_most, dtype=dtype)
    computed = np.empty(n_needed, dtype=np.int64)
    kept = np.empty(free.size, dtype=np.int64)
    n_steps, n_scratch, n_computed, n_kept = schedule_kernels.write_steps(
        forest.columns,
        roots,
        cache,
        is_needed,
        ranges,
        epsilon,
        keep_roots,
        free,
        computed,
        kept,
        scalars,
        Steps(code, out, left, right),
    )
    steps = Steps(code[:n_steps], out[:n_steps], left[:n_steps], right[:n_steps])
    return Schedule(steps, scalars[:n_steps], ranges, n_scratch, computed[:n_computed], kept[:n_kept], free[:n_kept])


def levels(schedule: Schedule) -> NDArray[np.int64]:
    """The level of each step: 0 if it reads nothing that a step writes, else one more than the highest of those steps.

    Steps of one level do not read each other's results, and may run at once. A constant is a step of level 0.
    """
    found = np.empty(schedule.n_steps, dtype=np.int64)
    level_of_slot = np.full(schedule.ranges.scratch + schedule.n_scratch, -1, dtype=np.int64)
    schedule_kernels.find_levels(schedule.steps, level_of_slot, found)
    return found


def share_scratch(schedule: Schedule, *, with_roots: bool = False) -> tuple[NDArray[np.int64], int]:
    """A row for each scratch slot, and the number of rows, for steps that run one after the other.

    A row is used again after the last step that reads it, so that few are needed. In another order, steps would
    overwrite what others still read. With roots, which come first, their outputs are there when they are written, and
    until the last step that reads them.
    """
    first = schedule.ranges.roots if with_roots else schedule.ranges.scratch
    rows = np.full(schedule.ranges.scratch + schedule.n_scratch - first, -1, dtype=np.int64)
    free = np.empty(rows.size, dtype=np.int64)
    return rows, schedule_kernels.share_rows(schedule.steps, first, free, rows)
