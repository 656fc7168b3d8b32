"""Boosted trees tuned by random search."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, ParameterSampler, cross_val_score

from symgrove.experiments.estimators import make
from symgrove.experiments.tuned_trees import LIBRARIES, TunedTreesClassifier, TunedTreesRegressor, WholeNumbers

SMALL = {"library": "hist-gradient-boosting", "n_configurations": 3, "n_folds": 2}


@pytest.fixture(scope="module")
def small_space():
    """Few trees, so that tests are fast."""
    with pytest.MonkeyPatch.context() as patch:
        library = LIBRARIES["hist-gradient-boosting"]
        patch.setitem(
            LIBRARIES, "hist-gradient-boosting", library._replace(space=library.space | {"max_iter": [3, 9, 27]})
        )
        yield LIBRARIES["hist-gradient-boosting"].space


@pytest.mark.parametrize("n_folds", [2, 1])
def test_the_best_configuration_is_that_of_cross_validation_by_hand(small_space, n_folds):
    X, y = make_friedman1(80, random_state=0)
    model = TunedTreesRegressor(**{**SMALL, "n_folds": n_folds}, random_state=5).fit(X, y)
    scores = {}
    for drawn in ParameterSampler(small_space, 3, random_state=5):
        trees = HistGradientBoostingRegressor(early_stopping=False, **drawn, random_state=5)
        folds = [*KFold(2 if n_folds == 2 else 5, shuffle=True, random_state=5).split(X)][:n_folds]
        scores[tuple(drawn.items())] = cross_val_score(
            trees, X, y, cv=folds, scoring="neg_root_mean_squared_error"
        ).mean()
    best = max(scores, key=scores.get)
    assert model.configuration_ == dict(best)
    assert model.validation_score_ == pytest.approx(scores[best])
    expected = HistGradientBoostingRegressor(early_stopping=False, **dict(best), random_state=5).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_the_seed_is_that_of_the_split_and_labels_are_predicted(small_space):
    X, y = make_friedman1(60, random_state=0)
    model = make("TunedTreesClassifier", SMALL, seed=3).fit(X, np.where(y > 14, "high", "low"))
    assert isinstance(model, TunedTreesClassifier)
    assert model.random_state == model.trees_.random_state == 3
    assert set(model.predict(X)) == set(model.classes_) == {"high", "low"}


def test_whole_numbers_are_spread_evenly_on_a_logarithmic_scale():
    rng = np.random.default_rng(0)
    numbers = WholeNumbers(1, 100)
    drawn = np.array([numbers.rvs(rng) for _ in range(1000)])
    assert 1 <= drawn.min() < 2
    assert 95 < drawn.max() <= 100
    assert np.mean(drawn <= 10) == pytest.approx(0.5, abs=0.05)


def test_an_unknown_library_is_refused():
    with pytest.raises(ValueError, match=r"library must be one of lightgbm, xgboost, .*, got 'forest'"):
        TunedTreesRegressor("forest").fit(np.zeros((9, 1)), np.zeros(9))
