"""Grove on many rows: turns, sums over all rows, regressions over the terms of many teams."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.estimators.posing import pose
from symgrove.fitness.named_losses import Squared
from symgrove.methods.base import nodes_of
from symgrove.methods.grove import many_rows, pooling
from symgrove.methods.grove.configuration import ManyRows
from symgrove.methods.grove.many_rows import rows_to_hide
from symgrove.methods.grove.plateau import JUDGED, Plateau
from symgrove.methods.grove.pooling import levels_of, pool_sums, sums_of_each, sums_on_engine
from symgrove.methods.grove.settling import RowPass, step, sums_of, units_of
from symgrove.methods.grove.setup import to_teams
from symgrove.methods.grove.turns import Others
from symgrove.methods.problem import Rows
from symgrove.models.task import encode_labels, encode_numbers
from tests.naive import pooling as naive

TINY = {"population_size": 40, "generations": 20, "n_estimators": 8, "n_populations": 2, "max_terms": 8}
MANY = ManyRows(fewest_rows=200, rows_of_a_turn=150)


def kind_of(base, many=MANY):
    return type(base.__name__, (base,), {"configuration": replace(base.configuration, many=many)})


@pytest.fixture(scope="module")
def rows():
    X, y = make_friedman1(400, noise=0.5, random_state=0)
    return Rows(X, y[None], np.random.default_rng(0).random(400) + 0.5, np.arange(400))


@pytest.fixture(scope="module")
def classes(rows):
    return rows._replace(targets=(rows.targets > 14).astype(float))


def teams_of(kind, rows, **more):
    y = rows.targets[0] if kind is sg.GroveRegressor else rows.targets[0].astype(int)
    model = kind(**{**TINY, "generations": 6, **more}, strength="fixed", random_state=0).fit(rows.X, y, rows.weight)
    return model.model_.levels[0]


def values_of(teams, X):
    return np.concatenate([values for _, values in teams.term_values(X)], axis=1)


def test_coefficients_of_all_rows_are_a_ridge_regression(rows):
    teams = teams_of(sg.GroveRegressor, rows)
    values = values_of(teams, rows.X)
    held_out, units = rows.take(np.arange(300, 400)), units_of(rows, Squared())
    found = step(
        teams, sums_of(rows, teams, units, RowPass()) - sums_of(held_out, teams, units, RowPass()), units, 0.01
    )
    pooled = pool_sums(rows, teams, units, RowPass()) - pool_sums(held_out, teams, units, RowPass())
    rows, values = rows.take(np.arange(300)), values[:, :300]
    same, *_ = levels_of(teams, 2, 0.01)
    for j, own in enumerate(teams.coefficients != 0):
        expected = naive.ridge(values[own], rows.targets[0], rows.weight, 0.01)
        for each in (found, same.fit(teams, pooled, 0.01)):
            np.testing.assert_allclose([each.intercept[j], *each.coefficients[j, own]], expected, rtol=1e-6, atol=1e-8)
            left = rows.targets[0] - expected[0] - expected[1:] @ values[own]
            assert each.errors[j] == pytest.approx(np.average(left**2, weights=rows.weight))


@pytest.mark.parametrize("has_weights", [False, True])
def test_sums_of_terms_are_the_same_on_an_engine(rows, monkeypatch, has_weights):
    """The terms of another fit, so that limits and values that are not finite count; of sets of unequal size."""
    monkeypatch.setattr(pooling, "VALUES_ON_AN_ENGINE", 1)  # blocks of 2048 rows
    teams = teams_of(sg.GroveRegressor, rows)
    rng = np.random.default_rng(0)
    X = rng.normal(scale=3.0, size=(3000, 10))
    X[7] = 1e308
    weight = np.where(rng.random(3000) < 0.2, 0.0, rng.random(3000)) if has_weights else None
    own = Rows(X, rng.normal(size=(2, 3000)), weight, np.arange(3000))
    uses = np.ones((2, teams.programs.size), dtype=bool)
    uses[0, ::3] = False
    given = teams, uses, own, units_of(own, Squared()), RowPass()
    for found, expected in zip(sums_on_engine("cpu", *given), sums_of_each(*given), strict=True):
        for name in ("gram", "first", "squares", "total"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-11, atol=1e-8)


def test_levels_have_the_terms_of_a_team_a_population_and_all_others(rows):
    teams = teams_of(sg.GroveRegressor, rows, n_populations=4)
    own = teams.coefficients != 0
    each, populations, pool = levels_of(teams, 4, 0.01)
    np.testing.assert_array_equal(each.uses, own)
    for i in range(4):
        np.testing.assert_array_equal(populations.uses[i], own[2 * i] | own[2 * i + 1])
        np.testing.assert_array_equal(pool.uses[i], np.delete(own, [2 * i, 2 * i + 1], axis=0).any(axis=0))
    assert len([*levels_of(teams_of(sg.GroveRegressor, rows, n_populations=1), 1, 0.01)]) == 2


def test_newton_steps_on_all_rows_lead_to_the_best_log_odds(classes):
    teams = teams_of(sg.GroveClassifier, classes)
    values, units = values_of(teams, classes.X), units_of(classes, None)
    for _ in range(8):
        teams = step(teams, sums_of(classes, teams, units, RowPass()), units, 0.03)
    for j, own in enumerate(teams.coefficients != 0):
        both = np.append(teams.intercept[j], teams.coefficients[j, own])
        gradient = naive.logistic_gradient(values[own], classes.targets[0], classes.weight, 0.03, both)
        assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("encode", [encode_numbers, lambda y: encode_labels((y > 14).astype(int))])
def test_rows_held_out_are_a_share_of_every_class(rows, encode):
    task, targets = encode(rows.targets[0])
    own = rows._replace(targets=targets)
    hidden = rows_to_hide(own, task, 3, ManyRows(share_held_out=0.1))
    assert np.unique(hidden).size == hidden.size == 40
    assert targets[:, hidden].mean() == pytest.approx(targets.mean(), rel=0.15)
    assert rows_to_hide(own, task, 3, ManyRows(most_held_out=7)).size == 7


def test_populations_have_rows_of_their_own_in_each_turn(rows):
    model = kind_of(sg.GroveRegressor)(**TINY, random_state=0)
    seen = []

    def look(progress):
        parts = model_method[0].parts
        seen.append([part.engine.target.copy() for part in parts])

    model_method = []
    original = type(model).make_method

    def make(self, problem):
        model_method[:] = [original(self, problem)]
        return model_method[0]

    type(model).make_method = make
    model.set_params(callbacks=look).fit(rows.X, rows.targets[0])
    assert {len(own) for turn in seen for own in turn} == {150}
    first, last = seen[0], seen[-1]
    assert not np.array_equal(*first)
    assert not any(np.array_equal(a, b) for a, b in zip(first, last, strict=True))
    assert np.array_equal(seen[0][0], seen[10][0])


@pytest.mark.parametrize("base", [sg.GroveRegressor, sg.GroveClassifier])
def test_all_rows_count_whatever_the_strength(rows, base):
    y = rows.targets[0] if base is sg.GroveRegressor else (rows.targets[0] > 14).astype(int)
    for strength in ("auto", "fixed"):
        model = kind_of(base)(**TINY, strength=strength, random_state=0, n_jobs=2).fit(rows.X, y)
        assert model.validation_score_ > 0.6
        assert model.score(rows.X, y) > 0.7
        again = kind_of(base)(**TINY, strength=strength, random_state=0).fit(rows.X, y)
        shown = "predict" if base is sg.GroveRegressor else "predict_proba"
        np.testing.assert_array_equal(getattr(model, shown)(rows.X), getattr(again, shown)(rows.X))
    assert model.stacking_weights_ == {"main 20": 1.0}
    assert model.ensemble_[0].n_terms <= 8


def test_a_run_in_turns_is_resumed_to_the_same_model(rows, tmp_path):
    y, settings = rows.targets[0], {**TINY, "random_state": 0}
    whole = kind_of(sg.GroveRegressor)(**settings).fit(rows.X, y)
    for generations in (7, 10, 16):
        path = tmp_path / f"{generations}.npz"
        kind_of(sg.GroveRegressor)(**{**settings, "generations": generations}, checkpoint=path).fit(rows.X, y)
        resumed = kind_of(sg.GroveRegressor)(**settings, checkpoint=path).fit(rows.X, y)
        np.testing.assert_array_equal(resumed.predict(rows.X), whole.predict(rows.X))


@pytest.mark.parametrize(("base", "looks"), [(sg.GroveRegressor, [10, 20]), (sg.GroveClassifier, [10, 30])])
def test_an_evolution_ends_at_the_first_look_that_gains_too_little(rows, base, looks):
    y = rows.targets[0] if base is sg.GroveRegressor else (rows.targets[0] > 14).astype(int)
    settings = {**TINY, "generations": 35, "random_state": 0}
    ends, goes_on = (kind_of(base, replace(MANY, least_gain=gain))(**settings).fit(rows.X, y) for gain in (1.0, -1e9))
    assert (ends.n_generations_, ends.stop_reason_) == (looks[1], "strength")
    assert (goes_on.n_generations_, goes_on.stop_reason_) == (35, "generations")
    assert f"main {looks[1]}" in ends.stacking_weights_
    whole = kind_of(base, replace(MANY, least_gain=1.0))(**settings, strength="fixed").fit(rows.X, y)
    assert whole.n_generations_ == 35


def test_a_look_is_the_best_regression_on_rows_that_are_not_held_out(rows, monkeypatch):
    looked = []

    def keep(self, progress):
        ends = call(self, progress)
        if progress.values["generation"] == 10:
            teams = to_teams(self.settings, self.method, progress.state, self.training)
            looked.append((self, teams, float(self.around.checkpoint.part(JUDGED)["10"])))
        return ends

    call = Plateau.__call__
    monkeypatch.setattr(Plateau, "__call__", keep)
    kind_of(sg.GroveRegressor)(**TINY, random_state=0).fit(rows.X, rows.targets[0], rows.weight)
    ((plateau, teams, judged),) = looked
    hidden, X, y, weight = plateau.hidden, rows.X, rows.targets[0], plateau.training.weight
    seen = np.setdiff1d(np.arange(400), hidden)
    losses = []
    for penalty in (0.1, 0.01, 0.001):
        predicted = []
        for i in range(2):
            own = (teams.coefficients[2 * i : 2 * i + 2] != 0).any(axis=0)
            values = values_of(teams, X)[own]
            found = naive.ridge(values[:, seen], y[seen], weight[seen], penalty)
            predicted.append(np.clip(found[0] + found[1:] @ values[:, hidden], y.min(), y.max()))
        losses.append(np.average((np.mean(predicted, axis=0) - y[hidden]) ** 2, weights=weight[hidden]))
    assert judged == pytest.approx(min(losses), rel=1e-4)


def test_noise_has_little_weight_and_intervals_are_known():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 4)), rng.normal(size=2000)
    model = kind_of(sg.GroveRegressor)(**TINY, random_state=0).fit(X, y)
    assert model.stacking_weight_sum_ < 0.4
    low, high = model.predict_interval(X, coverage=0.8).T
    assert 0.7 < ((low <= y) & (y <= high)).mean() < 0.9


def test_terms_that_are_constant_on_the_rows_of_a_turn_leave(rows):
    model = kind_of(sg.GroveRegressor)(**TINY, random_state=0)
    problem, _ = pose(model, rows.X, rows.targets[0], None)
    with model.make_method(problem) as method:
        state, part = method.init()[0], method.parts[0]
        roots, slot = state.roots.copy(), 1 + int(np.flatnonzero(state.is_taken[0, 1:])[0])
        roots[0, slot] = state.forest.constant(3.0)
        found = part.usable(replace(state, roots=roots, nodes=nodes_of(state.forest)))
    assert (found.roots[0, slot], found.is_taken[0, slot], found.coefficients[0, slot]) == (-1, False, 0.0)
    is_other = np.ones(roots.shape, dtype=bool)
    is_other[0, slot] = False
    np.testing.assert_array_equal(found.roots[is_other], state.roots[is_other])
    np.testing.assert_array_equal(found.coefficients[is_other], state.coefficients[is_other])


def test_a_few_thousand_rows_are_not_many():
    model = sg.GroveRegressor(generations=1, population_size=20, n_estimators=2, n_populations=1, strength="fixed")
    X, y = make_friedman1(2500, random_state=0)
    assert np.isnan(model.fit(X, y).validation_score_)  # no rows were held out


@pytest.mark.parametrize("loss", ["absolute", "quantile", "poisson"])
def test_other_losses_are_settled_on_all_rows(rows, loss):
    model = kind_of(sg.GroveRegressor)(**TINY, loss=loss, quantile=0.8, random_state=0).fit(rows.X, rows.targets[0])
    assert not any("pool" in name for name in model.stacking_weights_)  # these are for squares
    assert model.validation_score_ > 0.3
    if loss == "quantile":
        assert 0.7 < (rows.targets[0] <= model.predict(rows.X)).mean() < 0.9


def test_several_targets_have_pools_of_their_own(rows):
    Y = np.column_stack([rows.targets[0], 100 * rows.X[:, 0] * rows.X[:, 1]])
    model = kind_of(sg.GroveRegressor)(**TINY, random_state=0).fit(rows.X, Y)
    assert model.predict(rows.X).shape == Y.shape
    assert model.score(rows.X, Y) > 0.7


def test_one_team_of_many_rows_knows_smaller_ones(rows):
    settings = {**TINY, "n_estimators": 1, "sampling": 1.0, "strength": "fixed", "random_state": 0}
    model = kind_of(sg.GroveRegressor)(**settings).fit(rows.X, rows.targets[0])
    assert [point.n_parts for point in model.size_path_] == [*range(model.ensemble_[0].n_terms, 0, -1)]
    np.testing.assert_allclose(model.size_path_[0].predict(rows.X), model.predict(rows.X))


@pytest.mark.parametrize("hidden", [None, [0], [9], [0, 1, 2], [3, 4, 8], [7, 8, 9]])
def test_others_are_all_rows_but_those_hidden(hidden):
    own = Others(10, None if hidden is None else np.array(hidden))
    expected = np.setdiff1d(np.arange(10), hidden or [])
    assert own.size == expected.size
    assert np.array_equal(own.places(np.arange(own.size)), expected)
    assert np.array_equal(own.spread(3), expected[:: -(-expected.size // 3)])


def test_panels_are_left_out_of_sums_alike_in_all_rows_and_in_those_held_out(monkeypatch):
    """As if there were only every third panel."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9000, 3))
    y = X[:, 0] * X[:, 1] + rng.normal(size=9000)
    model = sg.GroveRegressor(**{**TINY, "generations": 3}, strength="fixed", random_state=0).fit(X[:300], y[:300])
    teams, everything = model.model_.levels[0], Rows(X, y[None], None, np.arange(9000))
    monkeypatch.setattr(many_rows, "MOST_PRODUCTS", 9000 * teams.programs.size**2 / 2.5)
    assert many_rows.panels_apart(9000, teams.programs.size) == 3
    elsewhere = Elsewhere(*everything)
    hidden = np.arange(0, 9000, 7)
    parted, units = many_rows._Parted(elsewhere, everything.take(hidden)), units_of(everything, Squared())
    some, rest = parted.sums(pool_sums, teams, units, RowPass())
    kept = np.flatnonzero(np.isin(np.arange(9000) // 2048, [0, 3]))
    expected = pool_sums(everything.take(kept), teams, units, RowPass())
    assert np.array_equal(some.gram, expected.gram)
    others = pool_sums(everything.take(np.setdiff1d(kept, hidden)), teams, units, RowPass())
    assert np.allclose(rest.gram, others.gram)
    assert rest.total == np.setdiff1d(kept, hidden).size


class Elsewhere(Rows):
    is_here = False
