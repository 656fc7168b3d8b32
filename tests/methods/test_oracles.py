"""Every method against its oracle, generation by generation, with the same random draws."""

from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest

from symgrove import (
    ClassicGPRegressor,
    DivNichGPClassifier,
    DivNichGPRegressor,
    GSGPRegressor,
    IndependentGPRegressor,
    SpatialGPRegressor,
    StandardGPClassifier,
)
from symgrove.fitness.bootstrap import bootstrap_counts
from symgrove.forest.linear import as_weighted_sum
from symgrove.rng import stream
from tests.making import method_of
from tests.naive import classic_gp, divnich_gp, gsgp, spatial_gp, standard_gp
from tests.naive.programs import from_tokens
from tests.strategies import random_data, uproot

PAPER = [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("log", 1)]
SEMANTIC = [("add", 2), ("sub", 2), ("mul", 2), ("aq", 2)]
STANDARD = [("add", 2), ("sub", 2), ("mul", 2), ("pdiv", 2)]


def start(stack, estimator, X, y, seed, member=0, weight=None):
    estimator.set_params(standardize=False)
    method = stack.enter_context(method_of(estimator, X, y, seed, member, weight))
    return method, method.init()


def texts(state, roots):
    return [uproot(state.forest, root) for root in roots]


def trees(population):
    return [from_tokens(tokens) for tokens in population]


# Programs whose errors are equal but for rounding are a toss-up. With scaling there are many, such as x0 and 2 * x0:
# these seeds have none.
@pytest.mark.parametrize("seed", [3, 5, 10])
def test_classic_gp(seed):
    X, y = random_data(seed, n_rows=25)
    expected = classic_gp.run(X, y, PAPER, 20, 6, partial(stream, seed), 4, np.ones(25), max_size=40)
    with ExitStack() as stack:
        estimator = ClassicGPRegressor(population_size=20, tournament_size=4, max_size=40)
        method, state = start(stack, estimator, X, y, seed)
        for generation, (population, best, error) in enumerate(expected):
            state = method.step(state) if generation else state
            assert texts(state, state.population) == trees(population)
            assert texts(state, state.elites.root) == [from_tokens(best)]
            np.testing.assert_allclose(state.elites.error, error, rtol=1e-9)


@pytest.mark.parametrize("member", [0, 2])
def test_independent_runs_see_only_their_own_sample(member):
    X, y = random_data(4, n_rows=25)
    counts = bootstrap_counts(25, 3, seed=7)[member]
    seed = 7 if member == 0 else int(stream(7, "member", member).integers(2**31))
    expected = classic_gp.run(X, y, PAPER, 20, 4, partial(stream, seed), 8, counts, max_size=40)
    with ExitStack() as stack:
        estimator = IndependentGPRegressor(population_size=20, max_size=40)
        method, state = start(stack, estimator, X, y, 7, member)
        for generation, (population, best, _) in enumerate(expected):
            state = method.step(state) if generation else state
            assert texts(state, state.population) == trees(population)
            assert texts(state, state.elites.root) == [from_tokens(best)]


WEIGHTS = np.random.default_rng(0).integers(1, 4, size=30).astype(float)
MORE = [(5, False, True), (6, True, False), (8, True, False)]
PLAIN = [(seed, False, False) for seed in range(5)]


@pytest.mark.parametrize(
    ("seed", "scales", "is_weighted", "labels"),
    [
        *((*case, labels) for case in (*PLAIN, (5, False, True)) for labels in (False, True)),
        (6, True, False, False),
        (11, True, False, False),
    ],
)
@pytest.mark.parametrize(("niche_size", "radius"), [(1, 0.0), (2, 3.0)])
def test_divnich_gp(seed, scales, is_weighted, niche_size, radius, labels):
    X, y = random_data(seed, n_rows=30)
    y = (y > np.median(y)).astype(float) if labels else y
    weight = WEIGHTS if is_weighted else np.ones(30)

    def draw_counts(generation):
        return bootstrap_counts(30, generation + 1, seed)[generation]

    options = {
        "tournament_size": 4,
        "max_size": 40,
        "niche_size": niche_size,
        "radius": radius,
        "linear_scaling": scales,
    }
    expected = divnich_gp.run(
        X, y, PAPER, 24, 5, partial(stream, seed), draw_counts, 4, niche_size, radius, scales, labels, weight
    )
    make = DivNichGPClassifier if labels else DivNichGPRegressor
    with ExitStack() as stack:
        both = [make(population_size=24, **options, greedy_order=order) for order in ("population", "best")]
        (method, state), (by_error, _) = (start(stack, e, X, y, seed, weight=weight) for e in both)
        for generation, (population, scores, counts) in enumerate(expected):
            state = method.step(state) if generation else state
            assert texts(state, state.population) == trees(population)
            np.testing.assert_allclose(state.errors[:, 0], [row[0][0] for row in scores], rtol=1e-9)
            for greedy_order, part in (("population", method), ("best", by_error)):
                members = part.members(state)
                taken = divnich_gp.greedy(population, scores, X, y, counts, greedy_order, labels, weight)
                assert texts(state, members.root) == trees(population[i] for i in taken)
                np.testing.assert_allclose(members.slope, [scores[i][0][1] for i in taken], rtol=1e-8)


