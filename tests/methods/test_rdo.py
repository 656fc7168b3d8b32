"""RDO against its oracle: each generation from the population before, with the same random draws."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import symgrove as sg
from symgrove.fitness.bootstrap import bootstrap_counts
from symgrove.rng import stream
from tests.making import method_of
from tests.naive import rdo
from tests.naive.programs import positions_by_depth, tokens
from tests.naive.two_segp import errors_of
from tests.strategies import random_data, uproot

FUNCTIONS = [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("log", 1)]
N_ROWS = 25
WEIGHTS = np.random.default_rng(0).integers(1, 4, size=N_ROWS).astype(float)
SETTINGS = {"population_size": 24, "max_size": 40, "max_height": 8, "library_size": 60, "library_depth": 5}
CASES = [
    *((seed, {}) for seed in range(2)),
    *((seed, {"impossible_cases": "drop"}) for seed in range(2)),
    (4, {"dont_care_cases": "constant"}),
    (1, {"dont_care_cases": "constant", "impossible_cases": "drop"}),
    (0, {"library_order": "random"}),
    *((seed, {"n_estimators": 3}) for seed in range(2)),
    (0, {"library_scaling": False}),
    (1, {"library_scaling": False, "impossible_cases": "drop"}),
    (2, {"library_scaling": False, "impossible_cases": "drop", "n_estimators": 2}),
    (6, {"linear_scaling": False}),
    (7, {"p_mutation": 0.4}),
    (0, {"inversions": "public_code"}),
]


def options_of(model):
    names = ("max_size", "max_height", "library_size", "library_depth")
    return {
        **{name: getattr(model, name) for name in names},
        "scales": model.library_scaling,
        "drops_impossible": model.impossible_cases == "drop",
        "drops_any": model.dont_care_cases == "drop",
        "in_random_order": model.library_order == "random",
        "p_vary": model.p_mutation,
        "is_public": model.inversions == "public_code",
    }


def agree(found, expected):
    """Whether programs have the same structure and, but for rounding, the same constants."""
    same_shape = [t for t, _ in found if t[0] != "constant"] == [t for t, _ in expected if t[0] != "constant"]
    if not same_shape or len(found) != len(expected):
        return False
    values = [[t[1] for t, _ in program if t[0] == "constant"] for program in (found, expected)]
    return len(values[0]) == len(values[1]) and np.allclose(*values, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("seed", "more", "is_weighted"), [(*case, i % 2 == 1) for i, case in enumerate(CASES)])
def test_every_generation_is_that_of_the_oracle(seed, more, is_weighted):
    X, y = random_data(seed, n_rows=N_ROWS)
    model = sg.RDORegressor(**{**SETTINGS, **more}, standardize=False)
    weight = WEIGHTS if is_weighted else np.ones(N_ROWS)
    n = model.n_estimators
    weights = [weight] if n == 1 else bootstrap_counts(N_ROWS, n, seed) * weight
    with method_of(model, X, y, seed, weight=weight if is_weighted else None) as method:
        state = method.init()
        for generation in range(4):
            population = [tokens(uproot(state.forest, root)) for root in state.population]
            scores = errors_of(population, X, y, weights, model.linear_scaling)
            np.testing.assert_allclose(state.errors, [[s[0] for s in row] for row in scores], rtol=1e-6)
            # Many programs differ by a slope and an intercept only: rounding decides which error is lower.
            scores = np.stack([state.errors, state.slope, state.intercept], axis=2).tolist()
            expected = rdo.generation(
                population, scores, X, y, weights, partial(stream, seed), generation, 4, options_of(model), FUNCTIONS
            )
            best = state.elites.error
            state = method.step(state)
            found = [tokens(uproot(state.forest, root)) for root in state.population]
            differing = [i for i, pair in enumerate(zip(found, expected, strict=True)) if not agree(*pair)]
            assert differing == []
            made = [program for program in found if program not in population]
            assert all(len(p) <= model.max_size and max(positions_by_depth(p)) <= model.max_height for p in made)
            np.testing.assert_array_equal(state.elites.error, np.minimum(best, state.errors.min(axis=0)))


def test_few_cases_of_many_rows_are_enough_and_are_drawn_once():
    X, y = random_data(0, n_rows=400)
    models = [sg.RDORegressor(**SETTINGS, max_rows=n, generations=5, random_state=0) for n in (30, 400, 1000)]
    few, *all_rows = (model.fit(X, y).predict(X) for model in models)
    np.testing.assert_array_equal(*all_rows)
    assert (few != all_rows[0]).any()
    assert np.mean((few - y) ** 2) < 0.5 * np.var(y)
    with method_of(models[0], X, y, 0) as method:
        rows = method.operator.rows
        assert rows.size == 30
        assert (np.diff(rows) > 0).all()


def test_a_law_within_reach_is_found_by_one_substitution():
    X = np.random.default_rng(0).uniform(1, 2, size=(60, 2))
    y = 3 + 2 * X[:, 0] * X[:, 1]
    model = sg.RDORegressor(population_size=40, generations=5, random_state=0, standardize=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-8)


def test_functions_without_inversion_and_without_scaling_do():
    X, y = random_data(0, n_rows=60)
    own = sg.primitive(lambda a: a if a > 0 else 0.0, name="relu")
    for functions, scales in ((("add", "mul", "step", own), True), (("sub", "div", own), False)):
        settings = {**SETTINGS, "functions": functions, "library_scaling": scales}
        model = sg.RDORegressor(**settings, generations=4, random_state=0).fit(X, y)
        assert (np.diff(model.history_["errors"][:, 0]) <= 0).all()
        names = {f if isinstance(f, str) else f.name for f in functions}
        with method_of(model, X, y, 0) as method:
            state = method.step(method.step(method.init()))
            used = {state.forest.name(node) for node in state.forest.reachable(state.population)}
        assert used <= names | {"feature", "constant"}


def test_memory_for_one_child_at_a_time_gives_the_same_children():
    X, y = random_data(1, n_rows=60)
    found = []
    for memory in (1 << 30, 1):
        with method_of(sg.RDORegressor(**SETTINGS, n_estimators=3), X, y, 1) as method:
            limited = replace(method, operator=replace(method.operator, memory=memory))
            state = limited.step(limited.init())
            found.append([tokens(uproot(state.forest, root)) for root in state.population])
    assert all(map(agree, *found))


def test_members_leave_rows_out_only_if_there_are_several():
    X, y = random_data(2, n_rows=80)
    one, five = (sg.RDORegressor(**SETTINGS, n_estimators=n, generations=3, random_state=0).fit(X, y) for n in (1, 5))
    assert len(one.ensemble_) == 1
    assert not hasattr(one, "oob_score_")
    assert sum(len(member.samples) for member in five.ensemble_) == 5
    assert 0 < five.oob_score_ < 1
    assert five.history_["errors"].shape == (4, 5)
    low, high = five.predict_interval(X).T
    assert (low < high).all()
