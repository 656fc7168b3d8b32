"""Evolutionary feature synthesis: against its oracle, and what is special about it."""

from functools import partial

import numpy as np
import pytest

from symgrove import EFSRegressor, primitive
from symgrove.forest.linear import as_weighted_sum
from symgrove.rng import stream
from tests.making import method_of
from tests.naive import efs
from tests.naive.gsgp import added, terms_of
from tests.strategies import random_data, uproot

WEIGHTS = np.random.default_rng(7).uniform(0.1, 3.0, size=60)


def positive_data(seed):
    """Features of which one is never negative, so that it has logarithms."""
    X, y = random_data(seed, n_rows=60)
    X[:, 0] = np.abs(X[:, 0]) + 0.1
    return X, y + np.log(X[:, 0]) * X[:, 1]


def evolved(estimator, X, y, n_generations, seed=0):
    """The method and its state after some iterations."""
    method = method_of(estimator, X, y, seed)
    state = method.init()
    for _ in range(n_generations):
        state = method.step(state)
    return method, state


def assert_same_sum(state, individual):
    """Terms of the best model; features that are sums are taken apart."""
    found = as_weighted_sum(state.forest, state.elites.root[0])
    weights = {uproot(state.forest, term): w for term, w in zip(found.terms, found.weights, strict=True)}
    weights[None] = found.constant
    expected = added(*(terms_of(tree, weight) for tree, weight in individual.items()))
    assert weights.keys() == expected.keys()
    for term, weight in expected.items():
        assert weights[term] == pytest.approx(weight, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("seed", "is_weighted"), [(1, False), (2, True)])
def test_every_iteration_is_that_of_the_oracle(seed, is_weighted):
    X, y = positive_data(seed)
    weight = WEIGHTS if is_weighted else np.ones(60)
    estimator = EFSRegressor(population_size=8, archive_size=5, selection_rule="published", clip=False)
    expected = efs.run(X, y, weight, estimator.functions, 8, 5, 4, partial(stream, seed))
    with method_of(estimator, X, y, seed, weight=weight if is_weighted else None) as method:
        state = method.init()
        for generation, (features, scores, best, error, n_computed) in enumerate(expected):
            state = method.step(state) if generation else state
            assert [uproot(state.forest, root) for root in state.features] == features
            np.testing.assert_allclose(state.scores, scores, rtol=1e-7, atol=1e-12)
            assert_same_sum(state, best)
            np.testing.assert_allclose(state.elites.error, error, rtol=1e-7)
            assert state.n_evaluations == n_computed
        assert len(features) == 8


def test_no_feature_is_protected_on_a_training_row():
    X, y = random_data(3, n_rows=80)
    method, state = evolved(EFSRegressor(population_size=40, archive_size=60), X, y, 15)
    with method:
        trees = [uproot(state.forest, root) for root in state.features]
        outputs = method.engine.outputs(state.forest, state.features)
    assert {"sqrt", "exp", "div"} <= {tree[0] for tree in trees}
    for tree, own in zip(trees, outputs, strict=True):
        np.testing.assert_allclose(own, efs.plain(tree, X), rtol=1e-12)


def test_correlations_that_are_known_are_those_of_the_rows():
    X, y = positive_data(4)
    method, state = evolved(EFSRegressor(population_size=10), X, y, 20)
    with method:
        outputs = method.engine.outputs(state.forest, state.features)
    np.testing.assert_allclose(state.columns.correlation, np.corrcoef(outputs), atol=1e-10)
    np.testing.assert_allclose(state.columns.with_target, np.corrcoef(outputs, y)[-1, :-1], atol=1e-10)
    assert state.features.size == 3 + 9


def test_a_run_ends_when_nothing_gets_better():
    X, y = positive_data(5)
    model = EFSRegressor(n_generations_no_change=15, generations=5000, random_state=0).fit(X, y)
    assert model.stop_reason_ == "n_generations_no_change"
    errors = model.history_["errors"].ravel()
    assert (errors[-16:] == errors[-1]).all()
    assert errors[-17] != errors[-1]


