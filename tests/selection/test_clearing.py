import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrove.selection.clearing import clearing, has_later_twin
from tests.naive import divnich_gp as naive

# Few different values, so that vectors repeat and come close.
vectors = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 1.0 + 1e-13, 3.0]), min_size=3, max_size=3), min_size=1, max_size=12
)


@given(vectors, st.integers(0, 1000), st.sampled_from([0.0, 1.5, 5.0]), st.sampled_from([1, 2, 3]))
def test_clearing_is_that_of_the_definition(rows, seed, radius, niche_size):
    errors = np.random.default_rng(seed).choice([0.1, 0.2, 0.3, np.inf], size=len(rows))
    expected = naive.clearing(errors.tolist(), rows, radius, niche_size)
    np.testing.assert_array_equal(clearing(errors, rows, radius, niche_size), expected)


@given(vectors)
def test_twins_are_found(rows):
    expected = [
        any(np.linalg.norm(np.subtract(row, other)) < 1e-10 for other in rows[i + 1 :]) for i, row in enumerate(rows)
    ]
    assert has_later_twin(np.array(rows)).tolist() == expected


def test_vectors_of_unusable_programs_are_not_looked_at():
    rows = np.array([[np.nan, np.inf], [1.0, 2.0], [1.0, 2.0]])
    np.testing.assert_array_equal(clearing([np.inf, 0.2, 0.1], rows), [np.inf, np.inf, 0.1])
    np.testing.assert_array_equal(clearing([np.inf], [[np.nan]]), [np.inf])


def test_large_vectors_that_differ_by_rounding_share_a_niche():
    row = np.random.default_rng(0).normal(size=5000) * 100
    other = row * (1 + 1e-16) + 1e-14
    assert np.isinf(clearing([0.1, 0.2], np.stack([row, other]))[1])


@pytest.mark.parametrize(
    ("options", "message"), [({"radius": -1.0}, "radius must not be negative"), ({"niche_size": 0}, "niche_size")]
)
def test_bad_parameters_get_a_clear_error(options, message):
    with pytest.raises(ValueError, match=message):
        clearing([0.1, 0.2], np.eye(2), **options)
