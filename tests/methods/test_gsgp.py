"""Geometric semantic GP: what is special about it. Generation by generation it is in test_oracles.py."""

import numpy as np
import pytest

from symgrove import GSGPRegressor, primitive
from tests.making import method_of
from tests.strategies import random_data, uproot

SMALL = {"population_size": 40}
BOTH = pytest.mark.parametrize("n_estimators", [1, 5])


def evolved(estimator, X, y, n_generations, look=lambda method, state: None):
    """The method and its state after some generations; `look` is called before each."""
    method = method_of(estimator, X, y, seed=0)
    state = method.init()
    for _ in range(n_generations):
        look(method, state)
        state = method.step(state)
    return method, state


@BOTH
@pytest.mark.parametrize("functions", [("add", "sub", "mul", "aq"), ("add", "sub", "mul", "div", "sqrt", "log")])
def test_programs_compute_the_semantics_that_were_never_evaluated(functions, n_estimators):
    X, y = random_data(0, n_rows=200)
    model = GSGPRegressor(**SMALL, functions=functions, n_estimators=n_estimators, linear_scaling=True)
    method, state = evolved(model, X, y, 60)
    with method:
        semantics = method.engine.fetch(state.semantics)
        assert np.isfinite(semantics).any(axis=1).all()
        members = method.members(state)
        outputs = [method.engine.outputs(state.forest, [root])[0] for root in members.root]
        for j, (elite, own) in enumerate(zip(state.elites.root, outputs, strict=True)):
            places = np.flatnonzero(state.population == elite)
            if places.size:
                np.testing.assert_allclose(own, semantics[places[0]], rtol=1e-9, atol=1e-9 * np.abs(own).max())
            weight = method.samples.weights[j]
            error = np.average((members.slope[j] * own + members.intercept[j] - y) ** 2, weights=weight)
            assert error == pytest.approx(members.error[j], rel=1e-7)
        as_made, as_sums = (state.forest.size(roots).max() for roots in (state.elites.root, members.root))
        assert as_made > 10 * as_sums


@BOTH
def test_looking_at_members_on_the_way_changes_no_bit(n_estimators):
    X, y = random_data(1)
    found = []
    for look in (lambda method, state: None, lambda method, state: method.members(state)):
        method, state = evolved(GSGPRegressor(**SMALL, n_estimators=n_estimators), X, y, 12, look)
        with method:
            members = method.members(state)
            programs = [uproot(state.forest, root) for root in members.root]
            found.append((programs, members.error, method.engine.fetch(state.semantics)))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(found[0][2], found[1][2])


def test_only_new_random_programs_are_evaluated():
    X, y = random_data(2)
    computed = []
    method, _ = evolved(GSGPRegressor(**SMALL), X, y, 40, lambda m, state: computed.append(m.engine.n_computed))
    method.__exit__()
    grown = np.diff(computed)
    assert grown.max() < 40 * 2 * 127  # two programs of height 6 for each child, at most
    assert grown[-10:].mean() < 2 * grown[:10].mean()


def test_the_best_parent_stays_and_memory_does_not_grow():
    X, y = random_data(3)
    errors, n_owners = [], []

    def look(method, state):
        errors.append(state.errors.min())
        n_owners.append(len(state.semantics.owners))

    method, state = evolved(GSGPRegressor(**SMALL), X, y, 15, look)
    method.__exit__()
    assert (np.diff(errors) <= 0).all()
    assert state.elites.root[0] == state.population[np.argmin(state.errors[:, 0])]
    assert len(set(n_owners[1:])) == 1  # vectors of earlier generations are gone


@BOTH
def test_sums_need_no_functions_of_the_users(n_estimators):
    X, y = random_data(4)
    double = primitive(lambda a: a * 2.0, name="double")
    settings = {"population_size": 40, "generations": 5, "n_estimators": n_estimators, "random_state": 0}
    model = GSGPRegressor(functions=(double, "sin"), **settings).fit(X, y)
    programs = " ".join(member.program for member in model.ensemble_)
    assert "double" in programs
    assert " + " in programs
    assert "cos" not in programs


@BOTH
def test_what_is_not_finite_is_never_an_elite(n_estimators):
    X, y = random_data(5)
    X[0, 0] = 1e100
    model = GSGPRegressor(**SMALL, functions=("square", "mul", "sub"), n_estimators=n_estimators)
    method, state = evolved(model, X, y, 4)
    with method:
        first = method.init()
        is_finite = np.isfinite(method.engine.fetch(first.semantics)).all(axis=1)
        assert not is_finite.all()
        assert (first.errors[~is_finite] == np.inf).all()
        assert np.isfinite(state.elites.error).all()
        assert np.isfinite(method.engine.outputs(state.forest, np.unique(method.members(state).root))).all()


def test_scaling_reaches_a_target_far_from_zero():
    X, y = random_data(6, n_rows=150)
    y = y + 125.0
    published, scaled = (
        GSGPRegressor(population_size=60, generations=10, linear_scaling=scales, random_state=0).fit(X, y)
        for scales in (False, True)
    )
    assert scaled.score(X, y) > 0.8
    assert published.score(X, y) < 0


def test_a_constant_target_makes_no_steps():
    X, _ = random_data(7)
    method, state = evolved(GSGPRegressor(**SMALL, p_crossover=0.0, p_mutation=1.0), X, np.full(40, 3.0), 3)
    with method:
        assert method.vary.step == 0.0
        first = method.init()
        start = {uproot(first.forest, root) for root in first.population}
        assert {uproot(state.forest, root) for root in state.population} <= start


def test_rows_are_left_out_only_by_several_samples():
    X, y = random_data(8, n_rows=100)
    model = GSGPRegressor(population_size=40, generations=3, n_estimators=6, random_state=0).fit(X, y)
    assert -10 < model.oob_score_ < 1
    assert model.predict_interval(X, 0.8).shape == (100, 2)
    assert len(model.ensemble_) > 1
    model.set_params(n_estimators=1).fit(X, y)
    assert not hasattr(model, "oob_score_")
    assert len(model.ensemble_) == 1
    with pytest.raises(ValueError, match="calibration"):
        model.predict_interval(X)
