"""Teams of Grove: their coefficients, terms and windows, and the weights of ensembles of different strength."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss

import symgrove as sg
from symgrove.fitness.bootstrap import subsample_counts
from symgrove.fitness.named_losses import Squared
from symgrove.methods.grove import teams as team_evolution
from symgrove.methods.grove.configuration import Folds, Regime, TeamRules
from symgrove.methods.grove.setup import make_evolutions
from symgrove.methods.grove.weights import mixture_weights, stack_weights, weigh
from symgrove.methods.problem import Problem, Rows
from symgrove.models.task import Regression
from symgrove.rng import stream
from tests.naive import teams as naive

SMALL = {
    "population_size": 80,
    "generations": 12,
    "n_estimators": 6,
    "max_terms": 8,
    "random_state": 3,
    "dtype": "float64",
}


@pytest.fixture(scope="module")
def data():
    return make_friedman1(150, random_state=0)


@pytest.mark.parametrize("sampling", ["bootstrap", 0.8, 1.0])
def test_each_team_is_the_ridge_regression_on_its_terms(data, sampling):
    X, y = data
    model = sg.GroveRegressor(**SMALL, strength="fixed", clip=False, sampling=sampling).fit(X, y)
    teams = model.model_.levels[0]
    ((_, values),) = teams.term_values(X)
    counts = sg.bootstrap_counts(150, 6, 3) if sampling == "bootstrap" else subsample_counts(150, 6, 3, sampling)
    for j in range(6):
        columns = list(values[teams.coefficients[j] != 0])
        coefficients, _ = naive.fit(columns, y, counts[j].astype(float), 1e-3 * counts[j].sum())
        np.testing.assert_allclose(teams.intercept[j], coefficients[0], rtol=1e-6)
        np.testing.assert_allclose(teams.coefficients[j][teams.coefficients[j] != 0], coefficients[1:], rtol=1e-5)


def test_the_objective_of_a_team_never_rises_if_one_joins_at_a_time(data):
    X, y = data
    objectives = []

    def note(progress):
        each = [s.errors + 1e-3 * (s.coefficients[:, 1:] ** 2).sum(axis=1) for s in progress.state]
        objectives.append(np.concatenate(each))

    sg.GroveRegressor(**{**SMALL, "generations": 40}, n_joining=1, strength="fixed", callbacks=note).fit(X, y)
    assert (np.diff(objectives, axis=0) < 1e-12).all()
    assert (objectives[-1] < 0.5 * objectives[0]).all()


@pytest.mark.parametrize("n_populations", [1, 2, 9])
def test_teams_are_divided_among_populations(data, n_populations):
    """Each population makes its own candidates; a program of several is one term of the model."""
    X, y = data
    model = sg.GroveRegressor(**SMALL, strength="fixed", n_populations=n_populations).fit(X, y)
    assert model.history_["n_evaluations"][-1] == min(n_populations, 6) * SMALL["population_size"] * 13
    assert model.history_["errors"].shape == (13, 6)
    teams = model.model_.levels[0]
    assert np.unique(teams.programs).size == teams.programs.size == len(teams.centre)
    assert model.predict_members(X).shape == (6, 150)


def evolution_of(n_populations, n_teams, window=150, loss="squared"):
    """A method on rows of a product of two features."""
    X = np.random.default_rng(0).normal(size=(80, 4))
    problem = Problem(Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(80)), Regression(), 0)
    settings = sg.GroveRegressor(dtype="float64", loss=loss)._team_settings(problem)
    rules = TeamRules(population_size=300, window=window, n_joining=2, max_terms=5, ridge=1e-3)
    sizes = {"n_populations": n_populations, "n_teams": n_teams, "n_teams_of_fit": n_teams}
    regime = Regime(name="main", max_size=9, rules=rules, snapshots=(3,), **sizes)
    return make_evolutions(settings, regime, problem.training, 0)


def test_populations_do_not_meet():
    """Parents and candidates of a team are of its population, also where populations have made equal programs."""
    with evolution_of(3, 7) as method:
        (evolution,) = method.parts
        assert [own[own >= 0].tolist() for own in evolution.teams_of] == [[0, 1, 2], [3, 4], [5, 6]]
        state = evolution.step(evolution.init())
        forest = state.forest
        terms = [set(state.roots[own[own >= 0]].ravel().tolist()) - {-1} for own in evolution.teams_of]
        parents = []

        def note(forest, bases, donors, rng):
            parents.append((bases, donors))
            return bases

        object.__setattr__(evolution, "vary", note)
        for bred, own in zip(evolution._breed(state), terms, strict=True):
            assert set(bred.tolist()) <= own
        for (bases, donors), own in zip(parents, terms, strict=True):
            assert {*bases.tolist(), *donors.tolist()} <= own
        x = [forest.feature(i) for i in range(4)]
        doubled = forest.apply("add", x[1], x[1])  # the same term as the feature
        children = [np.array(own) for own in ([x[0], x[1], doubled], [x[2], doubled], [x[3]])]
        candidates = evolution._candidates(forest, children)
        found = [{int(candidates.terms.root[i]) for i in own if i >= 0} for own in candidates.of]
        assert found == [{x[0], x[1]}, {x[2], doubled}, {x[3]}]
        everybody, predictions = np.arange(7), evolution._fill_tables(state).predictions
        derivatives = evolution.fits.curvatures(everybody, predictions), evolution.fits.scores(everybody, predictions)
        known = np.full((7, 1), np.nan)
        for n_close in (24, 1):  # windows are small, or those closest to the residuals are sought
            object.__setattr__(evolution, "n_close", n_close)
            seen, _ = evolution._windows(candidates, *derivatives, known, 1)
            for team, own in enumerate(seen):
                allowed = {int(i) for i in candidates.of[evolution.population_of_team[team]]}
                assert set(own.tolist()) <= allowed | {-1}
                assert (own >= 0).any()


def test_populations_beside_each_other_are_what_they_are_alone():
    with evolution_of(3, 7) as method:
        (together,) = method.parts
        state = together.init()
        for _ in range(20):
            state = together.step(state)
        for p, teams in enumerate(together.teams_of):
            own = teams[teams >= 0]
            changes = {"counts": together.counts[own], "population_of": np.zeros(own.size, dtype=np.intp)}
            alone = replace(together, **changes, seed=together.seeds[p], _tables=team_evolution._Tables())
            own_state = alone.init()
            for _ in range(20):
                own_state = alone.step(own_state)
            np.testing.assert_allclose(own_state.coefficients, state.coefficients[own], rtol=1e-8, atol=1e-12)
            for root, other in zip(own_state.roots.ravel(), state.roots[own].ravel(), strict=True):
                assert (root < 0) == (other < 0)
                if root >= 0:
                    assert sg.to_text(own_state.forest, root) == sg.to_text(state.forest, other)


def test_teams_stay_small(data):
    model = sg.GroveRegressor(**{**SMALL, "max_terms": 5, "max_size": 7}, strength="fixed").fit(*data)
    assert all(1 <= m.n_terms <= 5 for m in model.ensemble_)
    teams = model.model_.levels[0]
    assert teams.forest.size(teams.programs).max() <= 7
    few = sg.GroveRegressor(**{**SMALL, "max_terms": 50}, strength="fixed").fit(data[0][:30], data[1][:30])
    assert max(m.n_terms for m in few.ensemble_) <= 6  # a fifth of the rows


def test_a_small_window_sees_fewer_candidates(data):
    wide, narrow = (sg.GroveRegressor(**SMALL, strength="fixed", window=w).fit(*data) for w in (1.0, 2))
    assert narrow.history_["errors"][-1].mean() > wide.history_["errors"][-1].mean()


@pytest.mark.parametrize(("n_held_out", "noise", "is_kept"), [(100, 0.1, True), (100, 2.0, False), (500, 0.1, False)])
def test_larger_data_keep_the_strongest_unless_the_stack_is_clearly_better(n_held_out, noise, is_kept):
    """The strongest level is almost as good as the stack, or much worse; with all rows held out, no guard."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    out_of_fold = np.full((2, 1, 500), np.nan)
    out_of_fold[0, 0, :n_held_out] = (y + noise * rng.normal(size=500))[:n_held_out]
    out_of_fold[1, 0, :n_held_out] = (y + 0.3 * rng.normal(size=500))[:n_held_out]
    training = Rows(np.zeros((500, 1)), y[None], None, np.arange(500))
    chosen = weigh(out_of_fold, out_of_fold[:, 0], training, Folds(), losses=(Squared(),), strongest=[0])
    assert (chosen.weights.tolist() == [1.0, 0.0]) == is_kept


