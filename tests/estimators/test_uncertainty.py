"""Intervals of every regressor, probabilities of every classifier."""

import warnings

import numpy as np
import pandas as pd
import pytest
from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

import symgrove as sg
from symgrove.methods.grove.memory import team_needs
from symgrove.methods.problem import Rows
from symgrove.saving.estimators import from_document, to_document
from tests.contracts.test_methods import METHODS

REGRESSORS = [kind for kind in METHODS if not hasattr(kind, "predict_proba")]
OVER = {sg.LawRegressor: {"max_time": 1e-9}}  # a search that is over when it begins: a poor formula, at once
CLASSIFIERS = [kind for kind in METHODS if hasattr(kind, "predict_proba")]
WITHOUT_SAMPLES = (
    sg.ClassicGPRegressor,
    sg.GOMEARegressor,
    sg.GSGPRegressor,
    sg.RDORegressor,
    sg.EFSRegressor,
    sg.GPTIPSRegressor,
    sg.M3GPRegressor,
)


def _data(n_rows=400, seed=0):
    return make_friedman1(n_rows, n_features=5, noise=1.0, random_state=seed)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_conformal_intervals_cover(kind):
    X, y = _data(3000)
    model = kind(**METHODS[kind], **OVER.get(kind, {}), calibration=0.8).fit(X[:1200], y[:1200])
    inside = []
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[1200:], coverage).T
        assert (low < high).all()
        inside.append(np.mean((low <= y[1200:]) & (y[1200:] <= high)))
    assert inside == pytest.approx([0.5, 0.9], abs=0.07)  # 960 and 1,800 rows: three and a half standard deviations


@pytest.mark.parametrize("kind", REGRESSORS)
def test_training_rows_that_were_left_out_give_intervals(kind):
    X, y = _data(1000)
    model = kind(**METHODS[kind], **OVER.get(kind, {})).fit(X[:200], y[:200])
    if kind in WITHOUT_SAMPLES:
        with pytest.raises(ValueError, match=r"knows of no training rows.*calibration=0\.2"):
            model.predict_interval(X)
        return
    low, high = model.predict_interval(X[200:]).T
    assert 0.6 < np.mean((low <= y[200:]) & (y[200:] <= high)) <= 1
    with pytest.raises(ValueError, match="no rows were kept out"):
        model.predict_interval(X, method="conformal")


def test_fixed_strength_and_one_team():
    X, y = _data(300)
    own = {**METHODS[sg.GroveRegressor], "strength": "fixed"}
    model = sg.GroveRegressor(**own).fit(X[:200], y[:200])
    assert np.isfinite(model.predict_interval(X[200:])).all()
    alone = sg.GroveRegressor(**{**own, "n_estimators": 1, "sampling": 1.0}, calibration=0.3).fit(X[:200], y[:200])
    width = np.diff(alone.predict_interval(X[200:]), axis=1)
    assert width[:, 0] == pytest.approx(width[0, 0])  # one team has no spread
    with pytest.raises(ValueError, match="left out"):
        alone.predict_interval(X, method="oob")


def test_rows_kept_out_do_not_train():
    X, y = _data(200)
    settings = {**METHODS[sg.TwoSEGPRegressor], "n_estimators": 30, "calibration": 0.25}
    model = sg.TwoSEGPRegressor(**settings).fit(X, y)
    kept_out = np.isnan(model.oob_prediction_)  # with 30 samples, every training row is out of some bag
    assert kept_out.sum() == 50
    again = sg.TwoSEGPRegressor(**settings).fit(X, np.where(kept_out, y + 1000, y))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.diff(again.predict_interval(X[:1]))[0, 0] > 1000


def test_more_uncertain_rows_have_wider_intervals():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = X[:, 0] + np.where(X[:, 1] > 0, 1.0, 0.05) * rng.normal(size=600)
    model = sg.GroveRegressor(generations=15, population_size=150, max_terms=30, random_state=0).fit(X, y)
    width = np.diff(model.predict_interval(X), axis=1)[:, 0]
    assert width[X[:, 1] > 0.2].mean() > 1.3 * width[X[:, 1] < -0.2].mean()


