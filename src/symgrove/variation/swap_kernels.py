"""Kernel of swap crossover and mutation with uniform node choice."""

from __future__ import annotations

from typing import NamedTuple

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern_tokens
from symgrove.forest.random_kernels import Shape, below, draw_program
from symgrove.variation.subtree_kernels import replace_node


class SwapRates(NamedTuple):
    """Probabilities of crossover and of mutation, height limits of programs and of new branches.

    If the probability of mutation is negative, what is not crossed is mutated; else mutation has a coin of its own.
    """

    crossover: float
    mutation: float
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


@subroutine
def mutate(columns, root, rng, shape, vocabulary, buffers, walk):
    """Root of the program in which a uniformly drawn node is a new branch."""
    depth = choose_any_node(columns, root, rng, walk)
    n_tokens = draw_program(rng, vocabulary, shape, buffers)
    branch = intern_tokens(columns, buffers, n_tokens, vocabulary.arity, buffers.stack)
    return replace_node(columns, depth, branch, walk)


@kernel
def swap_or_mutate(columns, rng, mothers, fathers, rates, vocabulary, buffers, walks, progress, out):
    """Children of pairs: two of a swap, else one of the mother alone; those over the height limit are dropped.

    `progress` counts the pairs that are done and the children in `out`. Returns early when the forest has no room left.
    """
    shape = Shape(rates.branch_height, 0, False, rates.p_function)
    own, other, third = walks
    while progress[0] < mothers.size:
        mother = mothers[progress[0]]
        father = fathers[progress[0]]
        # Two swapped children may be mutated: each has at most the limit's height.
        room = columns.height[mother] + columns.height[father] + 2 * (rates.height + buffers.code.size)
        if columns.n_nodes[0] + room > columns.code.size:
            return
        progress[0] += 1
        is_swap = rng.random() < rates.crossover
        is_mutated = not is_swap if rates.mutation < 0 else rng.random() < rates.mutation
        first, second = mother, father
        if is_swap:
            depth = choose_any_node(columns, mother, rng, own)
            other_depth = choose_any_node(columns, father, rng, other)
            first = replace_node(columns, depth, other.path[other_depth], own)
            second = replace_node(columns, other_depth, own.path[depth], other)
        for k in range(2 if is_swap else 1):
            child = first if k == 0 else second
            if is_mutated and not (is_swap and columns.height[child] > rates.height):
                child = mutate(columns, child, rng, shape, vocabulary, buffers, third)
            if columns.height[child] <= rates.height:
                out[progress[1]] = child
                progress[1] += 1
