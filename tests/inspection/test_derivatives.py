"""Exact derivatives against differences of the plan's meaning."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1

import symgrove as sg
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.inspection import derivatives, sensitivity
from symgrove.inspection.derivatives import _of_rows, _value_of_rows
from symgrove.models.ensemble import make_ensemble
from symgrove.models.standardization import no_standardization
from tests.contracts.test_methods import METHODS, settings_of, target_for
from tests.export.test_exports import CASES, NAMES, PLANS, every_primitive
from tests.export.test_plain_primitives import without_protection
from tests.making import plan_of
from tests.naive.inspection import central_differences
from tests.naive.plans import evaluate

TOLERANCE = 1e-6


def agrees(found, function, X):
    """Whether derivatives agree with differences, where differences of two steps agree with each other.

    They do not near kinks, and where a step is too short for the digits of the prediction.
    """
    with np.errstate(all="ignore"):
        first, second, third = (central_differences(function, X, step) for step in (4e-3, 2e-3, 1e-3))
        # The errors of a difference are of second, fourth, ... order: take them out (Romberg).
        good, better = (4 * second - first) / 3, (4 * third - second) / 3
        best = (16 * better - good) / 15
        size = np.abs(best) + 1e-3 * np.abs(best).max(axis=1, keepdims=True)
        is_smooth = (np.abs(best - better) <= 0.1 * TOLERANCE * size) & np.isfinite(best)
        is_smooth &= 1e-15 * np.abs(function(X))[:, None] / 1e-3 <= 0.1 * TOLERANCE * size  # digits enough
        is_near = np.abs(found - best) <= TOLERANCE * size
    return is_near, is_smooth


@pytest.mark.parametrize("aggregation", ["mean", "median", "interquartile", "weighted"])
@pytest.mark.parametrize("seed", range(3))
def test_every_primitive(seed, aggregation):
    plan = plan_of(every_primitive(seed, aggregation), list("abcd"))
    X = np.random.default_rng(seed).normal(size=(300, 4))
    is_near, is_smooth = agrees(_of_rows(plan, X, 0), lambda rows: evaluate(plan, rows), X)
    assert is_smooth.mean() > 0.25
    assert (is_near | ~is_smooth).mean() > 0.998  # quotients by almost zero have spikes that differences jump over


@pytest.mark.parametrize("seed", range(3))
def test_primitives_without_protection(seed):
    plan = plan_of(without_protection(seed), list("abcd"))
    X = np.random.default_rng(seed).uniform(0.1, 0.9, size=(300, 4))
    is_near, is_smooth = agrees(_of_rows(plan, X, 0), lambda rows: evaluate(plan, rows), X)
    assert is_smooth.mean() > 0.25
    assert (is_near | ~is_smooth).mean() > 0.998


def data_with(n_classes):
    """Rows for a regression, or of so many classes."""
    if not n_classes:
        return make_friedman1(150, n_features=5, random_state=0)
    X, y = load_iris(return_X_y=True)
    return X[y >= 3 - n_classes], y[y >= 3 - n_classes]


@pytest.mark.parametrize(("kind", "n_classes"), CASES, ids=NAMES)
def test_every_estimator(kind, n_classes):
    X, y = data_with(n_classes)
    settings = {**METHODS[kind], "calibration": 0.3}
    if kind in (sg.GroveRegressor, sg.GroveClassifier):
        settings["strength"] = "auto"
    model = kind(**settings).fit(X, y)
    rows = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    plan = model._plan()
    if any(block.head == "vote" for block in plan.blocks):
        found = derivatives(model, rows)
        assert np.isfinite(found).all()
        return
    for k in range(max(n_classes, 1)):
        found = derivatives(model, rows, *([model.classes_[k]] if n_classes else []))
        is_near, is_smooth = agrees(found, lambda r, k=k: _column(evaluate(plan, r), k), rows)
        assert is_smooth.mean() > 0.25
        assert (is_near | ~is_smooth).mean() > 0.98  # differences over a kink may agree with each other, rarely


def _column(values, k):
    return values if values.ndim == 1 else values[:, k]


def test_derivatives_of_votes_are_those_of_the_mean_output():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, y)
    rows = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)

    def mean_output(given):
        ensemble = model.model_.ensembles[0]
        return np.concatenate([ensemble.member_predictions(o).mean(axis=0) for _, o in ensemble.outputs(given)])

    is_near, is_smooth = agrees(derivatives(model, rows), mean_output, rows)
    assert is_smooth.mean() > 0.3
    assert (is_near | ~is_smooth).all()
    assert derivatives(model, rows, 1) == pytest.approx(-derivatives(model, rows, 2))


@pytest.mark.parametrize(
    ("aggregation", "slope"), [("mean", 1.5), ("median", 1.5), ("weighted", 1.75), ("interquartile", 1.0)]
)
def test_a_member_that_is_not_finite_does_not_count(aggregation, slope):
    forest = Forest(2, PrimitiveSet(("mul", "add")))
    x, z = forest.feature(0), forest.feature(1)
    square = forest.apply("mul", x, x)
    roots = np.array([forest.apply("mul", square, square), z, forest.apply("add", z, z)])
    rules = 0.0, no_standardization(2), aggregation, 0.5, np.array([4.0, 1.0, 3.0]) if slope == 1.75 else None
    plan = plan_of(make_ensemble(forest, roots, np.ones(3), np.zeros(3), *rules), ["a", "b"])
    assert _of_rows(plan, np.array([[1e100, 2.0]]), 0).tolist() == [[0.0, slope]]


def test_units_and_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) * [1.0, 1000.0]
    model = sg.GroveRegressor(n_estimators=1, sampling=1.0, strength="fixed", max_terms=3, max_size=3, random_state=0)
    model.fit(X, 3 * X[:, 0] - 0.002 * X[:, 1])
    found = derivatives(model, X)
    inside = (np.quantile(X, 0.01, axis=0) < X) & (np.quantile(X, 0.99, axis=0) > X)
    rows = inside.all(axis=1)
    assert np.median(found[rows], axis=0) == pytest.approx([3, -0.002], rel=0.01)
    assert sensitivity(model, X) == pytest.approx([3, 2], rel=0.15)


def test_bad_targets():
    X, y = make_friedman1(60, random_state=0)
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]).fit(X, y)
    with pytest.raises(ValueError, match="this is a regressor"):
        derivatives(model, X, target=1)
    with pytest.raises(ValueError, match="target must be one of"):
        derivatives(sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, y > 10), X, target="no")


@pytest.mark.parametrize("kind", [sg.GroveRegressor, sg.TwoSEGPRegressor])
@pytest.mark.parametrize("levels", [(0.0, 1.0), (0.0, 1.0, 5.0)])
def test_features_with_few_values_move_the_prediction(kind, levels):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.choice(levels, 300)])
    y = X[:, 0] + 10 * X[:, 1]
    small = {"strength": "fixed", "n_estimators": 10, "max_terms": 20}
    if kind is sg.TwoSEGPRegressor:
        small = {"functions": ("add", "sub", "mul")}  # few generations suffice, on any machine
    model = kind(random_state=0, generations=10, population_size=200, **small).fit(X, y)
    expected = [np.std(X[:, 0]), 10 * np.std(X[:, 1])]
    assert sensitivity(model, X) == pytest.approx(expected, rel=0.15)
    shown = sg.inspection.DerivativeDisplay.from_estimator(model, X)
    assert shown.values[:, 1].mean() == pytest.approx(expected[1], rel=0.15)


@pytest.mark.parametrize(("kind", "n_classes"), [case for case in CASES if case[0] in PLANS])
def test_differences_are_of_what_is_differentiated(kind, n_classes):
    X, y = data_with(n_classes)
    plan = kind(**settings_of(kind, generations=3, calibration=0.3)).fit(X, target_for(kind, X, y))._plan()
    rows = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    k = max(n_classes - 1, 0)
    is_near, is_smooth = agrees(_of_rows(plan, rows, k), lambda x: _value_of_rows(plan, x, k), rows)
    assert (is_near | ~is_smooth).mean() > 0.98


def test_features_of_0_and_1_move_votes_as_much_as_others():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200)])
    model = sg.TwoSEGPClassifier(population_size=100, generations=10, random_state=0).fit(X, X[:, 1] > 0.5)
    found = sensitivity(model, X)
    assert found[1] > 5 * found[0]


def test_derivatives_at_the_limits_of_training_are_those_to_the_inside():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    y = 3 * X[:, 0] + rng.normal(size=200)  # beyond the predictions, which are kept within the target's limits
    model = sg.GroveRegressor(
        random_state=0, generations=1, n_estimators=10, functions="mul", max_terms=1, max_size=1, strength="fixed"
    ).fit(X, y)
    ends = np.array([[X.min()], [X.max()]])
    assert derivatives(model, ends)[:, 0] == pytest.approx([3, 3], rel=0.15)
    assert derivatives(model, np.array([[-0.1], [1.1]]))[:, 0] == pytest.approx([0, 0])
