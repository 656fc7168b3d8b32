"""Programs with other constants or another part, and their sizes."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern
from symgrove.methods.law.least_squares_kernels import (
    ADD,
    CONSTANT,
    DIV,
    FEATURE,
    MAX,
    MIN,
    MOST_NODES,
    MUL,
    NEG,
    SQRT,
    SQUARE,
    SUB,
    list_nodes,
)


@subroutine
def interned(columns, arity, node, left, right):
    """The same primitive with other operands."""
    code = columns.code[node]
    return intern(columns, code, left, right if arity[code] > 1 else -1, 0.0)


@kernel
def with_constants(columns, arity, operation_of, roots, constants, scratch, out):
    """Roots with other constants, in the order of their nodes. The caller has reserved room."""
    made = np.empty(MOST_NODES, dtype=np.int64)
    for t in range(roots.size):
        n = list_nodes(columns, arity, roots[t], scratch.nodes, scratch.stack, scratch.is_seen)
        place = 0
        for i in range(n):
            node = scratch.nodes[i]
            operation = operation_of[columns.code[node]]
            made[i] = node
            if operation == CONSTANT:
                made[i] = intern(columns, columns.code[node], -1, -1, constants[t, place])
                place += 1
            elif operation != FEATURE:
                left = made[np.searchsorted(scratch.nodes[:n], columns.left[node])]
                right = left
                if arity[columns.code[node]] > 1:
                    right = made[np.searchsorted(scratch.nodes[:n], columns.right[node])]
                made[i] = interned(columns, arity, node, left, right)
        out[t] = made[n - 1] if n > 0 else roots[t]


@kernel
def with_replaced(columns, arity, operation_of, roots, old, new, scratch, out):
    """Roots in which a node is another one, wherever it stands; -1 if the program has too many nodes."""
    made = np.empty(MOST_NODES, dtype=np.int64)
    for t in range(roots.size):
        n = list_nodes(columns, arity, roots[t], scratch.nodes, scratch.stack, scratch.is_seen)
        out[t] = -1
        for i in range(n):
            node = scratch.nodes[i]
            made[i] = node
            if node == old[t]:
                made[i] = new[t]
            elif operation_of[columns.code[node]] > CONSTANT:
                left = made[np.searchsorted(scratch.nodes[:n], columns.left[node])]
                right = left
                if arity[columns.code[node]] > 1:
                    right = made[np.searchsorted(scratch.nodes[:n], columns.right[node])]
                made[i] = interned(columns, arity, node, left, right)
            out[t] = made[i]


@subroutine
def is_sum(operation):
    return operation in (ADD, SUB)


@subroutine
def is_product(operation):
    return operation in (MUL, DIV)


@subroutine
def size_of(n, nodes, columns, arity, operation_of, sizes, numbers, n_scaled):
    """About the nodes of a + b f as SymPy writes it.

    Of each node: `sizes`; `numbers`, whether it is a product with a number; `n_scaled`, summands without one, which
    need one once the sum is multiplied.
    """
    for i in range(n):
        node = nodes[i]
        code = columns.code[node]
        operation = operation_of[code]
        sizes[i], numbers[i], n_scaled[i] = 1, operation == CONSTANT, 0
        if operation <= CONSTANT:
            continue
        a = np.searchsorted(nodes[:n], columns.left[node])
        kind_a = operation_of[columns.code[nodes[a]]]
        if arity[code] == 1:
            sizes[i] += sizes[a] + (1 if operation in (SQUARE, SQRT, NEG) else 0)
            continue
        b = np.searchsorted(nodes[:n], columns.right[node])
        kind_b = operation_of[columns.code[nodes[b]]]
        sizes[i] += sizes[a] + sizes[b]
        if is_sum(operation):
            sizes[i] -= is_sum(kind_a) + is_sum(kind_b)
            if operation == SUB and not numbers[b]:
                sizes[i] += 1 if is_product(kind_b) else 2
            # A summand that is subtracted has the number -1 already.
            for part, kind in ((a, kind_a), (b, kind_b)):
                if is_sum(kind):
                    n_scaled[i] += n_scaled[part]
                elif not numbers[part] and not (operation == SUB and part == b):
                    n_scaled[i] += 1 if is_product(kind) else 2
        elif is_product(operation):
            sizes[i] -= is_product(kind_a) + is_product(kind_b) - 2 * (operation == DIV)
            numbers[i] = numbers[a] or numbers[b]
        elif operation in (MAX, MIN):
            sizes[i] -= (kind_a == operation) + (kind_b == operation)
    root = operation_of[columns.code[nodes[n - 1]]]
    if is_sum(root):
        return sizes[n - 1] + n_scaled[n - 1] + (0 if has_summand_number(n, nodes, columns, operation_of) else 1)
    return sizes[n - 1] + 2 + (0 if numbers[n - 1] else 1 if is_product(root) else 2)


@subroutine
def has_summand_number(n, nodes, columns, operation_of):
    """Whether a constant is a summand of the sum at the root, so that a + b f needs no other."""
    node = nodes[n - 1]
    while is_sum(operation_of[columns.code[node]]):
        for part in (columns.left[node], columns.right[node]):
            if operation_of[columns.code[part]] == CONSTANT:
                return True
        node = columns.left[node]
    return False


@kernel
def find_sizes(columns, arity, operation_of, roots, scratch, out):
    """Sizes of programs; 0 for those with too many nodes."""
    sizes, n_scaled = np.empty((2, MOST_NODES), dtype=np.int64)
    numbers = np.empty(MOST_NODES, dtype=np.bool_)
    for t in range(roots.size):
        n = list_nodes(columns, arity, roots[t], scratch.nodes, scratch.stack, scratch.is_seen)
        own = scratch.nodes, columns, arity, operation_of, sizes, numbers, n_scaled
        out[t] = size_of(n, *own) if n > 0 else 0
