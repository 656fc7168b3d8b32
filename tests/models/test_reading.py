"""What models know of their training rows for showing formulas."""

import numpy as np
import pytest

import symgrove as sg
from symgrove.forest.latex import to_latex
from symgrove.forest.values import values_of
from symgrove.models.document import Entries
from symgrove.models.reading import Reading, reading_from

SETTINGS = {"population_size": 40, "generations": 4, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(1.0, 3.0, (400, 2)) * [1.0, 100.0]
    return X, 2 * X[:, 0] + 0.03 * X[:, 1] + rng.normal(scale=0.5, size=400)


@pytest.fixture(scope="module")
def model(data):
    return sg.LawRegressor(functions=(), random_state=0).fit(*data)


def test_numbers_have_few_digits_and_the_error_hardly_rises(model, data):
    X, y = data
    assert model.model_.reading.residual == pytest.approx(np.std(y - model.predict(X)), rel=1e-3)
    forest = sg.Forest(2, model.model_.primitives)
    for member in (model.ensemble_[0], *model.front_):
        text = member.rounded()
        assert len(text) < len(member.formula)
        root = sg.parse(forest, text)
        shown, exact = values_of(forest, [root, sg.parse(forest, member.formula)], X)
        errors = np.mean((y - shown) ** 2), np.mean((y - exact) ** 2)
        assert errors[0] < errors[1] + 0.02 * np.std((y - exact) ** 2) / np.sqrt(len(y))
        assert member.latex == to_latex(forest, root, None, 10)
    assert model.ensemble_[0].rounded(2) == sg.to_text(forest, sg.parse(forest, model.ensemble_[0].formula), None, 2)


def test_files_keep_it(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    assert [p.rounded() for p in again.front_] == [p.rounded() for p in model.front_]
    assert again.ensemble_[0].rounded() == model.ensemble_[0].rounded()
    assert again.use(5).ensemble_[0].rounded() == model.use(5).ensemble_[0].rounded()
    model.use("mdl")


def test_files_of_older_versions_have_four_digits(data):
    model = sg.TwoSEGPRegressor(n_estimators=2, **SETTINGS).fit(*data)
    known, member = model.model_, model.ensemble_[0]
    assert member.rounded() != member.rounded(4)
    (unknown, *_) = known.with_reading(None).members(None)
    assert unknown.rounded() == unknown.rounded(4)


def test_smaller_models_know_their_own_residuals(data):
    model = sg.GroveRegressor(n_estimators=1, generations=5, strength="fixed", random_state=0).fit(*data)
    path = model.size_path_
    for point in path:
        residual = point.model.reading.residual
        assert residual == pytest.approx(point.error)
    assert model.model_.reading.residual <= path[-1].model.reading.residual


def test_classifiers_show_numbers_that_move_log_odds_a_little(data):
    X, y = data
    model = sg.GroveClassifier(n_estimators=1, generations=5, strength="fixed", random_state=0).fit(X, y > y.mean())
    assert model.model_.reading.residual == 1.0
    assert len(model.ensemble_[0].rounded()) < len(model.ensemble_[0].formula)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quantiles": [[0.0, 0.0]]}, "must be 5 lists, got 1"),
        ({"quantiles": [[0.0]] * 5}, "quantiles"),
        ({"residual": -1.0}, "must not be negative"),
        ({"n_rows": 0}, "n_rows"),
    ],
)
def test_damaged_files_are_refused(change, message):
    document = Reading(np.zeros((5, 2)), 1.0, 10).document()
    assert reading_from(Entries(document), 2).margin == Reading(np.zeros((5, 2)), 1.0, 10).margin
    with pytest.raises(ValueError, match=message):
        reading_from(Entries({**document, **change}), 2)
