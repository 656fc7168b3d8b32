import numpy as np
import pytest
from scipy.stats import chisquare

from symgrove import tournament


def test_winners_have_the_chances_of_tournament_selection():
    """With distinct errors, rank r of n wins with chance ((n - r)^k - (n - r - 1)^k) / n^k."""
    errors = np.array([3.0, 1.0, 2.0, np.inf, 0.5])
    n, size, n_selected = 5, 3, 50_000
    winners = tournament(errors, n_selected, size, np.random.default_rng(0))
    rank = np.argsort(np.argsort(errors))
    chance = ((n - rank) ** size - (n - rank - 1) ** size) / n**size
    assert chisquare(np.bincount(winners, minlength=n), n_selected * chance).pvalue > 1e-3


def test_of_equal_contestants_the_first_drawn_wins():
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    winners = tournament(np.zeros(10), 100, 4, rng)
    np.testing.assert_array_equal(winners, same.integers(10, size=(100, 4))[:, 0])


@pytest.mark.parametrize(("size", "n"), [(0, 1), (2, -1)])
def test_bad_sizes_get_a_clear_error(size, n):
    with pytest.raises(ValueError, match="size must be at least 1"):
        tournament([1.0, 2.0], n, size, np.random.default_rng(0))
