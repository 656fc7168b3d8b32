"""Teams: which candidates join a sum of terms, and which terms leave it.

A team is a weighted ridge regression on its terms. A candidate is worth what its joining takes off the team's
objective, a term what its leaving adds to it; both are exact and need no refit, only products of vectors. All arrays
are of several teams, which come first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product
from symgrove.engines.threads import ONE_THREAD, Check, Threads
from symgrove.selection import team_kernels

Matrix = NDArray[np.float64]
LEAST_WORK_FOR_THREADS = 1 << 22  # sums of cubes of matrices' sizes; a few milliseconds


class TeamFit(NamedTuple):
    """Teams as they are fitted; all arrays are changed in place. Slot 0 is the intercept.

    Attributes
    ----------
    inverse : (n_teams, n_slots, n_slots)
        Of the weighted Gram matrix with the penalty; zero where a slot is empty.
    coefficients, is_taken : (n_teams, n_slots)
    penalty : (n_teams,)
        Of the ridge.
    """

    inverse: Matrix
    coefficients: Matrix
    is_taken: NDArray[np.bool_]
    penalty: Matrix


class Judged(NamedTuple):
    """Candidates beside their teams; all arrays are changed in place as others join.

    Attributes
    ----------
    crossed, projected : (n_teams, n_candidates, n_slots)
        Weighted products with the team's terms, and these times the inverse.
    own, perp : (n_teams, n_candidates)
        Weighted sum of squares, and what of it the team cannot say.
    scalar : (n_teams, n_candidates)
        Product with the first derivative of the team's loss: for squares, with the weighted residuals.
    """

    crossed: Matrix
    projected: Matrix
    own: Matrix
    perp: Matrix
    scalar: Matrix


class Joined(NamedTuple):
    """Of each team, which of its candidates has joined, and its slot; -1 if none."""

    chosen: NDArray[np.int64]
    slot: NDArray[np.int64]


def judge(teams: TeamFit, crossed: Matrix, own: Matrix, scalar: Matrix) -> Judged:
    """Candidates beside their teams, from products; those of a candidate that does not count are all 0."""
    projected = product(crossed, teams.inverse)
    perp = own - (projected * crossed).sum(axis=2)
    return Judged(crossed, projected, own, perp, scalar)


def join_best(teams: TeamFit, judged: Judged) -> Joined:
    """The candidate that lowers the objective of each team most into its first empty slot, if there are both."""
    joined = Joined(*np.full((2, len(teams.penalty)), -1, dtype=np.int64))
    team_kernels.join_best(teams, judged, joined)
    return joined


def stand_beside(teams: TeamFit, judged: Judged, joined: Joined, shared: Matrix) -> None:
    """Judge the others beside those that have joined; `shared` are their weighted products, (n_teams, n_candidates)."""
    team_kernels.stand_beside(teams, judged, joined, shared)


def drop_terms(teams: TeamFit, max_terms: int) -> None:
    """Let the least useful terms leave until each team has `max_terms` left."""
    team_kernels.drop_terms(teams, max_terms)


def penalized_inverses(
    gram: Matrix, is_taken: NDArray[np.bool_], penalty: Matrix, threads: Threads = ONE_THREAD
) -> Matrix:
    """Inverses of Gram matrices with the penalty, zero where a slot is empty; the intercept is not penalised."""
    diagonal = np.where(is_taken, penalty[:, None], 1.0)
    diagonal[:, 0] = 0.0
    slots = np.arange(gram.shape[1])
    full = gram.copy()
    full[:, slots, slots] += diagonal
    inverse: Matrix = np.empty_like(full)

    def invert(teams: list[int], _: Check) -> None:
        some = slice(teams[0], teams[-1] + 1)
        inverse[some] = on_one_thread(np.linalg.inv, full[some])

    n_parts = threads.n_threads if full.size * slots.size >= LEAST_WORK_FOR_THREADS else 1
    threads.share_out(invert, list(range(len(full))), n_parts, None)
    inverse[:, slots, slots] *= is_taken  # beside the diagonal, what is empty is 0 already
    return inverse
