"""Grove as an estimator: formulas, strength, classes. What it shares with all methods is in tests/contracts."""

import os
import re
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

import symgrove as sg
from symgrove.methods.grove import strength
from symgrove.methods.problem import Rows
from tests.making import QuickGrove
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
    teams = model.model_.levels[0]
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
    stack = model.model_
    weights = [w for w in model.stacking_weights_.values() if w > 0]
    expected = y.mean() + sum(
        w * (level.predict(X)[0] - y.mean()) for w, level in zip(weights, stack.levels, strict=True)
    )
    np.testing.assert_allclose(model.predict(X), expected)
    assert len(stack.levels) >= 2
    assert {m.level for m in model.ensemble_} == {name for name, w in model.stacking_weights_.items() if w > 0}
    assert 0 < model.validation_score_ < 1


def test_strength_is_resumed_and_warm_started_to_the_same_model(data, tmp_path):
    settings = {**SMALL, "population_size": 40, "generations": 6, "n_estimators": 4}
    whole = QuickGrove(**settings).fit(*data)
    file = tmp_path / "run.npz"
    stopping = QuickGrove(**settings, checkpoint=file, callbacks=lambda p: p.values["generation"] >= 4)
    stopping.fit(*data)
    resumed = QuickGrove(**settings, checkpoint=file).fit(*data)
    warm = QuickGrove(**{**settings, "generations": 3}, warm_start=True).fit(*data)
    warm.set_params(generations=6).fit(*data)
    for model in (resumed, warm):
        assert model.stacking_weights_ == whole.stacking_weights_
        np.testing.assert_array_equal(model.predict(data[0]), whole.predict(data[0]))


def test_the_same_bits_for_any_number_of_threads(data):
    models = [QuickGrove(**{**SMALL, "generations": 6}, n_jobs=n).fit(*data) for n in (1, 3)]
    assert models[0].stacking_weights_ == models[1].stacking_weights_
    np.testing.assert_array_equal(*(model.predict(data[0]) for model in models))


@pytest.mark.parametrize(
    ("raise_it", "reason", "generation"),
    [(lambda: os.kill(os.getpid(), signal.SIGINT), "interrupted", 10), (None, "max_time", 12)],
)
def test_stopped_while_choosing_the_main_evolution_is_the_model(data, monkeypatch, raise_it, reason, generation):
    original = strength.Surroundings.run_to

    def spoil(self, method, generation, name, previous=None):
        if raise_it is not None:
            raise_it()
        return original(self, method, 10_000, name, previous)

    monkeypatch.setattr(strength.Surroundings, "run_to", spoil)
    model = sg.GroveRegressor(**SMALL, max_time=2.0 if raise_it is None else None).fit(*data)
    assert model.stop_reason_ == reason
    assert model.stacking_weights_ == {f"main {generation}": 1.0}
    assert np.isfinite(model.predict(data[0])).all()


def test_choosing_shows_progress(data, capsys):
    sg.GroveRegressor(**{**SMALL, "generations": 4}, verbose=1).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert any("GroveRegressor: choosing the strength: main, rows held out 5 times" in line for line in lines)


def test_noise_is_recognised_in_larger_data_too():
    X, y = np.random.default_rng(0).normal(size=(600, 5)), np.random.default_rng(1).normal(size=600)
    assert sg.GroveRegressor(**{**SMALL, "generations": 40, "max_terms": 40}).fit(X, y).stacking_weight_sum_ < 0.4


# Classification


def test_probabilities_are_those_of_averaged_logistic_regressions(data):
    X, y = data[0], (data[1] > np.median(data[1])).astype(int)
    model = sg.GroveClassifier(**SMALL, strength="fixed", clip=False).fit(X, y)
    log_odds = values_of(model, [m.formula for m in model.ensemble_], X)
    expected = (1 / (1 + np.exp(-np.clip(log_odds, -15, 15)))).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), (expected > 0.5).astype(int))


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


def test_too_many_rows_for_the_memory_come_in_turns():
    X, y = make_friedman1(4000, random_state=0)
    model = sg.GroveRegressor(**SMALL, memory_budget=12 << 20).fit(X, y)
    assert model.score(X, y) > 0.5
    assert "main 12, pool" in model.stacking_weights_


