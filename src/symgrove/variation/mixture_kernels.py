"""Kernels of the mixture of operators, on prefix lists: short programs are taken apart, changed and interned anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import Tokens, intern_tokens
from symgrove.forest.random_kernels import below

N_TRIES = 4  # for a child that is not too large
# Standard deviations of perturbed constants are log-uniform between these.
SMALLEST_NUDGE = 0.01
LARGEST_NUDGE = 1.0


class Ingredients(NamedTuple):
    """What new branches are made of; `n_features` is one number, `spread` and `p_constant` too."""

    functions: NDArray[np.int32]
    binary: NDArray[np.int32]
    arity: NDArray[np.int64]
    n_features: NDArray[np.int64]
    data_values: NDArray[np.float64]  # (n_features, n_values)
    spread: NDArray[np.float64]
    p_constant: NDArray[np.float64]


class Lists(NamedTuple):
    """Scratch: three prefix lists and a stack."""

    base: Tokens
    donor: Tokens
    child: Tokens
    stack: NDArray[np.int64]


@subroutine
def write_tokens(columns, root, tokens, stack):
    """A program as a prefix list; returns its length."""
    stack[0] = root
    top = 1
    n = 0
    while top > 0:
        top -= 1
        node = stack[top]
        code = columns.code[node]
        tokens.code[n] = code
        tokens.feature[n] = columns.left[node] if code == 0 else -1
        tokens.value[n] = columns.value[node] if code == 1 else 0.0
        n += 1
        if code > 1:
            if columns.right[node] >= 0:
                stack[top] = columns.right[node]
                top += 1
            stack[top] = columns.left[node]
            top += 1
    return n


@subroutine
def end_of_branch(tokens, start, arity):
    """Where the branch that starts here ends."""
    n_open = 1
    i = start
    while n_open > 0:
        n_open += arity[tokens.code[i]] - 1
        i += 1
    return i


@subroutine
def copy_tokens(source, start, stop, target, position):
    """Append a part of a list to another; returns the new length."""
    for i in range(start, stop):
        target.code[position] = source.code[i]
        target.feature[position] = source.feature[i]
        target.value[position] = source.value[i]
        position += 1
    return position


@subroutine
def draw_value(rng, ingredients, feature):
    """A constant: half of them values of a feature, or of any feature if it is negative; half normal."""
    n_features, n_values = ingredients.data_values.shape
    if n_values > 0 and rng.random() < 0.5:
        row = feature if feature >= 0 else below(rng, n_features)
        return ingredients.data_values[row, below(rng, n_values)] + 0.0
    return rng.standard_normal() * ingredients.spread[0] + 0.0


@subroutine
def draw_leaf(rng, ingredients, tokens, position):
    """Write a feature or a constant; a constant beside a feature is often one of its values, as in a comparison."""
    is_second = position >= 2 and tokens.code[position - 2] > 1 and ingredients.arity[tokens.code[position - 2]] == 2
    if rng.random() < ingredients.p_constant[0]:
        beside = tokens.feature[position - 1] if is_second and tokens.code[position - 1] == 0 else -1
        tokens.code[position] = 1
        tokens.feature[position] = -1
        tokens.value[position] = draw_value(rng, ingredients, beside)
    else:
        tokens.code[position] = 0
        tokens.feature[position] = below(rng, ingredients.n_features[0])
        tokens.value[position] = 0.0
        if is_second and tokens.code[position - 1] == 1:
            tokens.value[position - 1] = draw_value(rng, ingredients, tokens.feature[position])


@subroutine
def draw_branch(rng, ingredients, height, tokens, stack):
    """Write a random program: a function at the root unless `height` is 0, half functions between; returns its size."""
    stack[0] = 0
    top = 1
    n = 0
    while top > 0:
        top -= 1
        depth = stack[top]
        if depth < height and (depth == 0 or rng.random() < 0.5):
            code = ingredients.functions[below(rng, ingredients.functions.size)]
            tokens.code[n] = code
            tokens.feature[n] = -1
            tokens.value[n] = 0.0
            for _ in range(ingredients.arity[code]):
                stack[top] = depth + 1
                top += 1
        else:
            draw_leaf(rng, ingredients, tokens, n)
        n += 1
    return n


@subroutine
def splice(lists, n_base, n_donor, rng, arity):
    """The base with a random branch replaced by the whole donor; returns the length of the child."""
    start = below(rng, n_base)
    stop = end_of_branch(lists.base, start, arity)
    if n_base - (stop - start) + n_donor > lists.child.code.size:
        return -1
    n = copy_tokens(lists.base, 0, start, lists.child, 0)
    n = copy_tokens(lists.donor, 0, n_donor, lists.child, n)
    return copy_tokens(lists.base, stop, n_base, lists.child, n)


@subroutine
def join(lists, n_base, n_donor, rng, ingredients):
    """Base and donor under a new binary root, in random order."""
    if ingredients.binary.size == 0 or 1 + n_base + n_donor > lists.child.code.size:
        return -1
    lists.child.code[0] = ingredients.binary[below(rng, ingredients.binary.size)]
    lists.child.feature[0] = -1
    lists.child.value[0] = 0.0
    if rng.random() < 0.5:
        n = copy_tokens(lists.base, 0, n_base, lists.child, 1)
        return copy_tokens(lists.donor, 0, n_donor, lists.child, n)
    n = copy_tokens(lists.donor, 0, n_donor, lists.child, 1)
    return copy_tokens(lists.base, 0, n_base, lists.child, n)


@subroutine
def perturb(lists, n_base, rng, ingredients):
    """All constants moved a little, or one node exchanged for another of its arity."""
    tokens = lists.child
    n = copy_tokens(lists.base, 0, n_base, tokens, 0)
    n_constants = 0
    for i in range(n):
        n_constants += tokens.code[i] == 1
    if n_constants > 0 and rng.random() < 0.5:
        nudge = SMALLEST_NUDGE * (LARGEST_NUDGE / SMALLEST_NUDGE) ** rng.random()
        for i in range(n):
            if tokens.code[i] == 1:
                tokens.value[i] += nudge * rng.standard_normal()
        return n
    i = below(rng, n)
    arity = ingredients.arity[tokens.code[i]]
    if arity == 0:
        draw_leaf(rng, ingredients, tokens, i)
        return n
    for _ in range(8):
        code = ingredients.functions[below(rng, ingredients.functions.size)]
        if ingredients.arity[code] == arity:
            tokens.code[i] = code
            break
    return n


@subroutine
def make_child(columns, rng, base, donor, rates, ingredients, height, lists):
    """Write one child; returns its size, or -1 if it would be too large. `rates` are cumulative."""
    u = rng.random()
    if u >= rates[3] and u < rates[4]:
        return draw_branch(rng, ingredients, min(1 + below(rng, height), height), lists.child, lists.stack)
    n_base = write_tokens(columns, base, lists.base, lists.stack)
    if u < rates[0]:
        n_donor = write_tokens(columns, donor, lists.donor, lists.stack)
        start = below(rng, n_donor)
        stop = end_of_branch(lists.donor, start, ingredients.arity)
        n_donor = copy_tokens(lists.donor, start, stop, lists.donor, 0)
        return splice(lists, n_base, n_donor, rng, ingredients.arity)
    if u < rates[1]:
        n_donor = draw_branch(rng, ingredients, below(rng, height + 1), lists.donor, lists.stack)
        return splice(lists, n_base, n_donor, rng, ingredients.arity)
    if u < rates[2]:
        return perturb(lists, n_base, rng, ingredients)
    if u < rates[3]:
        if rng.random() < 0.5:
            n_donor = write_tokens(columns, donor, lists.donor, lists.stack)
        else:
            n_donor = draw_branch(rng, ingredients, below(rng, height + 1), lists.donor, lists.stack)
        return join(lists, n_base, n_donor, rng, ingredients)
    start = below(rng, n_base)
    return copy_tokens(lists.base, start, end_of_branch(lists.base, start, ingredients.arity), lists.child, 0)


@kernel
def vary(columns, rng, bases, donors, rates, ingredients, height, lists, start, out):
    """One child for every base from `start` on; returns where it stopped for want of room.

    A child that is too large is drawn again, at last as a new random program.
    """
    for i in range(start, bases.size):
        if columns.n_nodes[0] + lists.child.code.size > columns.code.size:
            return i
        n = np.int64(-1)
        for _ in range(N_TRIES):
            n = make_child(columns, rng, bases[i], donors[i], rates, ingredients, height, lists)
            if n > 0:
                break
        if n < 0:
            n = draw_branch(rng, ingredients, min(1 + below(rng, height), height), lists.child, lists.stack)
        out[i] = intern_tokens(columns, lists.child, n, ingredients.arity, lists.stack)
    return bases.size


@kernel
def draw_new(columns, rng, ingredients, height, lists, start, out):
    """Random programs from `start` on; returns where it stopped for want of room."""
    for i in range(start, out.size):
        if columns.n_nodes[0] + lists.child.code.size > columns.code.size:
            return i
        n = draw_branch(rng, ingredients, min(1 + below(rng, height), height), lists.child, lists.stack)
        out[i] = intern_tokens(columns, lists.child, n, ingredients.arity, lists.stack)
    return out.size
