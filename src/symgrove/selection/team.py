"""Teams: which candidates join a sum of terms, and which terms leave it.

A team is a weighted ridge regression on its terms. A candidate is worth what its joining takes off the team's
objective, a term what its leaving adds to it; both are exact and need no refit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product
from symgrove.selection import team_kernels

Matrix = NDArray[np.float64]


class Team(NamedTuple):
    """One team; all arrays are changed in place.

    Attributes
    ----------
    values : (n_slots, n_rows)
        Standardised outputs of its terms; slot 0 is the intercept, all ones.
    inverse : (n_slots, n_slots)
        Of the weighted Gram matrix with the penalty; zero where a slot is empty.
    coefficients : (n_slots,)
    is_taken : (n_slots,)
    """

    values: Matrix
    inverse: Matrix
    coefficients: Matrix
    is_taken: NDArray[np.bool_]


def add_terms(
    team: Team, candidates: Matrix, weight: Matrix, score: Matrix, penalty: float, n_joining: int
) -> list[tuple[int, int]]:
    """Let up to `n_joining` candidates join, the best first, the others then judged beside it.

    Parameters
    ----------
    team : Team
        With at least `n_joining` empty slots.
    candidates : (n_candidates, n_rows)
        Standardised outputs.
    weight, score : (n_rows,)
        Second and first derivative of the team's loss at its predictions: for squares, the weights, and the weights
        times the residuals.
    penalty : float
        Of the ridge.

    Returns
    -------
    joined : list of (slot, candidate)
    """
    weighted = candidates * weight
    crossed = product(weighted, team.values.T)
    projected = product(crossed, team.inverse)
    own = (weighted * candidates).sum(axis=1)
    perp = own - (projected * crossed).sum(axis=1)
    scalar = product(candidates, score)
    joined = []
    for slot in np.flatnonzero(~team.is_taken)[:n_joining].tolist():
        chosen = team_kernels.best_candidate(scalar, perp, own, penalty)
        if chosen < 0:
            break
        shared = product(weighted, candidates[chosen])
        team_kernels.join(
            team.inverse, team.coefficients, slot, chosen, projected, crossed, shared, scalar, perp, penalty
        )
        team.values[slot] = candidates[chosen]
        team.is_taken[slot] = True
        joined.append((slot, chosen))
    return joined


def drop_terms(team: Team, max_terms: int) -> None:
    """Let the least useful terms leave until `max_terms` are left."""
    team_kernels.leave(team.inverse, team.coefficients, team.is_taken, max_terms)


def penalized_inverse(team: Team, weight: Matrix, penalty: float) -> Matrix:
    """The inverse from scratch: (n_slots, n_slots), zero where a slot is empty. The intercept is not penalised."""
    taken = np.flatnonzero(team.is_taken)
    values = team.values[taken]
    gram = product(values * weight, values.T)
    gram[np.arange(1, taken.size), np.arange(1, taken.size)] += penalty
    inverse = np.zeros_like(team.inverse)
    inverse[np.ix_(taken, taken)] = on_one_thread(np.linalg.inv, gram)
    return inverse