def test_quantiles_and_distribution():
    X, y = _data(1500)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor], calibration=0.5).fit(X[:500], y[:500])
    below = (y[500:, None] <= model.predict_quantiles(X[500:], (0.1, 0.5, 0.9))).mean(axis=0)
    assert below == pytest.approx([0.1, 0.5, 0.9], abs=0.08)
    distribution = model.predict_distribution(X[500:])
    assert distribution.mean == pytest.approx(model.predict(X[500:]), abs=3 * distribution.std.max())
    assert np.mean(y[500:] <= distribution.quantile(0.9)) == pytest.approx(0.9, abs=0.08)
    y_mean, y_std = y[500:].mean(), y[500:].std()
    constant = -0.5 * np.mean(((y[500:] - y_mean) / y_std) ** 2) - np.log(y_std * np.sqrt(2 * np.pi))
    assert distribution.log_likelihood(y[500:]) > constant + 0.1


def test_own_rows_for_calibration():
    X, y = _data(900)
    model = sg.ClassicGPRegressor(**METHODS[sg.ClassicGPRegressor]).fit(X[:200], y[:200])
    assert model.calibrate(X[200:500], y[200:500]) is model
    low, high = model.predict_interval(X[500:], 0.8).T
    assert np.mean((low <= y[500:]) & (y[500:] <= high)) == pytest.approx(0.8, abs=0.09)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.calibrate(X[:3], y[:2])


def test_files_without_anything_learned_can_be_calibrated(tmp_path):
    X, y = _data(200)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]).fit(X[:100], y[:100])
    document = to_document(model)
    del document["uncertainty"], document["seen"]
    old = from_document(document)
    with pytest.raises(ValueError, match="or give rows that the model was not fitted on to `calibrate`"):
        old.predict_interval(X)
    assert np.isfinite(old.calibrate(X[100:], y[100:, None].ravel()).predict_interval(X)).all()
    assert np.isfinite(model.calibrate(X[100:], pd.DataFrame({"y": y[100:]}).y).predict_interval(X)).all()


def test_grove_in_turns_has_intervals_from_rows_kept_out():
    X, y = _data(400)
    settings = {**METHODS[sg.GroveRegressor], "calibration": 0.3}
    whole = sg.GroveRegressor(**settings)
    rows = Rows(X[:280], y[None, :280], None, np.arange(280))
    needs = team_needs(whole._main_regime(8, 400), rows, whole.dtype, whole.configuration, apart=True)
    copies = 2 * 8 * 400 * (X.shape[1] + 3)  # of both parts, their targets and positions, and of all positions
    model = sg.GroveRegressor(**settings, memory_budget=needs.budget_for(150) + copies).fit(X, y)
    assert np.isfinite(model.predict_interval(X)).all()


def test_infinite_scores_survive_a_file():
    X, y = _data(150)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]).fit(X[:100], y[:100])
    scores = model._intervals.known["oob"].scores
    scores.sorted[0], scores.sorted[-1] = -np.inf, np.inf
    again = from_document(to_document(model))
    assert np.array_equal(again._intervals.known["oob"].scores.sorted, scores.sorted)


@pytest.mark.parametrize(
    "change", [{"power": 30.0}, {"weights": [1e300, 1e300]}, {"weights": [0.0, 1.0]}, {"power": -1}]
)
def test_damaged_corrections_are_refused(change):
    X, y = _data(150)
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier], calibration=0.3).fit(X, y > 12)
    document = to_document(model)
    document["uncertainty"] |= change
    with pytest.raises(ValueError, match="out of range"):
        from_document(document)


def test_bad_requests():
    X, y = _data(60)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor], calibration=0.2).fit(X, y)
    for coverage in (0, 1, 90, "much", None):
        with pytest.raises(ValueError, match="coverage must be a number above 0 and below 1"):
            model.predict_interval(X, coverage)
    with pytest.raises(ValueError, match="method must be one of 'auto', 'conformal', 'oob'"):
        model.predict_interval(X, method="magic")
    with pytest.raises(ValueError, match="quantiles must be a number above 0"):
        model.predict_quantiles(X, [0.5, 2])
    with pytest.warns(UserWarning, match="12 rows are too few for a coverage of 0.99: 99 are needed"):
        assert np.isinf(model.predict_interval(X, 0.99)).all()
    for calibration in (0, 1, -1, "some"):
        with pytest.raises(ValueError, match="calibration must be a number above 0 and below 1 or None"):
            sg.TwoSEGPRegressor(calibration=calibration).fit(X, y)
    with pytest.raises(ValueError, match=r"calibration=0\.99 of 1 rows leaves none"):
        sg.TwoSEGPRegressor(calibration=0.99).fit(X[:1], y[:1])