@pytest.mark.parametrize(
    ("seed", "scales", "is_weighted"), [*PLAIN, (5, False, True), (6, True, False), (8, True, False)]
)
@pytest.mark.parametrize("member_error", ["out_of_bag", "in_bag"])
def test_spatial_gp(seed, scales, is_weighted, member_error):
    X, y = random_data(seed, n_rows=30)
    weight = WEIGHTS if is_weighted else np.ones(30)
    counts = bootstrap_counts(30, 5, seed)
    use_out_of_bag = member_error == "out_of_bag"
    expected = spatial_gp.run(X, y, counts, PAPER, (4, 5), 6, partial(stream, seed), use_out_of_bag, scales, weight)
    with ExitStack() as stack:
        estimator = SpatialGPRegressor(
            population_size=20, n_estimators=5, max_size=40, member_error=member_error, linear_scaling=scales
        )
        method, state = start(stack, estimator, X, y, seed, weight=weight)
        for generation, (cells, members) in enumerate(expected):
            state = method.step(state) if generation else state
            assert texts(state, state.population) == trees(cells)
            assert texts(state, state.elites.root) == [from_tokens(program) for program, _ in members]
            np.testing.assert_allclose(state.criterion, [criterion for _, criterion in members], rtol=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("make", "rules"),
    [
        (StandardGPClassifier, standard_gp.LATER),
        (StandardGPClassifier.december_2019, standard_gp.DECEMBER_2019),
    ],
)
def test_standard_gp(make, rules, seed):
    X, y = random_data(seed, n_rows=40)
    y = (y > np.median(y)).astype(float)
    expected = standard_gp.run(X, y, STANDARD, 30, 8, partial(stream, seed), rules)
    with ExitStack() as stack:
        method, state = start(stack, make(population_size=30), X, y, seed)
        for generation, (population, best, error) in enumerate(expected):
            state = method.step(state) if generation else state
            assert texts(state, state.population) == trees(population)
            assert texts(state, state.elites.root) == [from_tokens(best)]
            assert state.elites.error[0] == pytest.approx(error)


def assert_same_sums(state, roots, individuals):
    """Terms of programs, with the weights that whole trees have."""
    for root, (_, individual) in zip(roots, individuals, strict=True):
        found = as_weighted_sum(state.forest, root)
        weights = {uproot(state.forest, term): w for term, w in zip(found.terms, found.weights, strict=True)}
        expected = gsgp.added(*(gsgp.terms_of(tree, weight) for tree, weight in individual.items()))
        assert found.constant == pytest.approx(expected.pop(None, 0.0), abs=1e-12)
        for term in weights.keys() | expected.keys():
            assert weights.get(term, 0.0) == pytest.approx(expected.get(term, 0.0), rel=1e-9, abs=1e-12)


# Scaled, many errors are equal but for rounding, as above; these seeds have no such ties.
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    ("seed", "scales", "n_samples"), [(0, False, 1), (1, False, 1), (3, True, 1), (5, True, 1), (6, False, 5)]
)
def test_gsgp(seed, scales, n_samples, is_weighted):
    X, y = random_data(seed, n_rows=30)
    weight = WEIGHTS if is_weighted else np.ones(30)
    counts = np.ones((1, 30)) if n_samples == 1 else bootstrap_counts(30, n_samples, seed)
    step = 0.1 * np.sqrt(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
    expected = gsgp.run(X, y, counts * weight, SEMANTIC, 20, 6, partial(stream, seed), 4, scales, step)
    with ExitStack() as stack:
        estimator = GSGPRegressor(population_size=20, tournament_size=4, linear_scaling=scales, n_estimators=n_samples)
        method, state = start(stack, estimator, X, y, seed, weight=weight)
        for generation, (population, errors, elites) in enumerate(expected):
            state = method.step(state) if generation else state
            assert_same_sums(state, state.population, population)
            np.testing.assert_allclose(state.errors, errors, rtol=1e-9)
            outputs = [gsgp.outputs_of(individual, X) for _, individual in population]
            np.testing.assert_allclose(method.engine.fetch(state.semantics), outputs, rtol=1e-9, atol=1e-12)
            assert_same_sums(state, state.elites.root, [individual for individual, _ in elites])
            assert_same_sums(state, method.members(state).root, [individual for individual, _ in elites])
            np.testing.assert_allclose(state.elites.error, [error for _, error in elites], rtol=1e-9)
