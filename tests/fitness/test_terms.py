import numpy as np
import pytest

from symgrove.fitness.terms import make_terms, random_direction
from tests.naive import teams as naive


def outputs(dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, 30)) * 10.0 ** rng.integers(-3, 4, size=(9, 1)) + 3
    rows[0] = rng.normal(size=30)
    rows[1, 5] = np.nan
    rows[2, 5] = np.inf
    rows[3, 5] = 2e6
    rows[4] = 7.0
    rows[5] = 1e4 + 1e-3 * rng.normal(size=30)
    rows[7] = 5 - 2 * rows[0]  # the same term up to sign and scale
    return rows.astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_terms_are_standardised_and_useless_ones_dropped(dtype):
    given, weight = outputs(dtype), np.random.default_rng(1).random(30)
    weight /= weight.sum()
    terms = make_terms(np.arange(9), given.copy(), weight, random_direction(30, 0))
    assert terms.root.tolist() == [0, 6, 8]
    for i, root in enumerate(terms.root):
        centre, spread, z = naive.standardize(given[root].astype(float), weight)
        assert terms.centre[i] == pytest.approx(centre)
        assert terms.spread[i] == pytest.approx(spread)
        np.testing.assert_allclose(terms.values[i], z, atol=1e-4 if dtype == "float32" else 1e-12)
        assert (terms.low[i], terms.high[i]) == pytest.approx((z.min(), z.max()), rel=1e-4)
    for root in (1, 2, 3, 4, 5):
        assert naive.standardize(given[root].astype(float), weight) is None


def test_all_are_kept_if_wanted():
    given = outputs("float64")[[0, 6, 7, 8]]
    terms = make_terms(np.arange(4), given.copy(), np.full(30, 1 / 30), random_direction(30, 0), keep_all=True)
    assert terms.root.tolist() == [0, 1, 2, 3]
    assert terms.key[0] == terms.key[2]
    assert np.unique(terms.key).size == 3
    np.testing.assert_allclose(terms.values.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(terms.values.std(axis=1), 1)