@pytest.mark.parametrize("kind", [sg.TwoSEGPRegressor, sg.GroveRegressor])
def test_mapie_takes_the_regressors(kind):
    X, y = _data(500)
    model = kind(**METHODS[kind])
    mapie = SplitConformalRegressor(model, confidence_level=0.8, prefit=False).fit(X[:150], y[:150])
    low, high = mapie.conformalize(X[150:300], y[150:300]).predict_interval(X[300:])[1][:, :, 0].T
    assert np.mean((low <= y[300:]) & (y[300:] <= high)) == pytest.approx(0.8, abs=0.12)
    crossed = CrossConformalRegressor(model, confidence_level=0.8, cv=3).fit_conformalize(X[:200], y[:200])
    assert np.isfinite(crossed.predict_interval(X[300:])[1]).all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_calibrated_probabilities(kind, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y >= 3 - n_classes], y[y >= 3 - n_classes]
    order = np.random.default_rng(0).permutation(len(y))
    X, labels = X[order], np.array(["setosa", "versi", "virgi"])[y[order]]
    model = kind(**METHODS[kind], calibration=0.4).fit(X, labels)
    found = model.predict_proba(X)
    assert found.sum(axis=1) == pytest.approx(1)
    assert (found > 0).all()
    assert np.array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
    assert model.score(X, labels) > 0.85


def test_calibration_makes_votes_likely():
    X, y = make_classification(1500, 8, n_informative=4, flip_y=0.2, random_state=0)
    settings = {**METHODS[sg.TwoSEGPClassifier], "generations": 15, "population_size": 200}
    votes = sg.TwoSEGPClassifier(**settings).fit(X[:300], y[:300])
    before = log_loss(y[600:], np.clip(votes.predict_proba(X[600:]), 1e-3, 1 - 1e-3))
    votes.calibrate(X[300:600], y[300:600])
    assert log_loss(y[600:], votes.predict_proba(X[600:])) < before - 0.02
    with pytest.raises(ValueError, match="labels that the model was not fitted with: 7"):
        votes.calibrate(X[:2], [0, 7])


def test_scikit_learn_calibrates_too():
    X, y = make_classification(300, 6, random_state=0)
    settings = METHODS[sg.TwoSEGPClassifier]
    model = CalibratedClassifierCV(sg.TwoSEGPClassifier(**settings), cv=3).fit(X, y)
    assert model.predict_proba(X).shape == (300, 2)


@pytest.mark.parametrize("kind", [sg.TwoSEGPRegressor, sg.GroveRegressor, sg.TwoSEGPClassifier, sg.GroveClassifier])
def test_calibration_is_saved(kind, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = kind(**METHODS[kind], calibration=0.3).fit(X, y)
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    if hasattr(kind, "predict_proba"):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    else:
        for method in ("conformal", "oob"):
            assert np.array_equal(again.predict_interval(X, method=method), model.predict_interval(X, method=method))
            densities = [m.predict_distribution(X, method).log_density(y) for m in (model, again)]
            assert np.array_equal(*densities)


def test_a_search_may_use_it():
    X, y = _data(120)
    search = GridSearchCV(sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]), {"calibration": [None, 0.2]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search.fit(X, y).best_params_["calibration"] in (None, 0.2)


def test_same_seed_same_intervals_and_resumed_runs(tmp_path):
    X, y = _data(150)
    settings = {**METHODS[sg.TwoSEGPRegressor], "calibration": 0.2}
    whole = sg.TwoSEGPRegressor(**settings).fit(X, y).predict_interval(X)
    shorter = {**settings, "generations": 1, "checkpoint": tmp_path / "run"}
    sg.TwoSEGPRegressor(**shorter).fit(X, y)
    resumed = sg.TwoSEGPRegressor(**{**settings, "checkpoint": tmp_path / "run"}).fit(X, y)
    assert np.array_equal(resumed.predict_interval(X), whole)
