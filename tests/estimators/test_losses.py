"""Losses by name, as estimators have them: what is minimised, files, exports, and against linear models."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import PoissonRegressor, QuantileRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss, mean_poisson_deviance

import symgrove as sg
from symgrove.fitness.named_losses import make_loss
from symgrove.inspection import derivatives
from symgrove.methods.problem import Rows
from symgrove.saving.estimators import from_document, to_document
from tests.contracts.test_methods import METHODS
from tests.export.runners import RUNNERS
from tests.making import QuickGrove
from tests.naive.plans import agree, ill_conditioned

SMALL = {"population_size": 80, "generations": 6, "n_estimators": 6, "max_terms": 10, "random_state": 0}
OF_PROGRAMS = [kind for kind in METHODS if hasattr(kind(), "huber_delta") and kind is not sg.GroveRegressor]


@pytest.fixture(scope="module")
def data():
    """Numbers whose spread grows with a feature."""
    X, y = make_friedman1(400, n_features=5, random_state=0)
    return X, y + 4 * X[:, 3] * np.random.default_rng(0).normal(size=400)


@pytest.fixture(scope="module")
def counts():
    X, y = make_friedman1(400, n_features=5, random_state=0)
    return X, np.random.default_rng(0).poisson(np.exp((y - 10) / 6)).astype(float)


def test_losses_by_name_are_where_they_make_sense():
    names = {kind.__name__ for kind in OF_PROGRAMS}
    assert names == {
        f"{m}Regressor" for m in ("TwoSEGP", "ClassicGP", "IndependentGP", "DivNichGP", "SpatialGP", "GOMEA")
    }


@pytest.mark.parametrize("kind", OF_PROGRAMS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["absolute", "huber", "quantile"])
def test_members_of_programs_minimise_the_loss(kind, name, data, tmp_path):
    X, y = data[0][:120], data[1][:120]
    model = kind(**{**METHODS[kind], "generations": 3}, loss=name, quantile=0.9).fit(X, y)
    loss = make_loss(name, 0.9, None, y, None)
    constant = np.full(120, loss.constant(y, None))
    assert loss.of_rows(y, model.predict(X)).mean() < 0.95 * loss.of_rows(y, constant).mean()
    if kind not in (sg.DivNichGPRegressor, sg.SpatialGPRegressor):  # whose history is not of their members
        assert (model.model_.in_bag[0] <= model.history_["errors"][-1] * (1 + 1e-9)).all()
        assert (model.model_.in_bag[0] < model.history_["errors"][-1]).any()
    if name == "quantile":
        assert 0.8 < (y <= model.predict(X)).mean() < 0.97
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.loss, again.quantile) == (name, 0.9)


def test_the_error_of_a_member_is_its_mean_loss(data):
    X, y = data
    model = sg.ClassicGPRegressor(population_size=60, generations=4, random_state=0, loss="quantile", quantile=0.2)
    model.fit(X, y)
    assert model.ensemble_[0].in_bag_error == pytest.approx(mean_pinball_loss(y, model.predict(X), alpha=0.2))
    assert (y <= model.predict(X) + 1e-9).mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("name", ["absolute", "poisson"])
def test_grove_chooses_its_strength_by_the_loss(name, data, counts, tmp_path):
    X, y = counts if name == "poisson" else data
    settings = {**SMALL, "generations": 5, "loss": name, "quantile": 0.8}
    model = QuickGrove(**settings).fit(X[:200], y[:200])
    if name == "absolute":  # resumed
        again = QuickGrove(**settings, checkpoint=tmp_path / "run.npz")
        again.set_params(max_time=0.2).fit(X[:200], y[:200])
        again.set_params(max_time=None).fit(X[:200], y[:200])
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert 0.1 < model.validation_score_ < 1
    loss = make_loss(name, 0.8, None, y[:200], None)
    said = loss.of_rows(y[200:], model.predict(X[200:])).mean()
    constant = loss.of_rows(y[200:], np.full(200, loss.constant(y[:200], None))).mean()
    assert abs(1 - said / constant - model.validation_score_) < 0.3
    assert said < 0.9 * constant


def test_quantiles_beat_those_of_a_linear_model_and_cover_their_share(data):
    (X, y), quantile = data, 0.9
    ours = QuickGrove(**SMALL, loss="quantile", quantile=quantile).fit(X[:250], y[:250]).predict(X[250:])
    linear = QuantileRegressor(quantile=quantile, alpha=0).fit(X[:250], y[:250]).predict(X[250:])
    assert mean_pinball_loss(y[250:], ours, alpha=quantile) < mean_pinball_loss(y[250:], linear, alpha=quantile)
    assert (y[250:] <= ours).mean() == pytest.approx(quantile, abs=0.1)


def test_counts_are_predicted_better_than_by_a_linear_model(counts):
    X, y = counts
    ours = QuickGrove(**SMALL, loss="poisson").fit(X[:250], y[:250])
    linear = PoissonRegressor(alpha=0).fit(X[:250], y[:250]).predict(X[250:])
    assert (ours.predict(10 * X) > 0).all()
    assert mean_poisson_deviance(y[250:], ours.predict(X[250:])) < mean_poisson_deviance(y[250:], linear)


@pytest.mark.parametrize("name", ["absolute", "huber"])
def test_few_wild_targets_do_little_harm(name, data):
    X, y = make_friedman1(300, n_features=5, random_state=1)
    wild = np.where(np.random.default_rng(0).random(300) < 0.08, 500.0, y)
    models = [
        sg.GroveRegressor(**SMALL, strength="fixed", loss=own).fit(X[:200], wild[:200]) for own in ("squared", name)
    ]
    squared, robust = (np.abs(model.predict(X[200:]) - y[200:]).mean() for model in models)
    assert robust < 0.3 * squared


def test_the_score_of_a_median_is_that_of_scikit_learn(data):
    X, y = data[0][:150], data[1][:150]
    settings = {**SMALL, "generations": 3}
    model = QuickGrove(**settings, loss="quantile", quantile=0.7)
    out_of_fold = np.random.default_rng(0).normal(size=150) + y
    rows = Rows(X, y[None], None, np.arange(150))
    assert model._score_of(out_of_fold[None], rows, rows) == pytest.approx(
        d2_pinball_score(y, out_of_fold, alpha=0.7), abs=1e-3
    )


@pytest.fixture(scope="module")
def poisson(counts):
    return QuickGrove(**{**SMALL, "generations": 4}, loss="poisson").fit(*counts)


@pytest.mark.parametrize("target", RUNNERS)
def test_exports_of_counts_predict_what_the_model_does(target, poisson, counts, tmp_path):
    X = np.concatenate([counts[0][:40], 5 * counts[0][:20] - 2])
    plan = poisson._plan()
    found = RUNNERS[target](plan, X, tmp_path)
    assert (agree(found, poisson.predict(X), 1e-9) | ill_conditioned(plan, X, 1e-9)).all()


def test_files_derivatives_and_texts_of_counts(poisson, counts, tmp_path):
    X, y = counts
    poisson.save(tmp_path / "model.json")
    np.testing.assert_array_equal(sg.load(tmp_path / "model.json").predict(X), poisson.predict(X))
    assert "exp(clip(" in poisson.export("text")
    assert poisson.model_.as_sum() is None
    inside = X[:5] * 0.9 + 0.05
    step = 1e-6 * np.eye(5)
    slopes = np.stack([(poisson.predict(inside + s) - poisson.predict(inside - s)) / 2e-6 for s in step], axis=1)
    np.testing.assert_allclose(derivatives(poisson, inside), slopes, rtol=1e-2, atol=1e-4)
    interval = poisson.predict_interval(X, 0.8)
    assert (interval[:, 0] < poisson.predict(X)).all()
    smaller = sg.simplify_ensemble(poisson, X, y)
    assert (smaller.model.predict(X) > 0).all()
    assert smaller.error <= 1.01 * smaller.error_before < mean_poisson_deviance(y, np.full(len(y), y.mean()))


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("loss", "cubed", "'loss' of"),
        ("loss", "logistic", "'loss' of .* does not go with 'is_logistic'"),
        ("prediction_range", None, "has the Poisson loss, and no 'prediction_range'"),
    ],
)
def test_a_damaged_loss_is_refused(poisson, entry, value, message):
    document = json.loads(json.dumps(to_document(poisson)))
    document["ensembles"][0]["levels"][0][entry] = value
    with pytest.raises(ValueError, match=message):
        from_document(document, kinds=[QuickGrove])


def test_one_team_of_counts_shows_its_logarithm(counts):
    X, y = counts
    model = sg.GroveRegressor(**{**SMALL, "n_estimators": 1}, sampling=1.0, strength="fixed", loss="poisson").fit(X, y)
    forest, root = model.model_.as_sum()
    assert model.size_path_[0].error == pytest.approx(mean_poisson_deviance(y, model.predict(X)), rel=1e-6)
    assert forest is not None
    assert root >= 0


@pytest.mark.parametrize("y", [np.array([1.0, -2.0, 3.0] * 10), np.zeros(30)])
def test_counts_are_checked(y):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(
        ValueError, match=r"loss='poisson' needs a y that is nowhere negative, and not zero on every row"
    ):
        sg.GroveRegressor(**SMALL, loss="poisson").fit(X, y)


def test_weights_of_rows_count_with_every_loss(data):
    X, y = data[0][:100], data[1][:100]
    settings = {**SMALL, "generations": 3, "strength": "fixed", "sampling": 1.0}
    weight = np.where(np.arange(100) < 60, 1.0, 0.0)
    for name in ("absolute", "quantile"):
        weighted = sg.GroveRegressor(**settings, loss=name).fit(X, y, sample_weight=weight)
        alone = sg.GroveRegressor(**settings, loss=name).fit(X[:60], y[:60])
        np.testing.assert_array_equal(weighted.predict(X), alone.predict(X))
