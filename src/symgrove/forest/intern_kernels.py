"""Kernels of the forest: intern a node, intern a prefix token list, collect, rebuild the hash table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import float_to_bits, kernel, subroutine

EMPTY = -1
LARGEST = 2**31 - 1  # sizes of trees saturate here; a shared graph can stand for astronomically large trees


class Columns(NamedTuple):
    """The forest as kernels see it; `n_nodes` holds one number."""

    code: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    size: NDArray[np.int32]
    height: NDArray[np.int32]
    table: NDArray[np.int32]
    n_nodes: NDArray[np.int64]


class Tokens(NamedTuple):
    """A program as a prefix list: code, feature index (features) and value (constants) of each token."""

    code: NDArray[np.int32]
    feature: NDArray[np.int32]
    value: NDArray[np.float64]


@subroutine
def hash_node(code, left, right, bits, mask):
    """Start of the probe sequence of a node; multiplications by odd constants mix all bits upwards."""
    h = np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ np.uint64(left)) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= h >> np.uint64(29)
    h = (h ^ np.uint64(right)) * np.uint64(0x165667B19E3779F9)
    h ^= h >> np.uint64(32)
    h = (h ^ np.uint64(bits)) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    return np.int64(h & np.uint64(mask))


@subroutine
def intern(columns, code, left, right, value):
    """Id of the node with these contents, appended if it is new. The caller has reserved room."""
    bits = float_to_bits(value)
    mask = columns.table.size - 1
    slot = hash_node(code, left, right, bits, mask)
    while columns.table[slot] != EMPTY:
        node = columns.table[slot]
        if (
            columns.code[node] == code
            and columns.left[node] == left
            and columns.right[node] == right
            and float_to_bits(columns.value[node]) == bits
        ):
            return np.int64(node)
        slot = (slot + 1) & mask
    node = columns.n_nodes[0]
    columns.n_nodes[0] = node + 1
    columns.table[slot] = node
    columns.code[node] = code
    columns.left[node] = left
    columns.right[node] = right
    columns.value[node] = value
    size = np.int64(1)
    height = np.int64(0)
    if code > 1:  # a primitive, not a feature or constant
        size += columns.size[left]
        height = columns.height[left] + 1
        if right >= 0:
            size += columns.size[right]
            height = max(height, columns.height[right] + 1)
    columns.size[node] = min(size, LARGEST)
    columns.height[node] = height
    return np.int64(node)


@kernel
def intern_one(columns, code, left, right, value):
    """`intern` for callers in Python."""
    return intern(columns, code, left, right, value)


@subroutine
def intern_tokens(columns, tokens, n_tokens, arity, stack):
    """Root id of the program in the first `n_tokens` tokens, read from the right; `stack` is scratch."""
    top = 0
    for k in range(n_tokens - 1, -1, -1):
        code = tokens.code[k]
        if arity[code] == 0:
            value = tokens.value[k] if code == 1 else 0.0
            left = tokens.feature[k] if code == 0 else -1
            stack[top] = intern(columns, code, left, -1, value)
            top += 1
        elif arity[code] == 1:
            stack[top - 1] = intern(columns, code, stack[top - 1], -1, 0.0)
        else:
            stack[top - 2] = intern(columns, code, stack[top - 1], stack[top - 2], 0.0)
            top -= 1
    return stack[0]


@kernel
def rebuild_table(columns):
    """Enter all nodes into the (larger or emptied) hash table."""
    columns.table[:] = EMPTY
    mask = columns.table.size - 1
    for node in range(columns.n_nodes[0]):
        slot = hash_node(
            columns.code[node], columns.left[node], columns.right[node], float_to_bits(columns.value[node]), mask
        )
        while columns.table[slot] != EMPTY:
            slot = (slot + 1) & mask
        columns.table[slot] = node


@subroutine
def mark_reachable(columns, roots, is_live):
    """Set `is_live` for all nodes that the roots refer to; ids fall from parent to child, so one sweep suffices."""
    top = -1
    for root in roots:
        is_live[root] = True
        top = max(top, root)
    for node in range(top, -1, -1):
        if is_live[node] and columns.code[node] > 1:
            is_live[columns.left[node]] = True
            if columns.right[node] >= 0:
                is_live[columns.right[node]] = True


@kernel
def find_reachable(columns, roots, is_live):
    """`mark_reachable` for callers in Python."""
    mark_reachable(columns, roots, is_live)


@kernel
def copy_nodes(columns, nodes, own, out):
    """Intern nodes of one forest, which come in ascending order with all they refer to, in another; `out` by old id."""
    for node in nodes:
        left = columns.left[node]
        right = columns.right[node]
        if columns.code[node] > 1:
            left = out[left]
            right = out[right] if right >= 0 else -1
        out[node] = intern(own, columns.code[node], left, right, columns.value[node])


@kernel
def collect(columns, roots, out):
    """Drop what the roots do not refer to, in place; `out[old id]` is the new id or -1. Order is kept."""
    n_nodes = columns.n_nodes[0]
    is_live = np.zeros(n_nodes, dtype=np.bool_)
    mark_reachable(columns, roots, is_live)
    n_live = 0
    for node in range(n_nodes):
        if not is_live[node]:
            out[node] = -1
            continue
        out[node] = n_live
        columns.code[n_live] = columns.code[node]
        if columns.code[node] > 1:
            columns.left[n_live] = out[columns.left[node]]
            columns.right[n_live] = out[columns.right[node]] if columns.right[node] >= 0 else -1
        else:
            columns.left[n_live] = columns.left[node]
            columns.right[n_live] = columns.right[node]
        columns.value[n_live] = columns.value[node]
        columns.size[n_live] = columns.size[node]
        columns.height[n_live] = columns.height[node]
        n_live += 1
    columns.n_nodes[0] = n_live
