"""What is right in units: dimensions beside their definition, exponents that make a product right, the library."""

import time
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgrove.forest.as_sympy import to_sympy
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.formulas import LawFormulas, RowSet
from symgrove.methods.law.library import COST_OF_EXPONENT, make_atoms
from symgrove.methods.law.rules import RuleChecks, Rules
from symgrove.methods.law.search import front_of, search
from symgrove.methods.law.signomials import search_signomials
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.units import DimensionTable, Exponents, Units, no_units
from tests.naive import law as naive

small = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.0, 1.0, 2.0])
# Kilograms, metres and seconds of k (N/m), m, t and A.
SPRING = np.array([[1.0, 0.0, -2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
METRE, NUMBER = np.array([0.0, 1.0, 0.0]), np.zeros(3)


def checks_of(features, target, *, are_free=False, **rules):
    formulas = LawFormulas(len(features))
    return formulas, RuleChecks(formulas, Rules(Units(features, target, are_free), **rules))


@st.composite
def systems(draw):
    n_features, n_base = draw(st.integers(1, 5)), draw(st.integers(0, 3))
    rows = draw(st.lists(st.lists(small, min_size=n_base, max_size=n_base), min_size=n_features, max_size=n_features))
    return np.array(rows).reshape(n_features, n_base)


@given(systems(), st.data())
def test_exponents_have_the_dimension_that_is_wanted(dimensions, data):
    n_features, _ = dimensions.shape
    order = data.draw(st.permutations(range(n_features)))
    system = Exponents(dimensions, order)
    assert system.free.size == n_features - np.linalg.matrix_rank(dimensions)
    np.testing.assert_allclose(system.null @ dimensions, 0, atol=1e-12)
    exponents = np.array(data.draw(st.lists(small, min_size=n_features, max_size=n_features)))
    wanted = exponents @ dimensions
    assert system.has(wanted)
    np.testing.assert_allclose(system.first(wanted) @ dimensions, wanted, atol=1e-12)
    np.testing.assert_allclose(system.first(wanted) + exponents[system.free] @ system.null, exponents, atol=1e-12)
    nearly = exponents + 0.1 * np.random.default_rng(0).normal(size=n_features).clip(-2, 2)
    np.testing.assert_allclose(system.rounded(nearly, 0.5, wanted), exponents, atol=1e-12)
    outside = np.array(data.draw(st.lists(small, min_size=wanted.size, max_size=wanted.size)))
    rank = np.linalg.matrix_rank(np.vstack([dimensions, outside]))
    assert system.has(outside) == (rank == np.linalg.matrix_rank(dimensions))


def test_exponents_that_are_no_simple_fractions_are_refused():
    system = Exponents(np.array([[4.0], [1.0]]))  # the first follows, so that it may be a quarter
    assert system.rounded(np.array([0.0, 1.0]), 0.5, np.zeros(1)) is None
    np.testing.assert_array_equal(system.rounded(np.array([0.0, 4.1]), 0.5, np.zeros(1)), [-1.0, 4.0])


@pytest.mark.parametrize("wanted", [NUMBER, METRE, SPRING[0]])
def test_monomials_of_a_dimension_are_all_there_is_of_cheap_ones(wanted):
    found = Exponents(SPRING).monomials(wanted, COST_OF_EXPONENT, 10_000)
    assert len(set(found)) == len(found)
    np.testing.assert_allclose(np.array(found) @ SPRING, np.tile(wanted, (len(found), 1)), atol=1e-12)
    assert naive.monomials(SPRING, wanted, (0, 1, -1, 0.5, -0.5, 2, -2)) <= set(found)
    cost = [sum(COST_OF_EXPONENT.get(p, 2 + abs(p)) for p in row if p) for row in found]
    assert cost == sorted(cost)
    assert Exponents(SPRING).monomials(wanted, COST_OF_EXPONENT, 2) == found[:2]


def test_many_features_have_some_monomials_and_none_has_none():
    many = Exponents(np.ones((14, 1))).monomials(np.ones(1), COST_OF_EXPONENT, 50)
    assert many[0].count(1.0) == 1
    assert Exponents(np.eye(2)).monomials(np.zeros(2), COST_OF_EXPONENT, 50) == []
    assert Exponents(np.array([[1.0, 0.0]])).monomials(np.array([0.0, 1.0]), COST_OF_EXPONENT, 50) == []


@given(st.lists(st.lists(small, min_size=2, max_size=2), min_size=2, max_size=20), small)
def test_dimensions_by_number_are_those_of_products_quotients_powers_and_sums(rows, power):
    vectors, table = np.array(rows), DimensionTable(2)
    left, right = table.ids(vectors), table.ids(vectors[::-1])
    for operation, expected in (("*", vectors + vectors[::-1]), ("/", vectors - vectors[::-1])):
        combined = table.of_pairs(operation, left, right)
        np.testing.assert_allclose(table.vectors[combined], expected)
    raised = table.of_powers(left, power)
    np.testing.assert_allclose(table.vectors[raised], power * vectors)
    same = (vectors == vectors[::-1]).all(axis=1)
    np.testing.assert_array_equal(table.of_pairs("+", left, right), np.where(same, left, -1))
    assert table.id(np.zeros(2)) == 0
    assert len(np.unique(table.vectors, axis=0)) == len(table.vectors)


@st.composite
def formulas_of(draw, depth=4):
    """How to make a formula of three features and a free constant."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return (draw(st.sampled_from(["x", "y", "z", "number", "free"])),)
    kind = draw(st.sampled_from(["add", "sub", "mul", "div", "power", "sqrt", "log", "sin", "neg"]))
    parts = [draw(formulas_of(depth - 1)) for _ in range(2 if kind in ("add", "sub", "mul", "div") else 1)]
    return (kind, *parts, *([draw(st.sampled_from([2.0, -1.0, 1.5]))] if kind == "power" else []))


def made(f, recipe):
    kind, *parts = recipe
    if kind in ("x", "y", "z"):
        return f.feature("xyz".index(kind))
    if kind in ("number", "free"):
        return f.number(3.0) if kind == "number" else f.free(0)
    if kind == "power":
        return f.power(made(f, parts[0]), parts[1])
    own = [made(f, part) for part in parts]
    return f.call(kind, *own) if kind in ("sqrt", "log", "sin", "neg") else getattr(f, kind)(*own)


XYZ = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, -1.0]])


@settings(max_examples=150, deadline=None)
@given(formulas_of())
def test_dimensions_are_those_of_the_definition(recipe):
    """SymPy simplifies, so that it may find right what was not, but not the other way round."""
    formulas, checks = checks_of(XYZ, np.zeros(2))
    root = made(formulas, recipe)
    found = checks.dimension(root)
    if found is not None:
        # Numbers of other units: with a formula that is right, only the result has others too.
        rng = np.random.default_rng(0)
        X, factors = rng.uniform(1.0, 2.0, size=(5, 3)), np.array([1.7, 0.6])
        own, scaled = (values(formulas, root, rows) for rows in (X, X * np.prod(factors**XYZ, axis=1)))
        both = np.isfinite(own) & np.isfinite(scaled)
        expected = own * np.prod(factors ** np.array(found.exponents))
        np.testing.assert_allclose(scaled[both], expected[both], rtol=1e-5, atol=1e-7)
        names = [*"xyz", *(f"c{k}" for k in range(formulas.forest.n_features - 3))]
        expression = to_sympy(formulas.forest, formulas.with_values(root, [0.37]), names)
        expected = naive.dimension(expression, dict(zip("xyz", XYZ.tolist(), strict=True)))
        assert expected is not None
        if not expression.is_number:
            np.testing.assert_allclose(found.exponents, expected, atol=1e-9)


def values(formulas, root, X):
    return formulas.predict(root, RowSet(X, np.zeros(len(X))), (0.37,))


def test_what_is_wrong_in_units_has_no_dimension():
    f, checks = checks_of(SPRING, METRE)
    k, m, t, A = map(f.feature, range(4))
    phase = f.mul(f.power(f.div(k, m), 0.5), t)
    right = [A, f.mul(f.free(0), A), f.mul(A, f.call("cos", phase)), f.add(A, f.mul(f.free(0), f.mul(A, phase)))]
    wrong = [f.add(A, t), f.call("sin", A), f.add(A, f.free(0)), f.call("exp", f.mul(f.free(0), t)), f.sub(f.one, A)]
    assert all(checks.allow(root) for root in right)
    assert [checks.dimension(root) for root in wrong] == [None] * len(wrong)
    assert not any(checks.allow(root) for root in (*wrong, phase, f.mul(A, t)))
    free, checks = checks_of(SPRING, METRE, are_free=True)
    assert all(checks.allow(made_again) for made_again in (made_in(free), free.free(0)))
    assert not checks.allow(free.add(free.feature(3), free.feature(2)))
    assert not checks.allow(free.mul(free.free(0), free.call("exp", free.feature(2))))


def made_in(f):
    """c0 A + c1 exp(c2 t)."""
    decay = f.mul(f.free(1), f.call("exp", f.mul(f.free(2), f.feature(2))))
    return f.add(f.mul(f.free(0), f.feature(3)), decay)


SPRING_UNITS = Units(SPRING, METRE)


def spring_task(noise=0.05, n_rows=300, units=SPRING_UNITS, **rules):
    rng = np.random.default_rng(0)
    X = rng.uniform(1.0, [5, 5, 5, 3], size=(n_rows, 4))
    y = X[:, 3] * np.cos(np.sqrt(X[:, 0] / X[:, 1]) * X[:, 2])
    y += noise * np.sqrt(np.mean(y**2)) * rng.normal(size=n_rows)
    return LawTask(X, y, None, 0, ("exp", "cos", "log"), rules=Rules(units, **rules))


def test_atoms_have_the_dimensions_of_their_formulas():
    task = spring_task()
    atoms = make_atoms(task, [0, 1, 2, 3])
    formulas, library = LawFormulas(4), atoms.library
    checks = RuleChecks(formulas, task.rules)
    assert len(library) > 5000
    for place in np.random.default_rng(0).choice(len(library), 1000, replace=False).tolist():
        found = checks.dimension(library.formula(place, formulas))
        expected = library.table.vectors[library.dimension[place]]
        np.testing.assert_allclose(found.exponents, expected, atol=1e-6, err_msg=str(library.recipe(place)))
    assert {"sums", "functions", "1 +", "products"} <= {kind for kind, places in atoms.kinds.items() if places.size}


def test_a_search_with_units_finds_only_what_is_right():
    task = spring_task()
    outcome = search(task)
    checks = RuleChecks(outcome.formulas, task.rules)
    assert len(outcome.found) > 1
    assert all(checks.allow(found.root) for found in outcome.findings.found.values())
    best = outcome.findings.best
    k, m, t, A = task.X.T
    clean = A * np.cos(np.sqrt(k / m) * t)
    error = outcome.formulas.predict(best.root, task.rows, best.values) - clean
    assert np.sqrt(np.mean(error**2)) < 0.02 * clean.std()


def test_two_atoms_that_are_proportional_differ_if_their_dimensions_do():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(1, 2, 300), np.full(300, 9.81)])
    task = LawTask(X, X[:, 0], None, 0, (), rules=Rules(Units(np.array([[1.0, 0.0], [1.0, -2.0]]), np.zeros(2))))
    library = make_atoms(task, [0, 1]).library
    known = {(library.recipe(place).exponents, int(d)) for place, d in enumerate(library.dimension)}
    assert {(1.0, 0.0), (1.0, 1.0), (1.0, -1.0)} <= {exponents for exponents, _ in known}


def test_a_feature_that_never_changes_has_the_exponent_that_units_ask_for():
    rng = np.random.default_rng(0)
    mass, height = rng.uniform(1, 2, size=(2, 200))
    X = np.column_stack([mass, height, np.full(200, 9.81)])
    units = Units(np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 1.0, -2.0]]), np.array([1.0, 2.0, -2.0]))
    outcome = search(LawTask(X, mass * height * 9.81, None, 0, (), rules=Rules(units)))
    assert outcome.reason == "exact"
    assert outcome.formulas.size(outcome.findings.best.root) == 4


def test_without_units_exponents_are_all_free_and_everything_is_allowed():
    system = Exponents(no_units(3).known_features)
    exponents = np.array([0.4, -1.7, 3.2])
    np.testing.assert_array_equal(system.null, np.eye(3))
    np.testing.assert_array_equal(system.rounded(exponents, 0.5, np.zeros(0)), np.round(exponents / 0.5) * 0.5)
    f, checks = checks_of(np.zeros((3, 0)), np.zeros(0))
    assert checks.allow(f.call("sin", f.add(f.feature(0), f.call("log", f.feature(1)))))


# Rules besides units


def test_no_formula_is_larger_than_allowed():
    for most in (3, 6, None):
        task = spring_task(n_rows=100, units=no_units(4), max_size=most)
        formulas = LawFormulas(4)
        findings = Findings(formulas, task.few, task.some, task.rows, task.is_over, RuleChecks(formulas, task.rules))
        [*_] = search_signomials(task, findings, task.few)
        findings.polish_best(10)
        sizes = [formulas.size(found.root) for found in (*findings.found.values(), *front_of(findings, is_law=False))]
        assert sizes
        assert max(sizes) <= most if most else max(sizes) > 6


def test_a_formula_that_is_small_once_its_constants_are_one_is_not_lost():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(200, 2))
    y = X[:, 0] * X[:, 1] + 0.01 * rng.normal(size=200)
    outcome = search(LawTask(X, y, None, 0, (), rules=Rules(no_units(2), max_size=3)))
    assert outcome.formulas.size(outcome.findings.best.root) == 3
    assert outcome.findings.best.error < 2e-4


def test_nested_functions_are_counted_on_every_way_down():
    f, _ = checks_of(np.zeros((2, 0)), np.zeros(0))
    x, y = map(f.feature, range(2))
    once = f.call("exp", f.call("sin", x))
    twice = f.call("exp", f.mul(y, f.call("sin", f.add(x, f.call("cos", f.call("sin", y))))))
    beside = f.call("exp", reduce(f.mul, [f.call("sin", x), f.call("sin", y)]))

    def allowed(nested):
        checks = RuleChecks(f, Rules(no_units(2), nested=nested))
        return [checks.allow(root) for root in (once, twice, beside)]

    assert allowed({}) == [True, True, True]
    assert allowed({"exp": {"sin": 0}}) == [False, False, False]
    assert allowed({"exp": {"sin": 1}}) == [True, False, True]
    assert allowed({"sin": {"cos": 0}}) == [True, False, True]
    assert allowed({"cos": {"exp": 0}}) == [True, True, True]


def test_what_must_not_be_nested_is_not_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 1.0, size=(60, 2))
    y = np.arcsin(X[:, 0] * np.sin(X[:, 1]))

    def searched(nested, seconds):
        rules = Rules(no_units(2), nested=nested)
        task = LawTask(X, y, None, 0, ("sin", "arcsin"), time.perf_counter() + seconds, rules=rules)
        outcome = search(task)
        checks = RuleChecks(outcome.formulas, Rules(no_units(2), nested={"arcsin": {"sin": 0}}))
        return outcome.reason, all(checks.allow(found.root) for found in outcome.found)

    assert searched({}, 100.0) == ("exact", False)
    assert searched({"arcsin": {"sin": 0}}, 1.0)[1]