@pytest.mark.parametrize("seed", range(5))
def test_stack_weights_are_the_constrained_least_squares(seed):
    rng = np.random.default_rng(seed)
    y, weight = rng.normal(size=50) + 2, rng.random(50)
    levels = np.stack([2 + s * (y - 2) + rng.normal(size=50) for s in (0.2, 0.5, 0.9)])
    found = stack_weights(levels, y, 2.0, weight)

    def loss(a):
        return float(weight @ (y - 2 - a @ (levels - 2)) ** 2)

    constraints = [{"type": "ineq", "fun": lambda a: 1 - a.sum()}]
    best = minimize(loss, np.full(3, 0.3), bounds=[(0, 1)] * 3, constraints=constraints)
    assert (found >= 0).all()
    assert found.sum() <= 1 + 1e-6
    assert loss(found) <= best.fun * (1 + 1e-5)


def test_mixture_weights_have_the_highest_likelihood():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=200).astype(float)
    levels = np.stack([np.clip(0.5 + s * (y - 0.5) + 0.3 * rng.normal(size=200), 0.02, 0.98) for s in (0.1, 0.6)])
    found = mixture_weights(levels[:, None], y[None], np.array([y.mean()]), np.ones(200))

    def loss(a):
        return log_loss(y, y.mean() + a @ (levels - y.mean()))

    grid = [np.array([a, b]) for a in np.linspace(0, 1, 21) for b in np.linspace(0, 1 - a, 21)]
    assert loss(found) <= min(map(loss, grid)) + 1e-3


