"""Formulas in all notations mean what the program computes."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import sympy
from hypothesis import given

import symgrove as sg
from symgrove.forest.as_sympy import to_sympy
from symgrove.forest.latex import to_latex
from symgrove.forest.mathml import to_mathml
from tests.naive.notations import evaluate_latex, evaluate_text
from tests.naive.programs import BINARY, UNARY, evaluate
from tests.strategies import ALL, plant, programs

X = np.random.default_rng(0).normal(size=(60, 3)) * np.array([1.0, 3.0, 10.0])
X[:10, 0] = 0.0  # common in data: features of 0 and 1, counts
X[5:15, 1] = 0.0
TEXT_COLUMNS = {f"x{i}": X[:, i] for i in range(3)}
LATEX_COLUMNS = {f"x_{{{i}}}": X[:, i] for i in range(3)}


def assert_notations_agree(forest, root, expected, rows=slice(None)):
    """On rows where the small epsilon of divisions, which is not written, makes no difference."""
    for name, found in (
        ("text", evaluate_text(sg.to_text(forest, root), TEXT_COLUMNS)),
        ("latex", evaluate_latex(to_latex(forest, root, digits=17), LATEX_COLUMNS)),
    ):
        np.testing.assert_allclose(found[rows], expected[rows], rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@pytest.mark.parametrize("epsilon", [1e-10, 0.3])
def test_every_primitive_means_what_is_written(name, epsilon):
    forest = sg.Forest(3, sg.PrimitiveSet(tuple(p.name for p in ALL.functions), epsilon))
    program = (name, ("feature", 0), ("feature", 1))[: 2 if name in UNARY else 3]
    root = plant(forest, program)
    expected = evaluate(program, X, epsilon)
    rows = np.flatnonzero(X[:, 1]) if name == "div" and epsilon < 1e-9 else slice(None)
    if name == "div" and epsilon > 1e-9:  # a call, because it is not the plain division
        found = evaluate_text(sg.to_text(forest, root), TEXT_COLUMNS, div=lambda a, b: evaluate(program, X, epsilon))
        assert sg.to_text(forest, root) == "div(x0, x1)"
        np.testing.assert_allclose(found, expected)
        np.testing.assert_allclose(evaluate_latex(to_latex(forest, root), LATEX_COLUMNS), expected, rtol=1e-9)
    else:
        assert_notations_agree(forest, root, expected, rows)
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(3)]
    rows = np.arange(20) + (20 if name == "plain_div" else 0)  # SymPy has 0 / x simplified before x is known
    exact = [real(to_sympy(forest, root).subs(dict(zip(symbols, row, strict=True)))) for row in X[rows].tolist()]
    wanted = np.where(np.isfinite(expected[rows]), expected[rows], np.nan)
    assert np.isfinite(wanted).sum() >= 4
    np.testing.assert_allclose(exact, wanted, rtol=1e-9)


def real(number):
    """A real number, NaN for infinite and complex ones."""
    return float(number) if number.is_real and number.is_finite else np.nan


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [(0.5, "sqrt(x)"), (2.0, "x**2"), (-1.0, "1/x"), (1 / 3, "x**(1/3)"), (-1.5, "x**(-3/2)"), (0.31, "x**0.31")],
)
def test_simple_exponents_are_fractions_in_sympy(exponent, expected):
    forest = sg.Forest(1)
    root = forest.apply("power", forest.feature(0), forest.constant(exponent))
    assert str(to_sympy(forest, root, ["x"])) == expected


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("power(x0 / x1, 2)", r"{\left(\frac{x_{0}}{x_{1}}\right)}^{2}"),
        ("sqrt(x0)^-2", r"{\left(\sqrt{x_{0}}\right)}^{-2}"),
        ("-x0^(x1 + 1)", r"-{x_{0}}^{x_{1} + 1}"),
        ("(x0^2)^x1", r"{\left({x_{0}}^{2}\right)}^{x_{1}}"),
        ("(-2)^x0", r"{\left(-2\right)}^{x_{0}}"),
        ("exp(log(x0))", r"\exp\left(\log\left(x_{0}\right)\right)"),
    ],
)
def test_powers_and_plain_primitives_in_latex(text, latex):
    forest = sg.Forest(2, sg.PrimitiveSet(("power", "plain_div", "plain_sqrt", "plain_exp", "plain_log")))
    root = sg.parse(forest, text)
    assert to_latex(forest, root) == latex
    assert to_mathml(forest, root).count("<msup>") >= 1


@given(programs(max_leaves=12))
def test_programs_mean_what_is_written(program):
    forest = sg.Forest(3, ALL)
    root = plant(forest, program)
    expected = evaluate(program, X)
    with np.errstate(all="ignore"):
        rounding = [evaluate(program, X * (1 + 1e-12)), *(evaluate(program, X, 1e-10, own) for own in (1e-9, 0.0))]
        is_stable = np.isfinite(expected) & (np.abs(expected) < 1e30)
        for other in rounding:
            is_stable &= np.abs(other - expected) <= 1e-8 * np.abs(expected)
    assert_notations_agree(forest, root, expected, np.flatnonzero(is_stable))


@pytest.mark.parametrize("seed", range(3))
def test_formulas_of_models_evaluate_to_their_predictions(seed):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 2, (200, 2))
    y = np.log(np.abs(rows[:, 0]) + 0.1) + rows[:, 1]
    model = sg.ClassicGPRegressor(max_size=15, standardize=False, generations=30, random_state=seed).fit(rows, y)
    found = evaluate_text(model.formula(), {"x0": rows[:, 0], "x1": rows[:, 1]})
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-6, atol=1e-6)


def bent_line(x):
    return abs(x) + 0.1 * x


def blend(a, b):
    return 0.3 * a + 0.7 * b


def test_functions_of_ones_own():
    forest = sg.Forest(2, sg.PrimitiveSet(("add", sg.primitive(bent_line), sg.primitive(blend))))
    root = sg.parse(forest, "blend(bent_line(x0), x1)")
    inner = r"\operatorname{bent\_line}\left(x_{0}\right)"
    assert to_latex(forest, root) == rf"\operatorname{{blend}}\left({inner}, x_{{1}}\right)"
    assert "<mi>blend</mi><mo>(</mo><mrow><mi>bent_line</mi>" in to_mathml(forest, root)


def test_notebooks_draw_formulas_by_themselves():
    """No MathJax: MathML of short formulas, the beginning of long ones, and names that cannot break out of either."""
    names = ["<b>a</b> & $x$", "b", "c"]
    y = X[:, 0] * X[:, 1] + X[:, 2]
    fitted = [
        estimator(generations=4, population_size=40, n_estimators=2, random_state=0, **own).fit(X, y)
        for estimator, own in ((sg.TwoSEGPRegressor, {"max_size": 15}), (sg.GroveRegressor, {"strength": "fixed"}))
    ]
    shown = [replace(member, _names=names)._repr_html_() for model in fitted for member in model.ensemble_]
    assert {"<math>" in html for html in shown} == {"<code" in html for html in shown} == {True, False}
    assert any("&lt;b&gt;a&lt;/b&gt; &amp;" in html for html in shown)
    for html in shown:
        ET.fromstring(html)  # well-formed, so that nothing of a name is markup
        assert "<b>" not in html
        assert len(html) < 20_000
    assert fitted[0].ensemble_[0]._repr_html_() in fitted[0]._repr_mimebundle_()["text/html"]
