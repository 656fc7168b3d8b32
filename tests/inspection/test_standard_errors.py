import numpy as np
import pandas as pd
import pytest
from scipy.optimize import curve_fit

import symgrove as sg
from symgrove.forest.values import slopes_of, values_of
from symgrove.inspection import standard_errors
from tests.strategies import ALL, plant


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 3.0, (300, 2))
    return X, 2.34567 * X[:, 0] ** 2 + 0.61803 * X[:, 1] + rng.normal(scale=0.2, size=300)


@pytest.fixture(scope="module")
def model(data):
    return sg.LawRegressor(functions=(), random_state=0).fit(*data)


def test_they_are_those_of_nonlinear_regression(model, data):
    X, y = data
    found = standard_errors(model, X, y)
    fitted, covariance = curve_fit(lambda X, a, b: a * X[0] ** 2 + b * X[1], X.T, y)
    order = np.argsort(-found.values)
    np.testing.assert_allclose(found.values[order], fitted, rtol=1e-5)
    np.testing.assert_allclose(found.covariance[np.ix_(order, order)], covariance, rtol=1e-4)
    np.testing.assert_allclose(found.errors, np.sqrt(np.diagonal(found.covariance)))
    a, b = (f"({fitted[k]:.{d}f} ± {np.sqrt(covariance[k, k]):.{d}f})" for k, d in ((0, 4), (1, 4)))
    assert found.formula in (f"{b} * x1 + {a} * x0^2", f"{a} * x0^2 + {b} * x1")


def test_columns_are_found_by_name(model, data):
    X, y = data
    named = sg.LawRegressor(functions=(), random_state=0).fit(pd.DataFrame(X, columns=["size", "age"]), y)
    table = pd.DataFrame({"age": X[:, 1], "size": X[:, 0]})[["size", "age"]]
    assert "size^2" in standard_errors(named, table, y).formula
    np.testing.assert_array_equal(standard_errors(named, table, y).errors, standard_errors(model, X, y).errors)


@pytest.mark.parametrize("name", [row.name for row in ALL.functions if row.name != "step"])
def test_slopes_are_those_of_differences(name):
    forest = sg.Forest(1, ALL)
    constant, row = 0.3, ALL[name]
    X, step = np.random.default_rng(0).uniform(0.4, 0.9, (20, 1)), 1e-6
    operands = [("mul", ("constant", constant), ("feature", 0)), ("add", ("feature", 0), ("constant", constant))]
    root = plant(forest, (name, *operands[: row.arity]))
    node = forest.constant(constant)
    low, high = (values_of(forest, [root], X, {node: constant + d})[0] for d in (-step, step))
    np.testing.assert_allclose(slopes_of(forest, root, X, [node])[0], (high - low) / (2 * step), rtol=1e-5, atol=1e-8)


def test_models_that_are_no_formula_and_too_few_rows_are_refused(model, data):
    X, y = data
    with pytest.raises(ValueError, match="2 rows on which"):
        standard_errors(model, X[:2], y[:2])
    votes = sg.TwoSEGPClassifier(population_size=20, n_estimators=2, generations=1, random_state=0).fit(X, y > 10)
    with pytest.raises(ValueError, match="is not one formula that predicts numbers"):
        standard_errors(votes, X, y > 10)
    several = sg.TwoSEGPRegressor(
        population_size=20, n_estimators=2, generations=1, aggregation="median", random_state=0
    ).fit(X, y)
    with pytest.raises(ValueError, match="is not one formula"):
        standard_errors(several, X, y)
