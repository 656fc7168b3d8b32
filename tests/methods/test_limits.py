"""Absurd sizes get an error before any work, not gigabytes or hours."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg

X, Y = make_friedman1(40, n_features=5, random_state=0)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (sg.TwoSEGPRegressor, "population_size"),
        (sg.TwoSEGPRegressor, "n_estimators"),
        (sg.TwoSEGPRegressor, "max_size"),
        (sg.ClassicGPRegressor, "tournament_size"),
        (sg.DivNichGPRegressor, "tournament_size"),
        (sg.GroveRegressor, "max_size"),
        (sg.GroveRegressor, "max_terms"),
        (sg.GroveRegressor, "n_joining"),
        (sg.GroveRegressor, "n_populations"),
        (sg.GroveRegressor, "window"),
        (sg.TwoSEGPRegressor, "generations"),
        (sg.StandardGPClassifier, "max_depth"),
    ],
)
@pytest.mark.parametrize("value", [10**20, 10**5000], ids=["large", "too large to print"])
def test_counts_have_a_highest_value(kind, name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a whole number from \d to \d+, got (1000|a larger one)"):
        kind(**{name: value}).fit(X, Y > 15 if hasattr(kind, "predict_proba") else Y)


def test_programs_of_absurd_height_are_refused():
    with pytest.raises(ValueError, match="can have more than 1048576 nodes"):
        sg.TwoSEGPRegressor(init_depth=(2, 10**9)).fit(X, Y)


def test_no_more_terms_join_a_team_than_can_stay():
    settings = {"generations": 3, "n_estimators": 5, "population_size": 50, "strength": "fixed", "random_state": 0}
    few, many = (sg.GroveRegressor(**settings, n_joining=n).fit(X, Y) for n in (8, 10**5))  # of at most 40 / 5 terms
    np.testing.assert_array_equal(few.predict(X), many.predict(X))