def test_the_model_is_one_sum_without_brackets():
    X, y = positive_data(6)
    settings = {"functions": ("mul", "square", "cos"), "selection_rule": "published", "clip": False}
    model = EFSRegressor(generations=30, random_state=1, **settings).fit(X, y)
    root = model.model_.ensembles[0].programs[0]
    n_terms = as_weighted_sum(model.model_.ensembles[0].forest, root).terms.size
    formula = model.formula()
    assert n_terms > 4
    assert formula.count(" + ") + formula.count(" - ") == n_terms
    assert not formula.startswith("(")


def test_predictions_stay_within_the_range_of_the_target():
    X, y = positive_data(6)
    clipped, plain = (EFSRegressor(generations=30, random_state=1, clip=clip).fit(X, y) for clip in (True, False))
    new = np.vstack([X, 100 * X, -3 * X])
    assert plain.predict(new).max() > y.max()
    np.testing.assert_array_equal(clipped.predict(new), np.clip(plain.predict(new), y.min(), y.max()))
    assert clipped.formula() == f"min(max({plain.formula()}, {y.min()}), {y.max()})"


def test_the_lowest_criterion_has_no_more_terms_than_the_smallest_penalty():
    X, _ = positive_data(7)
    y = np.random.default_rng(7).normal(size=60)
    sizes = {
        rule: EFSRegressor(selection_rule=rule, generations=20, random_state=0).fit(X, y).ensemble_[0].size
        for rule in ("published", "bic")
    }
    assert sizes["bic"] < sizes["published"] / 2


def test_sizes_follow_the_number_of_features():
    X, y = random_data(8, n_features=4)
    method, state = evolved(EFSRegressor(), X, y, 60)
    with method:
        assert method.population_size == 4
        assert method.archive_size == 12
        assert state.features.size == 16
        assert state.forest.size(state.features).max() <= 5


@pytest.mark.parametrize("functions", [("sin", "square"), ("add", "mul"), "own"])
def test_functions_of_one_kind_and_of_ones_own(functions):
    X, y = positive_data(9)
    functions = (primitive(lambda a: a * abs(a), name="signed_square"), "mul") if functions == "own" else functions
    model = EFSRegressor(functions=functions, generations=20, random_state=0).fit(X, y)
    assert model.score(X, y) > EFSRegressor(generations=0).fit(X, y).score(X, y)
    names = [name for name in ("sin(", "square(", "log", "signed_square(") if name in model.formula()]
    assert "log" not in names
    assert names or functions == ("add", "mul")


def test_constant_features_are_left_out_and_constants_are_predicted():
    X, y = random_data(10)
    X[:, 1] = 3.0
    method, state = evolved(EFSRegressor(), X, y, 10)
    with method:
        assert {uproot(state.forest, root) for root in state.features} >= {("feature", 0), ("feature", 2)}
        assert ("feature", 1) not in {uproot(state.forest, root) for root in state.features}
    nothing = EFSRegressor(generations=3).fit(np.ones((20, 2)), np.arange(20.0))
    np.testing.assert_array_equal(nothing.predict(np.ones((3, 2))), 9.5)
    assert nothing.formula() == "9.5"


def test_new_rows_outside_the_domain_get_finite_predictions():
    X, _ = positive_data(11)
    X = np.abs(X) + 0.1
    model = EFSRegressor(functions=("log", "div", "mul"), generations=30, random_state=0).fit(X, np.log(X[:, 1]))
    assert "log(" in model.formula()
    assert np.isfinite(model.predict(-X)).all()
    assert np.isfinite(model.predict(np.zeros((1, 3)))).all()


def test_features_with_an_offset_stay_in_float32():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(1990, 1990.9, 200), rng.normal(size=200)])
    for dtype in ("float64", "float32"):
        assert EFSRegressor(generations=3, dtype=dtype, random_state=0).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.99


def test_a_target_whose_squares_overflow_is_predicted_by_its_mean():
    X, y = random_data(1, n_rows=40)
    with np.errstate(over="ignore"):
        model = EFSRegressor(generations=3, random_state=0).fit(X, y * 1e160)
    np.testing.assert_allclose(model.predict(X), y.mean() * 1e160)