def test_a_team_comes_close_to_its_best_coefficients(data):
    """Newton steps of many generations end near the penalised maximum of the likelihood."""
    X, y = data[0], (data[1] > np.median(data[1])).astype(float)
    settings = {**SMALL, "n_estimators": 1, "sampling": 1.0, "generations": 60, "max_terms": 3}
    model = sg.GroveClassifier(**settings, strength="fixed", clip=False, ridge=0.1).fit(X, y)
    teams = model.model_.levels[0]
    ((_, values),) = teams.term_values(X)
    penalty = 0.1 * 150 / 4

    def loss(c):
        log_odds = c[0] + c[1:] @ values
        return np.logaddexp(0, log_odds).sum() - y @ log_odds + penalty / 2 * c[1:] @ c[1:]

    own = np.append(teams.intercept, teams.coefficients)
    assert loss(own) < minimize(loss, np.zeros(own.size)).fun * 1.01


def test_no_team_has_the_same_term_twice(data):
    model = sg.GroveRegressor(**{**SMALL, "generations": 40}, strength="fixed", ridge=0.1, clip=False).fit(*data)
    teams = model.model_.levels[0]
    ((_, values),) = teams.term_values(data[0])
    for row in teams.coefficients:
        correlation = np.abs(np.corrcoef(values[row != 0]))
        np.fill_diagonal(correlation, 0)
        assert correlation.max() < 1 - 1e-9


