import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from symgrove.fitness.block_bootstrap import SpreadCounts, block_totals, counts_of_block
from tests.naive import block_bootstrap as naive


def all_counts(sizes, n_samples, seed):
    totals = block_totals(sizes, n_samples, seed)
    return np.hstack([counts_of_block(n, totals[:, b], seed, b) for b, n in enumerate(sizes)])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any), st.integers(0, 99))
def test_every_sample_draws_as_many_rows_as_there_are_and_blocks_draw_their_totals(sizes, seed):
    totals = block_totals(sizes, 3, seed)
    assert (totals.sum(axis=1) == sum(sizes)).all()
    for b, size in enumerate(sizes):
        counts = counts_of_block(size, totals[:, b], seed, b)
        assert counts.shape == (3, size)
        np.testing.assert_array_equal(counts.sum(axis=1), totals[:, b])


def test_counts_over_blocks_are_multinomial():
    """Joint distribution of the counts of 3 rows in two blocks, over all outcomes."""
    counts = all_counts([1, 2], 20_000, seed=2)
    outcomes, observed = np.unique(counts, axis=0, return_counts=True)
    chance = 6 / np.array([1, 1, 2, 6])[outcomes].prod(axis=1) / 27
    assert len(outcomes) == 10
    assert chisquare(observed, 20_000 * chance).pvalue > 1e-3


def test_counts_are_spread_as_those_of_rows_drawn_one_by_one():
    sizes, rng = [5, 1, 14], np.random.default_rng(3)
    drawn = np.array([np.concatenate(naive.counts(sizes, rng)) for _ in range(1500)])
    ours = all_counts(sizes, 1500, seed=4)
    for rows in (slice(0, 5), slice(5, 6), slice(6, 20)):  # counts of single rows, and of whole blocks
        for both in ([drawn[:, rows].ravel(), ours[:, rows].ravel()], [m[:, rows].sum(axis=1) for m in (drawn, ours)]):
            edges = np.unique(np.quantile(both[0], [0, 0.25, 0.5, 0.75, 1]))
            table = [np.bincount(np.searchsorted(edges, values), minlength=edges.size + 1) for values in both]
            kept = np.array(table)[:, np.sum(table, axis=0) > 0]
            assert chi2_contingency(kept).pvalue > 1e-3


def test_counts_of_a_block_do_not_depend_on_other_samples_or_on_who_draws_them():
    first, more = block_totals([40, 60], 3, 7), block_totals([40, 60], 9, 7)
    np.testing.assert_array_equal(first, more[:3])
    np.testing.assert_array_equal(counts_of_block(60, first[:, 1], 7, 1), counts_of_block(60, more[:, 1], 7, 1)[:3])
    assert (counts_of_block(60, first[:, 1], 7, 1) != counts_of_block(60, first[:, 1], 7, 2)).any()


def test_no_rows_at_all_get_a_clear_error():
    with pytest.raises(ValueError, match="the sum of sizes must be a whole number of at least 1"):
        block_totals([0, 0], 1, 0)


def test_counts_drawn_by_blocks_are_those_of_all_samples():
    sizes = (40, 0, 60)
    spread = SpreadCounts(sizes, 7, (0, 1, 2, 3, 4))
    whole = all_counts(sizes, 5, seed=7)
    assert spread.shape == whole.shape
    np.testing.assert_array_equal(np.hstack([spread.of_block(b) for b in range(3)]), whole)
    some = spread.take(np.array([3, 1, 3]))
    np.testing.assert_array_equal(some.of_block(2), whole[[3, 1, 3], 40:])
    np.testing.assert_array_equal(some.joined(spread.take(np.array([0]))).of_block(0), whole[[3, 1, 3, 0], :40])
    rows = np.array([0, 7, 39, 40, 99])
    np.testing.assert_array_equal(spread.of_rows(rows), whole[:, rows])
    each, place = some.distinct()
    assert each.samples == (1, 3)
    np.testing.assert_array_equal(each.of_block(2)[place], some.of_block(2))


def test_all_rows_once_are_one_sample():
    whole = SpreadCounts((3, 2))
    assert whole.shape == (1, 5)
    assert whole.of_block(1).tolist() == [[1, 1]]
    assert whole.take(np.array([0, 0])) is whole
    assert whole.distinct()[0] is whole
    assert whole.of_rows(np.array([1, 4])).tolist() == [[1, 1]]
