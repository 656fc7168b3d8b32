import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrove.engines.threads import Threads
from symgrove.selection.team import TeamFit, drop_terms, join_best, judge, penalized_inverses, stand_beside
from tests.naive import teams as naive

N_ROWS = 40


class Regression:
    """Two teams of their own weights, terms and penalties, in random slots; other slots hold former terms' values."""

    def __init__(self, rng, n_terms, n_slots, penalty):
        self.y, self.weight = rng.normal(size=N_ROWS), rng.integers(0, 4, size=(2, N_ROWS)).astype(float)
        self.values = rng.normal(size=(2, n_slots, N_ROWS))
        self.values[:, 0] = 1.0
        is_taken = np.zeros((2, n_slots), dtype=bool)
        for own in is_taken:
            own[[0, *(1 + rng.permutation(n_slots - 1)[:n_terms])]] = True
        self.fit = TeamFit(np.empty(0), np.zeros((2, n_slots)), is_taken, np.array([penalty, 2 * penalty]))
        self.fit = self.fit._replace(inverse=self.inverses())
        first = np.einsum("jn,jkn,n->jk", self.weight, self.values, self.y)
        self.fit.coefficients[:] = np.einsum("jab,jb->ja", self.fit.inverse, first)

    def inverses(self):
        used = self.values * self.fit.is_taken[:, :, None]
        gram = np.einsum("jan,jn,jbn->jab", used, self.weight, used)
        return penalized_inverses(gram, self.fit.is_taken, self.fit.penalty)

    def columns(self, j):
        return [self.values[j, slot] for slot in np.flatnonzero(self.fit.is_taken[j])[1:]]

    def assert_is_fitted(self):
        np.testing.assert_allclose(self.fit.inverse, self.inverses(), rtol=1e-6, atol=1e-8)
        for j in range(2):
            taken = np.flatnonzero(self.fit.is_taken[j])
            expected, _ = naive.fit(self.columns(j), self.y, self.weight[j], self.fit.penalty[j])
            np.testing.assert_allclose(self.fit.coefficients[j, taken], expected, rtol=1e-6, atol=1e-8)
            np.testing.assert_array_equal(np.delete(self.fit.coefficients[j], taken), 0)

    def judge(self, candidates):
        used = self.values * self.fit.is_taken[:, :, None]
        residual = self.y - np.einsum("jk,jkn->jn", self.fit.coefficients, self.values)
        return judge(
            self.fit,
            np.einsum("cn,jn,jkn->jck", candidates, self.weight, used),
            self.weight @ (candidates**2).T,
            (self.weight * residual) @ candidates.T,
        )

    def take_in(self, joined, candidates):
        for j, (chosen, slot) in enumerate(zip(*joined, strict=True)):
            if chosen >= 0:
                self.values[j, slot] = candidates[chosen]


@given(st.integers(0, 10_000), st.integers(0, 5), st.integers(1, 3), st.sampled_from([1e-3, 0.3, 10.0]))
def test_those_join_who_lower_the_objective_most(seed, n_terms, n_joining, penalty):
    rng = np.random.default_rng(seed)
    teams = Regression(rng, n_terms, 10, penalty)
    candidates = rng.normal(size=(8, N_ROWS))
    columns, left = [teams.columns(j) for j in range(2)], [list(range(8)), list(range(8))]
    judged = teams.judge(candidates)
    for _ in range(n_joining):
        joined = join_best(teams.fit, judged)
        for j in range(2):
            others = candidates[left[j]]  # one that is in the team has nothing new to say
            best, _ = naive.best_to_join(columns[j], others, teams.y, teams.weight[j], teams.fit.penalty[j])
            assert joined.chosen[j] == left[j].pop(best)
            columns[j].append(others[best])
        teams.take_in(joined, candidates)
        shared = np.stack([w * candidates[c] for w, c in zip(teams.weight, joined.chosen, strict=True)]) @ candidates.T
        stand_beside(teams.fit, judged, joined, shared)
    teams.assert_is_fitted()


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 6))
def test_those_leave_who_raise_the_objective_least(seed, n_terms, n_most):
    teams = Regression(np.random.default_rng(seed), n_terms, 8, 0.3)
    expected = []
    for j in range(2):
        columns = teams.columns(j)
        while len(columns) > n_most:
            columns.pop(naive.best_to_leave(columns, teams.y, teams.weight[j], teams.fit.penalty[j])[0])
        expected.append(columns)
    drop_terms(teams.fit, n_most)
    for j in range(2):
        np.testing.assert_array_equal(teams.columns(j), expected[j])
    teams.assert_is_fitted()


def test_a_candidate_that_the_team_can_already_say_does_not_join():
    rng = np.random.default_rng(0)
    teams = Regression(rng, 3, 8, 1e-3)
    known = teams.columns(0)[0] - 2 * teams.columns(0)[1] + 1
    joined = join_best(teams.fit, teams.judge(np.stack([known, np.zeros(N_ROWS)])))
    assert joined.chosen.tolist()[0] == -1
    assert joined.slot.tolist()[0] == -1


def test_nobody_joins_a_team_without_a_place():
    rng = np.random.default_rng(0)
    teams = Regression(rng, 5, 6, 1e-3)
    joined = join_best(teams.fit, teams.judge(rng.normal(size=(4, N_ROWS))))
    assert joined.chosen.tolist() == [-1, -1]
    teams.assert_is_fitted()


@pytest.mark.parametrize("n_terms", [0, 4])
def test_inverses_are_zero_where_a_slot_is_empty(n_terms):
    teams = Regression(np.random.default_rng(1), n_terms, 9, 0.1)
    empty = ~(teams.fit.is_taken[:, :, None] & teams.fit.is_taken[:, None, :])
    assert (teams.fit.inverse[empty] == 0).all()


def test_one_of_two_equal_candidates_joins():
    rng = np.random.default_rng(0)
    teams = Regression(rng, 2, 6, 1e-6)
    candidates = np.tile(rng.normal(size=N_ROWS), (2, 1))
    judged = teams.judge(candidates)
    joined = join_best(teams.fit, judged)
    assert joined.chosen.tolist() == [0, 0]
    stand_beside(teams.fit, judged, joined, teams.weight @ (candidates**2).T)
    assert join_best(teams.fit, judged).chosen.tolist() == [-1, -1]


def test_many_updates_lose_few_digits():
    rng = np.random.default_rng(0)
    teams = Regression(rng, 0, 9, 0.06)
    for _ in range(200):
        candidates = rng.normal(size=(10, N_ROWS))
        teams.take_in(join_best(teams.fit, teams.judge(candidates)), candidates)
        drop_terms(teams.fit, 6)
    teams.assert_is_fitted()


def test_the_intercept_is_not_penalised():
    teams = Regression(np.random.default_rng(0), 0, 3, 1e6)
    means = [np.average(teams.y, weights=weight) for weight in teams.weight]
    assert teams.fit.coefficients[:, 0] == pytest.approx(means)


def test_the_number_of_threads_changes_no_bit_of_inverses():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(7, 90, 200))
    is_taken = rng.random((7, 90)) < 0.9
    is_taken[:, 0] = True
    values *= is_taken[:, :, None]
    gram, penalty = values @ values.transpose(0, 2, 1), rng.random(7)
    found = penalized_inverses(gram, is_taken, penalty)
    for n_threads in (2, 3):
        threads = Threads(n_threads)
        np.testing.assert_array_equal(penalized_inverses(gram, is_taken, penalty, threads), found)
        threads.close()