def test_of_many_candidates_the_closest_are_judged(data, monkeypatch):
    """With 60 teams each judges 24 of its window: those with the highest correlation with its residuals."""
    X, y = data
    calls = []
    original = team_evolution.judge

    def note(teams, crossed, own, scalar):
        calls.append(crossed.shape[1])
        return original(teams, crossed, own, scalar)

    monkeypatch.setattr(team_evolution, "judge", note)
    sizes = {"n_populations": 1, "n_estimators": 60, "population_size": 200, "generations": 3}
    settings = {**SMALL, **sizes, "strength": "fixed"}
    models = [sg.GroveRegressor(**settings, window=1.0, n_jobs=n).fit(X, y) for n in (1, 3)]
    assert max(calls) <= 24
    np.testing.assert_array_equal(*(model.predict(X) for model in models))

    class Exact(sg.GroveRegressor):
        configuration = replace(sg.GroveRegressor.configuration, n_close=10_000)

    exact = Exact(**settings, window=1.0).fit(X, y)
    assert models[0].history_["errors"][-1].mean() < 1.1 * exact.history_["errors"][-1].mean()


@pytest.mark.parametrize(("loss", "n_populations"), [("squared", 1), ("squared", 3), ("huber", 1), ("huber", 3)])
def test_windows_hold_the_closest_of_those_seen(loss, n_populations):
    rng = np.random.default_rng(0)
    with evolution_of(n_populations, 60, loss=loss) as method:
        (evolution,) = method.parts
        engine, fits = evolution.engine, evolution.fits
        state = evolution.step(evolution.init())
        predictions = evolution._fill_tables(state).predictions
        children = [evolution.vary.new(state.forest, 300 + 20 * p, rng) for p in range(n_populations)]
        candidates = evolution._candidates(state.forest, children)
        everybody = np.arange(60)
        derivatives = fits.curvatures(everybody, predictions), fits.scores(everybody, predictions)
        values, (weights, scores) = engine.fetch(candidates.vectors), map(engine.fetch, derivatives)
        known = np.full((60, 1), np.nan)
        known[0] = candidates.terms.key[candidates.of[0, 0]]  # the first team has that term
        windows, scalar = evolution._windows(candidates, *derivatives, known, 7)
    for teams, of, seed in zip(evolution.teams_of, candidates.of, evolution.seeds, strict=True):
        own = of[of >= 0]
        order = stream(seed, "window", 7).random((teams.size, own.size))
        for row, j in enumerate(teams):
            seen = own[np.argsort(order[row])[: min(150, own.size)]]
            share = (values[seen] @ scores[j]) ** 2
            if loss != "squared":
                share /= values[seen] ** 2 @ weights[j] + fits.penalty[j]
            closest = set(seen[np.argsort(-share)[:24]].tolist())
            assert set(windows[j].tolist()) - {-1} == closest - ({int(candidates.of[0, 0])} if j == 0 else set())
            is_seen = windows[j] >= 0
            np.testing.assert_allclose(
                scalar[j, is_seen], values[windows[j, is_seen]] @ scores[j], rtol=1e-9, atol=1e-9
            )


def test_the_guard_counts_rows_by_their_weight():
    rng = np.random.default_rng(0)
    n = 600
    y, weight = rng.normal(size=n), np.where(np.arange(n) % 10 == 0, 100.0, 0.01)
    out_of_fold = np.full((2, 1, n), np.nan)
    out_of_fold[0, 0, :120] = (y + np.where(weight > 1, 2.0, 0.1) * rng.normal(size=n))[:120]
    out_of_fold[1, 0, :120] = (y + np.where(weight > 1, 0.1, 0.5) * rng.normal(size=n))[:120]
    training = Rows(np.zeros((n, 1)), y[None], weight, np.arange(n))
    assert weigh(out_of_fold, out_of_fold[:, 0], training, Folds(), losses=(Squared(),), strongest=[0]).weights[1] > 0.5


def test_no_more_terms_join_a_team_than_can_stay():
    X, y = make_friedman1(40, n_features=5, random_state=0)
    settings = {"generations": 3, "n_estimators": 5, "population_size": 50, "strength": "fixed", "random_state": 0}
    few, many = (sg.GroveRegressor(**settings, n_joining=n).fit(X, y) for n in (8, 10**5))  # of at most 40 / 5 terms
    np.testing.assert_array_equal(few.predict(X), many.predict(X))
