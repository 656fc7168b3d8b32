"""Several targets: every regressor predicts the columns of y; files, exports, formulas, questions and clear errors."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score

import symgrove as sg
from symgrove.inspection import derivatives, permutation_importance
from symgrove.methods.grove.configuration import Folds
from symgrove.methods.grove.weights import weigh
from symgrove.methods.problem import Rows
from symgrove.saving.estimators import from_document, to_document
from tests.contracts.test_methods import METHODS, settings_of
from tests.export.runners import RUNNERS
from tests.making import QuickGrove
from tests.naive.plans import evaluate

REGRESSORS = {kind: settings_of(kind, generations=3) for kind in METHODS if not hasattr(kind, "predict_proba")}
SMALL = {"population_size": 80, "generations": 6, "n_estimators": 8, "max_terms": 10, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """A target, another in very different units that shares its terms, and one of its own."""
    X, y = make_friedman1(200, n_features=5, random_state=0)
    return X, np.stack([y, 1000 - 200 * y + 50 * X[:, 0], X[:, 1] - X[:, 2]], axis=1)


@pytest.fixture(scope="module")
def grove(data):
    X, y = data
    return QuickGrove(**SMALL).fit(X, pd.DataFrame(y, columns=["heat", "cost", "loss"]))


@pytest.mark.parametrize("kind", REGRESSORS, ids=lambda kind: kind.__name__)
def test_every_regressor_predicts_the_columns_of_y(kind, data, tmp_path):
    X, y = data[0][:80], data[1][:80, :2]
    if kind is sg.LawRegressor:  # exact laws end its searches at once
        y = np.stack([X[:, 0] * X[:, 1], 7 / X[:, 2]], axis=1)
    model = kind(**REGRESSORS[kind]).fit(X, y)
    predicted, spread = model.predict(X, return_std=True)
    np.testing.assert_array_equal(predicted, model.predict(X))
    assert predicted.shape == spread.shape == y.shape
    assert model.score(X, y) == pytest.approx(r2_score(y, predicted))
    assert {m.target for m in model.ensemble_} == {"y0", "y1"}
    assert model.feature_importances_.sum() == pytest.approx(1)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(sg.load(tmp_path / "model.json").predict(X), predicted)
    np.testing.assert_allclose(evaluate(model._plan(), X), predicted, rtol=1e-7, atol=1e-7)
    if model.has_out_of_bag:
        assert model.oob_prediction_.shape == y.shape
    if "Grove" not in kind.__name__:  # runs side by side, the first as it would be alone
        np.testing.assert_array_equal(kind(**REGRESSORS[kind]).fit(X, y[:, 0]).predict(X), predicted[:, 0])


def test_units_of_targets_do_not_matter_to_grove(grove, data):
    X, y = data
    assert (r2_score(y, grove.predict(X), multioutput="raw_values") > 0.8).all()
    other = QuickGrove(**SMALL).fit(X, y * [1.0, 1.0, 1e6])
    np.testing.assert_allclose(other.predict(X), grove.predict(X) * [1.0, 1.0, 1e6], rtol=1e-4, atol=1e-2)
    assert 0.5 < grove.validation_score_ < 1


def test_terms_of_targets_are_shared(grove):
    teams = grove.model_.levels[0]
    used = [(teams.coefficients[teams.target_of == k] != 0).any(axis=0) for k in range(3)]
    assert (used[0] & used[1]).sum() > 0


def test_predictions_stay_within_each_targets_range(grove, data):
    X, y = data
    far = grove.predict(50 * X - 25)
    assert (far >= y.min(axis=0) - 1e-9).all()
    assert (far <= y.max(axis=0) + 1e-9).all()


@pytest.mark.parametrize("target", RUNNERS)
def test_exports_predict_every_target(target, grove, data, tmp_path):
    X = 0.9 * data[0][:30] + 0.05  # no value of the training rows, at which steps jump
    found = RUNNERS[target](grove._plan(), X, tmp_path)
    np.testing.assert_allclose(found, grove.predict(X), rtol=1e-8, atol=1e-8)


def test_texts_name_the_targets(grove):
    assert grove.formula().count("prediction(") == 3
    assert "prediction(cost) = " in grove.export("text")
    assert "TARGETS = ['heat', 'cost', 'loss']" in grove.export("python")
    assert "prediction of cost" in grove.export("sql")


def test_a_column_of_y_is_one_target(data):
    X, y = data
    assert len(sg.ClassicGPRegressor(population_size=10, generations=1).fit(X, y).export("sympy")) == 3
    model = sg.TwoSEGPRegressor(**REGRESSORS[sg.TwoSEGPRegressor]).fit(X, y[:, 0])
    with pytest.warns(UserWarning, match="column-vector"):
        again = sg.TwoSEGPRegressor(**REGRESSORS[sg.TwoSEGPRegressor]).fit(X, y[:, :1])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_checkpoints_and_early_stopping_have_all_targets(data, tmp_path):
    X, y = data
    settings = {**REGRESSORS[sg.TwoSEGPRegressor], "early_stopping": True}
    whole = sg.TwoSEGPRegressor(**settings).fit(X, y)
    sg.TwoSEGPRegressor(**{**settings, "generations": 1}, checkpoint=tmp_path / "run.npz").fit(X, y)
    again = sg.TwoSEGPRegressor(**settings, checkpoint=tmp_path / "run.npz").fit(X, y)
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))


@pytest.mark.parametrize("name", ["huber", "quantile", "poisson"])
def test_losses_of_several_targets(name, data):
    X, y = data[0], np.abs(data[1])
    model = QuickGrove(**{**SMALL, "generations": 3}, loss=name, quantile=0.9).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.validation_score_ > 0.3
    if name == "quantile":
        assert (np.abs((y <= model.predict(X)).mean(axis=0) - 0.9) < 0.1).all()


def test_a_stack_is_weighed_by_all_targets_whatever_their_units():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(2, 300)) * [[1.0], [1e4]]
    good, bad = y + 0.1 * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape), rng.normal(size=y.shape)
    training = Rows(np.zeros((300, 1)), y, None, np.arange(300))
    losses = QuickGrove()._losses_of(training)
    chosen = weigh(np.stack([bad, good]), np.zeros((2, 300)), training, Folds(), losses=losses, strongest=[0])
    assert chosen.weights[1] > 0.9
    assert chosen.weights[0] < 0.1


def test_questions_about_one_of_the_targets(grove, data):
    X, y = data
    inside = X[:5] * 0.9 + 0.05
    step = 1e-6 * np.eye(5)
    slopes = np.stack([(grove.predict(inside + s) - grove.predict(inside - s))[:, 1] / 2e-6 for s in step], axis=1)
    np.testing.assert_allclose(derivatives(grove, inside, target="cost"), slopes, rtol=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match=r"target must be one of \['heat', 'cost', 'loss'\], got None"):
        derivatives(grove, inside)
    assert permutation_importance(grove, X, y, rows="held-out", n_repeats=1).mean.shape == (5,)


def test_what_needs_one_target_says_so(grove, data):
    X, y = data
    for ask in (
        lambda: grove.predict_interval(X),
        lambda: grove.predict_quantiles(X),
        lambda: grove.predict_distribution(X),
        lambda: grove.calibrate(X, y),
        lambda: QuickGrove(**SMALL, calibration=0.2).fit(X, y),
        lambda: sg.report(grove, X, y),
        lambda: sg.simplify_ensemble(grove, X, y),
        lambda: sg.distill(grove, X),
    ):
        with pytest.raises(ValueError, match=r"one target.*Fit a model for each column"):
            ask()
    with pytest.raises(ValueError, match="huber_delta is in units of y"):
        QuickGrove(**SMALL, loss="huber", huber_delta=1.0).fit(X, y)
    with pytest.raises(ValueError, match="columns of y must have different names"):
        QuickGrove(**SMALL).fit(X, pd.DataFrame(y, columns=["a", "a", "b"]))


@pytest.mark.parametrize("targets", [["heat"], ["heat", "heat"], ["a", "b"], [1, 2, 3]])
def test_damaged_names_of_targets_are_refused(grove, targets):
    document = {**json.loads(json.dumps(to_document(grove))), "targets": targets}
    with pytest.raises(ValueError, match=r"file|target"):
        from_document(document, kinds=[QuickGrove])
