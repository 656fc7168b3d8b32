"""Kernels of genes: random ones, their levels, crossover of genes and of branches, mutation.

A function with three operands is two nodes of the forest, f(f(a, b), c), and is read as one: a node of such a function
whose left operand is of the same function is one node with three operands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern, intern_tokens
from symgrove.forest.random_kernels import below, draw_constant
from symgrove.variation.subtree_kernels import NEVER, replace_node

ANY = -1  # code of nodes of all kinds
MOST_TRIES = 10  # of a child that is too deep or too large
MOST_DRAWS = 100  # of a first gene that is too large, or that its individual has


class GeneVocabulary(NamedTuple):
    """What genes are made of.

    Functions are codes with the number of their operands, 1 to 3; `arity` and `has_three` are by code, as the forest
    has them. `n_features` is one number, `constants` low, high, decimals and the share of leaves, or nothing.
    """

    functions: NDArray[np.int32]
    n_operands: NDArray[np.int64]
    arity: NDArray[np.int64]
    has_three: NDArray[np.bool_]
    n_features: NDArray[np.int64]
    constants: NDArray[np.float64]


class GeneRates(NamedTuple):
    """Chances, and limits of genes; depths count nodes."""

    crossover: float
    mutation: float
    whole_genes: float
    gene: float
    feature: float
    constant: float
    constant_step: float
    depth: int
    mutation_depth: int
    size: int


class GeneWalk(NamedTuple):
    """Scratch for one walk: a stack of (node, depth, level, side), and the path of nodes and sides to the current one.

    Depths are those of the forest, levels those of genes. Sides 2 and 3 are of operands of a left operand that is part
    of its parent.
    """

    node: NDArray[np.int64]
    depth: NDArray[np.int64]
    level: NDArray[np.int64]
    side: NDArray[np.int64]
    path: NDArray[np.int64]
    path_side: NDArray[np.int64]


class Measures(NamedTuple):
    """Nodes of a gene, its depth, and its expressional complexity: the sum of the sizes of all its branches."""

    size: int
    depth: int
    complexity: int


@subroutine
def walk_gene(columns, has_three, root, code, stop, walk):
    """Visit the nodes of a gene from left to right, up to number `stop` of those with this code.

    When the walk stops there, `walk.path[: depth + 1]` leads to the node; returns depth and measures of what was
    visited, in which `size` counts nodes with the code.
    """
    n_found, deepest, complexity = 0, 0, 0
    walk.node[0], walk.depth[0], walk.level[0], walk.side[0] = root, 0, 1, 0
    top = 1
    while top > 0:
        top -= 1
        node, here, level, side = walk.node[top], walk.depth[top], walk.level[top], walk.side[top]
        if side >= 2:
            walk.path_side[here - 2] = 0
            walk.path[here - 1] = columns.left[walk.path[here - 2]]
        walk.path[here] = node
        if here > 0:
            walk.path_side[here - 1] = side % 2
        own = columns.code[node]
        deepest = max(deepest, level)
        complexity += level  # as many branches hold this node
        if code <= ANY or own == code:
            n_found += 1
            if n_found > stop:
                return here, Measures(n_found, deepest, complexity)
        if own <= 1:
            continue
        left, right = columns.left[node], columns.right[node]
        if right >= 0:
            walk.node[top], walk.depth[top], walk.level[top], walk.side[top] = right, here + 1, level + 1, 1
            top += 1
        if has_three[own] and columns.code[left] == own:
            for k in (1, 0):
                operand = columns.right[left] if k == 1 else columns.left[left]
                walk.node[top], walk.depth[top], walk.level[top] = operand, here + 2, level + 1
                walk.side[top] = 2 + k
                top += 1
        else:
            walk.node[top], walk.depth[top], walk.level[top], walk.side[top] = left, here + 1, level + 1, 0
            top += 1
    return -1, Measures(n_found, deepest, complexity)


@subroutine
def choose(columns, has_three, root, code, rng, walk):
    """Depth of a uniformly drawn node with this code, to which `walk.path` leads; -1 if there is none."""
    _, measured = walk_gene(columns, has_three, root, code, NEVER, walk)
    if measured.size == 0:
        return -1
    position = below(rng, np.int64(measured.size))
    depth, _ = walk_gene(columns, has_three, root, code, position, walk)
    return depth


@subroutine
def fits(columns, has_three, gene, rates, walk):
    """Whether a gene is within the limits of depth and size."""
    _, measured = walk_gene(columns, has_three, gene, ANY, NEVER, walk)
    return measured.depth <= rates.depth and measured.size <= rates.size


@subroutine
def draw_gene(rng, vocabulary, depth, is_full, buffers):
    """Write a random gene to the buffers, full, or grown with even chances to go on and to end.

    Its root is a function if the depth allows it. Returns the numbers of tokens and of nodes.
    """
    buffers.stack[0] = 1  # levels of the places still to be filled
    top, length, size = 1, 0, 0
    while top > 0:
        top -= 1
        level = buffers.stack[top]
        is_function = level < depth and (is_full or level == 1 or rng.random() < 0.5)
        if is_function:
            choice = below(rng, np.int64(vocabulary.functions.size))
            n_operands = vocabulary.n_operands[choice]
            for _ in range(max(n_operands - 1, 1)):  # three operands: twice
                buffers.code[length] = vocabulary.functions[choice]
                length += 1
            for _ in range(n_operands):
                buffers.stack[top] = level + 1
                top += 1
        else:
            put_leaf(rng, vocabulary, buffers, length)
            length += 1
        size += 1
    return length, size


@subroutine
def put_leaf(rng, vocabulary, buffers, place):
    """A random constant or feature."""
    if vocabulary.constants.size > 0 and rng.random() < vocabulary.constants[3]:
        buffers.code[place] = 1
        buffers.value[place] = draw_constant(rng, vocabulary.constants)
    else:
        buffers.code[place] = 0
        buffers.feature[place] = below(rng, vocabulary.n_features[0])


@kernel
def draw_individuals(columns, rng, vocabulary, rates, buffers, start, out):
    """Fill rows of `out` from `start` on with genes that differ, and -1; returns where it stopped for want of room."""
    for i in range(start, out.shape[0]):
        if columns.n_nodes[0] + out.shape[1] * buffers.code.size > columns.code.size:
            return i
        out[i] = -1
        for k in range(1 + below(rng, np.int64(out.shape[1]))):
            for n_drawn in range(MOST_DRAWS + 1):
                depth = 1 + below(rng, np.int64(rates.depth)) if n_drawn < MOST_DRAWS else 1
                length, size = draw_gene(rng, vocabulary, depth, rng.random() < 0.5, buffers)
                if size > rates.size:
                    continue
                gene = intern_tokens(columns, buffers, length, vocabulary.arity, buffers.stack)
                is_new = True
                for j in range(k):
                    is_new = is_new and out[i, j] != gene
                if is_new:
                    out[i, k] = gene
                    break
            if out[i, k] < 0:  # there are hardly any others
                break
    return out.shape[0]


@subroutine
def mutate_gene(columns, rng, gene, vocabulary, rates, buffers, walk):
    """A gene with a new feature, a nudged constant, or else a new full branch at a uniformly drawn node."""
    u = rng.random()
    if u < rates.feature:
        depth = choose(columns, vocabulary.has_three, gene, 0, rng, walk)
        if depth >= 0:
            leaf = intern(columns, 0, below(rng, vocabulary.n_features[0]), -1, 0.0)
            return replace_node(columns, depth, leaf, walk)
    elif u < rates.feature + rates.constant:
        depth = choose(columns, vocabulary.has_three, gene, 1, rng, walk)
        if depth >= 0:
            value = columns.value[walk.path[depth]] + rates.constant_step * rng.standard_normal()
            scale = 10.0 ** vocabulary.constants[2]
            value = np.floor(value * scale + 0.5) / scale + 0.0
            return replace_node(columns, depth, intern(columns, 1, -1, -1, value), walk)
    depth = choose(columns, vocabulary.has_three, gene, ANY, rng, walk)
    branch_depth = 1 + below(rng, np.int64(rates.mutation_depth))
    length, _ = draw_gene(rng, vocabulary, branch_depth, True, buffers)
    branch = intern_tokens(columns, buffers, length, vocabulary.arity, buffers.stack)
    return replace_node(columns, depth, branch, walk)


@subroutine
def mark_genes(rng, n_genes, chance, out):
    """Mark each gene with a chance, at least one."""
    n_marked = 0
    for k in range(n_genes):
        out[k] = rng.random() < chance
        n_marked += out[k]
    if n_marked == 0:
        out[below(rng, np.int64(n_genes))] = True


@subroutine
def join_genes(base, is_given, donor, is_taken, n_base, n_donor, out):
    """The genes that the base keeps, then those that the donor gives, as many as there is room for."""
    n = 0
    out[:] = -1
    for k in range(n_base):
        if not is_given[k]:
            out[n] = base[k]
            n += 1
    for k in range(n_donor):
        if is_taken[k] and n < out.size:
            out[n] = donor[k]
            n += 1


@kernel
def breed(columns, rng, population, winners, vocabulary, rates, buffers, walks, progress, out):
    """Fill `out` with children of pairs of winners: two of a crossover, one of a mutation, or a copy.

    `progress` counts pairs and children that are done. Returns early when the forest has no room left.
    """
    own, other = walks
    has_three = vocabulary.has_three
    most_genes = population.shape[1]
    marks = np.zeros((2, most_genes), dtype=np.bool_)
    while progress[1] < out.shape[0]:
        room = MOST_TRIES * (2 * own.path.size + buffers.code.size)
        if columns.n_nodes[0] + room > columns.code.size:
            return
        dad, mum = population[winners[progress[0], 0]], population[winners[progress[0], 1]]
        n_dad, n_mum = (dad >= 0).sum(), (mum >= 0).sum()
        progress[0] += 1
        first = progress[1]
        has_second = first + 1 < out.shape[0]
        u = rng.random()
        if u >= rates.crossover:
            out[first] = dad
            progress[1] += 1
            if u < rates.crossover + rates.mutation:
                place = below(rng, np.int64(n_dad))
                for _ in range(MOST_TRIES):
                    gene = mutate_gene(columns, rng, dad[place], vocabulary, rates, buffers, own)
                    if fits(columns, has_three, gene, rates, own):
                        out[first, place] = gene
                        break
        elif rng.random() < rates.whole_genes and max(n_dad, n_mum) > 1:
            mark_genes(rng, n_dad, rates.gene, marks[0])
            mark_genes(rng, n_mum, rates.gene, marks[1])
            join_genes(mum, marks[1], dad, marks[0], n_mum, n_dad, out[first])
            if has_second:
                join_genes(dad, marks[0], mum, marks[1], n_dad, n_mum, out[first + 1])
            progress[1] += 1 + has_second
        else:
            place, mums_place = below(rng, np.int64(n_dad)), below(rng, np.int64(n_mum))
            out[first] = dad
            if has_second:
                out[first + 1] = mum
            for _ in range(MOST_TRIES):
                depth = choose(columns, has_three, dad[place], ANY, rng, own)
                mums_depth = choose(columns, has_three, mum[mums_place], ANY, rng, other)
                branch = own.path[depth]
                son = replace_node(columns, depth, other.path[mums_depth], own)
                daughter = replace_node(columns, mums_depth, branch, other)
                if fits(columns, has_three, son, rates, own) and fits(columns, has_three, daughter, rates, own):
                    out[first, place] = son
                    if has_second:
                        out[first + 1, mums_place] = daughter
                    break
            progress[1] += 1 + has_second


@kernel
def measure(columns, has_three, genes, walk, out):
    """Size, depth and complexity of every gene, in rows of `out`."""
    for i in range(genes.size):
        _, measured = walk_gene(columns, has_three, genes[i], ANY, NEVER, walk)
        out[i, 0] = measured.size
        out[i, 1] = measured.depth
        out[i, 2] = measured.complexity
