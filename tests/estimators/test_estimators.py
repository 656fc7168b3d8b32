"""The estimators as people use them: scikit-learn's checks, fitted attributes, predictions, input of all kinds."""

import pickle

import joblib
import numpy as np
import polars
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from symgrove import (
    SpatialGPRegressor,
    StandardGPClassifier,
    TwoSEGPClassifier,
    TwoSEGPRegressor,
    _own_blocks,
    bootstrap_counts,
    primitive,
)
from symgrove._jit import compile_scalar
from symgrove.estimators.standard_gp import DECEMBER_2019

SMALL = {"population_size": 60, "n_estimators": 6, "generations": 4, "random_state": 0}


@pytest.fixture(scope="module")
def regression():
    return make_friedman1(200, random_state=0, noise=0.5)


@pytest.fixture(scope="module")
def fitted(regression):
    return TwoSEGPRegressor(**{**SMALL, "generations": 15}).fit(*regression)


def test_the_default_parameters_are_those_of_the_paper():
    parameters = TwoSEGPRegressor().get_params()
    expected = {
        "population_size": 500,
        "n_estimators": 50,
        "generations": 100,
        "functions": ("add", "sub", "mul", "div", "sqrt", "log"),
        "epsilon": 1e-10,
        "constant_range": (-5.0, 5.0),
        "init_depth": (2, 6),
        "max_size": 500,
        "p_crossover": 0.5,
        "p_mutation": 0.5,
        "linear_scaling": True,
        "standardize": True,
        "dtype": "float64",
    }
    assert expected.items() <= parameters.items()
    only = {"aggregation": "mean", "loss": "squared", "quantile": 0.5, "huber_delta": None, "target_transform": None}
    assert TwoSEGPClassifier().get_params() | only == parameters | {"class_weight": None}


def test_members_tell_samples_weights_and_errors(fitted, regression):
    members = fitted.ensemble_
    assert sorted(j for m in members for j in m.samples) == list(range(6))
    np.testing.assert_allclose(sum(m.weight for m in members), 1.0)
    for member in members:
        assert member.weight == len(member.samples) / 6
        np.testing.assert_allclose(member.in_bag_error, fitted.history_["errors"][-1][list(member.samples)].mean())
        assert member.out_of_bag_error > 0
        assert 1 <= member.evolved_size <= 500
        assert "x" in member.program


def test_spread_is_that_of_the_members(fitted, regression):
    X, _ = regression
    mean, spread = fitted.predict(X, return_std=True)
    ensemble = fitted.model_.ensembles[0]
    for _, outputs in ensemble.outputs(X):
        members = ensemble.member_predictions(outputs)
    np.testing.assert_array_equal(mean, fitted.predict(X))
    np.testing.assert_allclose(spread, members.std(axis=0), rtol=1e-9)


def test_importances_find_the_features_that_matter(regression):
    X, y = regression
    y = 10 * X[:, 3] + 10 * X[:, 4]
    model = TwoSEGPRegressor(**{**SMALL, "population_size": 200, "generations": 20}).fit(X, y)
    assert model.feature_importances_.shape == (10,)
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {3, 4}


def test_out_of_bag_predictions_use_only_members_that_did_not_see_the_row(fitted, regression):
    X, y = regression
    counts = bootstrap_counts(200, 6, seed=0)
    ensemble = fitted.model_.ensembles[0]
    for _, outputs in ensemble.outputs(X):
        members = ensemble.member_predictions(outputs)
    for i in range(200):
        outside = counts[:, i] == 0
        if outside.any():
            np.testing.assert_allclose(fitted.oob_prediction_[i], members[outside, i].mean())
        else:
            assert np.isnan(fitted.oob_prediction_[i])
    known = ~np.isnan(fitted.oob_prediction_)
    error = ((y - fitted.oob_prediction_)[known] ** 2).sum() / ((y[known] - y[known].mean()) ** 2).sum()
    np.testing.assert_allclose(fitted.oob_score_, 1 - error)


def test_no_data_and_no_population_are_kept(fitted, regression):
    small = len(pickle.dumps(fitted))
    X, y = (np.tile(a, (20, 1)) if a.ndim == 2 else np.tile(a, 20) for a in regression)
    large = len(pickle.dumps(TwoSEGPRegressor(**{**SMALL, "generations": 15}).fit(X, y)))
    # Only the out-of-bag predictions grow with the rows.
    assert large - small < 8 * 4000 + 60_000
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict(regression[0]), fitted.predict(regression[0])
    )


@pytest.mark.parametrize("labels", [["no", "yes"], [7, 3], [True, False]])
def test_two_classes_of_any_type(labels):
    X, y = make_friedman1(150, random_state=1)
    target = np.array(labels)[(y > np.median(y)).astype(int)]
    model = TwoSEGPClassifier(**SMALL).fit(X, target)
    share = model.predict_proba(X)
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, target) > 0.6
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_allclose(model.decision_function(X), share[:, 1] - 0.5)
    votes = share[:, 1] * 6
    np.testing.assert_allclose(votes, votes.round())
    # A tie goes to the first class.
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], share[:, 1] > 0.5)


def test_without_linear_scaling_slopes_are_one(regression):
    X, y = regression
    model = TwoSEGPRegressor(**SMALL, linear_scaling=False).fit(X, y)
    assert {(m.slope, m.intercept) for m in model.ensemble_} == {(1.0, 0.0)}


