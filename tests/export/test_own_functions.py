"""Functions of users in exports: their templates compute what `predict` does, in every language."""

import pickle

import numpy as np
import pytest
import sympy
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.export.targets import export
from symgrove.forest.templates import LANGUAGES
from symgrove.inspection import derivatives
from symgrove.models.ensemble import make_ensemble
from symgrove.models.standardization import Standardization
from tests.export.runners import RUNNERS
from tests.making import plan_of

SMALL = {"population_size": 60, "n_estimators": 6, "generations": 4, "random_state": 1}


def ramp(x):
    return x * x if x > 0.0 else -1.0 - x


def within(a, b):
    return a / (b * b + 1.5)


def within_first(a, b):
    return 1 / (b * b + 1.5)


def within_second(a, b):
    return -2 * a * b / (b * b + 1.5) ** 2


def ramp_slope(a):
    return np.where(a > 0, 2 * a, -1.0)


RAMP = sg.primitive(
    ramp,
    derivative=(ramp_slope,),
    latex=r"r\left({0}\right)",
    mathml="<mrow><mi>r</mi><mo>(</mo>{0}<mo>)</mo></mrow>",
    python="np.where({0} > 0, {0} * {0}, -1.0 - {0})",
    c="{0} > 0 ? {0} * {0} : -1.0 - {0}",
    javascript="{0} > 0 ? {0} * {0} : -1 - {0}",
    sql="CASE WHEN {0} > 0 THEN {0} * {0} ELSE -1 - {0} END",
    excel="IF({0}>0,{0}*{0},-1-{0})",
    onnx="""
        below = Sub(-1.0, {0})
        Where(Greater({0}, 0), Mul({0}, {0}), below)
    """,
    sympy="Piecewise(({0}**2, {0} > 0), (-1 - {0}, True))",
)
# Named like a step of plans that is no primitive.
WITHIN = sg.primitive(
    within,
    derivative=(within_first, within_second),
    python="{0} / ({1} * {1} + 1.5)",
    c="{0} / ({1} * {1} + 1.5)",
    javascript="{0} / ({1} ** 2 + 1.5)",
    sql={"sqlite": "{0} / ({1} * {1} + 1.5)", "duckdb": "{0} / (pow({1}, 2) + 1.5)"},
    excel="{0}/({1}*{1}+1.5+SUM({{0,0}}))",
    onnx="Div({0}, Add(Mul({1}, {1}), 1.5))",
    sympy="{0} / ({1}**2 + 1.5)",
)
FUNCTIONS = ("sub", "neg", RAMP, WITHIN)
X, y = make_friedman1(120, n_features=5, random_state=0)


def random_ensemble():
    """Programs in which the functions stand inside each other."""
    forest = sg.Forest(4, sg.PrimitiveSet(FUNCTIONS))
    rng = np.random.default_rng(3)
    roots = sg.RandomPrograms(forest, (-2.0, 2.0)).ramped_half_and_half(forest, 30, rng, (2, 4))
    scale = Standardization(rng.normal(size=4), rng.uniform(0.5, 2, size=4))
    return make_ensemble(forest, roots, *rng.normal(size=(2, roots.size)), 0.25, scale)


@pytest.fixture(scope="module")
def segp():
    return sg.TwoSEGPRegressor(**SMALL, functions=FUNCTIONS).fit(X, y)


@pytest.fixture(scope="module")
def grove():
    return sg.GroveRegressor(**SMALL, strength="fixed", functions=FUNCTIONS).fit(X, y)


@pytest.mark.parametrize("target", RUNNERS)
def test_templates_compute_what_the_function_does(target, tmp_path):
    ensemble = random_ensemble()
    plan = plan_of(ensemble, list("abcd"))
    assert {"ramp()", "within()"} <= {step.name for step in plan.steps}
    rows = np.random.default_rng(0).normal(size=(200, 4))
    np.testing.assert_allclose(RUNNERS[target](plan, rows, tmp_path), ensemble.predict(rows), rtol=1e-9)


def first(a, b):
    return a


def test_constants_as_operands_and_as_members_in_onnx(tmp_path):
    """A result has a number for each row even if no operand has, or if a template leaves that operand out."""
    own = sg.primitive(first, onnx="left_out = Neg({1})\nAbs(Abs({0}))")
    forest = sg.Forest(2, sg.PrimitiveSet(("sub", "sin", own)))
    two, three, x = forest.constant(2.0), forest.constant(3.0), forest.feature(1)
    pairs = [(two, three), (two, x), (x, two), (three, x)]
    roots = [
        two,
        x,
        forest.apply("sin", two),
        *(forest.apply(name, *pair) for name in ("sub", "first") for pair in pairs),
    ]
    rows = np.random.default_rng(0).uniform(1.0, 2.0, size=(20, 2))
    for chosen in ([two], roots):
        ensemble = make_ensemble(
            forest, np.array(chosen), *np.ones((2, len(chosen))), 0.25, Standardization(np.zeros(2), np.ones(2))
        )
        found = RUNNERS["onnx"](plan_of(ensemble, ["a", "b"]), rows, tmp_path)
        np.testing.assert_allclose(found, ensemble.predict(rows), rtol=1e-12)


