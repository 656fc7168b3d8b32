import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from symgrove import ClassicGPRegressor, tournament
from symgrove.selection.tournament import distinct_tournament
from tests.naive import selection as naive


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


@given(
    errors=st.lists(st.sampled_from([0.5, 1.0, 2.0, np.inf]), min_size=1, max_size=30),
    n_selected=st.integers(0, 40),
    size=st.integers(1, 5),
    seed=st.integers(0, 100),
)
def test_winners_of_distinct_tournaments_win_once(errors, n_selected, size, seed):
    found = distinct_tournament(errors, n_selected, size, np.random.default_rng(seed)).tolist()
    assert found == naive.distinct_tournaments(errors, n_selected, size, np.random.default_rng(seed))
    assert len(found) == n_selected
    assert len(set(found)) == min(n_selected, len(errors))


def test_without_duplicates_short_programs_stay_different():
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 5, (100, 3))
    y = X[:, 0] * X[:, 1] / X[:, 2] ** 2
    settings = {"population_size": 200, "max_size": 15, "standardize": False, "generations": 10, "random_state": 1}
    copies = ClassicGPRegressor(**settings).fit(X, y)
    distinct = ClassicGPRegressor(**settings, allow_duplicates=False).fit(X, y)
    assert copies.history_["n_distinct"][-1] < 20
    assert distinct.history_["n_distinct"].min() == 200