@pytest.mark.parametrize("kind", [sg.GroveRegressor, sg.GroveClassifier])
def test_the_path_leads_from_the_whole_formula_to_one_term(data, kind):
    X, y = data[0], data[1] if kind is sg.GroveRegressor else (data[1] > np.median(data[1])).astype(int)
    model = kind(**{**ONE, "clip": False}).fit(X, y)
    path = model.size_path_
    assert [point.n_parts for point in path] == list(range(model.ensemble_[0].n_terms, 0, -1))
    assert (np.diff([point.error for point in path]) > 0).all()
    whole = model.predict(X) if kind is sg.GroveRegressor else model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(path[0].predict(X), whole)
    shown = values_of(model, [path[3].formula], X)[0]
    expected = shown if kind is sg.GroveRegressor else 1 / (1 + np.exp(-shown))
    np.testing.assert_allclose(path[3].predict(X), expected, rtol=1e-6)
    if kind is sg.GroveRegressor:
        teams = path[3].model.levels[0]
        ((_, values),) = teams.term_values(X)
        columns = list(values[teams.coefficients[0] != 0])
        coefficients, _ = naive.fit(columns, y, np.ones(150), 1e-3 * 150)
        np.testing.assert_allclose(teams.coefficients[0][teams.coefficients[0] != 0], coefficients[1:], rtol=1e-6)
    assert sg.GroveRegressor(**SMALL, strength="fixed").fit(*data).size_path_ == []


def test_the_same_bits_for_any_number_of_matrix_threads():
    X, y = make_friedman1(700, noise=2, random_state=0)
    models = []
    for n in (1, 2):
        with threadpool_limits(n):
            models.append(QuickGrove(**{**SMALL, "n_estimators": 30, "generations": 4}).fit(X, y))
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
    assert QuickGrove(**SMALL).fit(X[:1], y[:1]).predict(X)[0] == pytest.approx(y[0])
    model = QuickGrove(**SMALL).fit(np.ones((60, 3)), y[:60])
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), y[:60].mean())
    assert model.shared_terms() == []
    for scale in (1e80, 1e-90):
        model = QuickGrove(**{**SMALL, "generations": 5}).fit(X, scale * y)
        assert model.feature_importances_.sum() == pytest.approx(1)
        assert model.score(X, scale * y) > 0.5
    with pytest.raises(ValueError, match=r"y has values above 1e\+100"):
        QuickGrove(**SMALL).fit(X, 1e200 * y)
    far = QuickGrove(**{**SMALL, "dtype": "float32", "generations": 5}, clip=False).fit(X, y).predict(1e40 * X)
    assert np.isfinite(far).all()


@pytest.mark.parametrize("kind", [sg.GroveRegressor, sg.GroveClassifier])
def test_the_smallest_budget_is_enough(kind):
    """Also for the evolutions on folds."""
    X, y = make_friedman1(620, random_state=0)
    y = y if kind is sg.GroveRegressor else (y > 14).astype(int)
    settings = {"generations": 6, "n_estimators": 6, "population_size": 40, "max_terms": 12, "random_state": 0}
    with pytest.raises(ValueError, match=r"needs at least (\d+)") as refused:
        kind(**settings, memory_budget=10_000).fit(X, y)
    least = int(re.search(r"needs at least (\d+)", str(refused.value))[1])
    model = kind(**settings, memory_budget=least).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_a_run_whose_second_evolution_has_less_room_is_another():
    X, y = make_friedman1(600, random_state=0)
    y = (y > np.median(y)).astype(int)
    settings = {**SMALL, "n_populations": 1, "n_estimators": 20, "strength": "auto", "warm_start": True}
    rows = Rows(X, y[None], None, np.arange(600))
    model = sg.GroveClassifier(**settings)
    main, second = model._regimes(model.generations, rows, 600)
    enough, more = (max(each.budget_for(600) for each in model._needs_of(own, rows)) for own in (main, second))
    assert more > enough
    model.set_params(memory_budget=(enough + more) // 2).fit(X, y)
    with pytest.raises(ValueError, match="data or parameters differ"):
        model.set_params(generations=20, memory_budget=None).fit(X, y)


def test_another_memory_budget_is_another_run():
    X, y = make_friedman1(400, random_state=0)
    settings = {**SMALL, "strength": "fixed", "warm_start": True}
    model = sg.GroveRegressor(**settings, memory_budget=5 * 10**6).fit(X, y)
    with pytest.raises(ValueError, match="data or parameters differ"):
        model.set_params(generations=20, memory_budget=10**8).fit(X, y)
