"""Linear heads of many individuals, against least squares of each from the definition, in hostile cases."""

import numpy as np
import pytest

from symgrove import CpuEngine, Forest, make_dataset
from symgrove.engines import linear_heads
from symgrove.engines.linear_heads import LinearHeads
from tests.naive import linear_heads as naive
from tests.strategies import ALL

N_ROWS = 70
rng = np.random.default_rng(4)
X = rng.normal(size=(N_ROWS, 4))
y = 3 + X[:, 0] - 2 * X[:, 1] * X[:, 2] + rng.normal(size=N_ROWS)
WEIGHTS = [None, rng.uniform(0.1, 3, N_ROWS)]


def trees_of(forest):
    """Trees, and their outputs: products and features, one huge, one tiny, one with an offset, one constant."""
    f = [forest.feature(i) for i in range(4)]
    roots = [
        f[0],
        f[3],
        forest.apply("mul", f[1], f[2]),
        forest.apply("mul", f[1], forest.constant(1e9)),
        forest.apply("mul", f[2], forest.constant(1e-9)),
        forest.apply("add", f[3], forest.constant(1e5)),
        forest.apply("sub", f[0], f[0]),
    ]
    outputs = [X[:, 0], X[:, 3], X[:, 1] * X[:, 2], X[:, 1] * 1e9, X[:, 2] * 1e-9, X[:, 3] + 1e5, np.zeros(N_ROWS)]
    return np.array(roots), outputs


def fit(individuals, weight=None, target=y, n_threads=1):
    forest = Forest(4, ALL)
    roots, outputs = trees_of(forest)
    trees = np.full((len(individuals), max(map(len, individuals))), -1)
    for row, own in zip(trees, individuals, strict=True):
        row[: len(own)] = roots[own]
    with CpuEngine(make_dataset(X, target), ALL, n_threads=n_threads) as engine:
        return LinearHeads.of(engine, weight).fit(forest, trees), outputs


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("batch", [1, 3, 256])
def test_heads_are_least_squares(weight, batch, monkeypatch):
    monkeypatch.setattr(linear_heads, "VECTORS_AT_A_TIME", batch)
    monkeypatch.setattr(linear_heads, "PRODUCTS_AT_A_TIME", 30 * batch)
    individuals = [[0], [0, 1, 2, 3, 4], [2, 2, 0], [6, 1], [6], [], [3, 5, 4]]
    heads, outputs = fit(individuals, weight)
    for i, own in enumerate(individuals):
        coefficients, intercept, error = naive.head([outputs[k] for k in own], y, weight)
        np.testing.assert_allclose(heads.coefficients[i, : len(own)], coefficients, rtol=1e-7, atol=1e-30)
        assert (heads.coefficients[i, len(own) :] == 0).all()
        assert heads.intercept[i] == pytest.approx(intercept, rel=1e-7)
        assert heads.error[i] == pytest.approx(error, rel=1e-9)


def test_dependent_trees_share_the_coefficient():
    heads, outputs = fit([[1, 5]])
    _, _, alone = naive.head([outputs[1]], y)
    assert heads.error[0] == pytest.approx(alone, rel=1e-6)
    assert heads.coefficients[0, 0] == pytest.approx(heads.coefficients[0, 1], rel=1e-3)


def test_small_errors_come_from_residuals():
    noise = 1e-9 * rng.normal(size=N_ROWS)
    target = 5 + 2 * X[:, 0] - 3 * X[:, 1] * X[:, 2] + noise
    heads, outputs = fit([[0, 2], [0, 1]], target=target)
    assert heads.error[0] == pytest.approx(naive.head([outputs[0], outputs[2]], target)[2], rel=1e-3)
    assert heads.error[0] < 1e-17 < heads.error[1]


def test_what_is_not_finite_is_unusable_and_spoils_nothing():
    primitives = type(ALL)(["div", "sub"], {"div": 0.0})
    forest = Forest(4, primitives)
    zero = forest.apply("sub", forest.feature(1), forest.constant(X[5, 1]))
    bad = forest.apply("div", forest.feature(0), zero)
    trees = np.array([[forest.feature(0), -1], [forest.feature(0), bad]])
    with CpuEngine(make_dataset(X, y), primitives) as engine:
        heads = LinearHeads.of(engine, None).fit(forest, trees)
    assert heads.error[1] == np.inf
    assert heads.error[0] == pytest.approx(naive.head([X[:, 0]], y)[2], rel=1e-12)


def test_threads_change_no_bit():
    individuals = [[0, 1, 2, 3, 4]] * 20
    for one, two in zip(fit(individuals)[0], fit(individuals, n_threads=2)[0], strict=True):
        np.testing.assert_array_equal(one, two)
