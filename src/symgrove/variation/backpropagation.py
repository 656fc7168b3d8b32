"""Semantic backpropagation: from the outputs that a program should have to those that one of its nodes should have.

The wanted values are pushed down the path from the root to the node; every function on it is inverted, with the outputs
of its other operand. A case (a row) then has a few acceptable values, or accepts any, or is impossible: no value of the
node gives what is wanted. `step` and functions of a user's own have no inversion; a node below one is never chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitives import PrimitiveSet
from symgrove.variation import backpropagation_kernels
from symgrove.variation.backpropagation_kernels import ANY, IMPOSSIBLE, MOST_VALUES, Paths
from symgrove.variation.subtree import new_walk

__all__ = ["ANY", "IMPOSSIBLE", "MOST_VALUES", "Paths"]

Matrix = NDArray[np.float64]
# Primitives that are inverted, in the order of their rules in backpropagation_kernels.py.
BINARY_RULES = ("add", "sub", "mul", "div", "pdiv", "aq", "min", "max", "public sub")
UNARY_RULES = ("sqrt", "log", "log1p", "exp", "sin", "cos", "tanh", "square", "cube", "neg", "abs", "public sqrt")
RULES = BINARY_RULES + UNARY_RULES


class Wanted(NamedTuple):
    """What nodes should have: how many values of each node and row are acceptable, or ANY or IMPOSSIBLE, and which.

    Values are (n_nodes, n_rows, at most so many); beyond `n_values`, (n_nodes, n_rows), they mean nothing.
    """

    values: Matrix
    n_values: NDArray[np.int8]


def rules_of(primitives: PrimitiveSet, *, is_public: bool = False) -> NDArray[np.int64]:
    """The rule by which each code is inverted, 0 if there is none; with `is_public`, as the public code has it."""
    rules = np.zeros(max(primitives.by_code) + 1, dtype=np.int64)
    for code, row in primitives.by_code.items():
        public = f"public {row.name}"
        name = public if is_public and public in RULES else row.name
        if row.function is None and name in RULES:
            rules[code] = 1 + RULES.index(name)
    return rules


def choose_paths(forest: Forest, roots: Ids, rng: np.random.Generator) -> Paths:
    """A node of each program by uniform random depth, as the path that leads there."""
    walk = new_walk(forest, roots)
    shape = roots.size, int(forest.height(roots).max()) + 1
    paths = Paths(np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64), np.empty(shape[0], np.int64))
    backpropagation_kernels.choose_paths(forest.columns, rng, roots, rules_of(forest.primitives), walk, paths)
    return paths


def siblings_on(forest: Forest, paths: Paths, *, is_public: bool = False) -> Ids:
    """The other operand of every function above the end of a path, in the shape of the paths; -1 if there is none.

    With `is_public` the left operand in any case, as the public code has it.
    """
    node, side, depth = paths
    is_above = np.arange(node.shape[1]) < depth[:, None]
    columns = forest.columns
    other = np.where((side == 0) & (not is_public), columns.right[node], columns.left[node])
    has_two = columns.right[node] >= 0
    return np.where(is_above & has_two & (forest.arity[columns.code[node]] == 2), other, -1)


def wanted_at(
    forest: Forest,
    rules: NDArray[np.int64],
    paths: Paths,
    siblings: Ids,
    target: Matrix,
    distinct: Ids,
    outputs: Matrix,
    n_values: int,
) -> Wanted:
    """What the ends of paths should have so that their programs have `target`, (n_paths, n_rows).

    `outputs` are those of `distinct` nodes, in ascending order, that all siblings on the paths are among.
    """
    sibling_of = np.searchsorted(distinct, siblings)
    wanted = Wanted(np.zeros((*target.shape, n_values)), np.empty(target.shape, dtype=np.int8))
    epsilons = forest.primitives.epsilon_by_code()
    backpropagation_kernels.backpropagate(forest.columns, rules, epsilons, paths, outputs, sibling_of, target, *wanted)
    return wanted
