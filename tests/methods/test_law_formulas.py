"""Formulas with free constants: values, derivatives, sizes, and fits."""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from symgrove.forest.as_sympy import to_sympy
from symgrove.methods.law.fitting import fit, standard_errors
from symgrove.methods.law.formulas import LawFormulas, RowSet
from symgrove.methods.law.freeing import freed
from symgrove.methods.law.numbers import simple_near, simple_numbers
from tests.naive.law import sympy_size


def rows_of(n_rows=80, n_features=3, seed=0, weight=None):
    rng = np.random.default_rng(seed)
    return RowSet(rng.uniform(0.5, 2.0, size=(n_rows, n_features)), rng.normal(size=n_rows), weight)


def damped(f):
    """c0 * x0 * exp(-c1 * x1) * cos(c2 * x2) / (1 + c3 * x0)."""
    x0, x1, x2 = map(f.feature, range(3))
    wave = f.call("cos", f.mul(f.free(2), x2))
    decay = f.call("exp", f.call("neg", f.mul(f.free(1), x1)))
    below = f.add(f.one, f.mul(f.free(3), x0))
    return f.mul(f.free(0), f.div(f.mul(f.mul(x0, decay), wave), below))


def values_of_damped(X, c):
    return c[0] * X[:, 0] * np.exp(-c[1] * X[:, 1]) * np.cos(c[2] * X[:, 2]) / (1 + c[3] * X[:, 0])


def test_values_and_derivatives_are_those_of_the_formula():
    f, rows, c = LawFormulas(3), rows_of(), np.array([1.5, 0.7, 2.0, 0.4])
    root, X = damped(f), rows.columns.T
    np.testing.assert_allclose(f.predict(root, rows, c), values_of_damped(X, c), rtol=1e-12)
    predicted, slopes = f.jacobian(root, rows, c)
    np.testing.assert_allclose(predicted, values_of_damped(X, c), rtol=1e-12)
    for k in range(4):
        step = 1e-6 * np.eye(4)[k]
        numeric = (values_of_damped(X, c + step) - values_of_damped(X, c - step)) / 2e-6
        np.testing.assert_allclose(slopes[k], numeric, rtol=1e-6, atol=1e-8)


def test_parts_without_free_constants_are_computed_once():
    f, rows = LawFormulas(3), rows_of()
    part = f.mul(f.feature(0), f.call("sin", f.feature(1)))
    f.predict(f.mul(f.free(0), part), rows, (2.0,))
    assert part in rows.known
    rows.known[part] = np.full(rows.n_rows, 7.0)
    np.testing.assert_array_equal(f.predict(f.mul(f.free(0), part), rows, (2.0,)), np.full(rows.n_rows, 14.0))


@pytest.mark.parametrize("weight", [None, np.linspace(0.1, 3.0, 80)])
def test_constants_are_those_of_least_squares(weight):
    rows = rows_of(weight=weight)
    X, truth = rows.columns.T, np.array([1.5, 0.7, 2.0, 0.4])
    rows.y = values_of_damped(X, truth) + 0.01 * rows.y
    f = LawFormulas(3)
    found = fit(f, damped(f), rows, (1.0, 1.0, 1.8, 0.2), 50)
    root_weight = np.ones(80) if weight is None else np.sqrt(weight / weight.mean())
    expected = least_squares(lambda c: (values_of_damped(X, c) - rows.y) * root_weight, [1.0, 1.0, 1.8, 0.2])
    np.testing.assert_allclose(found.values, expected.x, rtol=1e-4)
    assert found.error == pytest.approx(2 * expected.cost / 80, rel=1e-8)
    assert np.abs(np.array(found.values) - truth).max() < 20 * standard_errors(f, damped(f), rows, found).max() + 0.3


def test_a_formula_without_a_value_on_many_rows_has_no_error():
    f, rows = LawFormulas(1), RowSet(np.linspace(-1, 1, 50)[:, None], np.ones(50))
    assert fit(f, f.mul(f.free(0), f.call("log", f.feature(0))), rows, (1.0,), 5).error == np.inf


