"""Grove: teams, strength, formulas, classes. What it shares with all methods is in tests/contracts."""

import os
import re
import signal
from contextlib import ExitStack

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_friedman1
from sklearn.metrics import log_loss, r2_score
from threadpoolctl import threadpool_limits

import symgrove as sg
from symgrove.fitness.bootstrap import subsample_counts
from symgrove.fitness.terms import make_terms, random_direction
from symgrove.methods import _team_setting, _teams
from symgrove.methods._held_out import Training
from symgrove.methods._strength import mixture_weights, stack_weights, weigh
from symgrove.methods._team_setting import Path, make_evolutions
from symgrove.methods._teams import Rules
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
ONE = {**SMALL, "n_estimators": 1, "sampling": 1.0, "strength": "fixed", "max_size": 9}


@pytest.fixture(scope="module")
def data():
    return make_friedman1(150, random_state=0)


def values_of(model, formulas, X, names=None):
    """Formulas evaluated as they are written."""
    primitives = sg.PrimitiveSet(model.functions)
    forest = sg.Forest(X.shape[1], primitives)
    engine = sg.CpuEngine(sg.make_dataset(X, np.zeros(len(X))), primitives)
    return np.array([engine.outputs(forest, [sg.parse(forest, f, names)])[0] for f in formulas])


# Teams


@pytest.mark.parametrize("sampling", ["bootstrap", 0.8, 1.0])
def test_each_team_is_the_ridge_regression_on_its_terms(data, sampling):
    X, y = data
    model = sg.GroveRegressor(**SMALL, strength="fixed", clip=False, sampling=sampling).fit(X, y)
    teams = model._ensembles[0].levels[0]
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
    sizes = []
    model = sg.GroveRegressor(
        **SMALL,
        strength="fixed",
        n_populations=n_populations,
        callbacks=lambda progress: sizes.append([len(state.roots) for state in progress.state]),
    ).fit(X, y)
    assert sizes[-1] == {1: [6], 2: [3, 3], 9: [1] * 6}[n_populations]
    assert model.history_["n_evaluations"][-1] == len(sizes[-1]) * SMALL["population_size"] * 13
    assert model.history_["errors"].shape == (13, 6)
    teams = model._ensembles[0].levels[0]
    assert np.unique(teams.programs).size == teams.programs.size == len(teams.centre)
    assert model.predict_members(X).shape == (6, 150)


def test_teams_stay_small(data):
    model = sg.GroveRegressor(**{**SMALL, "max_terms": 5, "max_size": 7}, strength="fixed").fit(*data)
    assert all(1 <= m.n_terms <= 5 for m in model.ensemble_)
    teams = model._ensembles[0].levels[0]
    assert teams.forest.size(teams.programs).max() <= 7
    few = sg.GroveRegressor(**{**SMALL, "max_terms": 50}, strength="fixed").fit(data[0][:30], data[1][:30])
    assert max(m.n_terms for m in few.ensemble_) <= 6  # a fifth of the rows


def test_a_small_window_sees_fewer_candidates(data):
    wide, narrow = (sg.GroveRegressor(**SMALL, strength="fixed", window=w).fit(*data) for w in (1.0, 2))
    assert narrow.history_["errors"][-1].mean() > wide.history_["errors"][-1].mean()


# Formulas


def test_members_formulas_equal_their_predictions(data):
    X, y = data[0] * 7 + 3, data[1]
    names = [f"col {k}" for k in range(X.shape[1])]
    model = sg.GroveRegressor(**SMALL, strength="fixed", clip=False).fit(pd.DataFrame(X, columns=names), y)
    members = values_of(model, [m.formula for m in model.ensemble_], X, names)
    ordered = np.sort(members, axis=0)[1:5]  # the interquartile mean of six
    np.testing.assert_allclose(ordered.mean(axis=0), model.predict(pd.DataFrame(X, columns=names)), rtol=1e-6)
    assert sum(m.weight for m in model.ensemble_) == pytest.approx(1)


@pytest.mark.parametrize("clip", [True, False])
def test_one_team_is_one_formula(data, clip):
    X, y = data
    model = sg.GroveRegressor(**ONE, clip=clip).fit(X, y)
    prediction = values_of(model, [model.formula()], X)[0]
    expected = np.clip(prediction, y.min(), y.max()) if clip else prediction
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6)


