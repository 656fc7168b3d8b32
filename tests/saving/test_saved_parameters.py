"""Parameters in model files: what was fitted is saved, in a form that can be fitted again."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove._missing import MissingFunction
from symgrove.selection import Partition, PartitionLexicase, Tournament, Truncation

X, Y = make_friedman1(80, n_features=5, random_state=0)
LABELS = np.array([4, 7, 9])[np.digitize(Y, [12, 17])]
SMALL = {"population_size": 60, "n_estimators": 6, "generations": 2, "random_state": 1}


OTHER = {"population_size": 63, "strength": "fixed", "max_terms": 8}  # of those that have it


def saved_and_loaded(model, folder):
    model.save(folder / "model.json")
    return sg.load(folder / "model.json")


@pytest.mark.parametrize(
    "selection",
    [Tournament(3), Tournament(4, "best"), Truncation("best"), Partition(tournament_size=4), PartitionLexicase(20)],
)
def test_selections_with_parameters_come_back(selection, tmp_path):
    again = saved_and_loaded(sg.TwoSEGPRegressor(**SMALL, selection=selection).fit(X, Y), tmp_path)
    assert again.selection == selection
    assert type(again.selection) is type(selection)
    again.fit(X, Y)


def best_of_the_first_sample(errors, n_selected, rng):
    return np.argsort(errors[:, 0], kind="stable")[:n_selected]


def test_a_selection_of_ones_own_is_missed_only_by_another_fit(tmp_path):
    model = sg.TwoSEGPRegressor(**SMALL, selection=best_of_the_first_sample).fit(X, Y)
    again = saved_and_loaded(model, tmp_path)
    assert again.selection == MissingFunction("selection", "best_of_the_first_sample")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert saved_and_loaded(again, tmp_path).selection == again.selection
    with pytest.raises(ValueError, match="function of yours, 'best_of_the_first_sample'"):
        again.fit(X, Y)
    again.set_params(selection=best_of_the_first_sample).fit(X, Y)
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("labels", [LABELS, np.array(list("abcdefghij"))[LABELS], LABELS > 5])
def test_class_weights_by_numpy_labels(labels, tmp_path):
    weight = dict(zip(np.unique(labels), [1.0, 2.5, 0.5], strict=False))
    settings = {**SMALL, "checkpoint": tmp_path / "run.npz", "warm_start": True, "strength": "fixed"}
    model = sg.GroveClassifier(**settings, class_weight=weight).fit(X, labels)
    again = saved_and_loaded(model, tmp_path)
    assert again.class_weight == weight
    assert {type(key) for key in again.class_weight} == {type(key.item()) for key in weight}
    assert np.array_equal(again.fit(X, labels).predict_proba(X), model.predict_proba(X))
    longer = model.set_params(generations=3).fit(X, labels)
    whole = sg.GroveClassifier(**{**SMALL, "generations": 3}, strength="fixed", class_weight=weight).fit(X, labels)
    assert np.array_equal(longer.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (sg.TwoSEGPRegressor, {"population_size": 5}),
        (sg.TwoSEGPRegressor, {"selection": "nonsense"}),
        (sg.TwoSEGPRegressor, {"prune": False}),
        (sg.TwoSEGPRegressor, {"functions": ("add",)}),
        (sg.SpatialGPRegressor, {"torus": (2, 3)}),
        (sg.GroveRegressor, {"ridge": 1e300, "aggregation": "mean"}),
        (sg.GroveRegressor, {"functions": ("mul",), "epsilon": 0.5}),
        (sg.DivNichGPRegressor, {"prune": False}),
    ],
)
def test_what_is_set_after_the_fit_changes_no_file(kind, changed, tmp_path):
    known = kind().get_params()
    settings = {name: value for name, value in {**SMALL, **OTHER}.items() if name in known}
    model = kind(**settings).fit(X, Y)
    expected = model.predict(X), [m.formula for m in model.ensemble_], model.formula(), model.get_params()
    model.set_params(**changed)
    assert model.formula() == expected[2]
    for again in (saved_and_loaded(model, tmp_path), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(X), expected[0])
        assert [m.formula for m in again.ensemble_] == expected[1]
        assert again.formula() == expected[2]
    assert sg.load(tmp_path / "model.json").get_params() == expected[3]


def test_extreme_ridges_make_models_that_load(tmp_path):
    model = sg.GroveRegressor(**SMALL, max_terms=8, ridge=1e300).fit(X, Y)
    assert np.array_equal(saved_and_loaded(model, tmp_path).predict(X), model.predict(X))


def test_types_of_numpy_are_saved_by_name(tmp_path):
    again = saved_and_loaded(sg.TwoSEGPRegressor(**SMALL, dtype=np.float32).fit(X, Y), tmp_path)
    assert again.dtype == "float32"


def test_what_has_no_form_is_refused(tmp_path):
    model = sg.TwoSEGPRegressor(**SMALL).fit(X, Y)
    model._fitted_with["epsilon"] = object()
    with pytest.raises(ValueError, match="epsilon=<object"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
