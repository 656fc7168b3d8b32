"""Formulas as people write them: equal to the original, and never larger."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from symgrove import Forest, PrimitiveSet, parse, to_text
from symgrove.forest.as_sympy import to_sympy
from symgrove.forest.latex import to_latex
from symgrove.forest.normal_form import NoNormalFormError, NormalForms
from symgrove.forest.shortest import check_rows, is_equal, shortest
from symgrove.forest.values import values_of
from symgrove.forest.written_form import FormulaWriter
from symgrove.forest.written_size import WrittenSizes
from tests.forest.test_simplify import POINTS, UndefinedError, exact, perturb, with_simple_constants
from tests.naive.programs import evaluate
from tests.strategies import ALL, plant, programs, uproot

# Without zeros, at which plain quotients have no value: 0 / x0 is written as 0.
INSIDE = [*POINTS, (0.7, 1.3, 2.1), (0.3, -0.6, -1.7), (2.5, 0.4, 5.0)]


def unchecked(forest, root, *, expands=True):
    """What the rules make of a program, whether or not numbers confirm it."""
    forms = NormalForms(forest.primitives)
    return FormulaWriter(forms, forest, expands=expands).write(forms.read(forest, root))


ALGEBRA = ("add", "sub", "mul", "neg", "abs", "plain_div", "plain_sqrt", "plain_log", "plain_exp", "power", "sin")


@settings(max_examples=300, deadline=None)
@given(st.one_of(programs(max_leaves=10), programs(functions=ALGEBRA, max_leaves=14)))
def test_rules_are_identities(program):
    """The checks with numbers would hide a wrong rule."""
    forest = Forest(3, ALL)
    program = with_simple_constants(program)
    try:
        found = uproot(forest, unchecked(forest, plant(forest, program)))
    except (NoNormalFormError, OverflowError):
        return
    for point in INSIDE:
        try:
            value, shaken = exact(program, point), exact(perturb(program), point)
        except UndefinedError:
            continue
        assume(abs(shaken - value) <= mpf(1e-8) * (1 + abs(value)))
        assert abs(exact(found, point) - value) <= mpf(1e-6) * (1 + abs(value))


@settings(max_examples=200, deadline=None)
@given(programs(max_leaves=20))
def test_never_larger_and_the_same_values(program):
    forest = Forest(3, ALL)
    root = plant(forest, program)
    ranges = np.array([[0.5, 1.0, -2.0], [2.0, 3.0, 5.0]])
    found = shortest(forest, root, ranges)
    assert WrittenSizes(forest).of(found) <= WrittenSizes(forest).of(root)
    X = np.random.default_rng(1).uniform(*ranges, (50, 3))
    expected, values = evaluate(program, X), values_of(forest, [found], X)[0]
    with np.errstate(all="ignore"):
        rounding = np.abs(evaluate(perturb(program), X) - expected)
    has = np.isfinite(rounding) & (np.abs(expected) < 1e100)
    spread = expected[has].std() if has.any() else 0.0
    assert (np.abs(values[has] - expected[has]) <= 1e-8 * (np.abs(expected)[has] + spread) + 1e6 * rounding[has]).all()
