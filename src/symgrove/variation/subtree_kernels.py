"""Kernels of subtree variation on the shared graph.

A child consists of the base program's nodes, except for the path from the changed place to the root, which is interned
anew. Ids fall from parent to child, so the path is rebuilt from the bottom up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern, intern_tokens
from symgrove.forest.random_kernels import Shape, below, draw_program

NEVER = 2**62  # a number of nodes that no walk reaches


class Walk(NamedTuple):
    """Scratch for one walk: a stack of (node, depth, side) and the path of nodes and sides to the current one."""

    node: NDArray[np.int64]
    depth: NDArray[np.int64]
    side: NDArray[np.int64]
    path: NDArray[np.int64]
    path_side: NDArray[np.int64]


class Rates(NamedTuple):
    """Probabilities of crossover and mutation, the size limit and the shape of mutation branches."""

    crossover: float
    mutation: float
    max_size: int
    height: int
    minimum: int


@subroutine
def walk_to_depth(columns, root, depth, stop, walk):
    """Visit the nodes at `depth` of a program from left to right, up to number `stop`; returns how many were visited.

    Subtrees too low to reach the depth are skipped. When the walk stops at number `stop`, `walk.path[: depth + 1]`
    leads there from the root and `walk.path_side` tells, for each node on it, which child comes next.
    """
    n_visited = 0
    walk.node[0] = root
    walk.depth[0] = 0
    walk.side[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = walk.node[top]
        here = walk.depth[top]
        walk.path[here] = node
        if here > 0:
            walk.path_side[here - 1] = walk.side[top]
        if here == depth:
            n_visited += 1
            if n_visited > stop:
                return n_visited
            continue
        for side in (1, 0):
            child = columns.right[node] if side == 1 else columns.left[node]
            if child >= 0 and columns.height[child] >= depth - here - 1:
                walk.node[top] = child
                walk.depth[top] = here + 1
                walk.side[top] = side
                top += 1
    return n_visited


@subroutine
def choose_node(columns, root, rng, walk):
    """Uniform random depth, then a uniform position among its nodes; `walk.path[depth]` is the node."""
    depth = below(rng, np.int64(columns.height[root]) + 1)
    n_nodes = walk_to_depth(columns, root, depth, NEVER, walk)
    position = below(rng, n_nodes)
    walk_to_depth(columns, root, depth, position, walk)
    return depth, position


@subroutine
def replace_node(columns, depth, branch, walk):
    """Root of the program in which the node at the end of the path is `branch`."""
    for level in range(depth - 1, -1, -1):
        node = walk.path[level]
        left = columns.left[node]
        right = columns.right[node]
        if walk.path_side[level] == 0:
            branch = intern(columns, columns.code[node], branch, right, 0.0)
        else:
            branch = intern(columns, columns.code[node], left, branch, 0.0)
    return branch


@kernel
def vary(columns, rng, parents, donors, substitutes, rates, vocabulary, buffers, walk, start, out):
    """One child for every parent from `start` on, in order; returns where it stopped for want of room.

    Each parent is the base of one child. Crossover takes the branch from its donor or, if `donors` is empty, from a
    uniformly drawn parent, which may be the base itself; mutation grows a new one. A child over the size limit is
    dropped and the substitute takes its place.
    """
    shape = Shape(rates.height, rates.minimum, False, -1.0)
    for i in range(start, parents.size):
        base = parents[i]
        if columns.n_nodes[0] + columns.height[base] + buffers.code.size > columns.code.size:
            return i
        out[i] = base
        u = rng.random()
        if u < rates.crossover:
            donor = donors[i] if donors.size > 0 else parents[below(rng, parents.size)]
            depth, _ = choose_node(columns, donor, rng, walk)
            branch = walk.path[depth]
            depth, _ = choose_node(columns, base, rng, walk)
            size = columns.size[base] - columns.size[walk.path[depth]] + columns.size[branch]
            out[i] = replace_node(columns, depth, branch, walk) if size <= rates.max_size else substitutes[i]
        elif u < rates.crossover + rates.mutation:
            depth, _ = choose_node(columns, base, rng, walk)
            n_tokens = draw_program(rng, vocabulary, shape, buffers)
            size = columns.size[base] - columns.size[walk.path[depth]] + n_tokens
            out[i] = substitutes[i]
            if n_tokens > 0 and size <= rates.max_size:
                branch = intern_tokens(columns, buffers, n_tokens, vocabulary.arity, buffers.stack)
                out[i] = replace_node(columns, depth, branch, walk)
    return parents.size


@kernel
def choose_nodes(columns, rng, root, walk, out):
    """Draw `out.shape[0]` nodes of a program; a row is the node's depth, its id and its position among that depth."""
    for i in range(out.shape[0]):
        depth, position = choose_node(columns, root, rng, walk)
        out[i, 0] = depth
        out[i, 1] = walk.path[depth]
        out[i, 2] = position
