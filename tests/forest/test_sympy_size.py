"""Sizes of formulas without SymPy are those of SymPy's expressions."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from symgrove import Forest, PrimitiveSet
from symgrove.forest.as_sympy import to_sympy
from symgrove.forest.shortest import shortest
from symgrove.forest.sympy_size import sympy_size
from symgrove.forest.text import parse, to_text
from symgrove.forest.values import values_of
from symgrove.methods.law.formulas import LAW_FUNCTIONS

LAW = PrimitiveSet(LAW_FUNCTIONS)
ROWS = np.random.default_rng(0).uniform(-0.9, 3, size=(50, 3))
UNARY = [name for name in LAW_FUNCTIONS if LAW[name].arity == 1]
BINARY = [name for name in LAW_FUNCTIONS if LAW[name].arity == 2 and name != "power"]
NUMBERS = (1.0, 2.0, -1.0, 0.5, 3.0, 2.31, -0.71, np.pi)
EXPONENTS = (2.0, 3.0, 0.5, -1.0, -2.0, 1 / 3, 1.5, -0.5, 2.3)


def n_nodes(forest, root):
    return sum(1 for _ in sympy.preorder_traversal(to_sympy(forest, root)))


def plant(forest, program):
    if isinstance(program, int):
        return forest.feature(program)
    if isinstance(program, float):
        return forest.constant(program)
    return forest.apply(program[0], *(plant(forest, operand) for operand in program[1:]))


def extended(parts):
    return st.one_of(
        st.tuples(st.sampled_from(BINARY), parts, parts),
        st.tuples(st.sampled_from(("add", "sub", "mul", "plain_div")), parts, parts),
        st.tuples(st.just("power"), parts, st.sampled_from(EXPONENTS)),
        st.tuples(st.sampled_from(UNARY), parts),
    )


leaves = st.one_of(st.integers(0, 2), st.integers(0, 2), st.sampled_from(NUMBERS))


@given(st.recursive(leaves, extended, max_leaves=12))
def test_short_forms_are_counted_as_sympy_counts_them(program):
    forest = Forest(3, LAW)
    root = shortest(forest, plant(forest, program))
    constants = [forest.columns.value[n] for n in forest.reachable([root]) if forest.name(n) == "constant"]
    if 0.0 not in constants and np.isfinite(values_of(forest, [root], ROWS)).any():
        assert sympy_size(forest, root) == n_nodes(forest, root), to_text(forest, root)


@pytest.mark.parametrize(
    "text",
    [
        "2 * (x0 + x1)",
        "-(x0 + x1 + 3) / x2",
        "(x0 * x1)^-2",
        "sqrt(2 * x0 * x1)",
        "sqrt(-0.5 * x1)",
        "x2 / sqrt(-1 / x2)",
        "(x2^2 * (x1 + 1))^2.3",
        "((x0 - x2)^2 / sqrt(x0 + 0.39))^1.5",
        "1 / sqrt(x2 * exp(x1))",
        "exp(8 * x1 - 4) / x2^8",
        "exp(x0 - 1) * exp(1 - x1)",
        "x1 * sin(arcsin(x1)) + cos(arcsin(x0))",
        "tanh(-0.71 * x2) + cos(2 * x0 - x1) + sin(3 / x2 - 0.23) - sin(exp(x0) - (x0 + 2)^1.5)",
        "max(x0^2, 0) + min(exp(x2), 0) + max(x0, x0 - 1.5) + max(max(x0, x1), 2) + x2 * min(max(x1, 2), 1)",
        "log(exp(x0)) + exp(2 * log(x1)) + abs(x1)^3",
    ],
)
def test_what_sympy_rewrites_is_counted_as_it_is_then(text):
    forest = Forest(3, LAW)
    root = parse(forest, text)
    assert sympy_size(forest, root) == n_nodes(forest, root)


def test_names_decide_which_sign_comes_out_of_a_difference():
    forest = Forest(3, LAW)
    root = parse(forest, "cos(2 * x0 - x1)")
    sizes = [sympy_size(forest, root, names) for names in (["a", "b", "c"], ["b", "a", "c"])]
    expressions = [to_sympy(forest, root, names) for names in (["a", "b", "c"], ["b", "a", "c"])]
    assert sizes == [sum(1 for _ in sympy.preorder_traversal(e)) for e in expressions]
    assert sizes[0] != sizes[1]
