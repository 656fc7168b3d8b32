"""The LASSO path from correlations, against scikit-learn and against coordinate descent on the rows."""

import numpy as np
import pytest
from sklearn.linear_model import lasso_path as other_lasso_path

from symgrove.fitness.lasso import lasso_path, least_penalized, lowest_bic, path_scores, penalties_of
from tests.naive import lasso as naive


def columns_and_target(seed, n_rows, n_columns, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) + rng.normal(size=(n_rows, 1))
    y = X[:, 0] - 2 * X[:, -1] + noise * rng.normal(size=n_rows)
    weight = np.ones(n_rows)
    return np.array([naive.standardized(column, weight) for column in X.T]), naive.standardized(y, weight)


def path_of(Z, t, **options):
    n_rows = len(t)
    return lasso_path(Z @ Z.T / n_rows, Z @ t / n_rows, n_rows, **options)


@pytest.mark.parametrize("seed", [0, 1])
def test_converged_it_is_that_of_scikit_learn(seed):
    Z, t = columns_and_target(seed, 80, 12)
    found = path_of(Z, t, tolerance=1e-13)
    penalties = penalties_of(Z @ t / len(t), len(t))[1 : len(found.r_squared)]
    _, weights, _ = other_lasso_path(Z.T, t, alphas=penalties, tol=1e-14, max_iter=100_000)
    assert len(penalties) > 30
    np.testing.assert_array_equal(found.weights[0], 0.0)
    np.testing.assert_allclose(found.weights[1:], weights.T, atol=1e-7)
    np.testing.assert_allclose(found.r_squared[1:], 1 - np.mean((t[:, None] - Z.T @ weights) ** 2, axis=0), atol=1e-9)


@pytest.mark.parametrize(("n_rows", "n_columns", "noise"), [(60, 7, 0.5), (8, 12, 0.5), (60, 5, 0.0)])
def test_it_stops_where_coordinate_descent_on_rows_does(n_rows, n_columns, noise):
    Z, t = columns_and_target(2, n_rows, n_columns, noise)
    found, expected = path_of(Z, t), naive.lasso_path(Z, t, np.ones(n_rows))
    np.testing.assert_allclose(found.weights, [b for b, _ in expected], atol=1e-10)
    np.testing.assert_allclose(found.r_squared, [r2 for _, r2 in expected], atol=1e-10)
    np.testing.assert_allclose(path_scores(found), naive.scores_of(expected), rtol=1e-9)
    if noise == 0.0:
        assert len(found.r_squared) < 100


def test_penalties_fall_to_a_share_that_depends_on_the_rows():
    with_target = np.array([0.2, -0.5, 0.1])
    for n_rows, share in ((10, 1e-4), (2, 5e-2)):
        penalties = penalties_of(with_target, n_rows)
        assert penalties[0] == np.inf
        assert penalties[-1] == pytest.approx(0.5 * share)
        np.testing.assert_allclose(np.diff(np.log(penalties[1:])), np.log(share) / 99)


def test_without_columns_or_correlation_nothing_is_explained():
    for n in (0, 3):
        path = lasso_path(np.eye(n), np.zeros(n), 10)
        assert not path.weights.any()
        np.testing.assert_array_equal(path_scores(path), np.zeros(n))


def test_the_criterion_weighs_fit_against_terms():
    Z, t = columns_and_target(3, 200, 15)
    path = path_of(Z, t)
    last, best = least_penalized(path, 200), lowest_bic(path, 200)
    np.testing.assert_array_equal(last.weights, path.weights[-1])
    assert last.criterion == pytest.approx(1 - path.r_squared[-1])
    criteria = 200 * np.log(1 - path.r_squared) + np.log(200) * (path.weights != 0).sum(axis=1)
    assert best.criterion == criteria.min()
    np.testing.assert_array_equal(best.weights, path.weights[np.argmin(criteria)])
    assert np.count_nonzero(best.weights) < np.count_nonzero(last.weights)
