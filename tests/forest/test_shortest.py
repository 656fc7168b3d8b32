"""Formulas as people write them: equal to the original, and never larger."""

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from symgrove import Forest, PrimitiveSet, parse, to_text
from symgrove.forest.as_sympy import to_sympy
from symgrove.forest.latex import to_latex
from symgrove.forest.normal_form import NoNormalFormError, NormalForms
from symgrove.forest.other_forms import Product, other_products
from symgrove.forest.shortest import shortest
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


@settings(max_examples=200, deadline=None)
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


@settings(max_examples=100, deadline=None)
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


PROTECTED = PrimitiveSet(("add", "sub", "mul", "div", "sqrt", "log", "sin", "square", "aq", "min", "max"))
PLAIN = PrimitiveSet(("add", "sub", "mul", "neg", "plain_div", "plain_sqrt", "plain_log", "plain_exp", "power", "sin"))
NAMES = ("x", "y", "V", "K", "S")


def written(text, primitives, quantiles=None):
    forest = Forest(len(NAMES), primitives)
    return to_text(forest, shortest(forest, parse(forest, text, NAMES), quantiles), NAMES)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("(x - 0.4925) * 3.52 + (y - 0.4817) * 3.321", "3.52 * x + 3.321 * y - 3.3333257"),
        (
            "((x - 0.5) * 2) * ((y - 0.25) * 3) * 1.5 + 2 * x - 3 * y",
            "9 * x * (y - 0.027777777777777776) - 7.5 * y + 1.125",
        ),
        ("x / y * 3 + 2 * x / y", "5 * x / y"),
        ("x / x", "x / x"),
        ("x / (3 * y)", "x / (3 * y)"),
        ("square(x) * x", "x^3"),
        ("log(-x) * 2", "2 * log(abs(x) + 1e-10)"),
        ("sqrt(2 * (x - 1)) * sqrt(y)", "1.4142135623730951 * sqrt(abs(y * (x - 1)))"),
        ("aq(2 * x, -y) * 3", "aq(6 * x, y)"),
        ("max(2 * x - 3, 4 * y) * -0.5", "min(1.5 - x, -2 * y)"),
        ("max(x - 3, 4) * 2 + 6", "2 * max(x, 7)"),
        ("sqrt(x) * sqrt(x)", "abs(x)"),
        ("x - x", "0"),
    ],
)
def test_formulas_of_protected_primitives(text, short):
    assert written(text, PROTECTED) == short


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("1 / (1 / V + K / (V * S))", "V * S / (K + S)"),
        ("sqrt(x) / sqrt(y) * 6.3", "6.3 * sqrt(x) / sqrt(y)"),
        ("x * 0.16", "0.16 * x"),
        ("5 / (1 / (x * sqrt(y)))", "5 * x * sqrt(y)"),
        ("-1.0 / x + 3 * y", "3 * y - 1 / x"),
        ("x * (y * V) * 2", "2 * x * y * V"),
        ("x * y + x * V + K", "K + x * (y + V)"),
        ("3 * x + 3 * y", "3 * (x + y)"),
        ("(x + 1) ^ 2 - x ^ 2", "2 * x + 1"),
        ("exp(x) * exp(y) * exp(1 - x)", "exp(y + 1)"),
        ("2 * exp(x + 1) / exp(1)", "2 * exp(x)"),
        ("log(x) + log(y) - log(V)", "log(x * y / V)"),
        ("exp(2 * log(x))", "x^2"),
        ("x / y + V / y", "(x + V) / y"),
        ("2 * V * (x + 1 / y)", "2 * V * (x + 1 / y)"),
        ("-(x - y) * (V - K)", "(x - y) * (K - V)"),
        ("(2 * x + 2) * y + 3 * (x + 1) * y", "5 * y * (x + 1)"),
        ("1 / sqrt(1 - x ^ 2 / y ^ 2)", "1 / sqrt(1 - x^2 / y^2)"),
        ("x - x * y / (x + y)", "x^2 / (x + y)"),
        ("-2 * x + y", "y - 2 * x"),
        ("sin(-x) * -2", "2 * sin(x)"),
        ("x ^ 0.5 * x", "x^1.5"),
        ("(x ^ 2) ^ 0.5", "abs(x)"),
        ("sqrt(-x) ^ 2", "-x"),
        ("1 / 0 + x", "1 / 0 + x"),
        ("log(-1) + 2 * x", "log(-1) + x * 2"),
    ],
)
def test_formulas_without_protection(text, short):
    assert written(text, PLAIN) == short


def test_within_known_ranges_values_are_missing_where_they_were():
    """There, predictions are something else than the formula: the mean of the target."""
    signs = np.array([[-1.0] * 5, [1.0] * 5])
    assert written("exp(2 * log(x))", PLAIN, signs) == "exp(log(x) * 2)"
    assert written("exp(2 * log(x))", PLAIN, signs + 1.5) == "x^2"


def test_digits_are_not_lost_to_cancellation():
    text, wide = "(x - 1e8) * (y + 1) + 1e8 * y", np.array([[0.0] * 5, [1e9] * 5])
    assert written(text, PLAIN, wide) == "x + x * y - 100000000"
    far = wide.copy()
    far[:, :2] = [[1e8 - 1, 1e-9], [1e8 + 1, 2e-9]]
    assert written(text, PLAIN, far) == "100000000 * y + (x - 100000000) * (y + 1)"


def test_products_whose_numbers_vanish_are_written():
    forest, forms = Forest(5, PLAIN), NormalForms(PLAIN)
    (_, x), (_, total) = (forms.read(forest, parse(forest, text, NAMES)) for text in ("x", "x + 2 * y + 3"))
    for scale in (0.0, 5e-324, 1e300):
        for exponent in (1, -1, -2):
            for own in other_products(forms, Product(scale, ((x, 1), (total, exponent)))):
                assert np.isfinite(own.scale)


def test_the_other_notations_say_the_same():
    forest = Forest(5, PLAIN)
    root = shortest(forest, parse(forest, "1 / (1 / V + K / (V * S)) - sqrt(x) * 0.5", NAMES))
    assert to_latex(forest, root, NAMES) == r"\frac{V \cdot S}{K + S} - 0.5 \cdot \sqrt{x}"
    assert str(to_sympy(forest, root, NAMES)) == "S*V/(K + S) - 0.5*sqrt(x)"


def test_long_formulas_keep_their_form(monkeypatch):
    forest = Forest(5, PLAIN)
    root = parse(forest, "3 * x + 3 * y", NAMES)
    monkeypatch.setattr("symgrove.forest.shortest.LARGEST", 6)
    assert to_text(forest, shortest(forest, root), NAMES) == "x * 3 + y * 3"


@pytest.mark.parametrize(
    "text", ["x", "3.5", "x + y", "2 * x - y / V", "-x", "x ^ 2 * y", "sqrt(x)", "sin(x) + 1", "x * x"]
)
def test_sizes_are_those_of_sympy(text):
    forest = Forest(5, PLAIN)
    root = parse(forest, text, NAMES)
    expression = to_sympy(forest, root, NAMES)
    assert WrittenSizes(forest).of(root) == sum(1 for _ in sympy.preorder_traversal(expression))
