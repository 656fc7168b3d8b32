"""Plans: what to compute for a batch of programs, and where.

A plan is valid for every row block. It holds only what is not known yet: walking down from the roots stops at vectors
that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symgrove.engines import schedule_kernels
from symgrove.engines.blocks import BlockTable
from symgrove.engines.schedule_kernels import Steps
from symgrove.engines.vectors import VectorStore
from symgrove.forest.forest import Forest


@dataclass(frozen=True)
class Schedule:
    """Steps for a batch of distinct roots.

    Attributes
    ----------
    n_roots, n_scratch_rows : int
        Rows for the roots' outputs, and for everything else that is not kept.
    computed : int64 array
        Nodes that the steps compute.
    kept, kept_addresses : int64 arrays
        Those whose vectors are written to the store.
    """

    steps: Steps
    scalars: NDArray[np.floating]
    n_steps: int
    n_roots: int
    n_scratch_rows: int
    computed: NDArray[np.int64]
    kept: NDArray[np.int64]
    kept_addresses: NDArray[np.int64]


def make_schedule(
    forest: Forest,
    roots: NDArray[np.int64],
    store: VectorStore,
    blocks: BlockTable,
    feature_address: NDArray[np.int64],
    keep_roots: bool,
) -> Schedule:
    """Plan the evaluation of distinct, ascending roots; with `keep_roots`, their vectors are kept if there is room."""
    n_nodes = int(roots[-1]) + 1
    cache = store.resize(len(forest))
    last_use = np.empty(n_nodes, dtype=np.int64)
    n_needed, n_survivors = schedule_kernels.count_needed(forest.columns, roots, cache, last_use)
    free = store.free_addresses(n_survivors + (roots.size if keep_roots else 0))
    n_most = n_needed + roots.size
    out, left, right = np.zeros((3, n_most), dtype=np.int64)
    steps = Steps(np.zeros(n_most, dtype=np.int32), out, left, right)
    scalars = np.zeros(n_most, dtype=blocks.dtype)
    row_of_root = np.full(n_nodes, -1, dtype=np.int64)
    row_of_root[roots] = np.arange(roots.size)
    kept = np.empty(free.size, dtype=np.int64)
    stack = np.empty(n_needed + 1, dtype=np.int64)
    n_steps, n_rows, n_kept = schedule_kernels.plan(
        forest.columns,
        roots,
        cache,
        last_use,
        row_of_root,
        feature_address,
        blocks.epsilon,
        keep_roots,
        free,
        stack,
        kept,
        scalars,
        steps,
    )
    blocks.compile(np.flatnonzero(np.bincount(steps.code[:n_steps], minlength=2)))
    is_computed = (last_use >= 0) & (forest.columns.code[:n_nodes] > 1) & (cache.address[:n_nodes] == 0)
    computed = np.flatnonzero(is_computed)
    n_scratch_rows = n_rows - roots.size
    return Schedule(steps, scalars, n_steps, roots.size, n_scratch_rows, computed, kept[:n_kept], free[:n_kept])