def test_own_functions_take_part_and_are_compiled_once(regression, monkeypatch):
    def hinge(x):
        return x if x > 0 else 0.0

    X, y = regression
    compiled = []
    monkeypatch.setattr(_own_blocks, "compile_scalar", lambda f: compiled.append(f) or compile_scalar(f))
    model = TwoSEGPRegressor(**SMALL, functions=("add", "mul", primitive(hinge))).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert len(compiled) == 1  # not again for each engine


def test_works_in_pipelines_and_searches(regression):
    X, y = regression
    pipeline = make_pipeline(StandardScaler(), TwoSEGPRegressor(**SMALL))
    assert cross_val_score(pipeline, X, y, cv=2).shape == (2,)
    with joblib.parallel_config(backend="threading"):
        search = GridSearchCV(TwoSEGPRegressor(**SMALL), {"max_size": [10, 50]}, cv=2, n_jobs=2).fit(X, y)
    assert search.best_params_["max_size"] in (10, 50)
    assert clone(search.best_estimator_).get_params()["population_size"] == 60


def test_frames_of_polars_and_arrays_give_the_same_model(regression):
    X, y = regression
    names = ["a b", "N", "50%", "exec", "größe", "x0", "log", "`", "7", "h"]
    expected = TwoSEGPRegressor(**SMALL).fit(X, y).predict(X)
    frame = polars.DataFrame(X, schema=names)
    model = TwoSEGPRegressor(**SMALL).fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame), expected)
    assert list(model.feature_names_in_) == names
    with pytest.raises(ValueError, match="columns"):
        model.predict(polars.DataFrame(X, schema=names[::-1]))


def test_rows_of_weight_zero_have_no_out_of_bag_prediction(regression):
    X, y = regression
    weight = (np.arange(200) % 3 > 0).astype(float)
    model = TwoSEGPRegressor(**SMALL).fit(X, y, sample_weight=weight)
    assert model.oob_prediction_.shape == (200,)
    assert np.isnan(model.oob_prediction_[weight == 0]).all()
    assert np.isfinite(model.oob_prediction_[weight > 0]).mean() > 0.9


@pytest.mark.parametrize("value", [0.1, 5.0, 1e9 + 0.1])
def test_a_constant_target_has_no_out_of_bag_score(regression, value):
    assert np.isnan(TwoSEGPRegressor(**SMALL).fit(regression[0], np.full(200, value)).oob_score_)


def test_rare_classes_are_never_held_out_entirely():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:101]  # one row of the third class
    for seed in range(5):
        settings = {**SMALL, "random_state": seed, "generations": 1}
        model = TwoSEGPClassifier(**settings, early_stopping=True, validation_fraction=0.5).fit(X[keep], y[keep])
        assert np.isfinite(model.model_.ensembles[2].fallback)
        assert model.model_.ensembles[2].fallback > 0


def test_predictions_far_outside_the_training_data_are_finite(fitted):
    X = np.full((3, 10), 1e149)
    assert np.isfinite(fitted.predict(X)).all()


@pytest.mark.parametrize(
    ("weight", "message"),
    [(np.zeros(200), "zero on every row"), (-np.ones(200), "not negative"), (np.ones(7), r"shape \(200,\)")],
)
def test_bad_weights_get_a_clear_error(regression, weight, message):
    with pytest.raises(ValueError, match=message):
        TwoSEGPRegressor(**SMALL).fit(*regression, sample_weight=weight)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_standard_gp_says_class_1_wherever_the_output_is_above_0(dtype):
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X[:, 0] * X[:, 1] > 0
    settings = {"functions": ("mul", "add"), "population_size": 60, "generations": 5, "random_state": 0, "dtype": dtype}
    for scale in (1.0, 1e-9):
        assert StandardGPClassifier(**settings).fit(X * scale, y).score(X * scale, y) == 1.0


def test_a_law_in_its_own_units_is_found_only_without_standardising():
    X = np.random.default_rng(0).uniform((1, 250, 1), (5, 400, 5), size=(200, 3))
    y = X[:, 0] * X[:, 1] / X[:, 2]
    settings = {**SMALL, "population_size": 200, "generations": 15, "max_size": 15}
    errors = [1 - TwoSEGPRegressor(**settings, standardize=flag).fit(X, y).score(X, y) for flag in (True, False)]
    assert errors[0] > 1e-4
    assert errors[1] < 1e-12
    assert "not found" in TwoSEGPRegressor.__doc__


def test_standard_gp_of_2019_is_a_set_of_plain_parameters():
    model = StandardGPClassifier.december_2019(generations=5, random_state=0)
    own, default = model.get_params(), StandardGPClassifier().get_params()
    changed = {name: own[name] for name in own if own[name] != default[name]}
    assert changed == {**DECEMBER_2019, "generations": 5, "random_state": 0}
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))


def test_a_torus_of_ones_own(regression):
    model = SpatialGPRegressor(population_size=192, torus=(12, 16), generations=1, random_state=0).fit(*regression)
    assert model.n_generations_ == 1


def test_one_class_gets_a_clear_error():
    with pytest.raises(ValueError, match="only one class, 'a'"):
        TwoSEGPClassifier(**SMALL).fit(np.ones((4, 1)), ["a"] * 4)
