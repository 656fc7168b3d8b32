"""How members are combined, through the estimators: predictions, out-of-bag rows, early stopping, files."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.methods import held_out
from symgrove.models.ensemble import COMBINE
from tests.contracts.test_methods import METHODS
from tests.naive import aggregation as naive
from tests.naive import plans

BAGGED = {sg.GOMEARegressor: {"n_estimators": 5}}
KINDS = (
    sg.TwoSEGPRegressor,
    sg.IndependentGPRegressor,
    sg.DivNichGPRegressor,
    sg.SpatialGPRegressor,
    sg.GOMEARegressor,
)


def fit(kind, aggregation, **more):
    X, y = make_friedman1(120, n_features=5, random_state=0)
    settings = {**METHODS[kind], **BAGGED.get(kind, {}), "generations": 4}
    return kind(**{**settings, **more}, aggregation=aggregation).fit(X, y), X, y


def combine(model, members, weights):
    fallback = model.model_.ensembles[0].fallback
    return [naive.combine(row, model.aggregation, fallback, weights) for row in members.T.tolist()]


@pytest.mark.parametrize("aggregation", COMBINE)
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_and_out_of_bag_predictions_are_combined(kind, aggregation):
    model, X, _ = fit(kind, aggregation)
    weights = naive.weights_of(model.model_.in_bag[0].tolist())
    members = model.predict_members(X)
    np.testing.assert_allclose(model.predict(X), combine(model, members, weights), rtol=1e-9)
    (outside,) = model._outside.masks()
    for row in np.flatnonzero(outside.any(axis=0))[:40]:
        own = np.flatnonzero(outside[:, row])
        wanted = combine(model, members[own][:, [row]], [weights[j] for j in own])
        np.testing.assert_allclose(model.oob_prediction_[row], wanted[0], rtol=1e-9)


def forest_of(n_classes, **more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=150), [-0.5, 0.5][: n_classes - 1])
    settings = {**METHODS[sg.EGPClassifier], "generations": 5, "row_fraction": 0.5}
    return sg.EGPClassifier(**{**settings, **more}).fit(X, y), X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_are_weighted_by_accuracy(n_classes):
    model, X, _ = forest_of(n_classes)
    said, masks, found = model.model_.said(X), model._outside.masks(), model.model_.predict(X)
    shares = model.oob_prediction_[:, 1:] if n_classes == 2 else model.oob_prediction_
    out_of_bag = np.full((len(found), len(X)), np.nan)
    for k, errors in enumerate(model.model_.in_bag):
        weights = ((1 - errors) / (1 - errors).max()).tolist()
        np.testing.assert_array_equal(found[k], [naive.vote(row, 0.0, weights) for row in said[k].T.tolist()])
        for row in np.flatnonzero(masks[k].any(axis=0)):
            own = np.flatnonzero(masks[k][:, row])
            out_of_bag[k, row] = naive.combine(said[k][own, row], "weighted", np.nan, [weights[j] for j in own])
    known = out_of_bag.sum(axis=0) > (-1 if n_classes == 2 else 0)  # else all classes have the same share
    assert known.sum() > 20
    wanted = out_of_bag[:, known] / (1 if n_classes == 2 else out_of_bag[:, known].sum(axis=0))
    np.testing.assert_allclose(shares[known].T, wanted, rtol=1e-9)
    assert all(len(set(ensemble.weights)) > 2 for ensemble in model.model_.ensembles)


def test_exports_of_weighted_votes_have_the_same_bits():
    model, X, _ = forest_of(2)
    assert model.model_.ensembles[0].n_samples > 2
    np.testing.assert_array_equal(plans.evaluate(model._plan(), X), model.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_early_stopping_weighs_votes_the_same_way(n_classes, monkeypatch):
    measured = []

    class Spy(held_out.HeldOutError):
        def __call__(self, state):
            measured.append((super().__call__(state), self.rows))
            return measured[-1][0]

    monkeypatch.setattr("symgrove.estimators.base.HeldOutError", Spy)
    model, _, y = forest_of(n_classes, early_stopping=True, validation_fraction=0.4, generations=6)
    error, rows = min(measured, key=lambda m: m[0])
    labels = rows.targets[0] if n_classes == 2 else rows.targets.argmax(axis=0)
    assert np.mean(model.predict(rows.X) != np.unique(y)[labels.astype(int)]) == error


@pytest.mark.parametrize("aggregation", COMBINE)
def test_early_stopping_combines_the_same_way(aggregation, monkeypatch):
    measured = []

    class Spy(held_out.HeldOutError):
        def __call__(self, state):
            measured.append((super().__call__(state), self.rows))
            return measured[-1][0]

    monkeypatch.setattr("symgrove.estimators.base.HeldOutError", Spy)
    model, _, _ = fit(sg.TwoSEGPRegressor, aggregation, early_stopping=True)
    error, rows = min(measured, key=lambda m: m[0])
    np.testing.assert_allclose(np.mean((model.predict(rows.X) - rows.targets[0]) ** 2), error, rtol=1e-9)


def test_members_of_a_weighted_mean_are_merged_and_show_their_share():
    model, X, _ = fit(sg.TwoSEGPRegressor, "weighted", n_estimators=12)
    ensemble = model.model_.ensembles[0]
    assert len(model.ensemble_) == ensemble.programs.size < ensemble.n_samples
    shares = [member.weight for member in model.ensemble_]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    for _, outputs in ensemble.outputs(X):
        own = [m.slope * outputs[ensemble.program_of[m.samples[0]]] + m.intercept for m in model.ensemble_]
    np.testing.assert_allclose(np.average(own, axis=0, weights=shares), model.predict(X), rtol=1e-9)
    forest = sg.Forest(5, ensemble.forest.primitives)
    root = sg.parse(forest, model.formula())
    engine = sg.CpuEngine(sg.make_dataset(X, np.zeros(len(X))), ensemble.forest.primitives)
    np.testing.assert_allclose(engine.outputs(forest, [root])[0], model.predict(X), rtol=1e-6)


@pytest.mark.parametrize("aggregation", ["interquartile", "weighted"])
def test_files_hold_how_members_are_combined(aggregation, tmp_path):
    model, X, y = fit(sg.TwoSEGPRegressor, aggregation, n_estimators=12, generations=1)
    file = tmp_path / "model.json"
    model.save(file)
    again = sg.load(file)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert [repr(m) for m in again.ensemble_] == [repr(m) for m in model.ensemble_]
    smaller = sg.simplify_ensemble(model, X, y, random_state=0).model
    smaller.save(file)
    np.testing.assert_array_equal(sg.load(file).predict(X), smaller.predict(X))
    text = model.export("text")
    assert ("interquartile_mean(" if aggregation == "interquartile" else "weighted_mean_of_finite(") in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [0.0] * 6}, "must be from 0 to 1, which the largest must be"),
        ({"weights": [-1.0] + [1.0] * 5}, "must be from 0 to 1, which the largest must be"),
        ({"weights": [1e308] * 6}, "must be from 0 to 1, which the largest must be"),
        ({"weights": [1.0] * 5}, "must have 6 items, got 5"),
        ({"weights": None}, "must be a list"),
        ({"aggregation": "mean"}, "has weights, but its members count the same"),
    ],
)
def test_damaged_weights_are_refused(change, message, tmp_path):
    model, _, _ = fit(sg.TwoSEGPRegressor, "weighted", generations=1)
    file = tmp_path / "model.json"
    model.save(file)
    document = json.loads(file.read_text())
    document["ensembles"][0] |= change
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        sg.load(file)
