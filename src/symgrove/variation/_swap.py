"""Kernel of swap crossover and mutation with uniform node choice."""

from __future__ import annotations

from typing import NamedTuple

from symgrove._jit import kernel, subroutine
from symgrove.forest._intern import intern_tokens
from symgrove.forest._random import Shape, below, draw_program
from symgrove.variation._subtree import replace_node


class SwapRates(NamedTuple):
    """Probability of crossover (the rest is mutation), height limits of programs and of new branches."""

    crossover: float
    height: int
    branch_height: int
    p_function: float


@subroutine
def choose_any_node(columns, root, rng, walk):
    """A uniformly drawn node of a program: its depth; `walk.path` leads there from the root."""
    position = below(rng, columns.size[root])
    node = root
    depth = 0
    walk.path[0] = node
    while position > 0:
        left = columns.left[node]
        position -= 1
        if position < columns.size[left]:
            walk.path_side[depth] = 0
            node = left
        else:
            position -= columns.size[left]
            walk.path_side[depth] = 1
            node = columns.right[node]
        depth += 1
        walk.path[depth] = node
    return depth


@kernel
def swap_or_mutate(columns, rng, mothers, fathers, rates, vocabulary, buffers, walks, progress, out):
    """Children of pairs: two of a swap, one of a mutation of the mother; those over the height limit are dropped.

    `progress` counts the pairs that are done and the children in `out`. Returns early when the forest has no room left.
    """
    shape = Shape(rates.branch_height, 0, False, rates.p_function)
    own, other = walks
    while progress[0] < mothers.size:
        mother = mothers[progress[0]]
        father = fathers[progress[0]]
        room = columns.height[mother] + columns.height[father] + buffers.code.size
        if columns.n_nodes[0] + room > columns.code.size:
            return
        progress[0] += 1
        is_swap = rng.random() < rates.crossover
        depth = choose_any_node(columns, mother, rng, own)
        if is_swap:
            other_depth = choose_any_node(columns, father, rng, other)
            branch = own.path[depth]
            child = replace_node(columns, depth, other.path[other_depth], own)
            if columns.height[child] <= rates.height:
                out[progress[1]] = child
                progress[1] += 1
            child = replace_node(columns, other_depth, branch, other)
        else:
            n_tokens = draw_program(rng, vocabulary, shape, buffers)
            branch = intern_tokens(columns, buffers, n_tokens, vocabulary.arity, buffers.stack)
            child = replace_node(columns, depth, branch, own)
        if columns.height[child] <= rates.height:
            out[progress[1]] = child
            progress[1] += 1
