"""Kernels that draw random programs: one program as a prefix list, and the ramped half-and-half population."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern_tokens


class Vocabulary(NamedTuple):
    """What random programs are made of; `features` are indices, `constant_span` is low, high, decimals or nothing."""

    functions: NDArray[np.int32]
    arity: NDArray[np.int64]
    features: NDArray[np.int64]
    constant_span: NDArray[np.float64]


class Shape(NamedTuple):
    """A random program: full to `height`, or grown between `minimum` and `height`.

    Where a grown program may go on or end, it goes on with probability `p_function`; if that is negative, the draw is
    uniform over functions and terminals together, as in the reference implementation.
    """

    height: int
    minimum: int
    is_full: bool
    p_function: float


class Buffers(NamedTuple):
    """Scratch for one program; the length of `code` is the largest program that can be drawn."""

    code: NDArray[np.int32]
    feature: NDArray[np.int32]
    value: NDArray[np.float64]
    stack: NDArray[np.int64]


@subroutine
def below(rng, n):
    """Uniform whole number in 0 .. n - 1."""
    return min(np.int64(rng.random() * n), n - 1)


@subroutine
def draw_constant(rng, span):
    """Uniform in [low, high), rounded to the given number of decimals."""
    scale = 10.0 ** span[2]
    value = np.floor((span[0] + (span[1] - span[0]) * rng.random()) * scale + 0.5) / scale
    return value + 0.0  # no negative zero


@subroutine
def draw_program(rng, vocabulary, shape, buffers):
    """Write a random program to the buffers in prefix order; returns its size, or -1 if it does not fit."""
    n_functions = vocabulary.functions.size
    n_features = vocabulary.features.size
    n_terminals = n_features + (1 if vocabulary.constant_span.size else 0)
    buffers.stack[0] = 0  # depths of the places still to be filled
    top = 1
    length = 0
    while top > 0:
        if length == buffers.code.size:
            return -1
        top -= 1
        depth = buffers.stack[top]
        if depth >= shape.height:
            choice = below(rng, n_terminals)
        elif shape.is_full or depth < shape.minimum:
            choice = n_terminals + below(rng, n_functions)
        elif shape.p_function < 0:
            choice = below(rng, n_terminals + n_functions)
        elif rng.random() < shape.p_function:
            choice = n_terminals + below(rng, n_functions)
        else:
            choice = below(rng, n_terminals)
        if choice >= n_terminals:
            code = vocabulary.functions[choice - n_terminals]
            buffers.code[length] = code
            for _ in range(vocabulary.arity[code]):
                buffers.stack[top] = depth + 1
                top += 1
        elif choice == n_features:
            buffers.code[length] = 1
            buffers.value[length] = draw_constant(rng, vocabulary.constant_span)
        else:
            buffers.code[length] = 0
            buffers.feature[length] = vocabulary.features[choice]
        length += 1
    return length


@kernel
def draw_ramped(columns, rng, vocabulary, span, n_full, buffers, state, out):
    """Fill `out` with roots: `n_full` full programs, then grown ones, heights rising in equal shares.

    `span` is (lowest height, highest height, minimum height of grown programs). `state` counts accepted and rejected
    programs. Returns early when the forest has no room left; call again after reserving.
    """
    n_heights = span[1] - span[0] + 1
    while state[0] < out.size:
        if columns.n_nodes[0] + buffers.code.size > columns.code.size:
            return
        accepted = state[0]
        is_full = accepted < n_full
        position = accepted if is_full else accepted - n_full
        n_half = n_full if is_full else out.size - n_full
        height = span[0] + position * n_heights // n_half
        n_tokens = draw_program(rng, vocabulary, Shape(height, span[2], is_full, -1.0), buffers)
        root = intern_tokens(columns, buffers, n_tokens, vocabulary.arity, buffers.stack)
        is_known = False
        if state[1] < 10 * out.size:
            for i in range(accepted):
                is_known = is_known or out[i] == root
        if is_known:
            state[1] += 1
        else:
            out[accepted] = root
            state[0] += 1


@kernel
def draw_one(columns, rng, vocabulary, shape, buffers):
    """Root id of one random program; the caller has reserved room for the largest."""
    n_tokens = draw_program(rng, vocabulary, shape, buffers)
    return intern_tokens(columns, buffers, n_tokens, vocabulary.arity, buffers.stack)


@kernel
def draw_some(columns, rng, vocabulary, shape, buffers, start, out):
    """Fill `out` with roots of random programs from `start` on; returns where it stopped for want of room."""
    for i in range(start, out.size):
        if columns.n_nodes[0] + buffers.code.size > columns.code.size:
            return i
        n_tokens = draw_program(rng, vocabulary, shape, buffers)
        out[i] = intern_tokens(columns, buffers, n_tokens, vocabulary.arity, buffers.stack)
    return out.size
