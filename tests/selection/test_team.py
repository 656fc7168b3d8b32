import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrove.selection.team import Team, add_terms, drop_terms, penalized_inverse
from tests.naive import teams as naive


def make_team(rng, n_rows, n_terms, n_slots, y, weight, penalty):
    """A team with terms in random slots; other slots hold what former terms left."""
    values = rng.normal(size=(n_slots, n_rows))
    values[0] = 1.0
    is_taken = np.zeros(n_slots, dtype=bool)
    is_taken[[0, *(1 + rng.permutation(n_slots - 1)[:n_terms])]] = True
    team = Team(values, np.zeros((n_slots, n_slots)), np.zeros(n_slots), is_taken)
    team.inverse[:] = penalized_inverse(team, weight, penalty)
    team.coefficients[:] = team.inverse @ (values @ (weight * y))
    return team


def columns_of(team):
    return [team.values[slot] for slot in np.flatnonzero(team.is_taken)[1:]]


def assert_is_fitted(team, y, weight, penalty):
    taken = np.flatnonzero(team.is_taken)
    expected, _ = naive.fit(columns_of(team), y, weight, penalty)
    np.testing.assert_allclose(team.coefficients[taken], expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(np.delete(team.coefficients, taken), 0)
    np.testing.assert_allclose(team.inverse, penalized_inverse(team, weight, penalty), rtol=1e-6, atol=1e-8)


@given(st.integers(0, 10_000), st.integers(0, 5), st.integers(1, 3), st.sampled_from([1e-3, 0.3, 10.0]))
def test_those_join_who_lower_the_objective_most(seed, n_terms, n_joining, penalty):
    rng = np.random.default_rng(seed)
    n_rows = 40
    y, weight = rng.normal(size=n_rows), rng.integers(0, 4, size=n_rows).astype(float)
    team = make_team(rng, n_rows, n_terms, 10, y, weight, penalty)
    candidates = rng.normal(size=(8, n_rows))
    expected, columns = [], columns_of(team)
    for _ in range(n_joining):
        best, _ = naive.best_to_join(columns, candidates, y, weight, penalty)
        expected.append(best)
        columns.append(candidates[best])
    score = weight * (y - team.coefficients @ team.values)
    joined = add_terms(team, candidates, weight, score, penalty, n_joining)
    assert [chosen for _, chosen in joined] == expected
    assert_is_fitted(team, y, weight, penalty)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 6))
def test_those_leave_who_raise_the_objective_least(seed, n_terms, n_most):
    rng = np.random.default_rng(seed)
    y, weight, penalty = rng.normal(size=40), rng.integers(0, 4, size=40).astype(float), 0.3
    team = make_team(rng, 40, n_terms, 8, y, weight, penalty)
    columns = columns_of(team)
    while len(columns) > n_most:
        columns.pop(naive.best_to_leave(columns, y, weight, penalty)[0])
    drop_terms(team, n_most)
    kept = columns_of(team)
    assert len(kept) == len(columns)
    assert all((a == b).all() for a, b in zip(kept, columns, strict=True))
    assert_is_fitted(team, y, weight, penalty)


def test_nobody_joins_who_adds_nothing():
    rng = np.random.default_rng(0)
    y, weight, penalty = rng.normal(size=40), np.ones(40), 1e-9
    team = make_team(rng, 40, 3, 6, y, weight, penalty)
    first, second = columns_of(team)[:2]
    candidates = np.stack([np.ones(40), first, 2 * first - second + 1])
    score = weight * (y - team.coefficients @ team.values)
    assert add_terms(team, candidates, weight, score, penalty, 2) == []


def test_one_of_two_equal_candidates_joins():
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=40), np.ones(40)
    team = make_team(rng, 40, 2, 6, y, weight, 1e-6)
    z = rng.normal(size=40)
    score = weight * (y - team.coefficients @ team.values)
    joined = add_terms(team, np.stack([z, z]), weight, score, 1e-6, 2)
    assert [chosen for _, chosen in joined] == [0]


def test_many_updates_lose_few_digits():
    rng = np.random.default_rng(0)
    y, weight, penalty = rng.normal(size=60), rng.integers(0, 4, size=60).astype(float), 0.06
    team = make_team(rng, 60, 0, 9, y, weight, penalty)
    for _ in range(200):
        score = weight * (y - team.coefficients @ team.values)
        add_terms(team, rng.normal(size=(10, 60)), weight, score, penalty, 2)
        drop_terms(team, 6)
    assert_is_fitted(team, y, weight, penalty)


def test_the_intercept_is_not_penalised():
    y, weight = np.full(20, 5.0) + np.arange(20) % 2, np.ones(20)
    team = make_team(np.random.default_rng(0), 20, 0, 3, y, weight, 1e6)
    assert team.coefficients[0] == pytest.approx(5.5)
