"""Kernels of sums: which terms a program adds up, and a program that adds up given terms."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern

UNSEEN, OPEN, DONE = 0, 1, 2


@subroutine
def factor_of(columns, codes, node):
    """Of a product with a constant: the other operand, and the constant; -1 if it is none."""
    if columns.code[node] == codes.mul:
        left, right = columns.left[node], columns.right[node]
        if columns.code[left] == 1:
            return right, columns.value[left]
        if columns.code[right] == 1:
            return left, columns.value[right]
    return np.int32(-1), 0.0


@subroutine
def parts_of(columns, codes, node):
    """Operands of a node that is linear in them, -1 where there are fewer."""
    if columns.code[node] == codes.add or columns.code[node] == codes.sub:
        return columns.left[node], columns.right[node]
    if columns.code[node] == codes.neg:
        return columns.left[node], np.int32(-1)
    other, _ = factor_of(columns, codes, node)
    return other, np.int32(-1)


@kernel
def find_terms(columns, codes, root, stack, order, state, weight, out):
    """Write terms of a program to `out` and their weights to `weight`, by node; returns how many, and the constant.

    A walk in depth, left before right, says in which order nodes are looked at, parents before their parts: it does not
    depend on ids. `state` and `weight` are 0 for every node up to the root; `stack` has two places for each, and two.
    """
    stack[0] = root
    top, n_seen = 1, 0
    while top > 0:
        node = stack[top - 1]
        if state[node] == UNSEEN:
            state[node] = OPEN
            left, right = parts_of(columns, codes, node)
            if right >= 0 and state[right] == UNSEEN:
                stack[top] = right
                top += 1
            if left >= 0 and state[left] == UNSEEN:
                stack[top] = left
                top += 1
            continue
        top -= 1
        if state[node] == OPEN:
            state[node] = DONE
            order[n_seen] = node
            n_seen += 1
    n_terms, constant = 0, 0.0
    weight[root] = 1.0
    for k in range(n_seen - 1, -1, -1):
        node = order[k]
        own = weight[node]
        left, right = parts_of(columns, codes, node)
        if columns.code[node] == 1:
            constant += own * columns.value[node]
        elif left < 0:
            if own != 0.0:
                out[n_terms] = node
                n_terms += 1
        elif columns.code[node] == codes.neg:
            weight[left] -= own
        elif right < 0:
            weight[left] += own * factor_of(columns, codes, node)[1]
        else:
            weight[left] += own
            weight[right] += own if columns.code[node] == codes.add else -own
    return n_terms, constant


@kernel
def add_up(columns, codes, terms, weights, constant, parts):
    """Root of a sum of weighted terms and a constant, in which neighbours are added first; `parts` is scratch."""
    n_parts = 0
    if constant != 0.0 or terms.size == 0:
        parts[0] = intern(columns, 1, -1, -1, constant)
        n_parts = 1
    for k in range(terms.size):
        parts[n_parts] = terms[k]
        if weights[k] != 1.0:
            factor = intern(columns, 1, -1, -1, weights[k])
            parts[n_parts] = intern(columns, codes.mul, factor, terms[k], 0.0)
        n_parts += 1
    while n_parts > 1:
        for k in range(n_parts // 2):
            parts[k] = intern(columns, codes.add, parts[2 * k], parts[2 * k + 1], 0.0)
        if n_parts % 2:
            parts[n_parts // 2] = parts[n_parts - 1]
        n_parts = (n_parts + 1) // 2
    return parts[0]


@kernel
def add_in_order(columns, codes, limit, terms, weights, constants, out):
    """Roots of sums of weighted terms, a row of `terms` each, added to the constant one by one; -1 is no term.

    With a node as `limit`, a term is 1 where it is above that, else 0; with -1 it is the term itself.
    """
    for i in range(terms.shape[0]):
        total = np.int64(-1)
        if constants[i] != 0.0:
            total = np.int64(intern(columns, 1, -1, -1, constants[i]))
        for k in range(terms.shape[1]):
            part = terms[i, k]
            if part < 0:
                continue
            if limit >= 0:
                part = np.int64(intern(columns, codes.step, part, limit, 0.0))
            if weights[i, k] != 1.0:
                factor = intern(columns, 1, -1, -1, weights[i, k])
                part = np.int64(intern(columns, codes.mul, factor, part, 0.0))
            total = part if total < 0 else np.int64(intern(columns, codes.add, total, part, 0.0))
        out[i] = total
