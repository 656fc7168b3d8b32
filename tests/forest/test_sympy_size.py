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


BY_TWO, BY_ONE = ("add", "sub", "mul", "div", "aq"), ("sqrt", "log", "log1p", "exp", "sin", "square", "cube", "neg")
PROTECTED = PrimitiveSet(BY_TWO + BY_ONE)
ALONE = {name: sympy.Function(name) for name in ("log1p", "aq")}  # SymPy has no such function
READ = ALONE | {"square": lambda x: x**2, "cube": lambda x: x**3}


def written_nodes(text, n_features=3):
    """Nodes of a text that SymPy reads."""
    symbols = {f"x{i}": sympy.Symbol(f"x{i}", real=True) for i in range(n_features)}
    return sum(1 for _ in sympy.preorder_traversal(sympy.sympify(text.replace("^", "**"), locals=READ | symbols)))


@given(
    st.recursive(
        st.one_of(st.integers(0, 2), st.sampled_from((2.31, -0.71, 0.5))),
        lambda parts: st.one_of(
            st.tuples(st.sampled_from(BY_TWO), parts, parts),
            st.tuples(st.sampled_from(BY_ONE), parts),
        ),
        max_leaves=12,
    )
)
def test_protected_functions_count_as_what_they_are_written_as(program):
    forest = Forest(3, PROTECTED)
    root = shortest(forest, plant(forest, program))
    constants = [forest.columns.value[n] for n in forest.reachable([root]) if forest.name(n) == "constant"]
    if 0.0 not in constants and np.abs(constants).max(initial=0) < 1e6:
        text = to_text(forest, root)
        assert sympy_size(forest, root) == written_nodes(text), text


def test_what_is_too_deep_to_be_rewritten_is_counted_as_it_is():
    forest = Forest(1, PROTECTED)
    root = forest.feature(0)
    for _ in range(30_000):
        root = forest.apply("sin", root)
    assert sympy_size(forest, root) == 30_001
    shared = forest.apply("add", forest.feature(0), forest.constant(2.0))
    for _ in range(100):
        shared = forest.apply("mul", forest.apply("sin", shared), forest.apply("exp", shared))
    assert sympy_size(forest, shared) > 1e18


def test_names_decide_which_sign_comes_out_of_a_difference():
    forest = Forest(3, LAW)
    root = parse(forest, "cos(2 * x0 - x1)")
    sizes = [sympy_size(forest, root, names) for names in (["a", "b", "c"], ["b", "a", "c"])]
    expressions = [to_sympy(forest, root, names) for names in (["a", "b", "c"], ["b", "a", "c"])]
    assert sizes == [sum(1 for _ in sympy.preorder_traversal(e)) for e in expressions]
    assert sizes[0] != sizes[1]
