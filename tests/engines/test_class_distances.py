"""Classes by distance of many individuals at once, against the definition."""

import numpy as np
import pytest

from symgrove import CpuEngine, Forest, make_dataset
from symgrove.engines.class_distances import ClassDistances, whitening
from tests.naive import class_distances as naive
from tests.naive.programs import evaluate
from tests.strategies import ALL, uproot

BOTH = pytest.mark.parametrize("is_centred", [True, False])


def problem(n_rows=120, n_classes=3, seed=0):
    """Rows in clusters, their classes, a forest with trees, and an engine."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, 4)) * rng.uniform(0.3, 3, size=(n_classes, 4))[labels]
    X += 1.5 * rng.normal(size=(n_classes, 4))[labels] + 10
    forest = Forest(4, ALL)
    features = [forest.feature(i) for i in range(4)]
    trees = features + [forest.apply("mul", features[0], f) for f in features]
    trees += [forest.apply("sub", features[1], features[2]), forest.apply("aq", features[3], features[0])]
    return X, labels, forest, np.array(trees), CpuEngine(make_dataset(X, labels.astype(float)), ALL), rng


def columns_of(forest, trees, X):
    return [evaluate(uproot(forest, tree), X) for tree in trees if tree >= 0]


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_errors_of_individuals_of_any_width(n_classes, is_centred, is_weighted):
    X, labels, forest, trees, engine, rng = problem(n_classes=n_classes)
    weight = rng.integers(1, 4, size=120).astype(float) if is_weighted else None
    individuals = np.full((30, 6), -1)
    for row in individuals:
        k = rng.integers(1, 7)
        row[:k] = rng.choice(trees, size=k, replace=False)
    expected = [naive.error(columns_of(forest, own, X), labels, weight, is_centred) for own in individuals]
    for n_at_a_time in (1, 20, 1000):
        head = ClassDistances.of(engine, weight, is_centred=is_centred, n_at_a_time=n_at_a_time)
        np.testing.assert_allclose(head.errors(forest, individuals), expected, rtol=1e-12)
    assert len(set(expected)) > 5


@BOTH
def test_geometry_gives_the_distances_of_the_definition(is_centred):
    X, labels, forest, trees, engine, _ = problem()
    head = ClassDistances.of(engine, None, is_centred=is_centred)
    own = trees[[8, 0, 5]]
    found = head.geometry(forest, own)
    columns = columns_of(forest, own, X)
    shapes = naive.geometry(columns, labels, np.ones(120), is_centred)
    for centroid, factor, (expected, inverse) in zip(found.centroids, found.factors, shapes, strict=True):
        np.testing.assert_allclose(centroid, expected, rtol=1e-12)
        np.testing.assert_allclose(factor.T @ factor, inverse, rtol=1e-8)
        assert (np.triu(factor, 1) == 0).all()
    assert found.error == head.errors(forest, own[None])[0]
    assert found.unit == pytest.approx(np.sqrt(naive.distances(columns, shapes).min(axis=0).mean()))


@pytest.mark.parametrize("far", [1e3, 1e4, 1e6])
def test_classes_that_are_tight_beside_a_far_one_are_still_found_singular(far):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    X = rng.normal(size=(300, 2)) * np.where(labels == 0, 1, 4)[:, None] + np.where(labels == 2, far, 0)[:, None]
    forest = Forest(2, ALL)
    a, b = forest.feature(0), forest.feature(1)
    three = forest.apply("add", a, forest.apply("add", a, a))
    head = ClassDistances.of(CpuEngine(make_dataset(X, labels.astype(float)), ALL), None)
    for own in ([a, b], [a, b, three]):
        expected = naive.error(columns_of(forest, own, X), labels)
        assert head.errors(forest, np.array([own]))[0] == pytest.approx(expected, abs=0.004)


def test_a_singular_class_is_measured_by_the_euclidean_distance():
    X, labels, forest, trees, _, _ = problem()
    X[labels == 1, 0] = 12.0  # constant in one class
    engine = CpuEngine(make_dataset(X, labels.astype(float)), ALL)
    head = ClassDistances.of(engine, None)
    own = trees[[0, 1]]
    found = head.geometry(forest, own)
    np.testing.assert_allclose(found.factors[1], np.eye(2), rtol=1e-12)
    assert not np.allclose(found.factors[0], np.eye(2))
    assert found.error == pytest.approx(naive.error(columns_of(forest, own, X), labels))
    twice = head.geometry(forest, trees[[1, 1]])
    constant = head.geometry(forest, np.array([trees[1], forest.constant(0.1)]))
    for each in (twice, constant):
        np.testing.assert_allclose(each.factors, np.broadcast_to(np.eye(2), (3, 2, 2)), rtol=1e-12)


def test_what_is_not_finite_is_never_right():
    X, labels, forest, trees, _, _ = problem()
    X[7, 3] = 1e100
    engine = CpuEngine(make_dataset(X, labels.astype(float)), ALL)
    overflows = forest.apply("cube", forest.apply("square", trees[3]))
    individuals = np.array([[trees[0], -1], [trees[0], overflows], [overflows, -1], [trees[1], trees[2]]])
    errors = ClassDistances.of(engine, None).errors(forest, individuals)
    assert np.isinf(errors).tolist() == [False, True, True, False]


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_whitening_is_a_root_of_the_inverse(k):
    rng = np.random.default_rng(k)
    mixing = rng.normal(size=(20, k, k)) * 10.0 ** rng.integers(-8, 9, size=(20, k, 1))
    covariances = mixing @ mixing.transpose(0, 2, 1)
    covariances[3] = np.ones((k, k))
    covariances[4, 0, 0] = 0.0
    covariances[5, 0, 0] = np.nan
    covariances[6, k - 1, k - 1] = -1.0
    factors, is_singular = whitening(covariances, np.full((20, k), 1e-10))
    assert np.flatnonzero(is_singular).tolist() == ([3] if k > 1 else []) + [4, 5, 6]
    for factor, covariance in zip(factors[~is_singular], covariances[~is_singular], strict=True):
        np.testing.assert_allclose(factor @ covariance @ factor.T, np.eye(k), atol=1e-6)
        spread = np.sqrt(np.diag(covariance))
        expected = naive.inverse_or_identity(covariance) * np.outer(spread, spread)
        np.testing.assert_allclose(factor.T @ factor * np.outer(spread, spread), expected, rtol=1e-5, atol=1e-5)
