"""Both rules of what counts as found, on formulas that are known to be the law or not."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from symgrove.experiments import found
from symgrove.experiments.laws import read_equations


@pytest.fixture(scope="module")
def equation(tmp_path_factory):
    file = tmp_path_factory.mktemp("laws") / "own.csv"
    file.write_text(
        "id,formula,ranges\n"
        "planck,h/(2*pi)*w/(exp(h/(2*pi)*w/t) - 1),h:1:5 w:1:5 t:1:5\n"
        "root,2*pi*sqrt(l/g),l:0.1:2 g:5:15\n"
        "line,2*a + 3*b,a:1:2 b:-1:1\n"
    )
    equations = {own.name: own for own in read_equations(file)}
    return equations.__getitem__


def parsed(text, own):
    return sympy.sympify(text, locals=dict(zip(own.features, own.symbols(), strict=True)))


def by_symbols(text, own):
    X, _ = own.uniform_rows(200, 0)
    return found.is_solution(parsed(text, own), own.sympy(), X, own.symbols())


# Formula, found by values without noise, with a noise of 0.01, and by symbols.
CASES = [
    ("root", "6.283185307179586*sqrt(l)/sqrt(g)", True, True, True),
    ("root", "sqrt(39.47841760435743*l/g)", True, True, True),
    ("root", "17.0*sqrt(l/g)", True, True, True),  # a factor
    ("root", "6.283185307179586*sqrt(l/g) + 0.75", True, True, True),  # an offset
    ("root", "6.2831*sqrt(l/g) + 0.00012", False, True, True),  # neither, but within three decimals and the noise
    ("root", "6.2831*sqrt(l/g) + 0.12", False, True, True),
    ("root", "6.2*sqrt(l/g) + 0.12", False, True, False),
    ("root", "6.28*(l/g)**0.51", False, True, False),  # an exponent that is nearly right is fitted
    ("root", "6.28*(l/g)**0.7", False, False, False),
    ("root", "2.0*l", False, False, False),
    ("root", "0.6", False, False, False),
    ("planck", "0.15915494309189535*h*w/(exp(0.15915494309189535*h*w/t) - 1)", True, True, True),
    ("planck", "0.1592*h*w/(exp(0.1591*h*w/t) - 1)", False, True, True),
    ("planck", "0.1592*h*w/(exp(0.1612*h*w/t) - 1)", False, True, False),
    ("planck", "t - 0.08*h*w", False, False, False),
    ("line", "2*a + 3*b", True, True, True),
    ("line", "4*a + 6*b + 0.0001", False, False, True),  # whole numbers are not fitted
    ("line", "(2.0001*a*b + 2.9998*b**2)/b", False, True, True),
    ("line", "2.01*a + 3.0*b", False, True, False),
    ("line", "1.99*a + 3.125*b", False, True, False),  # but what is no whole number
    ("line", "2.01*a + 3.5*b", False, False, False),  # unless it was too far from the truth
    ("line", "2.01*a**1.5 + 3.01*b", False, False, False),  # exponents that are simple fractions are not
]


@pytest.mark.parametrize(("name", "text", "clean", "noisy", "symbols"), CASES)
def test_formulas_are_judged_by_both_rules(equation, name, text, clean, noisy, symbols):
    own = equation(name)
    formula = parsed(text, own)
    assert found.judge_values(formula, own, 0.0, 0).is_found == clean
    assert found.judge_values(formula, own, 0.01, 0).is_found == noisy
    assert by_symbols(text, own) == symbols


def test_a_formula_far_from_the_rows_is_not_found_whatever_its_constants_could_be(equation):
    own = equation("line")
    far = found.judge_values(parsed("2.2*a + 3.2*b + 0.723*a*b", own), own, 0.01, 0)
    assert far.error < found.EXACT
    assert far.error_as_it_was > 0.05
    assert not far.is_found
    assert found.judge_values(parsed("2.2*a + 3.2*b + 0.723*a*b", own), own, 0.1, 0).is_found


@given(st.lists(st.floats(-1e3, 1e3), min_size=5, max_size=30), st.floats(0.01, 100), st.floats(-1e3, 1e3))
def test_relative_errors_are_those_of_the_definition_and_ignore_a_factor_or_an_offset(values, factor, offset):
    y = np.array(values)
    rng = np.random.default_rng(len(values))
    predicted = y + rng.normal(size=y.size)
    best = min(np.sqrt(((y - c * predicted) ** 2).sum()) for c in np.linspace(-2, 2, 401))
    error = found.relative_error(predicted, y)
    if np.std(y) > 1e-3:
        assert error <= best / np.sqrt((y**2).sum()) + 1e-9
        assert error <= np.std(y - predicted) / np.std(y) + 1e-9
        assert found.relative_error(factor * y, y) < 1e-9
        assert found.relative_error(y + offset, y) < 1e-9 * (1 + abs(offset) / np.std(y))


def test_a_formula_without_values_on_many_rows_has_no_error(equation):
    y = np.arange(1.0, 101.0)
    predicted = y.copy()
    predicted[:2] = np.nan
    assert found.relative_error(predicted, y) < 1e-12
    predicted[:3] = np.inf
    assert found.relative_error(predicted, y) == np.inf
    own = equation("root")
    assert not found.judge_values(parsed("sqrt(l - 1)", own), own, 0.01, 0).is_found


@given(st.lists(st.floats(0.3, 3.0), min_size=2, max_size=2), st.lists(st.floats(0.3, 3.0), min_size=2, max_size=2))
def test_constants_are_fitted_to_other_rows(given_constants, true_constants):
    x = sympy.Symbol("x", real=True)
    free = found.FreeFormula(sympy.Float(1.2345) * x + sympy.Float(0.5) * x**2 + sympy.Float(2.0) + x**0.25, [x])
    assert sorted(free.constants) == [0.5, 1.2345]
    X = np.random.default_rng(0).uniform(0, 2, size=(40, 1))
    free.constants = np.array(given_constants)
    fitted = free.fitted(X, free(X, np.array(true_constants)))
    np.testing.assert_allclose(fitted, true_constants, rtol=1e-6)


def test_formulas_that_divide_by_zero_are_not_found(equation):
    own = equation("root")
    side, _ = own.symbols()
    for formula in (sympy.zoo * side, side + sympy.oo, sympy.nan):
        assert not found.judge_values(formula, own, 0.01, 0).is_found
        assert not found.is_solution(formula, own.sympy(), own.uniform_rows(50, 0)[0], own.symbols())


def test_values_of_a_formula_are_those_of_sympy():
    x = sympy.Symbol("x", real=True)
    expression = sympy.sqrt(x) + sympy.Float(0.3) * sympy.Abs(x) + sympy.digamma(x + 2)
    free = found.FreeFormula(expression, [x])
    values = free(np.array([[0.25], [-1.5]]), free.constants)
    assert values[0] == pytest.approx(float(expression.subs(x, 0.25)))
    assert np.isnan(values[1])


@given(st.floats(-50, 50))
def test_rounding_keeps_three_decimals_and_is_done_once(value):
    x = sympy.Symbol("x", real=True)
    short = found.rounded(sympy.Float(value) * sympy.exp(sympy.pi * x))
    assert found.rounded(short) == short
    number = float(short.subs(x, 0))
    assert abs(number - value) < 1.01e-3
    assert not short.atoms(sympy.Float)


def test_numbers_inside_functions_and_exponents_are_rounded_too():
    x, y = sympy.Symbol("x", positive=True), sympy.Symbol("y", real=True)
    given_formula = sympy.sin(sympy.Float(6.2829) * x / sympy.Float(2.0001)) + sympy.sqrt(2) * y ** sympy.Float(2.0001)
    assert found.rounded(given_formula) == sympy.sin(sympy.Rational(3141, 1000) * x) + sympy.Rational(707, 500) * y**2
    assert found.rounded(x ** sympy.Float(0.3333)) == sympy.cbrt(x)
    assert found.rounded(sympy.Float(0.3334) * x) == x / 3
    assert found.rounded(sympy.Float(0.0004) * x) == 0


def test_sympy_is_asked_in_a_process_that_is_ended_when_its_time_is_up(equation):
    own = equation("root")
    formula = parsed("6.2831*sqrt(l)/sqrt(g)", own)
    assert found.judge_symbols(formula, own, 0) is True
    assert found.judge_symbols(2 * formula**2, own, 0) is False
    assert found.judge_symbols(formula, own, 0, seconds=0.01) is None
    with pytest.raises(ValueError, match=r"SymPy could not compare .*unknown.* with 2\*pi\*sqrt"):
        found.judge_symbols(sympy.Symbol("unknown"), own, 0)
