import numpy as np
import pytest
from scipy.stats import chisquare

from symgrove import bootstrap_counts, out_of_bag
from symgrove.fitness.bootstrap import check_counts, check_sample_weight, subsample_counts


def test_every_sample_sums_to_the_number_of_rows():
    counts = bootstrap_counts(97, 33, seed=1)
    assert counts.shape == (33, 97)
    assert (counts.sum(axis=1) == 97).all()
    assert (counts >= 0).all()


def test_counts_are_multinomial():
    """Joint distribution of two rows' counts for n = 3, over all outcomes."""
    counts = bootstrap_counts(3, 30_000, seed=2)
    outcomes, observed = np.unique(counts, axis=0, return_counts=True)
    factorial = np.array([1, 1, 2, 6])
    chance = 6 / factorial[outcomes].prod(axis=1) / 27
    assert len(outcomes) == 10
    assert chisquare(observed, 30_000 * chance).pvalue > 1e-3


def test_a_sample_does_not_depend_on_how_many_there_are():
    np.testing.assert_array_equal(bootstrap_counts(50, 3, seed=4), bootstrap_counts(50, 500, seed=4)[:3])
    assert (bootstrap_counts(50, 3, seed=4) != bootstrap_counts(50, 3, seed=5)).any()


def test_out_of_bag_rows_are_those_with_count_zero():
    counts = bootstrap_counts(2000, 20, seed=0)
    mask = out_of_bag(counts)
    np.testing.assert_array_equal(mask, counts == 0)
    assert abs(mask.mean() - np.exp(-1)) < 0.01


@pytest.mark.parametrize(("n_rows", "n_samples"), [(0, 1), (1, 0)])
def test_empty_requests_get_a_clear_error(n_rows, n_samples):
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        bootstrap_counts(n_rows, n_samples, seed=0)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones(4), r"must have shape \(n_samples, 4\), got \(4,\)"),
        (np.ones((2, 3)), r"must have shape \(n_samples, 4\), got \(2, 3\)"),
        (np.ones((0, 4)), "must have shape"),
        ([[1, 1, 1, 1], [1, -1, 1, 1]], "not negative; sample 1 is not"),
        ([[1, 1, np.nan, 1]], "must be finite and not negative; sample 0"),
        ([["a", "b", "c", "d"]], "must be numbers"),
    ],
)
def test_bad_counts_get_a_clear_error(counts, message):
    with pytest.raises(ValueError, match=message):
        check_counts(counts, 4)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), r"must have shape \(4,\), got \(3,\)"),
        ([1, 1, -2, 1], "row 2 has -2.0"),
        ([1, np.inf, 1, 1], "row 1 has inf"),
        ([0, 0, 0, 0], "zero on every row"),
    ],
)
def test_bad_weights_get_a_clear_error(weight, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weight, 4)


def test_subsamples_are_shares_without_replacement():
    counts = subsample_counts(50, 30, 3, 0.8)
    assert set(np.unique(counts)) == {0, 1}
    assert (counts.sum(axis=1) == 40).all()
    assert np.unique(counts, axis=0).shape[0] == 30
    np.testing.assert_array_equal(subsample_counts(50, 5, 3, 0.8), counts[:5])
    assert (subsample_counts(50, 2, 3, 1.0) == 1).all()
    assert subsample_counts(3, 1, 0, 0.1).sum() == 1
