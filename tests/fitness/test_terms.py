import numpy as np

from symgrove.fitness.terms import VectorSummary, different, make_terms, random_direction
from tests.naive import teams as naive
from tests.naive import vectors


def outputs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, 30)) * 10.0 ** rng.integers(-3, 4, size=(9, 1)) + 3
    rows[0] = rng.normal(size=30)
    rows[1, 5] = np.nan
    rows[2, 5] = np.inf
    rows[3, 5] = 2e6
    rows[4] = 7.0
    rows[5] = 1e4 + 1e-3 * rng.normal(size=30)
    rows[7] = 5 - 2 * rows[0]  # the same term up to sign and scale
    return rows


def summary_of(rows, weight):
    with np.errstate(invalid="ignore"):
        return VectorSummary(*np.array([vectors.summary(row, weight, random_direction(30, 0)) for row in rows]).T)


def test_useless_terms_are_dropped_and_others_known():
    given, weight = outputs(), np.random.default_rng(1).random(30)
    weight /= weight.sum()
    terms = make_terms(np.arange(10, 19), summary_of(given, weight), 6)
    assert terms.root.tolist() == [10, 16, 17, 18]
    assert terms.position.tolist() == [0, 6, 7, 8]
    assert different(terms, np.arange(4)).tolist() == [0, 1, 3]
    assert different(terms, np.array([1, 2, 3])).tolist() == [1, 2, 3]
    for i, position in enumerate(terms.position):
        centre, spread, z = naive.standardize(given[position], weight)
        np.testing.assert_allclose(
            [terms.centre[i], terms.spread[i], terms.low[i], terms.high[i]], [centre, spread, z.min(), z.max()]
        )
    for position in (1, 2, 3, 4, 5):
        assert naive.standardize(given[position], weight) is None


def test_all_are_kept_if_wanted():
    given = outputs()[[0, 6, 7, 8]]
    terms = make_terms(np.arange(4), summary_of(given, np.full(30, 1 / 30)), 6, keep_all=True)
    assert terms.root.tolist() == [0, 1, 2, 3]
    assert terms.key[0] == terms.key[2]
    assert np.unique(terms.key).size == 3


def test_fewer_digits_make_more_terms_the_same():
    rng = np.random.default_rng(0)
    base = rng.normal(size=30)
    given = np.stack([base, base + 1e-4 * rng.normal(size=30), rng.normal(size=30)])
    summary = summary_of(given, np.full(30, 1 / 30))
    both = [make_terms(np.arange(3), summary, digits) for digits in (1, 9)]
    assert [different(terms, np.arange(3)).size for terms in both] == [2, 3]