def test_a_mean_of_teams_is_one_sum_over_shared_terms(data):
    X, y = data
    model = sg.GroveRegressor(**{**SMALL, "n_estimators": 8}, aggregation="mean", clip=False).fit(X, y)
    np.testing.assert_allclose(values_of(model, [model.formula()], X)[0], model.predict(X), rtol=1e-6)


def test_shared_terms_show_how_sure_the_teams_are(data):
    model = sg.GroveRegressor(**SMALL, strength="fixed", aggregation="mean").fit(*data)
    terms = model.shared_terms(5)
    assert len(terms) == 5
    teams = model._ensembles[0].levels[0]
    scaled = teams.coefficients / teams.spread
    known = [round(c, 10) for c in scaled.mean(axis=0)]
    for term in terms:
        i = known.index(round(term.coefficient, 10))
        assert term.spread == pytest.approx(scaled[:, i].std())
        assert term.share == pytest.approx((scaled[:, i] != 0).mean())
        np.testing.assert_allclose(
            (values_of(model, [term.formula], data[0])[0] - teams.centre[i]) / teams.spread[i],
            next(teams.term_values(data[0]))[1][i],
            atol=1e-6,
        )


def test_what_is_no_sum_is_spelled_out(data):
    text = sg.GroveRegressor(**SMALL, strength="fixed").fit(*data).formula()
    assert text.startswith("prediction = interquartile_mean(m_1, ")


def test_predictions_stay_within_what_was_seen(data):
    X, y = data
    model = sg.GroveRegressor(**SMALL, strength="fixed").fit(X, y)
    far = model.predict(X * 1e6)
    assert y.min() <= far.min()
    assert far.max() <= y.max()
    np.testing.assert_array_equal(far, model.predict(np.clip(X * 1e6, X.min(axis=0), X.max(axis=0))))


# Strength


def test_pure_noise_is_recognised():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    model = sg.GroveRegressor(**SMALL).fit(X, y)
    assert model.stacking_weight_sum_ < 0.4
    assert model.stacking_weight_sum_ == pytest.approx(sum(model.stacking_weights_.values()))
    X_new = rng.normal(size=(500, 5))
    y_new = rng.normal(size=500)
    assert r2_score(y_new, model.predict(X_new)) > -0.1
    assert r2_score(y_new, sg.GroveRegressor(**SMALL, strength="fixed").fit(X, y).predict(X_new)) < -0.1


def test_the_stack_is_the_weighted_sum_of_its_levels(data):
    X, y = make_friedman1(120, noise=3, random_state=1)
    model = sg.GroveRegressor(**SMALL).fit(X, y)
    stack = model._ensembles[0]
    weights = [w for w in model.stacking_weights_.values() if w > 0]
    expected = y.mean() + sum(
        w * (level.predict(X)[0] - y.mean()) for w, level in zip(weights, stack.levels, strict=True)
    )
    np.testing.assert_allclose(model.predict(X), expected)
    assert len(stack.levels) >= 2
    assert {m.level for m in model.ensemble_} == {name for name, w in model.stacking_weights_.items() if w > 0}
    assert 0 < model.validation_score_ < 1


def test_strength_is_resumed_and_warm_started_to_the_same_model(data, tmp_path):
    whole = sg.GroveRegressor(**SMALL).fit(*data)
    file = tmp_path / "run.npz"
    stopping = sg.GroveRegressor(**SMALL, checkpoint=file, callbacks=lambda p: p.values["generation"] >= 4)
    stopping.fit(*data)
    resumed = sg.GroveRegressor(**SMALL, checkpoint=file).fit(*data)
    warm = sg.GroveRegressor(**{**SMALL, "generations": 3}, warm_start=True).fit(*data)
    warm.set_params(generations=12).fit(*data)
    for model in (resumed, warm):
        assert model.stacking_weights_ == whole.stacking_weights_
        np.testing.assert_array_equal(model.predict(data[0]), whole.predict(data[0]))


def test_the_same_bits_for_any_number_of_threads(data):
    models = [sg.GroveRegressor(**SMALL, n_jobs=n).fit(*data) for n in (1, 3)]
    assert models[0].stacking_weights_ == models[1].stacking_weights_
    np.testing.assert_array_equal(*(model.predict(data[0]) for model in models))


