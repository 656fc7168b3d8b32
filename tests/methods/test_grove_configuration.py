"""Every number of Grove's configuration has an effect: on a tiny fit, or on what is derived from it."""

from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.fitness.named_losses import Squared
from symgrove.methods.grove.configuration import CandidateRules, Folds, GroveConfiguration, ManyRows, SecondRegime
from symgrove.methods.grove.folds import for_folds, n_folds
from symgrove.methods.grove.weights import weigh
from symgrove.methods.problem import Rows

TINY = {"population_size": 60, "generations": 6, "n_estimators": 3, "n_populations": 1, "random_state": 1, "n_jobs": 1}
# Windows are larger than what is judged in full; the second evolution is short.
SMALL = replace(
    sg.GroveRegressor.configuration,
    early_snapshots=(2,),
    second=replace(sg.GroveRegressor.configuration.second, snapshots=(1,)),
    n_close=5,
    n_close_of_all=20,
)
CANDIDATES = {
    "shares": (0.0, 0.3, 0.3, 0.2, 0.15, 0.05),
    "share_of_constants": 0.5,
    "tree_height": 1,
    "n_data_values": 0,
    "nearly_constant": 0.9,
    "digits": (1, 1),
}
FOLDS = {
    "n_folds": 3,
    "most_rows": 300,
    "n_populations": 3,
    "n_teams": 30,
    "population_size": 400,
    "small_window": 600,
    "smallest_weight": 0.2,
    "clearly": 1e6,
    "ends_at": 0.0,
    "fewest_rows": 31,
}
SECOND = {
    "name": "other",
    "team_factor": 3,
    "term_factor": 3,
    "size_factor": 3,
    "size_more": 2,
    "largest_size": 10,
    "window": 7,
    "ridge": 0.5,
    "snapshots": (20,),
    "fewest_rows": 601,
    "most_rows": 599,
}
MANY = {
    "fewest_rows": 30,
    "share_held_out": 0.3,
    "most_held_out": 2,
    "share_of_teams": 1.0,
    "rows_of_a_turn": 12,
    "least_gain": 1.0,
    "n_newton_steps": 1,
}
OWN = {
    "early_snapshots": (4,),
    "rows_per_term": 10,
    "fewest_terms": 12,
    "n_close": 10,
    "n_close_of_all": 45,
    "share_of_main": 0.0,
    "share_of_choosing": 0.0,
}
PARTS = {"candidates": CandidateRules, "folds": Folds, "many": ManyRows, "second": SecondRegime}


@pytest.fixture(scope="module")
def data():
    return make_friedman1(30, random_state=0)


def fit(configuration, data, **parameters):
    kind = type("Changed", (sg.GroveRegressor,), {"configuration": configuration})
    return kind(**{**TINY, "strength": "fixed", **parameters}).fit(*data)


def predictions(configuration, data, **parameters):
    return fit(configuration, data, **parameters).predict(data[0])


def with_candidates(**changes):
    return replace(SMALL, candidates=replace(SMALL.candidates, **changes))


def test_every_number_is_tried_below():
    for kind, changes in ((CandidateRules, CANDIDATES), (Folds, FOLDS), (ManyRows, MANY), (SecondRegime, SECOND)):
        assert {field.name for field in fields(kind)} == set(changes)
    assert {field.name for field in fields(GroveConfiguration)} == {*OWN, *PARTS}


@pytest.fixture(scope="module")
def default(data):
    return predictions(SMALL, data)


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates_change_the_model(data, default, name):
    changed = predictions(with_candidates(**{name: CANDIDATES[name]}), data)
    assert not np.array_equal(changed, default)


@pytest.mark.parametrize("name", sorted(MANY.keys() - {"least_gain"}))  # that one: tests/methods/test_many_rows.py
def test_many_rows_change_the_model(data, name):
    many = ManyRows(fewest_rows=31 if name == "fewest_rows" else 20, rows_of_a_turn=100)
    X, y = data[0], (data[1] > np.median(data[1])).astype(int)
    base = sg.GroveClassifier.configuration
    found = []
    for own in (many, replace(many, **{name: MANY[name]})):
        changed = replace(SMALL, many=own, second=base.second, early_snapshots=base.early_snapshots)
        kind = type("Changed", (sg.GroveClassifier,), {"configuration": changed})
        found.append(kind(**{**TINY, "strength": "fixed"}).fit(X, y).predict_proba(X))
    assert not np.array_equal(*found)


