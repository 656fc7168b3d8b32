"""Kernels that plan an evaluation: which nodes to compute, in which order, and where operands lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel

# Codes of the two blocks that are not primitives: a root that is a feature is copied, a constant filled in.
COPY = 0
FILL = 1


class Steps(NamedTuple):
    """One step for each node to compute.

    A place is the address of a vector's first row if it is positive, else ``-1 - i``: for i below the number of roots,
    row i of the outputs, above it a scratch row. With each step goes a scalar in the engine's dtype: the primitive's
    epsilon, or the value of a constant.
    """

    code: NDArray[np.int32]
    out: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


class Cache(NamedTuple):
    """What is known of each node: where its vector lies (0: nowhere), whether it was computed before a collection."""

    address: NDArray[np.int64]
    was_computed: NDArray[np.bool_]


@kernel
def count_needed(columns, roots, cache, last_use):
    """(nodes to compute, those of them computed before); `last_use[node]` is its highest user, -1 if not needed."""
    last_use[:] = -1
    top = -1
    for root in roots:
        last_use[root] = root
        top = max(top, root)
    n_needed = 0
    n_survivors = 0
    for node in range(top, -1, -1):
        if last_use[node] < 0:
            continue
        code = columns.code[node]
        if cache.address[node] != 0 or code == 0:
            continue
        n_needed += 1
        if code > 1:
            n_survivors += cache.was_computed[node]
            left = columns.left[node]
            right = columns.right[node]
            last_use[left] = max(last_use[left], node)
            if right >= 0:
                last_use[right] = max(last_use[right], node)
    return n_needed, n_survivors


@kernel
def plan(
    columns,
    roots,
    cache,
    last_use,
    row_of_root,
    feature_address,
    epsilon,
    keep_roots,
    free_vectors,
    scratch_stack,
    kept,
    scalars,
    out,
):
    """Write the steps in ascending order of node ids; returns (steps, rows for roots and scratch, vectors kept).

    A node that was computed before a collection has survived it, so it gets a vector of its own while `free_vectors`
    lasts, and so do roots if they are to be kept; `kept` lists such nodes. All others get a scratch row until their
    last use. `row_of_root` and `place` below have an entry for each node.
    """
    n_steps = 0
    n_rows = roots.size
    n_free = 0
    n_kept = 0
    top = roots.max() + 1
    place = np.zeros(top, dtype=np.int64)
    for node in range(top):
        if last_use[node] < 0:
            continue
        code = columns.code[node]
        if code == 0:
            place[node] = feature_address[columns.left[node]]
            continue
        if cache.address[node] != 0:
            place[node] = cache.address[node]
            continue
        is_wanted = cache.was_computed[node] or (keep_roots and row_of_root[node] >= 0)
        if code > 1 and is_wanted and n_kept < free_vectors.size:
            place[node] = free_vectors[n_kept]
            kept[n_kept] = node
            n_kept += 1
        elif row_of_root[node] >= 0:
            place[node] = -1 - row_of_root[node]
        elif n_free > 0:
            n_free -= 1
            place[node] = -1 - scratch_stack[n_free]
        else:
            place[node] = -1 - n_rows
            n_rows += 1
        out.out[n_steps] = place[node]
        if code == 1:
            out.code[n_steps] = FILL
            scalars[n_steps] = columns.value[node]
        else:
            out.code[n_steps] = code
            scalars[n_steps] = epsilon[code]
            left = columns.left[node]
            right = columns.right[node]
            out.left[n_steps] = place[left]
            if last_use[left] == node and -1 - place[left] >= roots.size:
                scratch_stack[n_free] = -1 - place[left]
                n_free += 1
            if right >= 0:
                out.right[n_steps] = place[right]
                if right != left and last_use[right] == node and -1 - place[right] >= roots.size:
                    scratch_stack[n_free] = -1 - place[right]
                    n_free += 1
        n_steps += 1
    for i in range(roots.size):
        if place[roots[i]] != -1 - i:
            out.code[n_steps] = COPY
            out.out[n_steps] = -1 - i
            out.left[n_steps] = place[roots[i]]
            n_steps += 1
    return n_steps, n_rows, n_kept
