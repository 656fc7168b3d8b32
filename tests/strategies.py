"""Hypothesis strategies for programs and data, and the bridge between oracles and the package."""

import numpy as np
from hypothesis import strategies as st

from symgrove import Forest, PrimitiveSet
from symgrove.forest.primitive_table import BUILTIN
from tests.naive.programs import BINARY, PLAIN, UNARY

ALL = PrimitiveSet(tuple(BUILTIN))
TAME = PrimitiveSet(tuple(name for name in BUILTIN if name not in PLAIN))  # outputs are finite, or nearly always
constants = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: v)


def programs(n_features=3, functions=(*UNARY, *BINARY), max_leaves=25):
    """Nested tuples as in tests/naive/programs.py."""
    leaves = st.one_of(
        st.integers(0, n_features - 1).map(lambda i: ("feature", i)),
        constants.map(lambda v: ("constant", v)),
    )
    unary = [f for f in functions if f in UNARY]
    binary = [f for f in functions if f in BINARY]

    def extend(children):
        options = []
        if unary:
            options.append(st.tuples(st.sampled_from(unary), children))
        if binary:
            options.append(st.tuples(st.sampled_from(binary), children, children))
        return st.one_of(options)

    return st.recursive(leaves, extend, max_leaves=max_leaves)


def plant(forest: Forest, program) -> int:
    """Root id of a nested tuple."""
    if program[0] == "feature":
        return forest.feature(program[1])
    if program[0] == "constant":
        return forest.constant(program[1])
    return forest.apply(program[0], *(plant(forest, operand) for operand in program[1:]))


def uproot(forest: Forest, node: int):
    """The nested tuple of a node."""
    name = forest.name(node)
    if name == "feature":
        return ("feature", int(forest.columns.left[node]))
    if name == "constant":
        return ("constant", float(forest.columns.value[node]))
    return (name, *(uproot(forest, child) for child in forest.children(node)))


def random_data(seed, n_rows=40, n_features=3, dtype="float64"):
    """Ordinary features with some exact zeros, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    X[rng.random(X.shape) < 0.05] = 0
    y = X[:, 0] * 2 - np.abs(X[:, -1]) + rng.normal(size=n_rows) * 0.3 + 5
    return X, y.astype(np.float64)
