"""Numbers behind the plots, against their definitions."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_friedman1
from sklearn.inspection import permutation_importance as scikit_learns

import symgrove as sg
from symgrove import inspection
from tests.contracts.test_methods import METHODS
from tests.naive import inspection as naive

KINDS = [sg.TwoSEGPRegressor, sg.SpatialGPRegressor, sg.GroveRegressor, sg.TwoSEGPClassifier, sg.GroveClassifier]


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def get(kind):
        if kind not in made:
            X, y = make_friedman1(150, n_features=5, random_state=0)
            if hasattr(kind, "predict_proba"):
                y = np.array(["low", "middle", "high"])[np.digitize(y, [11, 17])]
            made[kind] = kind(**METHODS[kind]).fit(X, y), X, y
        return made[kind]

    return get


def predict(model, k):
    return (lambda X: model.predict(X)) if k is None else (lambda X: model.predict_proba(X)[:, k])


@pytest.mark.parametrize("kind", KINDS)
def test_partial_dependence(kind, fitted):
    model, X, _ = fitted(kind)
    k = 1 if hasattr(model, "classes_") else None
    target = None if k is None else model.classes_[k]
    curve = inspection.partial_dependence(model, X, "x1", target=target, n_points=7, n_rows=20)
    rows = X[np.sort(np.random.default_rng(0).choice(len(X), 20, replace=False))]
    for value, average in zip(curve.grid, curve.average, strict=True):
        assert average == pytest.approx(naive.partial_dependence(predict(model, k), rows, 1, value))
    assert curve.individual.shape == (20, curve.grid.size)
    assert (curve.low <= curve.high).all()
    members = model.predict_members(X)
    assert (members if k is None else members[k]).shape[1] == len(X)


def test_few_values_make_the_grid():
    X, y = make_friedman1(100, n_features=5, random_state=0)
    X[:, 0] = X[:, 0] > 0.5
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]).fit(X, y)
    assert inspection.partial_dependence(model, X, 0).grid.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"feature must be one of \['x0'"):
        inspection.partial_dependence(model, X, "height")


@pytest.mark.parametrize("kind", KINDS)
def test_interactions(kind, fitted):
    model, X, _ = fitted(kind)
    k = 2 if hasattr(model, "classes_") else None
    pairs = inspection.interactions(model, X, [0, 1, 3], n_rows=12)
    rows = X[np.sort(np.random.default_rng(0).choice(len(X), 12, replace=False))]
    assert len(pairs) == 3
    for pair in pairs:
        i, j = int(pair.first[1:]), int(pair.second[1:])
        if pair.effect > 1e-12:
            assert pair.strength == pytest.approx(naive.h_squared(predict(model, k), rows, i, j))
    assert [p.effect for p in pairs] == sorted((p.effect for p in pairs), reverse=True)


def test_a_product_is_an_interaction_and_a_sum_is_none():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = sg.GroveRegressor(generations=20, population_size=200, strength="fixed", random_state=0)
    model.fit(X, X[:, 0] * X[:, 1] + 2 * X[:, 2])
    pairs = inspection.interactions(model, X, n_rows=40)
    assert {pairs[0].first, pairs[0].second} == {"x0", "x1"}
    assert pairs[0].strength > 0.6
    assert all(pair.strength < 0.2 for pair in pairs[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_agreement(kind, fitted):
    model, X, y = fitted(kind)
    found = inspection.agreement(model, X, y)
    members = model.predict_members(X)
    if hasattr(model, "classes_"):
        together, wanted = model.predict_proba(X)[:, 2], (y == model.classes_[2]).astype(float)
        total = members.sum(axis=0)
        members = np.where(total > 0, members[2] / np.where(total > 0, total, 1), 1 / 3)
    else:
        together, wanted = model.predict(X), y
    assert found.ensemble_error == pytest.approx(np.mean((together - wanted) ** 2))
    assert found.member_error == pytest.approx(np.mean([np.mean((m - wanted) ** 2) for m in members]))
    assert found.correlations[0, 1] == pytest.approx(np.corrcoef(members[0], members[1])[0, 1], nan_ok=True)
    if kind is sg.TwoSEGPRegressor:  # members are averaged
        assert found.ensemble_error == pytest.approx(found.member_error - found.ambiguity)
    assert np.isnan(inspection.agreement(model, X).member_error)


def test_importance_on_held_out_rows_is_scikit_learns(fitted):
    model, X, y = fitted(sg.TwoSEGPRegressor)
    found = inspection.permutation_importance(model, X, y, n_repeats=3)
    wanted = scikit_learns(model, X, y, n_repeats=3, random_state=0)
    assert np.array_equal(found.mean, wanted.importances_mean)
    assert found.features == ["x0", "x1", "x2", "x3", "x4"]


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_importance_out_of_bag(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 0.5 * X[:, 1]
    kind = sg.TwoSEGPRegressor
    if n_classes:
        y, kind = np.digitize(y, [0.0] if n_classes == 2 else [-0.5, 0.5]), sg.TwoSEGPClassifier
    weight = np.where(np.arange(200) < 10, 0.0, 1.0)
    settings = {**METHODS[kind], "population_size": 200, "generations": 15}
    model = kind(**settings).fit(X, y, sample_weight=weight)
    found = inspection.permutation_importance(model, X, y, rows="oob")
    assert found.mean[0] > found.mean[1] > found.mean[2]
    assert abs(found.mean[2]) < 0.1
    for n, shift in ((100, 0.0), (200, 1.0)):
        with pytest.raises(ValueError, match="must be the same rows"):
            inspection.permutation_importance(model, X[:n] + shift, y[:n], rows="oob")
    with pytest.raises(ValueError, match="scoring is for"):
        inspection.permutation_importance(model, X, y, rows="oob", scoring="r2")


def test_out_of_bag_needs_a_fit(fitted, tmp_path):
    model, X, y = fitted(sg.TwoSEGPRegressor)
    model.save(tmp_path / "model.json")
    for other in (sg.load(tmp_path / "model.json"), fitted(sg.GroveRegressor)[0]):
        with pytest.raises(ValueError, match="give rows that it was not fitted on"):
            inspection.permutation_importance(other, X, y, rows="oob")
    with pytest.raises(ValueError, match="rows must be 'held-out' or 'oob'"):
        inspection.permutation_importance(model, X, y, rows="all")


def test_coverage_counts(fitted):
    model, X, y = fitted(sg.TwoSEGPRegressor)
    low, high = model.predict_interval(X, 0.7).T
    assert inspection.coverage(model, X, y, [0.7])[0] == np.mean((low <= y) & (y <= high))
    with pytest.raises(ValueError, match="levels must be a number above 0"):
        inspection.coverage(model, X, y, [0.0])
    for wrong in (np.column_stack([y, y]), y[:1], np.where(y == y[0], np.nan, y)):
        with pytest.raises(ValueError, match=r"1d array|inconsistent|finite"):
            inspection.coverage(model, X, wrong, [0.7])
    with pytest.raises(TypeError, match="coverage is for regressors"):
        inspection.coverage(fitted(sg.GroveClassifier)[0], X, y)


def test_what_is_returned_is_checked_when_it_comes_back(fitted):
    model, X, _ = fitted(sg.TwoSEGPRegressor)
    grid = inspection.partial_dependence(model, X, 0).grid
    for values in (grid, inspection.sensitivity(model, X), inspection.derivatives(model, X)):
        assert type(values) is np.ndarray


def test_classes_with_different_numbers_of_members():
    X, y = load_iris(return_X_y=True)
    model = sg.DivNichGPClassifier(**{**METHODS[sg.DivNichGPClassifier], "random_state": 1}).fit(X, y)
    counts = [e.n_samples for e in model.model_.ensembles]
    assert model.predict_members(X).shape == (3, max(counts), 150)
    assert inspection.agreement(model, X, y).correlations.shape == (max(counts), max(counts))


def test_the_band_of_a_calibrated_classifier_is_around_the_average():
    X, y = load_breast_cancer(return_X_y=True)
    model = sg.GroveClassifier(**METHODS[sg.GroveClassifier], calibration=0.3).fit(X, y)
    curve = inspection.partial_dependence(model, X, 7)
    assert ((curve.low - 0.02 <= curve.average) & (curve.average <= curve.high + 0.02)).mean() > 0.9


def test_reliability_counts():
    X, y = load_breast_cancer(return_X_y=True)
    model = sg.GroveClassifier(**METHODS[sg.GroveClassifier]).fit(X, y)
    predicted, found, counts = inspection.reliability(model, X, y, n_bins=5)
    assert counts.sum() == len(X)
    assert (predicted * counts).sum() == pytest.approx(model.predict_proba(X)[:, 1].sum())
    assert (found * counts).sum() == pytest.approx(y.sum())
    X, y = load_iris(return_X_y=True)
    regressor = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]).fit(X, y)
    with pytest.raises(ValueError, match="for classifiers"):
        inspection.reliability(regressor, X, y)