@pytest.mark.parametrize("target", ["python", "c", "javascript", "duckdb"])
def test_terms_of_grove_and_members_of_2segp(target, grove, segp, tmp_path):
    for model in (grove, segp):
        assert any(step.name.endswith("()") for step in model._plan().steps)
        np.testing.assert_allclose(RUNNERS[target](model._plan(), X, tmp_path), model.predict(X), rtol=1e-9)


def test_repeated_operands_have_names(tmp_path):
    """Otherwise the text would double with each level."""
    forest = sg.Forest(1, sg.PrimitiveSet((RAMP,)))
    root = forest.feature(0)
    for _ in range(30):
        root = forest.apply("ramp", root)
    scale = Standardization(np.zeros(1), np.ones(1))
    ensemble = make_ensemble(forest, np.array([root]), np.ones(1), np.zeros(1), 0.0, scale)
    plan = plan_of(ensemble, ["x"])
    for language in ("python", "c", "javascript", "sql"):
        assert len(export(plan, language, None, {})) < 20_000


def test_a_missing_template_is_named(tmp_path):
    bare = sg.primitive(ramp, c="{0}")
    forest = sg.Forest(2, sg.PrimitiveSet((bare,)))
    root = forest.apply("ramp", forest.feature(0))
    scale = Standardization(np.zeros(2), np.ones(2))
    ensemble = make_ensemble(forest, np.array([root]), np.ones(1), np.zeros(1), 0.0, scale)
    plan = plan_of(ensemble, ["a", "b"])
    for language in LANGUAGES:
        argument = "sql" if language in ("sqlite", "duckdb") else language
        options = {"dialect": language} if argument == "sql" else {}
        path = tmp_path / "model" if language == "excel" else None
        if language == "c":
            assert export(plan, language, path, options)
            continue
        call = rf'symgrove\.primitive\(ramp, {argument}="\.\.\. \{{0\}} \.\.\."\)'
        wanted = rf"function 'ramp' of yours, which has no template for {language}\. Give one: {call}"
        with pytest.raises(ValueError, match=wanted):
            export(plan, argument, path, options)


def test_templates_that_onnx_and_sympy_do_not_know_are_named():
    wrong = sg.primitive(ramp, onnx="Ramp({0})", sympy="ramp({0})")
    model = sg.TwoSEGPRegressor(**SMALL, functions=("sub", wrong)).fit(X, y)
    with pytest.raises(ValueError, match=r"onnx='Ramp\(\{0\}\)' calls Ramp, which ONNX does not have"):
        model.export("onnx")
    with pytest.raises(ValueError, match=r"sympy='ramp\(\{0\}\)' of primitive 'ramp' cannot be used"):
        model.export("sympy")


def test_every_notation(segp, grove):
    for model in (segp, grove):
        text, latex = model.export("text"), model.export("latex")
        assert "ramp(" in text
        assert "ramp is a function of yours" in text
        assert r"r\left(" in latex
        assert r"\operatorname{within}\left(" in latex
    assert "ramp" not in str(segp.export("sympy"))
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(5)]
    found = sympy.lambdify(symbols, segp.export("sympy"), "numpy")(*X.T)
    np.testing.assert_allclose(found, segp.predict(X), rtol=1e-9)


def test_names_that_equations_use_are_told_apart():
    clip = sg.primitive(lambda x: min(max(x, -1.0), 1.0), name="clip")
    model = sg.GroveRegressor(**SMALL, strength="fixed", functions=("mul", clip)).fit(X, y)
    text = model.export("text")
    assert "clip_(" in text
    assert "clip_ is the function clip of yours" in text
    assert "clip(a, low, high) is a within low and high" in text
    assert "clip" in str(model.export("sympy"))  # a function without a definition


def test_derivatives_of_own_functions(segp):
    h = 1e-6
    found = derivatives(segp, X)
    for j in range(5):
        up, down = X.copy(), X.copy()
        up[:, j] += h
        down[:, j] -= h
        numeric = (segp.predict(up) - segp.predict(down)) / (2 * h)
        assert np.median(np.abs(found[:, j] - numeric)) < 1e-6
    bare = sg.TwoSEGPRegressor(**SMALL, functions=("sub", sg.primitive(ramp))).fit(X, y)
    with pytest.raises(ValueError, match=r"without derivatives: ramp.*symgrove.primitive\(ramp, derivative="):
        derivatives(bare, X)


def test_templates_travel_with_models(segp, tmp_path):
    """In pickles they are stored; to `load` they are given, also other ones than those of the fit."""
    assert pickle.loads(pickle.dumps(segp)).export("c") == segp.export("c")
    segp.save(tmp_path / "model.json")
    other = sg.primitive(ramp, c="my_ramp({0})")
    loaded = sg.load(tmp_path / "model.json", functions=[other, WITHIN])
    assert "(my_ramp(" in loaded.export("c")
    with pytest.raises(ValueError, match="no template for python"):
        loaded.export("python")
