"""One formula that imitates a model: what it is, which rows judge it, and what it is compared with."""

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.metrics import r2_score

import symgrove as sg
from symgrove.compression.judging import judging_of
from symgrove.estimators.fitted import known_score
from tests.contracts.test_methods import METHODS

QUICK = {"effort": "quick", "max_size": 12}


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(260, n_features=5, noise=0.5, random_state=0)
    X = pd.DataFrame(X, columns=list("abcde"))
    return sg.TwoSEGPRegressor(population_size=100, generations=10, random_state=0).fit(X[:160], y[:160]), X, y


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.set_axis([f"f{j}" for j in range(X.shape[1])], axis=1), np.array(["B", "M"])[1 - y]
    return sg.GroveClassifier(**METHODS[sg.GroveClassifier]).fit(X[:300], y[:300]), X, y


def test_numbers_are_taught_to_a_law(numbers, tmp_path):
    model, X, _ = numbers
    one = sg.distill(model, X, **QUICK)
    assert type(one.model) is sg.LawRegressor
    assert one.path[one.chosen].size <= 12
    assert one.path.chosen == one.chosen
    assert one.path[one.chosen].formula == one.model.ensemble_[0].formula == one.model.formula()
    assert np.corrcoef(one.model.predict(X), model.predict(X))[0, 1] > 0.8
    assert (one.rows, one.error_before, one.score_before) == ("the model's predictions", 0, 1)
    assert one.score < 1
    assert known_score(one.model) is None  # it is of the teacher
    assert one.model.feature_importances_.sum() == pytest.approx(1)
    one.model.save(tmp_path / "m.json")
    again = sg.load(tmp_path / "m.json")
    assert np.array_equal(again.predict(X), one.model.predict(X))
    assert [p.formula for p in again.front_] == [p.formula for p in one.path]
    with pytest.raises(ValueError, match="calibrate"):
        one.model.predict_interval(X)


def test_two_classes_are_taught_to_one_formula_of_log_odds(classes, tmp_path):
    model, X, y = classes
    one = sg.distill(model, X, y, **QUICK)
    assert type(one.model) is sg.GroveClassifier
    assert one.path[one.chosen].size <= 12
    shares = one.model.predict_proba(X)[:, 1]
    law = sympy.lambdify([sympy.Symbol(name) for name in X.columns], one.model.ensemble_[0].sympy)
    assert np.log(shares / (1 - shares)) == pytest.approx(np.clip(law(*X.to_numpy().T), -15, 15), rel=1e-4)
    assert one.path[one.chosen].predict(X) == pytest.approx(shares)
    assert one.rows == "new rows"
    assert one.n_rows == 269
    assert one.score == np.mean(one.model.predict(X[300:]) == y[300:])
    assert one.score > 0.85
    assert one.score_before == pytest.approx(np.mean(model.predict(X[300:]) == y[300:]))
    assert known_score(one.model) == (one.score, "accuracy", "fit", 269)
    one.model.save(tmp_path / "m.json")
    again = sg.load(tmp_path / "m.json")
    assert np.array_equal(again.predict_proba(X), one.model.predict_proba(X))
    assert again.export("c") == one.model.export("c")
    sizes = [p.size for p in again.size_path_]
    assert sizes == sorted(sizes, reverse=True)
    assert again.size_path_[0].formula == one.model.ensemble_[0].formula


def test_rows_of_the_fit_are_judged_by_what_the_model_says_without_them(numbers, tmp_path):
    model, X, y = numbers
    one = sg.distill(model, X[:160][::-1], y[:160][::-1], **QUICK)  # in any order
    assert (one.rows, one.measure) == ("rows held out", "R²")
    assert one.n_rows == 80  # a fifth would be few
    assert one.score_before < r2_score(y[:160], model.predict(X[:160]))
    # What is read from a file knows no rows, but the score of all.
    model.save(tmp_path / "m.json")
    again = sg.distill(sg.load(tmp_path / "m.json"), X[:160][::-1], y[:160][::-1], **QUICK)
    assert again.score_before == model.oob_score_
    some = sg.distill(model, X, y, **QUICK)
    assert (some.rows, some.n_rows) == ("new rows", 100)
    assert some.score == pytest.approx(r2_score(y[160:], some.model.predict(X[160:])))
    assert some.score_before == pytest.approx(r2_score(y[160:], model.predict(X[160:])))
    assert some.error_before == pytest.approx(np.sqrt(np.mean((model.predict(X[160:]) - y[160:]) ** 2)))


def test_what_a_model_says_without_rows_is_its_out_of_bag_prediction(numbers):
    model, X, y = numbers
    table, teacher = X[:160].to_numpy(), model.predict(X[:160])
    judging = judging_of(model, table, teacher, y[:160], 0)
    assert np.array_equal(judging.before, model.oob_prediction_[judging.judging])
    assert sorted([*judging.taught, *judging.judging]) == [*range(160)]
    assert judging.score_before == pytest.approx(r2_score(y[judging.judging], judging.before))


def test_bad_requests(numbers):
    model, X, y = numbers
    for given, message in (
        ({"max_size": 0}, "max_size must be a whole number of at least 1"),
        ({"effort": "none"}, "effort must be one of"),
        ({"functions": ("sine",)}, "functions must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            sg.distill(model, X, **given)
    with pytest.raises(ValueError, match="at least 20 rows are needed, got 5"):
        sg.distill(model, X[:5], y[:5])
