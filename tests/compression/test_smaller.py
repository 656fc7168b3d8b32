"""Fewer members, fewer terms, one formula: ordinary models with errors of rows they were not made for."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import LinearRegression

import symgrove as sg
from symgrove.models.ensemble import median_of_finite
from symgrove.models.pruning import choose_members, make_folds, pursue, sizes_to
from symgrove.report.rows import choose_rows
from tests.contracts.test_methods import METHODS
from tests.naive import pruning as naive

CASES = [(kind, 3 if hasattr(kind, "predict_proba") else 0) for kind in METHODS]


def data_for(n_classes):
    if not n_classes:
        X, y = make_friedman1(300, n_features=5, noise=0.5, random_state=0)
        return pd.DataFrame(X, columns=list("abcde")), y
    X, y = load_iris(return_X_y=True, as_frame=True)
    order = np.random.default_rng(0).permutation(np.flatnonzero(y >= 3 - n_classes))
    return X.iloc[order], np.array(["A", "B", "C"])[y.iloc[order]]


def size_of(model):
    return sum(member.size for member in model.ensemble_)


@pytest.mark.parametrize(("kind", "n_classes"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_every_estimator_can_be_simplified(kind, n_classes, tmp_path):
    X, y = data_for(n_classes)
    half = len(X) // 2
    model = kind(**METHODS[kind]).fit(X[:half], y[:half])
    before = model.predict(X)
    smaller = sg.simplify_ensemble(model, X[half:], y[half:])
    found = smaller.model
    assert type(found) is kind
    assert np.array_equal(model.predict(X), before)  # the old one is as it was
    assert size_of(found) == smaller.path[smaller.chosen].size
    sizes, errors = [p.size for p in smaller.path], [p.held_out_error for p in smaller.path]
    assert sizes == sorted(sizes)
    assert errors == sorted(errors, reverse=True)
    assert all(0 <= p.error < np.inf for p in smaller.path)
    point = smaller.path[smaller.path.chosen]
    shares = found.predict_proba(X) if n_classes else found.predict(X)
    np.testing.assert_array_equal(point.predict(X), shares[:, 1] if n_classes == 2 else shares)
    assert "formula" not in repr(smaller.path).partition("\n")[0] or all(p.has_formula for p in smaller.path)
    assert smaller.error <= 1.01 * smaller.error_before
    assert smaller.n_parts <= smaller.n_parts_before
    assert smaller.rows == ("new rows" if not n_classes else smaller.rows)
    if not n_classes and smaller.n_rows == half:  # of terms, half of the rows judge
        assert smaller.error_before == pytest.approx(np.sqrt(np.mean((model.predict(X[half:]) - y[half:]) ** 2)))
    found.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), found.predict(X))
    assert found.export("c") == again.export("c")
    assert found.feature_importances_.shape == (X.shape[1],)
    for member in found.ensemble_[:2]:
        assert member.formula


@pytest.mark.parametrize("kind", [sg.TwoSEGPRegressor, sg.GroveRegressor])
def test_a_size_is_kept_and_errors_hold_on_new_rows(kind):
    X, y = make_friedman1(1500, n_features=5, noise=0.5, random_state=0)
    settings = {**METHODS[kind], "population_size": 200, "generations": 20, "n_estimators": 20}
    if kind is sg.TwoSEGPRegressor:
        settings["functions"] = ("add", "sub", "mul")  # a division that is huge on one row would decide
    model = kind(**settings).fit(X[:300], y[:300])
    smaller = sg.simplify_ensemble(model, X[300:600], y[300:600])
    limit = smaller.path[len(smaller.path) // 2].size
    limited = sg.simplify_ensemble(model, X[300:600], y[300:600], max_size=limit)
    assert size_of(limited.model) <= limit
    error = np.sqrt(np.mean((limited.model.predict(X[600:]) - y[600:]) ** 2))
    assert error == pytest.approx(limited.path[limited.chosen].held_out_error, rel=0.25)
    with pytest.raises(ValueError, match="max_size must be a whole number"):
        sg.simplify_ensemble(model, X, y, max_size=0)


def test_what_is_too_large_is_told():
    X, y = data_for(0)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor], init_depth=(4, 4)).fit(X, y)
    with pytest.raises(ValueError, match="more than max_size=1; `distill` makes formulas of any size"):
        sg.simplify_ensemble(model, X, y, max_size=1)


def test_a_large_ensemble_shrinks_without_loss():
    X, y = make_friedman1(1200, n_features=5, noise=0.5, random_state=0)
    model = sg.TwoSEGPRegressor(population_size=200, generations=20, random_state=0).fit(X[:300], y[:300])
    smaller = sg.simplify_ensemble(model, X[300:600], y[300:600]).model
    errors = [np.mean((m.predict(X[600:]) - y[600:]) ** 2) for m in (model, smaller)]
    assert errors[1] < 1.1 * errors[0]
    assert size_of(smaller) < 0.5 * size_of(model)


def test_what_holds_no_longer_is_gone():
    X, y = data_for(0)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor], calibration=0.2).fit(X[:150], y[:150])
    smaller = model.simplify_ensemble(X[150:], y[150:], max_error_increase=0.5).model
    assert not hasattr(smaller, "oob_score_")
    with pytest.raises(ValueError, match="calibrate"):
        smaller.predict_interval(X)
    assert np.isfinite(smaller.calibrate(X[150:], y[150:]).predict_interval(X)).all()


def test_the_report_knows_what_made_a_smaller_model():
    X, y = data_for(0)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]).fit(X[:100], y[:100])
    given = model, X[100:200], y[100:200]
    for smaller in (sg.simplify_ensemble(*given), sg.distill(*given, effort="quick", max_size=5)):
        for rows in (slice(0, 100), slice(100, 200)):
            assert "The model was fitted on these 100 rows" in choose_rows(smaller.model, X[rows], y[rows], None).note
        assert choose_rows(smaller.model, X[200:], y[200:], None).is_new


def test_errors_before_and_after_are_of_the_same_kind():
    X, y = data_for(3)
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier], calibration=0.2).fit(X, y)
    smaller = sg.simplify_ensemble(model, X, y)
    scores = np.stack([e.mean_clipped(X.to_numpy()) for e in model.model_.ensembles])
    wanted = np.stack([(y == label).astype(float) for label in model.classes_])
    assert smaller.error_before == pytest.approx(np.sqrt(np.mean((scores - wanted) ** 2)))


def test_bad_requests():
    numbers = data_for(0)
    regressor = sg.GroveRegressor(**METHODS[sg.GroveRegressor]).fit(*numbers)
    for function in (sg.simplify_ensemble, sg.distill):
        with pytest.raises(ValueError, match="y must be finite numbers"):
            function(regressor, numbers[0], np.where(np.arange(300) == 5, np.nan, numbers[1]))
        with pytest.raises(TypeError, match="of a pipeline, its last step"):
            function(LinearRegression().fit(*numbers), *numbers)
    constant = numbers[0].assign(**dict.fromkeys(numbers[0].columns, 1.0))
    with pytest.raises(ValueError, match="no term varies on these rows"):
        sg.simplify_ensemble(regressor, constant, numbers[1])
    X, y = data_for(3)
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, y)
    with pytest.raises(ValueError, match="two classes apart, not 3"):
        sg.distill(model, X)
    with pytest.raises(ValueError, match="at least 20 rows"):
        sg.simplify_ensemble(model, X[:5], y[:5])
    with pytest.raises(ValueError, match="labels that the model was not fitted with: 'D'"):
        sg.simplify_ensemble(model, X, np.where(y == "A", "D", y))


@pytest.mark.parametrize("combine", [None, "median"])
def test_members_are_chosen_greedily(combine):
    rng = np.random.default_rng(0)
    members, target = rng.normal(size=(6, 40)), rng.normal(size=40)
    rule = None if combine is None else (lambda m: median_of_finite(m, 0.0))
    found = choose_members(members, target, 5, rule, make_folds(40, 0))
    definition = (lambda m: m.mean(axis=0)) if rule is None else (lambda m: np.median(m, axis=0))
    assert found.chosen == naive.choose_members(members, target, 5, definition)
    assert found.said[-1] == pytest.approx(definition(members[found.chosen]))
    held_out = make_folds(40, 0)[2]
    rest = np.setdiff1d(np.arange(40), held_out)
    chosen = naive.choose_members(members[:, rest], target[rest], 3, definition)
    assert found.held_out[2, held_out] == pytest.approx(definition(members[chosen][:, held_out]))


def test_members_with_weights_are_chosen_greedily():
    rng = np.random.default_rng(0)
    members, target, weights = rng.normal(size=(6, 40)), rng.normal(size=40), np.array([1, 0.2, 0, 3, 0.7, 0.1])
    found = choose_members(members, target, 5, None, make_folds(40, 0), weights)
    with_weights = np.concatenate([members, weights[:, None]], axis=1)
    definition = lambda m: np.average(m[:, :-1], axis=0, weights=m[:, -1])  # noqa: E731
    usable = np.flatnonzero(weights)
    chosen = naive.choose_members(with_weights[usable], target, 5, definition)
    assert found.chosen == usable[chosen].tolist()


def test_terms_are_pursued():
    rng = np.random.default_rng(0)
    terms, target = rng.normal(size=(8, 60)) * rng.uniform(0.1, 9, size=(8, 1)), rng.normal(size=60)
    terms[5] = 2 * terms[2] + 1  # one of them says all that the other does
    found = pursue(terms, target, 8)
    assert sorted({*found.chosen} | {2, 5}) == list(range(8))
    assert len(found.chosen) == 7
    chosen, solution = naive.pursue(terms, target, 4)
    assert found.chosen[:4] == chosen
    assert found.solutions[3] == pytest.approx(solution, rel=1e-4)
    nothing = pursue(np.ones((3, 60)), target, 4)
    assert nothing.chosen == []
    assert nothing.solutions[0] == pytest.approx([target.mean()])


def test_many_terms_are_pursued_some_at_a_time():
    rng = np.random.default_rng(0)
    terms = rng.normal(size=(200, 400))
    weights = np.where(np.arange(200) < 60, 1.0, 0.0)
    found = pursue(terms, weights @ terms, 100)
    assert [s.size - 1 for s in found.solutions] == sizes_to(len(found.chosen))
    assert set(range(60)) <= set(found.chosen)
    assert found.solutions[-1][1:][:60] == pytest.approx(weights[found.chosen][:60], abs=1e-3)
