"""Estimators take tables as they are: missing values, categories, unseen ones, in arrays and frames of all kinds."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import symgrove as sg
from symgrove import inspection
from tests.contracts.test_methods import METHODS, settings_of

KINDS = (sg.GroveRegressor, sg.TwoSEGPRegressor, sg.TwoSEGPClassifier)


def made(n=160, seed=0):
    """A frame with holes in numbers and categories, and a target that depends on both."""
    rng = np.random.default_rng(seed)
    age, size = rng.normal(40, 10, n), rng.normal(size=n)
    town = rng.choice(["Harbour", "Old town", "it's"], n)
    y = age / 10 + size + 3 * (town == "Harbour")
    age[rng.random(n) < 0.25] = np.nan
    town = pd.Series(town, dtype="category")
    town[rng.random(n) < 0.1] = None
    return pd.DataFrame({"age": age, "town": town, "size": size}), y


def settings(kind, **more):
    return settings_of(kind, **{"generations": 2, **more})


def target(kind, y):
    return (y > np.median(y)).astype(int) if hasattr(kind, "predict_proba") else y


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def fitted(request):
    X, y = made()
    return request.param(**settings(request.param)).fit(X, target(request.param, y))


def said(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
def test_every_estimator_takes_missing_values_and_categories(kind):
    X, y = made(60)
    model = kind(**settings(kind, generations=1)).fit(X, target(kind, y))
    assert (model.n_features_in_, list(model.feature_names_in_)) == (3, ["age", "town", "size"])
    assert model.feature_importances_.shape == (3,)
    assert np.isfinite(said(model, X)).all()
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_features_and_their_notes(fitted):
    X, _ = made()
    median = float(np.nanmedian(X["age"]))
    labels = [
        "age",
        "[age is missing]",
        "[town is Harbour]",
        "[town is Old town]",
        '[town is "it\'s"]',
        "[town is missing]",
        "size",
    ]
    assert fitted.columns_.labels == labels
    assert str(fitted.columns_).splitlines()[0] == f"age means age, or {median:.6g} where missing"
    # By hand: what the model reads is the median, and 0 and 1.
    one_hot = [(X["town"] == t).to_numpy() for t in ("Harbour", "Old town", "it's")]
    features = np.column_stack([X["age"].fillna(median), X["age"].isna(), *one_hot, X["town"].isna(), X["size"]])
    found = fitted.model_.task.as_users_see(fitted.model_.predict(features.astype(float)))
    np.testing.assert_array_equal(said(fitted, X), found)


def test_polars_nullable_types_and_arrays_give_the_same_bits(fitted):
    X, y = made()
    y = target(type(fitted), y)
    others = [
        pl.DataFrame(
            {
                "age": X["age"].tolist(),
                "town": X["town"].astype(object).where(X["town"].notna(), None).tolist(),
                "size": X["size"].tolist(),
            }
        ).with_columns(pl.col("age").fill_nan(None), pl.col("town").cast(pl.Categorical)),
        X.assign(age=X["age"].astype("Float64"), size=X["size"].astype("Float64")),
    ]
    for other in others:
        np.testing.assert_array_equal(said(clone(fitted).fit(other, y), other), said(fitted, X))
        np.testing.assert_array_equal(said(fitted, other), said(fitted, X))
    as_text = X.assign(town=X["town"].astype(object))
    rows = as_text.to_numpy(dtype=object)
    for given in ([1], ("town",), [False, True, False], np.array([1])):
        table = rows if given is not None and not isinstance(given[0], str) else as_text
        model = clone(fitted).set_params(categorical_features=given).fit(table, y)
        np.testing.assert_array_equal(said(model, table), said(fitted, X))


def test_unseen_and_missing_values_at_prediction(fitted):
    X, _ = made()
    row = pd.DataFrame({"age": [40.0] * 3, "town": ["Nowhere", None, "Harbour"], "size": [np.nan, 0.1, 0.1]})
    filled = row.assign(size=row["size"].fillna(X["size"].median()))
    np.testing.assert_array_equal(said(fitted, row), said(fitted, filled))
    table = fitted.columns_.features(np.array([[40.0, 3, 0.1], [40.0, np.nan, 0.1]]))
    assert table[0, 2:6].tolist() == [0, 0, 0, 0]
    assert table[1, 2:6].tolist() == [0, 0, 0, 1]


def test_without_missing_values_in_training_there_is_no_indicator_but_a_median():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = sg.TwoSEGPRegressor(**settings(sg.TwoSEGPRegressor)).fit(X, X[:, 0])
    assert model.columns_.is_plain
    assert not model.columns_.notes
    hole = np.array([[np.nan, 0.3]])
    assert model.predict(hole) == model.predict([[np.median(X[:, 0]), 0.3]])
    with pytest.raises(ValueError, match="X contains infinity in column 1"):
        model.predict([[0.0, np.inf]])


def test_a_seldom_missing_number_has_no_indicator_and_weights_count():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(200, 2)), rng.integers(0, 3, 200)
    X[:4, 0] = np.nan
    weight[:4] = 1
    model = sg.TwoSEGPRegressor(**settings(sg.TwoSEGPRegressor)).fit(X, rng.normal(size=200), sample_weight=weight)
    age = model.columns_.columns[0]
    assert (age.was_missing, age.has_indicator) == (True, False)
    assert age.fill == np.median(np.repeat(X[4:, 0], weight[4:]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("town", "must be 'from_dtype', None, or a list"),
        (["nowhere"], "got 'nowhere', and X has 3 columns: 'age', 'town', 'size'"),
        ([7], "got 7"),
        ([True], "got 1 truth values for 3 columns"),
        (None, "not numbers: 'town'. If they hold categories, convert them"),
    ],
)
def test_what_cannot_be_categories_is_refused(given, message):
    X, y = made(40)
    model = sg.TwoSEGPRegressor(**settings(sg.TwoSEGPRegressor), categorical_features=given)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_texts_that_are_not_declared_are_refused_with_advice(fitted):
    X, y = made(40)
    text = X.assign(town=X["town"].astype(object))
    for frame in (text, pl.DataFrame({"age": [1.0, 2.0], "town": ["a", "b"]})):
        with pytest.raises(ValueError, match=r"'town'.*astype\('category'\).*or name them in categorical_features"):
            type(fitted)().fit(frame, y[: len(frame)])
    with pytest.raises(ValueError, match=r"X holds texts: .* name them in categorical_features"):
        type(fitted)().fit(np.array([["1", "a"], ["2", "b"]], dtype=object), [0, 1])
    with pytest.raises(ValueError, match="not numbers: 'size'"):
        fitted.predict(X.assign(size="big"))


def test_files_and_pickles_keep_columns(fitted, tmp_path):
    X, _ = made(seed=1)
    fitted.save(tmp_path / "m.json")
    for again in (sg.load(tmp_path / "m.json"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(said(again, X), said(fitted, X))
        assert again.columns_ == fitted.columns_
        assert [m.formula for m in again.ensemble_] == [m.formula for m in fitted.ensemble_]
    for point in getattr(fitted, "size_path_", [])[:1]:
        assert point.predict(X).shape == (len(X),)


def test_calibration_early_stopping_and_warm_starts(tmp_path):
    X, y = made()
    kind = sg.TwoSEGPRegressor
    held = kind(**settings(kind), calibration=0.3, early_stopping=True).fit(X, y)
    assert np.isfinite(held.predict_interval(X, 0.5)).all()
    # Medians are of the rows that the model is fitted on.
    assert held.columns_.columns[0].fill != np.nanmedian(X["age"])
    whole = kind(**settings(kind, generations=3)).fit(X, y)
    warm = kind(**settings(kind, generations=1), warm_start=True, checkpoint=tmp_path / "c.npz").fit(X, y)
    again = warm.set_params(generations=3).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    as_numbers = X.assign(town=X["town"].cat.codes.where(X["town"].notna()))
    with pytest.raises(ValueError, match="other data or parameters"):
        warm.fit(as_numbers, y)


def test_a_categorical_column_is_one_feature_in_every_question(fitted):
    X, y = made()
    y = target(type(fitted), y)
    found = inspection.permutation_importance(fitted, X, y, n_repeats=2)
    assert found.features == ["age", "town", "size"]
    assert found.mean.shape == (3,)
    curve = inspection.partial_dependence(fitted, X, "town", n_rows=20)
    assert curve.labels == ("Harbour", "Old town", "it's")
    row = X.iloc[:1].assign(town="Harbour")
    one = inspection.partial_dependence(fitted, X.iloc[:1], "town").individual[0, 0]
    assert one == pytest.approx(said(fitted, row)[0, -1] if hasattr(fitted, "predict_proba") else said(fitted, row)[0])
    assert len(inspection.interactions(fitted, X, n_rows=10)) == 3
    slopes = inspection.derivatives(fitted, X)
    assert np.isnan(slopes[:, 1]).all()
    assert (slopes[X["age"].isna(), 0] == 0).all()
    assert (inspection.sensitivity(fitted, X) >= 0).all()
    smaller = sg.simplify_ensemble(fitted, X, y).model
    assert said(smaller, X).shape == said(fitted, X).shape
    assert smaller.feature_importances_.shape == (3,)
    taught = sg.distill(fitted, X, effort="quick", max_size=5).model
    assert taught.n_features_in_ == 3
    assert np.isfinite(said(taught, X)).all()
