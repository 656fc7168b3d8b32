"""Kernels of semantic backpropagation: which values a node should have so that its program has those that are wanted.

A rule is the number of a primitive's inversion; rule 0 is none. Inversions are exact: the primitive of what they give
is what was wanted, but for rounding; those called public are as in the public code, and are not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern
from symgrove.variation.subtree_kernels import choose_node

# Rules; `RULES` in backpropagation.py has their primitives.
ADD, SUB, MUL, DIV, PDIV, AQ, MIN, MAX, PUBLIC_SUB = 1, 2, 3, 4, 5, 6, 7, 8, 9
SQRT, LOG, LOG1P, EXP, SIN, COS, TANH, SQUARE, CUBE, NEG, ABS = 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
PUBLIC_SQRT = 21
EXP_CAP = 80.0  # as in engines/block_kernels.py
LEAST_LOG = -708.0  # below, exp gives numbers of few digits

# What an inversion gives besides one or two values: their number, or one of these.
IMPOSSIBLE = 0
ANY = -1
MOST_VALUES = 8  # acceptable values of a case that are followed; further ones are left out


class Paths(NamedTuple):
    """The way from the root of each program to a node of it: nodes, which child comes next, and the node's depth."""

    node: NDArray[np.int64]
    side: NDArray[np.int64]
    depth: NDArray[np.int64]


@kernel
def choose_paths(columns, rng, roots, rules, walk, out):
    """A node of each program by uniform random depth; below a function without inversion, that function instead."""
    for i in range(roots.size):
        depth, _ = choose_node(columns, roots[i], rng, walk)
        for level in range(depth):
            if rules[columns.code[walk.path[level]]] == 0:
                depth = level
                break
        for level in range(depth + 1):
            out.node[i, level] = walk.path[level]
            out.side[i, level] = walk.path_side[level]
        out.depth[i] = depth


@subroutine
def invert_binary(rule, side, t, c, epsilon):
    """How many values, and which, give t with the other operand c; side 0 is the left operand."""
    if rule == ADD:
        return 1, t - c, 0.0
    if rule == SUB:
        return 1, (t + c if side == 0 else c - t), 0.0
    if rule == PUBLIC_SUB:
        return 1, (t - c if side == 0 else c - t), 0.0
    if rule == MUL:
        if c == 0:
            return (ANY if t == 0 else IMPOSSIBLE), 0.0, 0.0
        return 1, t / c, 0.0
    if rule in (MIN, MAX):
        is_free = t <= c if rule == MIN else t >= c
        return (1 if is_free else IMPOSSIBLE), t, 0.0
    if side == 0:
        if rule == DIV:
            divisor = abs(c) + epsilon
            return (1 if divisor > 0 else IMPOSSIBLE), (-t if c < 0 else t) * divisor, 0.0
        if rule == PDIV:
            return 1, (t if c == 0 else t * c), 0.0
        return 1, t * math.sqrt(1.0 + c * c), 0.0
    if t == 0:
        return (ANY if c == 0 else IMPOSSIBLE), 0.0, 0.0
    ratio = c / t
    if ratio == 0:
        return IMPOSSIBLE, 0.0, 0.0
    if rule == PDIV:
        return 1, ratio, 0.0
    if rule == DIV:
        size = abs(ratio) - epsilon
        if size < 0 or (size == 0 and ratio < 0):  # a divisor of 0 counts as positive
            return IMPOSSIBLE, 0.0, 0.0
        return 1, (-size if ratio < 0 else size), 0.0
    if ratio < 1:
        return IMPOSSIBLE, 0.0, 0.0
    size = math.sqrt((ratio - 1.0) * (ratio + 1.0))
    return 2, size, -size