@pytest.mark.parametrize(
    ("raise_it", "reason"), [(lambda: os.kill(os.getpid(), signal.SIGINT), "interrupted"), (None, "max_time")]
)
def test_stopped_while_choosing_the_main_evolution_is_the_model(data, monkeypatch, raise_it, reason):
    def spoil(ground, paths, training, seed, check, tell):
        if raise_it is not None:
            raise_it()
        while True:
            check()

    monkeypatch.setattr("symgrove.methods.grove.choose_strength", spoil)
    model = sg.GroveRegressor(**SMALL, max_time=1.0 if raise_it is None else None).fit(*data)
    assert model.stop_reason_ == reason
    assert model.stacking_weights_ == {"main 12": 1.0}
    assert np.isfinite(model.predict(data[0])).all()


def test_choosing_shows_progress(data, capsys):
    sg.GroveRegressor(**SMALL, verbose=1).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"GroveRegressor: choosing the strength, fold 5 of 5, \d+ s left", lines[-1])


@pytest.mark.parametrize(("n_held_out", "noise", "is_kept"), [(100, 0.1, True), (100, 2.0, False), (500, 0.1, False)])
def test_larger_data_keep_the_strongest_unless_the_stack_is_clearly_better(n_held_out, noise, is_kept):
    """The strongest level is almost as good as the stack, or much worse; with all rows held out, no guard."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    out_of_fold = np.full((2, 1, 500), np.nan)
    out_of_fold[0, 0, :n_held_out] = (y + noise * rng.normal(size=500))[:n_held_out]
    out_of_fold[1, 0, :n_held_out] = (y + 0.3 * rng.normal(size=500))[:n_held_out]
    training = Training(np.zeros((500, 1)), y[None], None, np.arange(500))
    chosen = weigh((), out_of_fold, out_of_fold[:, 0], training, is_logistic=False, strongest=0)
    assert (chosen.weights.tolist() == [1.0, 0.0]) == is_kept


def test_noise_is_recognised_in_larger_data_too():
    X, y = np.random.default_rng(0).normal(size=(600, 5)), np.random.default_rng(1).normal(size=600)
    assert sg.GroveRegressor(**{**SMALL, "generations": 40, "max_terms": 40}).fit(X, y).stacking_weight_sum_ < 0.4


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


# Classification


def test_probabilities_are_those_of_averaged_logistic_regressions(data):
    X, y = data[0], (data[1] > np.median(data[1])).astype(int)
    model = sg.GroveClassifier(**SMALL, strength="fixed", clip=False).fit(X, y)
    log_odds = values_of(model, [m.formula for m in model.ensemble_], X)
    expected = (1 / (1 + np.exp(-np.clip(log_odds, -15, 15)))).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), (expected > 0.5).astype(int))


def test_a_team_comes_close_to_its_best_coefficients(data):
    """Newton steps of many generations end near the penalised maximum of the likelihood."""
    X, y = data[0], (data[1] > np.median(data[1])).astype(float)
    settings = {**SMALL, "n_estimators": 1, "sampling": 1.0, "generations": 60, "max_terms": 3}
    model = sg.GroveClassifier(**settings, strength="fixed", clip=False, ridge=0.1).fit(X, y)
    teams = model._ensembles[0].levels[0]
    ((_, values),) = teams.term_values(X)
    penalty = 0.1 * 150 / 4

    def loss(c):
        log_odds = c[0] + c[1:] @ values
        return np.logaddexp(0, log_odds).sum() - y @ log_odds + penalty / 2 * c[1:] @ c[1:]

    own = np.append(teams.intercept, teams.coefficients)
    assert loss(own) < minimize(loss, np.zeros(own.size)).fun * 1.01


def test_more_than_two_classes_share_a_population():
    X, y = load_iris(return_X_y=True)
    model = sg.GroveClassifier(**SMALL).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X, y) > 0.95
    assert model.validation_score_ > 0.9
    assert {m.target for m in model.ensemble_} == {0, 1, 2}


def test_class_weights_are_sample_weights(data):
    X, y = data[0], (data[1] > np.quantile(data[1], 0.8)).astype(int)
    weighted = sg.GroveClassifier(**SMALL, strength="fixed", class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    as_samples = sg.GroveClassifier(**SMALL, strength="fixed").fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_array_equal(weighted.predict_proba(X), as_samples.predict_proba(X))
    balanced = sg.GroveClassifier(**SMALL, strength="fixed", class_weight="balanced").fit(X, y)
    plain = sg.GroveClassifier(**SMALL, strength="fixed").fit(X, y)
    assert balanced.predict(X).sum() > plain.predict(X).sum()


def test_too_many_rows_for_the_memory_are_drawn_from():
    X, y = make_friedman1(5000, random_state=0)
    settings = {**SMALL, "strength": "fixed", "memory_budget": 12 << 20}
    with pytest.warns(UserWarning, match=r"Grove evolves on \d+ of the 5000 rows"):
        model = sg.GroveRegressor(**settings).fit(X, y)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("kind", [sg.GroveRegressor, sg.GroveClassifier])
def test_the_path_leads_from_the_whole_formula_to_one_term(data, kind):
    X, y = data[0], data[1] if kind is sg.GroveRegressor else (data[1] > np.median(data[1])).astype(int)
    model = kind(**{**ONE, "clip": False}).fit(X, y)
    path = model.size_path_
    assert [point.n_terms for point in path] == list(range(model.ensemble_[0].n_terms, 0, -1))
    assert (np.diff([point.error for point in path]) > 0).all()
    whole = model.predict(X) if kind is sg.GroveRegressor else model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(path[0].predict(X), whole)
    shown = values_of(model, [path[3].formula], X)[0]
    expected = shown if kind is sg.GroveRegressor else 1 / (1 + np.exp(-shown))
    np.testing.assert_allclose(path[3].predict(X), expected, rtol=1e-6)
    if kind is sg.GroveRegressor:
        teams = path[3]._stack.levels[0]
        ((_, values),) = teams.term_values(X)
        columns = list(values[teams.coefficients[0] != 0])
        coefficients, _ = naive.fit(columns, y, np.ones(150), 1e-3 * 150)
        np.testing.assert_allclose(teams.coefficients[0][teams.coefficients[0] != 0], coefficients[1:], rtol=1e-6)
    assert sg.GroveRegressor(**SMALL, strength="fixed").fit(*data).size_path_ == []


def test_no_team_has_the_same_term_twice(data):
    model = sg.GroveRegressor(**{**SMALL, "generations": 40}, strength="fixed", ridge=0.1, clip=False).fit(*data)
    teams = model._ensembles[0].levels[0]
    ((_, values),) = teams.term_values(data[0])
    for row in teams.coefficients:
        correlation = np.abs(np.corrcoef(values[row != 0]))
        np.fill_diagonal(correlation, 0)
        assert correlation.max() < 1 - 1e-9


def test_of_many_candidates_the_closest_are_judged(data, monkeypatch):
    """With 60 teams each judges 24 of its window: those with the highest correlation with its residuals."""
    X, y = data
    calls = []
    original = _teams.add_terms

    def note(team, candidates, weight, score, penalty, n_joining):
        calls.append(len(candidates))
        return original(team, candidates, weight, score, penalty, n_joining)

    monkeypatch.setattr(_teams, "add_terms", note)
    sizes = {"n_populations": 1, "n_estimators": 60, "population_size": 200, "generations": 3}
    settings = {**SMALL, **sizes, "strength": "fixed"}
    models = [sg.GroveRegressor(**settings, window=1.0, n_jobs=n).fit(X, y) for n in (1, 3)]
    assert max(calls) <= 24
    np.testing.assert_array_equal(*(model.predict(X) for model in models))
    monkeypatch.setattr(_team_setting, "N_CLOSE", 10_000)
    exact = sg.GroveRegressor(**settings, window=1.0).fit(X, y)
    assert models[0].history_["errors"][-1].mean() < 1.1 * exact.history_["errors"][-1].mean()


def test_windows_hold_the_closest_of_those_seen():
    rng = np.random.default_rng(0)
    with ExitStack() as stack:
        X = rng.normal(size=(80, 4))
        training = Training(X, (X[:, 0] * X[:, 1])[None], None, np.arange(80))
        ground = sg.GroveRegressor(dtype="float64")._ground()
        path = Path("main", 1, 60, 9, Rules(300, 150, 2, 5, 1e-3), (3,))
        (evolution,) = make_evolutions(ground, path, training, 0, stack)
        state = evolution.step(evolution.init())
        tables = evolution._fill_tables(state)
        children = np.unique(evolution.vary.new(300, rng))
        outputs = evolution.engine.outputs(state.forest, children)
        terms = make_terms(children, outputs, evolution.row_weight, random_direction(80, 0))
        windows = evolution._windows(tables, terms, 7)
    keys = stream(0, "window", 7).random((60, terms.root.size))
    for j in range(60):
        seen = np.argsort(keys[j])[: min(150, terms.root.size)]
        residual = evolution.weights[j] * (evolution.targets[0] - tables.predictions[j])
        worth = (terms.values[seen] @ residual) ** 2
        assert set(windows[j]) == set(seen[np.argsort(-worth)[:24]])


def test_the_same_bits_for_any_number_of_matrix_threads():
    X, y = make_friedman1(700, noise=2, random_state=0)
    models = []
    for n in (1, 2):
        with threadpool_limits(n):
            models.append(sg.GroveRegressor(**{**SMALL, "n_estimators": 30}).fit(X, y))
    assert models[0].stacking_weights_ == models[1].stacking_weights_
    np.testing.assert_array_equal(*(model.predict(X) for model in models))


def test_formulas_of_classifiers_are_log_odds_or_spelled_out():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 1.5 * rng.normal(size=80) > 0).astype(int)
    # Without `step`, which may tip over where a constant is a value of the data and rounding differs.
    settings = {**ONE, "clip": False, "functions": ("add", "mul", "aq", "log1p")}
    model = sg.GroveClassifier(**settings).fit(X, y)
    log_odds = values_of(model, [model.formula()], X)[0]
    np.testing.assert_allclose(1 / (1 + np.exp(-log_odds)), model.predict_proba(X)[:, 1], atol=1e-6)
    weak = sg.GroveClassifier(**{**settings, "strength": "auto"}).fit(X, y)
    assert weak.stacking_weight_sum_ < 1
    assert "logistic(" in weak.formula()
    assert weak.size_path_ == []
    X, y = load_iris(return_X_y=True)
    assert sg.GroveClassifier(**settings).fit(X, y).formula().startswith("score(`0`) = ")


def test_odd_data(data):
    X, y = data
    assert sg.GroveRegressor(**SMALL).fit(X[:1], y[:1]).predict(X)[0] == pytest.approx(y[0])
    model = sg.GroveRegressor(**SMALL).fit(np.ones((60, 3)), y[:60])
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), y[:60].mean())
    assert model.shared_terms() == []
    for scale in (1e80, 1e-90):
        model = sg.GroveRegressor(**SMALL).fit(X, scale * y)
        assert model.feature_importances_.sum() == pytest.approx(1)
        assert model.score(X, scale * y) > 0.5
    with pytest.raises(ValueError, match=r"y has values above 1e\+100"):
        sg.GroveRegressor(**SMALL).fit(X, 1e200 * y)
    far = sg.GroveRegressor(**{**SMALL, "dtype": "float32"}, clip=False).fit(X, y).predict(1e40 * X)
    assert np.isfinite(far).all()


def test_class_weights_are_checked(data):
    X, y = data[0], (data[1] > np.quantile(data[1], 0.8)).astype(int)
    with pytest.raises(ValueError, match="sample_weight"):
        sg.GroveClassifier(**SMALL, class_weight={0: -1, 1: 1}).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        sg.GroveClassifier(**SMALL, class_weight={0: 0, 1: 1}).fit(X, y)


def test_another_memory_budget_is_another_run():
    X, y = make_friedman1(400, random_state=0)
    settings = {**SMALL, "strength": "fixed", "warm_start": True}
    with pytest.warns(UserWarning, match="Grove evolves on"):
        model = sg.GroveRegressor(**settings, memory_budget=10**6).fit(X, y)
    with pytest.raises(ValueError, match="data or parameters differ"):
        model.set_params(generations=20, memory_budget=10**8).fit(X, y)


def test_the_guard_counts_rows_by_their_weight():
    rng = np.random.default_rng(0)
    n = 600
    y, weight = rng.normal(size=n), np.where(np.arange(n) % 10 == 0, 100.0, 0.01)
    out_of_fold = np.full((2, 1, n), np.nan)
    out_of_fold[0, 0, :120] = (y + np.where(weight > 1, 2.0, 0.1) * rng.normal(size=n))[:120]
    out_of_fold[1, 0, :120] = (y + np.where(weight > 1, 0.1, 0.5) * rng.normal(size=n))[:120]
    training = Training(np.zeros((n, 1)), y[None], weight, np.arange(n))
    assert weigh((), out_of_fold, out_of_fold[:, 0], training, is_logistic=False, strongest=0).weights[1] > 0.5