def formulas_to_measure(f):
    x, y, z = map(f.feature, range(3))
    half = f.number(0.5)
    return [
        f.monomial([1, 0, 0]),
        f.monomial([1, 1, -1]),
        f.monomial([2, -1, 0.5]),
        f.monomial([-1, 0, 0]),
        f.monomial([-2, -0.5, 0]),
        f.mul(f.number(3.2), x),
        f.add(f.mul(f.number(3.2), x), f.number(1.5)),
        f.sub(x, y),
        f.sub(x, f.mul(f.number(2.5), y)),
        f.sub(f.number(1.5), f.mul(y, z)),
        f.add(f.add(x, y), f.add(z, f.number(2.5))),
        f.call("neg", f.mul(x, y)),
        f.call("exp", f.call("neg", x)),
        f.call("exp", f.call("neg", f.div(x, y))),
        f.mul(half, f.power(f.add(x, y), 2.0)),
        f.power(f.sub(x, y), 0.5),
        f.power(f.add(x, f.mul(y, z)), -1.0),
        f.power(f.add(x, f.mul(y, z)), -0.5),
        f.div(f.mul(f.number(2.5), f.call("sin", f.mul(f.number(1.5), x))), f.add(f.number(1.5), y)),
        f.div(x, f.add(f.one, y)),
        f.mul(f.call("log", x), f.call("tanh", f.div(y, z))),
        f.call("arcsin", f.mul(half, x)),
        f.mul(f.number(2.5), f.add(f.div(x, y), f.number(1.5))),
        f.mul(f.number(-2.5), f.sub(f.mul(f.number(1.5), x), f.call("sin", y))),
        f.mul(f.number(2.5), f.mul(z, f.add(x, y))),
        f.mul(f.number(2.5), f.add(z, f.mul(f.number(1.5), f.add(x, f.call("sin", y))))),
        f.add(z, f.mul(f.number(1.5), f.add(x, y))),
    ]


@pytest.mark.parametrize("place", range(len(formulas_to_measure(LawFormulas(3)))))
def test_sizes_are_those_of_sympy(place):
    f = LawFormulas(3)
    root = formulas_to_measure(f)[place]
    expression = to_sympy(f.forest, root, [f"x{j}" for j in range(f.forest.n_features)])
    assert f.size(root) == sympy_size(expression), expression


def test_free_constants_are_numbers_in_sizes():
    f = LawFormulas(2)
    x, y = f.feature(0), f.feature(1)
    assert f.size(f.mul(f.free(0), x)) == 3
    assert f.size(f.mul(f.free(0), f.mul(f.number(2.5), x))) == 3  # one number in front
    assert f.size(f.add(f.mul(f.free(0), x), f.mul(f.free(1), y))) == 7
    assert f.size(f.mul(f.free(0), f.div(x, y))) == sympy_size(sympy.sympify("2.5*x/y"))


def test_fixed_constants_leave_the_others_numbered_in_order():
    f, rows = LawFormulas(3), rows_of()
    c = (1.5, 0.7, 2.0, 0.4)
    fixed = f.with_values(damped(f), [None, 0.7, None, None])
    assert f.free_of(fixed) == {0, 1, 2}
    np.testing.assert_allclose(f.predict(fixed, rows, (1.5, 2.0, 0.4)), f.predict(damped(f), rows, c), rtol=1e-12)
    without = f.with_values(damped(f), [1.0, 0.7, 2.0, 0.0])
    assert f.free_of(without) == frozenset()
    assert f.bits(without) < f.bits(damped(f))


def test_numbers_of_functions_become_free_constants():
    f, rows = LawFormulas(2), rows_of(n_features=2)
    x, y = f.feature(0), f.feature(1)
    root = f.mul(f.free(0), f.mul(f.call("exp", f.mul(f.number(-0.5), x)), f.add(f.one, f.call("neg", y))))
    free, values = freed(f, root, (3.0,))
    assert len(values) == 3
    assert sorted(values) == [-1.0, -0.5, 3.0]
    np.testing.assert_allclose(f.predict(free, rows, values), f.predict(root, rows, (3.0,)), rtol=1e-12)
    assert freed(f, free, values) == (free, values)


@given(st.floats(-40, 40, allow_subnormal=False), st.floats(1e-6, 0.5))
@settings(max_examples=50, deadline=None)
def test_simple_numbers_are_near_and_cheap_ones_first(value, distance):
    near = simple_near(value, distance)
    assert all(abs(number - value) < distance for number, _ in near)
    costs = [bits for number, bits in near if number]
    assert costs == sorted(costs)
    values, bits = simple_numbers()
    if (np.abs(values - abs(value)) < distance).any():
        assert min(costs) == bits[np.abs(values - abs(value)) < distance].min()
