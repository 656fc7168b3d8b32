import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symgrove import partitioned_truncation, truncation
from symgrove.selection.truncation import share_slots
from tests.naive import selection as naive

# Few distinct values, so that ties are common; +inf marks unusable programs.
errors = st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0, np.inf])


@given(hnp.arrays(float, st.integers(1, 60), elements=errors), st.data())
def test_truncation_is_a_stable_sort_cut_off(vector, data):
    n = data.draw(st.integers(0, vector.size))
    assert truncation(vector, n).tolist() == naive.truncation(vector.tolist(), n)


@given(hnp.arrays(float, st.tuples(st.integers(1, 30), st.integers(1, 8)), elements=errors), st.data())
def test_partitioned_truncation_takes_the_best_of_every_sample(matrix, data):
    n_programs, n_samples = matrix.shape
    n = data.draw(st.integers(0, n_programs * n_samples - n_samples + 1))
    selected = partitioned_truncation(matrix, n, np.random.default_rng(5))
    slots = share_slots(n, n_samples, np.random.default_rng(5))
    assert selected.tolist() == naive.partitioned_truncation(matrix.tolist(), slots)
    assert selected.size == n


@given(st.integers(0, 700), st.integers(1, 333), st.integers(0, 99))
def test_slots_sum_up_and_differ_by_at_most_one(n_selected, n_samples, seed):
    slots = share_slots(n_selected, n_samples, np.random.default_rng(seed))
    assert slots.sum() == n_selected
    assert slots.max() - slots.min() <= 1


def test_every_sample_is_as_likely_to_get_one_more():
    more = sum(share_slots(10, 4, np.random.default_rng(seed)) - 2 for seed in range(4000))
    np.testing.assert_allclose(more, 2000, rtol=0.1)


def test_the_papers_case_uses_no_randomness():
    matrix = np.random.default_rng(0).random((1000, 50))
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    selected = partitioned_truncation(matrix, 500, rng)
    assert rng.bit_generator.state == before
    np.testing.assert_array_equal(selected.reshape(50, 10).T, np.argsort(matrix, axis=0, kind="stable")[:10])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: truncation([1.0, np.nan], 1), r"errors of program 1 are NaN; use \+inf"),
        (lambda: truncation([[1.0]], 1), r"must have shape \(n_programs,\)"),
        (lambda: truncation([1.0], 2), "cannot select 2 of 1"),
        (lambda: truncation([], 0), "not be empty"),
        (lambda: partitioned_truncation([1.0], 1, None), r"must have shape \(n_programs, n_samples\)"),
        (lambda: partitioned_truncation([[1.0]], 2, None), "cannot select 2 of 1 programs for one sample"),
        (lambda: share_slots(-1, 2, None), "at least 0"),
    ],
)
def test_bad_calls_get_a_clear_error(act, message):
    with pytest.raises(ValueError, match=message):
        act()