@subroutine
def invert_unary(rule, t, epsilon):
    """How many values, and which, give t."""
    if rule == NEG:
        return 1, -t, 0.0
    if rule == CUBE:
        return 1, math.copysign(abs(t) ** (1.0 / 3.0), t), 0.0
    if rule == EXP:
        return (1 if 0 < t <= math.exp(EXP_CAP) else IMPOSSIBLE), (math.log(t) if t > 0 else 0.0), 0.0
    if rule == TANH:
        return (1 if abs(t) < 1 else IMPOSSIBLE), (math.atanh(t) if abs(t) < 1 else 0.0), 0.0
    if rule in (SIN, COS):
        if abs(t) > 1:
            return IMPOSSIBLE, 0.0, 0.0
        first = math.asin(t) if rule == SIN else math.acos(t)
        return 2, first, (math.pi - first if rule == SIN else -first)
    if rule == LOG:
        size = math.exp(t) - epsilon
        return (2 if size >= 0 and t > LEAST_LOG else IMPOSSIBLE), size, -size
    if t < 0 and rule != PUBLIC_SQRT:
        return IMPOSSIBLE, 0.0, 0.0
    size = t
    if rule in (SQRT, PUBLIC_SQRT):
        size = t * t
    elif rule == LOG1P:
        size = math.expm1(t)
    elif rule == SQUARE:
        size = math.sqrt(t)
    return 2, size, -size


@kernel
def invert(rule, side, wanted, siblings, epsilon, values, count):
    """The inversion of one primitive for many cases, for tests; `values` has two columns."""
    for k in range(wanted.size):
        if rule >= SQRT:
            count[k], values[k, 0], values[k, 1] = invert_unary(rule, wanted[k], epsilon)
        else:
            count[k], values[k, 0], values[k, 1] = invert_binary(rule, side, wanted[k], siblings[k], epsilon)


@kernel
def backpropagate(columns, rules, epsilons, paths, siblings, sibling_of, target, values, count):
    """Acceptable values at the end of each path, from those at the root.

    Program i wants `target[i]`; `sibling_of` finds outputs of the other operand of each node on its path. Of
    the values that are acceptable for a case, the first `values.shape[2]` are written; `count` is their number, ANY or
    IMPOSSIBLE.
    """
    before = np.empty(MOST_VALUES)
    after = np.empty(MOST_VALUES)
    for i in range(target.shape[0]):
        depth = paths.depth[i]
        for k in range(target.shape[1]):
            before[0] = target[i, k]
            n = 1 if math.isfinite(before[0]) else IMPOSSIBLE
            for level in range(depth):
                code = columns.code[paths.node[i, level]]
                rule = rules[code]
                m = 0
                for j in range(n):
                    if rule >= SQRT:
                        found, first, second = invert_unary(rule, before[j], epsilons[code])
                    else:
                        c = siblings[sibling_of[i, level], k]
                        side = paths.side[i, level]
                        found, first, second = invert_binary(rule, side, before[j], c, epsilons[code])
                        if not math.isfinite(c):
                            found = IMPOSSIBLE
                    if found == ANY:
                        m = ANY
                        break
                    if found >= 1 and m < MOST_VALUES and math.isfinite(first):
                        after[m] = first
                        m += 1
                    if found == 2 and m < MOST_VALUES and math.isfinite(second) and second != first:
                        after[m] = second
                        m += 1
                n = m
                if n <= 0:
                    break
                before, after = after, before
            if n > 0:
                n = min(n, values.shape[2])
                for j in range(n):
                    values[i, k, j] = before[j]
            count[i, k] = n


@kernel
def insert(columns, paths, entry, slope, intercept, add, mul, out):
    """Programs in which the node at the end of each path is intercept + slope * entry.

    A slope of 1 and an intercept of 0 are left out; a negative entry stands for the intercept alone.
    """
    for i in range(entry.size):
        if entry[i] < 0:
            branch = intern(columns, 1, -1, -1, intercept[i])
        else:
            branch = entry[i]
            if slope[i] != 1:
                branch = intern(columns, mul, intern(columns, 1, -1, -1, slope[i]), branch, 0.0)
            if intercept[i] != 0:
                branch = intern(columns, add, intern(columns, 1, -1, -1, intercept[i]), branch, 0.0)
        for level in range(paths.depth[i] - 1, -1, -1):
            node = paths.node[i, level]
            if paths.side[i, level] == 0:
                branch = intern(columns, columns.code[node], branch, columns.right[node], 0.0)
            else:
                branch = intern(columns, columns.code[node], columns.left[node], branch, 0.0)
        out[i] = branch
