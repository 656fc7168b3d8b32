"""Whoever watches a fit is told of it, and changes nothing."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from symgrove import GroveClassifier, LawRegressor, TwoSEGPRegressor
from symgrove.estimators.told import ShownErrors
from symgrove.evolution.watching import watched_by
from symgrove.models.model import Model

SMALL = {"generations": 4, "population_size": 20, "n_estimators": 2, "random_state": 0}


@pytest.mark.parametrize("estimator", [GroveClassifier, TwoSEGPRegressor])
def test_who_watches_an_evolution_sees_errors_and_models(estimator, capsys):
    X, y = make_friedman1(60, random_state=0)
    y = y > 14 if estimator is GroveClassifier else y
    moments, models = [], []

    def watch(moment):
        moments.append(moment)
        if moment.found is not None:
            models.append(moment.found())

    alone = estimator(**SMALL).fit(X, y).predict(X)
    with watched_by(watch):
        watched = estimator(**SMALL).fit(X, y).predict(X)
    np.testing.assert_array_equal(alone, watched)
    assert capsys.readouterr().err == ""  # nothing is shown to people
    assert [m.what for m in moments if m.found is not None] == [f"generation {g}/4" for g in range(5)]
    assert all(isinstance(m.errors, ShownErrors) for m in moments if m.found is not None)
    assert all(isinstance(model, Model) and model.predict(X).shape == (1, 60) for model in models)
    assert moments[-1].left is not None
    n_moments = len(moments)
    estimator(**SMALL).fit(X, y)
    assert len(moments) == n_moments  # only what is fitted inside is watched


def test_who_watches_a_search_sees_its_front(capsys):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, size=(80, 12))  # of more than ten features, those that matter are searched
    y = X[:, 11] * X[:, 5] + 0.1 * rng.normal(size=80)
    fronts, errors = [], []

    def watch(moment):
        if moment.found is not None:
            fronts.append(moment.found())
            errors.append(moment.errors.values)

    with watched_by(watch):
        model = LawRegressor(effort="quick", max_time=30, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    last = fronts[-1]
    assert last[0].size < last[-1].size
    assert all(a.error > b.error for a, b in pairwise(last))
    assert "x5" in last[-1].formula
    assert "x11" in last[-1].formula
    np.testing.assert_allclose([p.error for p in last], errors[-1])
    np.testing.assert_allclose(np.sqrt(np.mean((last[-1].predict(X) - y) ** 2)), last[-1].error, rtol=0.2)
    assert model.stop_reason_ in ("noise", "everything", "time")


def test_the_search_names_the_features_that_it_speaks_of(capsys):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, size=(80, 12))
    LawRegressor(effort="quick", random_state=0, verbose=1).fit(X, X[:, 11] * X[:, 5])
    assert "x5 * x11 (" in capsys.readouterr().err.replace("x11 * x5", "x5 * x11")