@pytest.mark.parametrize(("dtype", "own", "other"), [("float64", (1, 5), (6, 1)), ("float32", (6, 1), (1, 5))])
def test_digits_are_those_of_the_type(data, dtype, own, other):
    default = predictions(SMALL, data, dtype=dtype)
    assert not np.array_equal(predictions(with_candidates(digits=own), data, dtype=dtype), default)
    np.testing.assert_array_equal(predictions(with_candidates(digits=other), data, dtype=dtype), default)


@pytest.mark.parametrize("name", ["rows_per_term", "fewest_terms", "n_close", "n_close_of_all"])
def test_rules_of_teams_change_the_model(data, default, name):
    assert not np.array_equal(predictions(replace(SMALL, **{name: OWN[name]}), data), default)


def test_what_chooses_the_strength_has_no_effect_if_it_is_fixed(data, default):
    changes = {name: OWN[name] for name in ("early_snapshots", "share_of_main", "share_of_choosing")}
    changed = replace(SMALL, **changes, folds=Folds(**FOLDS), second=SecondRegime(**SECOND))
    np.testing.assert_array_equal(predictions(changed, data), default)


# Strength


def stacking_weights(folds):
    """Weights of two levels, of which the second is the lighter; with all rows held out, and with half of them."""
    levels = np.random.default_rng(0).standard_normal((2, 1, 100))
    rows = Rows(np.zeros((100, 1)), 0.9 * levels[0] + 0.1 * levels[1], None, np.arange(100))
    half = np.where(np.arange(100) < 50, levels, np.nan)
    spread = np.ones((2, 100))
    return [
        weigh(own, spread, rows, folds, losses=(Squared(),), strongest=[1]).weights.round(3).tolist()
        for own in (levels, half)
    ]


def derived(folds):
    main = sg.GroveRegressor()._main_regime(100, 600)
    return for_folds(main, folds), n_folds(400, folds), stacking_weights(folds)


@pytest.mark.parametrize("name", [name for name in FOLDS if name not in ("ends_at", "fewest_rows")])
def test_folds_change_what_is_derived_from_them(name):
    assert derived(replace(Folds(), **{name: FOLDS[name]})) != derived(Folds())


def test_on_fewer_rows_the_strength_is_fixed(data):
    changed = replace(SMALL, folds=Folds(fewest_rows=FOLDS["fewest_rows"]))
    assert [*fit(SMALL, data, strength="auto").stacking_weights_] == [
        "main 2",
        "main 6",
        "main 6, populations",
        "gentle 1",
    ]
    assert [*fit(changed, data, strength="auto").stacking_weights_] == ["main 6"]


def regimes(configuration):
    kind = type("Changed", (sg.GroveClassifier,), {"configuration": configuration})
    return kind()._regimes(100, Rows(np.zeros((600, 3)), np.zeros((1, 600)), None, np.arange(600)), 600)


@pytest.mark.parametrize("name", SECOND)
def test_the_second_regime_changes_evolutions(name):
    default = sg.GroveClassifier.configuration
    changed = replace(default, second=replace(default.second, **{name: SECOND[name]}))
    assert regimes(changed) != regimes(default)


def test_early_snapshots_are_levels_of_the_main_evolution():
    default = sg.GroveClassifier.configuration
    assert regimes(replace(default, early_snapshots=OWN["early_snapshots"]))[0].snapshots == (4, 100)


def test_the_main_evolution_has_its_share_of_the_time(data):
    model = fit(replace(SMALL, share_of_main=OWN["share_of_main"]), data, strength="auto", max_time=1e6)
    assert (model.n_generations_, model.stop_reason_) == (0, "max_time")
