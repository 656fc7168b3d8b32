"""The searches of Law: kernels beside their definitions, atoms beside their formulas, and what is found."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from symgrove.methods.law import evolving, pair_kernels, signomial_kernels
from symgrove.methods.law import pairs as pairs_of_atoms
from symgrove.methods.law.choosing import Entry, choose
from symgrove.methods.law.exponent_lattice import near, precision_of
from symgrove.methods.law.findings import Findings, Found
from symgrove.methods.law.fitted import features_that_matter
from symgrove.methods.law.formulas import LawFormulas, RowSet
from symgrove.methods.law.functions import CHOICES
from symgrove.methods.law.library import make_atoms
from symgrove.methods.law.pairs import BestPairs, factor_of_cost
from symgrove.methods.law.polynomials import LackOfFit, basis, separable_powers
from symgrove.methods.law.search import best_of_sizes, search
from symgrove.methods.law.signomials import search_signomials
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.transforms import COS, LOG, POWERS, SIN, offer_linear, transformed
from tests.naive import law as naive

FUNCTIONS = CHOICES
SHORT = {"n_generations": evolving.N_BETWEEN}  # what is found here is found before the evolution


def make_task(formula, n_rows=400, n_features=3, noise=0.0, low=0.5, high=2.5, weight=None, functions=FUNCTIONS):
    rng = np.random.default_rng(5)
    X = rng.uniform(low, high, size=(n_rows, n_features))
    y = formula(*X.T)
    y = y + noise * np.sqrt(np.mean(y**2)) * rng.normal(size=n_rows)
    return LawTask(X, y, weight, 0, functions, **SHORT)


def findings_of(task):
    return Findings(LawFormulas(task.n_features), task.few, task.some, task.rows, task.is_over)


def test_pairs_are_scored_as_regressions_and_no_winner_is_lost():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 30))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    y = 0.6 * Z[3] + 0.8 * Z[17]
    y /= np.linalg.norm(y)
    expected = naive.all_pairs(Z, y)
    common = (Z @ y).astype(np.float32)
    products = (Z @ Z.T).astype(np.float32)
    best = BestPairs(20, -1.0)
    best.left, best.right = np.zeros((2, 120), dtype=np.int32)  # a buffer that is full many times
    best.score = np.zeros(120, dtype=np.float32)
    factor = factor_of_cost(rng.integers(1, 5, size=40), 30)
    best.scan(pair_kernels.scan_pairs, (products, common, common, factor, factor), 40, 0)
    expected = {(i, j): 1 - (1 - score) * factor[i] * factor[j] for (i, j), score in expected.items()}
    assert factor.min() == 1
    assert factor.max() == pytest.approx(np.exp(3 * pairs_of_atoms.LOG_FACTOR / 30))
    pairs = [*best]
    assert set(pairs[:2]) == {(3, 17), (17, 3)}
    scores = best.score[: len(pairs)]
    np.testing.assert_allclose(scores, [expected[pair] for pair in pairs], atol=2e-5)
    others = [score for pair, score in expected.items() if pair not in pairs and pair[0] != pair[1]]
    assert max(others) <= scores.min() + 2e-5


def test_affine_scores_are_those_of_weighted_regressions():
    rng = np.random.default_rng(1)
    targets, weights, atoms = rng.normal(size=(3, 25)), rng.random((3, 25)) + 0.1, rng.normal(size=(5, 25))
    squared = weights**2
    first, second = (squared * targets).sum(axis=1), (squared * targets**2).sum(axis=1)
    sums = (squared * targets) @ atoms.T, squared @ atoms.T, squared @ (atoms * atoms).T
    best = BestPairs(100, -1.0)
    arrays = (*(own.astype(np.float32) for own in sums), squared.sum(axis=1), first, second)
    best.scan(pair_kernels.scan_affine, arrays, 3, 0)
    pairs = [*best]
    assert len(pairs) == 15
    for (i, j), score in zip(pairs, best.score[:15], strict=True):
        w = weights[i]
        A = np.column_stack([atoms[j], np.ones(25)]) * w[:, None]
        rest = targets[i] * w - A @ np.linalg.lstsq(A, targets[i] * w, rcond=None)[0]
        assert score == pytest.approx(1 - (rest**2).sum() / ((w * targets[i]) ** 2).sum(), abs=1e-5)


def test_exponents_are_those_of_least_squares():
    rng = np.random.default_rng(2)
    X, weight = rng.uniform(0.5, 2.0, size=(200, 2)), rng.random(200) + 0.5
    y = naive.signomial([2.0, -0.7], [[1.3, -0.4], [-1.0, 2.0]], X) + 0.01 * rng.normal(size=200)
    c, exponents = np.array([1.0, -1.0]), np.array([[1.0, 0.0], [-1.0, 1.5]])
    total = signomial_kernels.fit_signomial(np.log(X), y, weight, c, exponents, 200, 0.0)

    def residuals(p):
        return weight * (naive.signomial(p[:2], p[2:].reshape(2, 2), X) - y)

    expected = least_squares(residuals, [1.0, -1.0, 1.0, 0.0, -1.0, 1.5], xtol=1e-12, ftol=1e-12)
    assert total == pytest.approx(2 * expected.cost, rel=1e-6)
    np.testing.assert_allclose(np.concatenate([c, exponents.ravel()]), expected.x, rtol=1e-3)


@pytest.mark.parametrize("low", [0.5, -2.0])
def test_atoms_have_the_values_of_their_formulas(low):
    task = make_task(lambda x, y, z: x * y + z, low=low)
    task.groups.append((1.0, -1.0, 0.0))
    atoms = make_atoms(task, [0, 1, 2])
    formulas, library = LawFormulas(3), atoms.library
    assert len(library) > 30_000
    assert len(atoms.kinds) > 9
    some = np.random.default_rng(0).choice(len(library), 1500, replace=False)
    for place in some.tolist():
        predicted = formulas.predict(library.formula(place, formulas), task.scanned)
        is_near = np.isclose(library.values[place], predicted, rtol=1e-3, atol=1e-3)
        assert is_near.mean() > 0.95, library.recipe(place)  # float32 loses digits of differences


def test_no_two_atoms_are_proportional_and_twins_are_known():
    task = make_task(lambda x, y, z: x, n_features=3)
    library = make_atoms(task, [0, 1]).library
    cheap = library.cheapest(np.arange(len(library)), 400)
    Z = library.values[cheap].astype(float)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    likeness = np.abs(Z @ Z.T)
    np.fill_diagonal(likeness, 0.0)
    assert likeness.max() < 1 - 1e-10
    n_before = len(library)
    made = library.add(3 * library.values[:5], library.cost[:5], lambda i: None)
    np.testing.assert_array_equal(np.sort(made), np.arange(5))
    assert len(library) == n_before


def test_functions_that_are_not_allowed_are_in_no_atom():
    task = make_task(lambda x, y, z: x, functions=("exp",))
    library = make_atoms(task, [0, 1, 2]).library
    operations = {library.recipe(place).operation for place in range(len(library))}
    assert "exp" in operations
    assert not operations & {"sin", "cos", "log", "tanh", "arcsin"}


@pytest.mark.parametrize("transform", [*POWERS.values(), LOG, SIN, COS], ids=lambda transform: transform.name)
def test_a_transformed_sum_is_found_exactly(transform):
    inverse = {"log y": np.exp, "sin y": np.arcsin, "cos y": np.arccos}.get(transform.name)
    power = inverse or (lambda v: v ** (1 / transform.degree))
    task = make_task(
        lambda x, y, z: (
            z * power(0.1 + 0.2 * x + 0.05 * y)
            if inverse is None or transform is LOG
            else power(0.1 + 0.2 * x + 0.05 * y)
        )
    )
    findings, formulas = findings_of(task), LawFormulas(3)
    findings.formulas = formulas
    multiplier = formulas.feature(2) if inverse is None or transform is LOG else formulas.one
    offer_linear(findings, transform, multiplier, [formulas.feature(0), formulas.feature(1)], "test")
    best = min(findings.waiting.values(), key=lambda candidate: candidate.error)
    assert best.error < 1e-18 * findings.variance


def test_weights_of_a_transform_undo_its_slope():
    task = make_task(lambda x, y, z: x + y)
    rows = task.some
    small = 1e-6 * np.ones(rows.n_rows)
    for transform in (*POWERS.values(), LOG):
        own = transformed(transform, rows)
        changed = transformed(transform, RowSet(rows.columns.T, rows.y + small))
        usual = own.weight < 0.99 * own.weight.max()
        np.testing.assert_allclose(np.abs((changed.target - own.target) * own.weight)[usual], small[usual], rtol=1e-4)


def test_groups_of_features_are_noted():
    task = make_task(lambda x, y, z: x * y + 0.5 * x**2 * z)
    [*_] = search_signomials(task, findings_of(task), task.few)
    assert (1.0, -1.0, 1.0) in task.groups


def test_rounded_exponents_are_the_nearest_as_errors_measure_it():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.normal(size=(12, 4)) * np.array([5.0, 1.0, 0.3, 2.0])
        estimate = rng.uniform(-2, 2, size=4)
        found = near(estimate, A.T @ A, 0.5, 3, 3.0)
        expected = naive.nearest_multiples(estimate, A, 0.5, 3.0)
        np.testing.assert_array_equal(found[0], expected)


def test_exponents_are_as_sharp_as_a_regression_says():
    rng = np.random.default_rng(0)
    columns, slopes, rest = rng.normal(size=(2, 300)), rng.normal(size=(3, 300)), rng.normal(size=300)
    slopes[0] += columns[1]
    both = np.vstack([slopes, columns])
    covariance = np.linalg.inv(both @ both.T)[:3, :3] * np.mean(rest**2)
    np.testing.assert_allclose(precision_of(columns, slopes, rest), np.linalg.inv(covariance), rtol=1e-4, atol=1e-3)


def test_exponents_under_noise_are_found_at_the_second_look():
    def law(x, y, z):
        return np.sqrt(x**2 / y**2 + 0.3 / z**2)

    clean, task = (make_task(law, n_rows=4000, noise=noise) for noise in (0.0, 0.1))
    for rows, known in ((task.noisy, clean.noisy), (task.some, clean.some)):
        rows.smooth = known.y
    findings = findings_of(task)
    [*_] = search_signomials(task, findings, task.noisy, is_noisy=True)
    findings.polish_best(5)
    predicted = findings.formulas.predict(findings.best.root, RowSet(clean.X, clean.y), findings.best.values)
    assert np.sqrt(np.mean((predicted - clean.y) ** 2) / np.mean(clean.y**2)) < 0.005


def test_a_law_stays_on_the_front_beside_smaller_formulas_that_follow_the_noise():
    task = make_task(lambda x, y, z: x * y)
    findings = findings_of(task)
    law, smaller = (Found(1, (), 0.1, 50.0, "", 20), Found(2, (), 0.0999, 300.0, "", 10))
    smallest = Found(3, (), 0.2, 10.0, "", 5)
    findings.found = {own.root: own for own in (law, smaller, smallest)}
    assert [own.size for own in best_of_sizes(findings, is_law=True)] == [1, 5, 20]
    assert [own.size for own in best_of_sizes(findings)] == [1, 5, 10]


def test_powers_in_front_are_seen():
    task = make_task(lambda x, y, z: np.sin(x + y) / z**2, n_rows=3000, noise=0.001)
    assert separable_powers(task) == {2: -2.0}
    assert separable_powers(make_task(lambda x, y, z: x + y + z, n_rows=3000, noise=0.001)) == {}


def test_residuals_that_depend_on_features_are_told_from_noise():
    task = make_task(lambda x, y, z: x * y + 0.2 * z**2, n_rows=2000, noise=0.01)
    findings = findings_of(task)
    f, test = findings.formulas, LackOfFit(task.rows)
    x, y, z = map(f.feature, range(3))
    full = f.add(f.mul(x, y), f.mul(f.free(0), f.power(z, 2.0)))
    findings.offer(full, (0.2,), "full")
    findings.offer(f.mul(f.free(0), f.mul(x, y)), (1.2,), "part")
    for candidate in findings.waiting.values():
        findings.polish(candidate)
    own = {found.origin: found for found in findings.found.values()}
    assert test.passes(f, own["full"])
    assert not test.passes(f, own["part"])
    assert findings.best.origin == "full"


def test_columns_of_polynomials_are_all_products_up_to_the_degree():
    rng = np.random.default_rng(0)
    columns = rng.random((3, 200))
    A = basis(columns, 3)
    assert A.shape == (200, 20)
    for target in (columns[0] * columns[1] * columns[2], columns[1] ** 3 - columns[2]):
        assert naive.described(A[:, 1:].T, target) > 1 - 1e-9
    assert np.linalg.matrix_rank(A) == 20


LAWS = {
    "product": (lambda m, v, r: m * v**2 / r, {}),
    "three squares": (lambda x, y, z: np.sqrt(x**2 + y**2 + z**2), {}),
    "lens": (lambda a, b, n: 1 / (1 / a + n / b), {}),
    "wave": (lambda a, t, k: a * np.sin(k * t), {}),
    "sum with a function": (lambda q, b, t: q + b * np.exp(-t), {}),
    "decay with constants": (lambda a, t, w: 1.7 * a * np.exp(-0.37 * t), {}),
    "signs": (lambda x, y, z: x * y + z, {"low": -2.0}),
    "thirds": (lambda x, y, z: x ** (2 / 3) * np.sqrt(y), {}),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_found_under_noise(name):
    law, options = LAWS[name]
    task = make_task(law, noise=0.01, **options)
    outcome = search(task)
    best = outcome.findings.best
    clean = make_task(law, **options)
    predicted = outcome.formulas.predict(best.root, RowSet(clean.X, clean.y), best.values)
    error = np.sqrt(np.mean((predicted - clean.y) ** 2))
    assert error < 0.004 * np.sqrt(np.mean(clean.y**2))
    sizes = [found.size for found in outcome.found]
    errors = [found.error for found in outcome.found]
    assert sizes == sorted(set(sizes))
    assert errors == sorted(errors, reverse=True)
    assert sizes[0] == 1


def test_what_terms_have_in_common_stands_in_front():
    task = make_task(lambda x, y, z: x / np.sqrt(1 - y**2 / (20 * z**2)), noise=0.001, low=0.5)
    outcome = search(task)
    best = outcome.findings.best
    f = outcome.formulas
    assert f.size(best.root) <= f.size(
        f.div(f.feature(0), f.power(f.sub(f.one, f.mul(f.free(0), f.monomial([0, 2, -2]))), 0.5))
    )
    assert f.size(best.root) < 16


def test_weights_count():
    task = make_task(lambda x, y, z: 2.0 * x * y)
    wrong = np.arange(400) % 4 == 0
    weight = np.where(wrong, 1e-9, 1.0)
    outcome = search(LawTask(task.X, np.where(wrong, 50.0, task.y), weight, 0, FUNCTIONS, **SHORT))
    predicted = outcome.formulas.predict(outcome.findings.best.root, task.rows, outcome.findings.best.values)
    np.testing.assert_allclose(predicted, task.y, rtol=1e-4)


def test_a_search_ends_when_it_should():
    task = make_task(lambda x, y, z: np.sin(x * y) + np.cos(z**2) * np.log(x + y))
    task.check = lambda: True
    outcome = search(task)
    assert outcome.reason == "time"
    assert outcome.found


def test_features_without_atoms_end_the_search():
    rng = np.random.default_rng(0)
    outcome = search(LawTask(np.ones((50, 1)), rng.normal(size=50), None, 0, FUNCTIONS, **SHORT))
    assert [found.size for found in outcome.found] == [1]


def test_features_that_are_zero_do_not_hide_monomials():
    task = make_task(lambda x, y, z: x**1.5 * y**2)
    X = np.column_stack([task.X[:, :2], np.arange(400) % 2, 1 - np.arange(400) % 2])
    outcome = search(LawTask(X, task.y, None, 0, FUNCTIONS, **SHORT))
    assert (outcome.reason, outcome.findings.best.origin) == ("exact", "monomial")


def test_multipliers_may_be_negative():
    rng = np.random.default_rng(0)
    X = np.column_stack([-rng.uniform(0.5, 2, 300), rng.uniform(0.5, 2, 300)])
    task = LawTask(X, np.abs(X[:, 0]) * np.sqrt(1 + 2 * X[:, 1]), None, 0, FUNCTIONS, **SHORT)
    findings = findings_of(task)
    x, y = (findings.formulas.feature(j) for j in range(2))
    offer_linear(findings, POWERS[2.0], x, [y], "test")
    assert min(candidate.error for candidate in findings.waiting.values()) < 1e-20


def test_exponentials_are_only_where_they_are_allowed():
    task = make_task(lambda x, y, z: x * np.exp(-2 * y), functions=("sin",), n_rows=100)
    outcome = search(task)
    names = {
        outcome.formulas.forest.name(n) for f in outcome.found for n in outcome.formulas.forest.reachable([f.root])
    }
    assert "plain_exp" not in names


def test_sums_are_found_as_sums_whatever_the_unit():
    unit = 1e-15
    task = make_task(lambda x, y, z: unit * (np.sin(2 * x) + y), noise=0.02)
    outcome = search(task)
    good = [found for found in outcome.found if found.error < 0.002 * unit**2]
    assert good[0].size <= 10
    forest = outcome.formulas.forest
    assert "plain_div" not in {forest.name(node) for node in forest.reachable([good[0].root])}


def test_rules_choose_from_the_front():
    def entry(size, held_out, margin, description, criterion=np.nan):
        return Entry(None, 0, size, 0.0, held_out, margin, description, criterion, np.zeros(1))

    entries = [entry(1, 9.0, 0.5, 90), entry(4, 2.2, 0.5, 50), entry(7, 2.1, 0.5, 20), entry(20, 2.0, 0.3, 30)]
    rules = ("accuracy", "one_se", "mdl", 6, 100, 3)
    assert [choose(entries, rule, is_law=False) for rule in rules] == [3, 1, 2, 1, 3, 0]
    assert choose(entries, "auto", is_law=True) == 2  # as mdl
    assert choose(entries, "auto", is_law=False) == 1  # within half of 0.5, but for 2.1 - 2.0
    judged = [replace(own, criterion=criterion) for own, criterion in zip(entries, (9, 7, 5, 6), strict=True)]
    assert choose(judged, "auto", is_law=False) == 2
    too_large = entry(61, 1.0, 0.1, 20, 1)
    assert choose([*judged, too_large], "auto", is_law=False) == 2
    assert choose([*judged, too_large], "accuracy", is_law=False) == 4
    judged[3] = entry(30, 2.7, 0.3, 30, 1)  # more than two of 0.3 behind 2.1
    assert choose(judged, "auto", is_law=False) == 2
    close = [entry(1, 2.9, 0.5, 90, 9), *judged[1:]]  # the mean is within two of 0.5 of 2.0
    assert choose(close, "auto", is_law=False) == 0


def test_features_that_matter_are_those_that_trees_use():
    rng = np.random.default_rng(0)
    X = rng.random((500, 30))
    y = X[:, 3] * X[:, 17] + np.sin(6 * X[:, 25])
    chosen = features_that_matter(X, y, None, 0)
    assert {3, 17, 25} <= set(chosen.tolist())
    assert chosen.size == 10
    np.testing.assert_array_equal(features_that_matter(X[:, :5], y, None, 0), np.arange(5))


def test_factors_that_all_parts_have_are_found():
    formulas = LawFormulas(3)
    x, y, z = (formulas.feature(j) for j in range(3))
    wave = formulas.call("exp", formulas.mul(y, z))
    parts = [formulas.div(wave, x), formulas.div(formulas.mul(wave, y), formulas.mul(x, x)), formulas.div(wave, x)]
    assert formulas.without_common(parts) == (wave, x, [formulas.one, formulas.div(y, x), formulas.one])
    denominator, cleared = formulas.without_denominators([formulas.div(wave, x), formulas.one, formulas.div(y, x)])
    assert (denominator, cleared) == (x, [wave, x, y])
    for alone in ([x, y], [formulas.one, x], [formulas.number(2.0), formulas.number(2.0)]):
        assert formulas.without_common(alone) == (formulas.one, formulas.one, alone)
