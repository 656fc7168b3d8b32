"""Transformed targets: models learn them, and say everything else in the target's own units."""

import json

import numpy as np
import pytest

import symgrove as sg
from symgrove import inspection
from symgrove.saving.estimators import from_document, to_document
from tests.export.runners import RUNNERS, run_javascript_intervals
from tests.naive.plans import agree

X = np.random.default_rng(0).normal(size=(160, 3))
Y = np.exp(0.5 * X[:, 0] + 0.3 * X[:, 1] ** 2 + 0.1 * np.random.default_rng(1).normal(size=160))
PROGRAMS = {"population_size": 40, "n_estimators": 5, "generations": 4, "random_state": 0}
GROVE = {"population_size": 40, "n_estimators": 5, "generations": 6, "n_populations": 1, "random_state": 0}


@pytest.fixture(scope="module")
def models():
    return {
        "log": sg.TwoSEGPRegressor(**PROGRAMS, target_transform="log", calibration=0.3).fit(X, Y),
        "box-cox": sg.GroveRegressor(**GROVE, target_transform="box-cox").fit(X, Y**-2.0),
        "several": sg.GroveRegressor(**GROVE, target_transform="log").fit(X, np.column_stack([Y, 100 / Y])),
    }


def test_the_logarithm_fitted_by_hand_gives_the_same_formulas_and_predictions():
    own = sg.TwoSEGPRegressor(**PROGRAMS, target_transform="log").fit(X, Y)
    hand = sg.TwoSEGPRegressor(**PROGRAMS).fit(X, np.log(Y))
    assert [m.formula for m in own.ensemble_] == [m.formula for m in hand.ensemble_]
    np.testing.assert_allclose(own.predict(X), np.exp(hand.predict(X)), rtol=1e-12)
    np.testing.assert_allclose(own.predict_members(X), np.exp(hand.predict_members(X)), rtol=1e-12)
    np.testing.assert_allclose(own.oob_prediction_, np.exp(hand.oob_prediction_), rtol=1e-12)
    np.testing.assert_allclose(own.predict(X, return_std=True)[1], own.predict_members(X).std(axis=0), rtol=1e-9)
    known = np.isfinite(own.oob_prediction_)
    residuals, spread = (Y - own.oob_prediction_)[known], Y[known] - Y[known].mean()
    assert own.oob_score_ == pytest.approx(1 - (residuals**2).sum() / (spread**2).sum())
    assert own.formula() == f"log(y) = {hand.formula()}"


@pytest.mark.parametrize("name", ["log", "box-cox", "several"])
@pytest.mark.parametrize("target", RUNNERS)
def test_exports_and_files_predict_in_units(models, target, name, tmp_path):
    model = models[name]
    rows = np.concatenate([X[:20], 30 * X[:20]])  # far outside, limits hold
    wanted = model.predict(rows)
    assert agree(RUNNERS[target](model._plan(), rows, tmp_path), wanted, 1e-9).all()
    if target == "python":
        read = from_document(json.loads(json.dumps(to_document(model))))
        assert (read.predict(rows) == wanted).all()
        assert ((wanted > 0) & np.isfinite(wanted)).all()


def test_limits_of_predictions_are_those_of_the_documentation():
    model = sg.LawRegressor(target_transform="log", effort="quick", random_state=0).fit(X[:, :1], np.exp(X[:, 0]))
    low, high = np.exp(X[:, 0].min()), np.exp(X[:, 0].max())
    found = model.predict([[50.0], [-5000.0], [0.5]])
    np.testing.assert_allclose(found, [high**2 / low, low**2 / high, np.exp(0.5)], rtol=1e-9)
    np.testing.assert_allclose(model.front_[model.front_.chosen].predict([[0.5]]), np.exp(0.5))


def test_intervals_and_quantiles_contain_in_units(models, tmp_path):
    model = models["log"]
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(400, 3))
    y = np.exp(0.5 * rows[:, 0] + 0.3 * rows[:, 1] ** 2 + 0.1 * rng.normal(size=400))
    low, high = model.predict_interval(rows, 0.8).T
    assert 0.65 < ((low <= y) & (y <= high)).mean() < 0.95
    assert ((low > 0) & (low <= model.predict(rows)) & (model.predict(rows) <= high)).all()
    quantiles = model.predict_quantiles(rows, (0.1, 0.5, 0.9))
    assert (np.diff(quantiles) > 0).all()
    assert 0.3 < (y < quantiles[:, 1]).mean() < 0.7
    found = run_javascript_intervals(model._plan(), rows[:10], 0.8, tmp_path)
    assert agree(found, np.stack([low, high], axis=1)[:10], 1e-9).all()
    with pytest.raises(ValueError, match="predict_quantiles"):
        model.predict_distribution(rows)
    again = from_document(to_document(model)).calibrate(rows, y)
    assert not np.array_equal(again.predict_interval(rows[:5]), model.predict_interval(rows[:5]))


def test_questions_are_answered_in_units(models):
    model = models["box-cox"]
    rows, step = X[:15], 1e-6
    moved = [model.predict(rows + step * np.eye(3)[j]) - model.predict(rows - step * np.eye(3)[j]) for j in range(3)]
    slopes = np.stack(moved, axis=1) / (2 * step)
    is_near = np.abs(inspection.derivatives(model, rows) - slopes) <= 1e-3 * (1 + np.abs(slopes))
    assert is_near.mean() > 0.9  # others are at a kink
    assert model.score(X, Y**-2.0) > 0.5
    y = Y**-2.0
    smaller = sg.simplify_ensemble(model, X, y).model
    assert smaller.score(X, y) > 0.3
    assert np.isin(inspection.permutation_importance(model, X, y).mean.argmax(), (0, 1))


def test_what_does_not_go_together_is_refused():
    for settings, y, match in [
        ({"target_transform": "log"}, Y - Y.min(), "above 0"),
        ({"target_transform": "box-cox"}, np.ones(160), "varies"),
        ({"target_transform": "sqrt"}, Y, "'log' or 'box-cox'"),
        ({"target_transform": "log", "loss": "poisson"}, Y, "link"),
        ({"target_transform": "log", "huber_delta": 1.0}, Y, "huber_delta"),
    ]:
        with pytest.raises(ValueError, match=match):
            sg.GroveRegressor(**GROVE, **settings).fit(X, y)
    with pytest.raises(ValueError, match="units"):
        sg.LawRegressor(target_transform="log", units={0: ""}, target_unit="").fit(X, Y)
