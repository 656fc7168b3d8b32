"""Numbers in formulas have as many digits as make a difference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgrove import Forest, PrimitiveSet, parse, primitive, to_text
from symgrove.forest.rounding import with_digits, with_few_digits
from symgrove.forest.shortest import rows_like
from symgrove.forest.values import values_of

X = np.random.default_rng(0).uniform(1.0, 3.0, (300, 2))


def rounded(text, margin, rows=X):
    forest = Forest(2, PrimitiveSet(("add", "sub", "mul", "plain_div", "plain_exp", "power", "sin")))
    return to_text(forest, with_few_digits(forest, parse(forest, text), rows, margin))


@pytest.mark.parametrize(
    ("text", "margin", "expected"),
    [
        ("1.23456789 * x0 + 0.000123456789 * x1", 0.01, "1.235 * x0 + 0.00012 * x1"),
        ("1.23456789 * x0 + 0.000123456789 * x1", 1e-6, "1.234568 * x0 + 0.0001235 * x1"),
        ("1.23456789 * x0", 0.0, "1.23456789 * x0"),
        ("x0^2.7182818", 0.1, "x0^2.72"),
        ("2 * x0 + 0.5 * sin(x1)", 1e-9, "2 * x0 + 0.5 * sin(x1)"),
        ("x0 + x1", 0.1, "x0 + x1"),
        ("0 * x0", 0.1, "0 * x0"),
        ("1.0001 * x0 + x1^0.99995 + x0 / 1.0002", 0.1, "x0 + x1 + x0"),
        ("1.23456789 / (x0 - 2.00001)", 1.0, "1.2 / (x0 - 2)"),  # some rows are near the pole
    ],
)
def test_each_number_has_its_digits(text, margin, expected):
    assert rounded(text, margin) == expected


def test_every_number_may_have_so_many_digits():
    forest = Forest(2, PrimitiveSet(("add", "mul", "sin")))
    root = parse(forest, "1.02 * sin(0.123456 * x0) + 123456 * x1")
    assert to_text(forest, with_digits(forest, root, 2)) == "sin(0.12 * x0) + 120000 * x1"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-10, 10).filter(lambda v: abs(v) > 1e-3), min_size=3, max_size=3), st.floats(1e-4, 1.0))
def test_values_move_by_less_than_the_margin_on_most_rows(numbers, margin):
    a, b, c = numbers
    text = f"({a}) * x0 + ({b}) * sin(({c}) * x1)"
    forest = Forest(2)
    root = parse(forest, text)
    before, after = values_of(forest, [root, with_few_digits(forest, root, X, margin)], X)
    assert np.quantile(np.abs(after - before), 0.9, method="lower") <= margin


def test_rows_are_like_the_quantiles():
    quantiles = np.array([[0.0, -5.0], [1.0, 0.0], [10.0, 0.0]])
    rows = rows_like(quantiles, 4000)
    found = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    np.testing.assert_allclose(found, [[0.5, -2.5], [1.0, 0.0], [5.5, 0.0]], atol=0.3)
    assert (rows >= quantiles[0]).all()
    assert (rows <= quantiles[-1]).all()


def test_functions_without_a_derivative_are_moved_by_a_little():
    def twice(a):
        return 2.0 * a

    forest = Forest(2, PrimitiveSet(("add", "mul", primitive(twice))))
    root = parse(forest, "twice(1.23456789 * x0) + 0.000123456789 * x1")
    assert to_text(forest, with_few_digits(forest, root, X, 0.02)) == "twice(1.235 * x0) + 0.00012 * x1"
