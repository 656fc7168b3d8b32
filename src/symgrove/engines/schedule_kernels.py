"""Kernels that plan an evaluation: which nodes to compute, in which order, and in which slots results lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel

# Codes of the two steps that are not primitives: a root that is a feature is copied, a constant filled in.
COPY = 0
FILL = 1


class Steps(NamedTuple):
    """What each step applies, and the slots of its result and operands; -1 where there is no operand."""

    code: NDArray[np.int32]
    out: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


class Ranges(NamedTuple):
    """The first slots of kept vectors, of the roots' rows and of scratch; features begin at 0, scratch comes last."""

    kept: int
    roots: int
    scratch: int


class Cache(NamedTuple):
    """What is known of each node: the store's slot of its vector (-1: none), whether a collection found it computed."""

    slot: NDArray[np.int64]
    was_computed: NDArray[np.bool_]


@kernel
def count_needed(columns, roots, cache, is_needed):
    """(nodes to compute, those of them computed before); `is_needed[node]` also marks what they read."""
    is_needed[:] = False
    is_needed[roots] = True
    n_needed = 0
    n_survivors = 0
    for node in range(is_needed.size - 1, -1, -1):
        if not is_needed[node]:
            continue
        code = columns.code[node]
        if cache.slot[node] >= 0 or code == 0:
            continue
        n_needed += 1
        if code > 1:
            n_survivors += cache.was_computed[node]
            is_needed[columns.left[node]] = True
            if columns.right[node] >= 0:
                is_needed[columns.right[node]] = True
    return n_needed, n_survivors


@kernel
def write_steps(
    columns, roots, cache, is_needed, ranges, epsilon, keep_roots, free_slots, computed, kept, scalars, out
):
    """Write the steps in ascending order of node ids; returns how many (steps, scratch slots, computed, kept).

    A node that was computed before a collection has survived it, so it gets a slot of the store while `free_slots`
    lasts, and so do roots if they are to be kept, before all others; `kept` lists such nodes. All others get a scratch
    slot of their own.
    """
    n_steps = 0
    n_scratch = 0
    n_computed = 0
    n_kept = 0
    n_passed = 0  # roots
    slot = np.empty(is_needed.size, dtype=np.int64)
    for node in range(is_needed.size):
        if not is_needed[node]:
            continue
        is_root = node == roots[n_passed]  # never beyond the last: it is the last node
        n_passed += is_root
        code = columns.code[node]
        if code == 0:
            slot[node] = columns.left[node]
            continue
        if cache.slot[node] >= 0:
            slot[node] = ranges.kept + cache.slot[node]
            continue
        is_wanted = cache.was_computed[node] or (keep_roots and is_root)
        n_needed_for_roots = roots.size - n_passed if keep_roots and not is_root else 0
        if code > 1 and is_wanted and n_kept + n_needed_for_roots < free_slots.size:
            slot[node] = ranges.kept + free_slots[n_kept]
            kept[n_kept] = node
            n_kept += 1
        elif is_root:
            slot[node] = ranges.roots + n_passed - 1
        else:
            slot[node] = ranges.scratch + n_scratch
            n_scratch += 1
        out.out[n_steps] = slot[node]
        if code == 1:
            out.code[n_steps] = FILL
            scalars[n_steps] = columns.value[node]
        else:
            out.code[n_steps] = code
            scalars[n_steps] = epsilon[code]
            out.left[n_steps] = slot[columns.left[node]]
            if columns.right[node] >= 0:
                out.right[n_steps] = slot[columns.right[node]]
            computed[n_computed] = node
            n_computed += 1
        n_steps += 1
    for i in range(roots.size):
        if slot[roots[i]] != ranges.roots + i:
            out.code[n_steps] = COPY
            out.out[n_steps] = ranges.roots + i
            out.left[n_steps] = slot[roots[i]]
            n_steps += 1
    return n_steps, n_scratch, n_computed, n_kept


@kernel
def find_levels(steps, level_of_slot, out):
    """The level of each step; `level_of_slot` comes with -1 for every slot: at hand, until a step writes it."""
    for k in range(out.size):
        level = 0
        if steps.left[k] >= 0:
            level = 1 + level_of_slot[steps.left[k]]
        if steps.right[k] >= 0:
            level = max(level, 1 + level_of_slot[steps.right[k]])
        level_of_slot[steps.out[k]] = level
        out[k] = level


@kernel
def share_rows(steps, first_scratch, free, rows):
    """Give scratch slots rows, each free again after its last use; returns how many. `rows` comes with -1 everywhere.

    From the last step to the first, where the first use that is met is the last; what no step reads is used where it is
    written. A result never lies in a row that its step reads.
    """
    n_rows = 0
    n_free = 0
    for k in range(steps.out.size - 1, -1, -1):
        for slot in (steps.left[k], steps.right[k], steps.out[k]):
            i = slot - first_scratch
            if i >= 0 and rows[i] < 0:
                if n_free > 0:
                    n_free -= 1
                    rows[i] = free[n_free]
                else:
                    rows[i] = n_rows
                    n_rows += 1
        i = steps.out[k] - first_scratch
        if i >= 0:
            free[n_free] = rows[i]
            n_free += 1
    return n_rows
