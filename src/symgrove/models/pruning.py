"""Fewer members, or fewer terms: greedy choices, with errors on rows that the choice did not see.

    members: the one whose addition, with replacement, lowers the error most (Caruana et al. 2004)
    terms:   the one with the highest correlation with what the chosen ones leave (orthogonal matching pursuit)

Members are chosen on all rows; the error of each step is that of choices made on four fifths, on the last fifth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product

Matrix = NDArray[np.float64]
N_FOLDS = 5
GROWTH = 8
SHORTLIST = 4  # times as many terms are compared as are chosen at a time
LEAST_SPREAD = 1e-9
LEAST_NEW = 0.02  # of a term's spread, that the chosen ones do not explain
RIDGE = 1e-6  # times the rows
Combine = Callable[[Matrix], Matrix]


class PruningSteps(NamedTuple):
    """What was chosen, step by step.

    What the members of each step say together, (n_steps, n_rows): when all rows were used, and when a row was not.
    """

    chosen: list[int]
    said: Matrix
    held_out: Matrix


def choose_members(
    members: Matrix,
    target: Matrix,
    n_steps: int,
    combine: Combine | None,
    folds: list[NDArray[np.intp]],
    weights: Matrix | None = None,
) -> PruningSteps:
    """Steps of choosing members, (n_members, n_rows); `combine` is None for the mean, which may have weights."""
    own = np.ones(len(members)) if weights is None else weights

    def said_by(chosen: list[int], rows: NDArray[np.intp]) -> Matrix:
        parts = [(members[chosen[: n + 1]][:, rows], own[chosen[: n + 1]]) for n in range(n_steps)]
        return np.stack([_mean(*part) if combine is None else combine(part[0]) for part in parts])

    everything = np.arange(target.size)
    held_out = np.empty((n_steps, target.size))
    for fold in folds:
        rest = np.setdiff1d(everything, fold)
        held_out[:, fold] = said_by(_choose_members(members[:, rest], target[rest], n_steps, combine, own), fold)
    chosen = _choose_members(members, target, n_steps, combine, own)
    return PruningSteps(chosen, said_by(chosen, everything), held_out)


def _mean(members: Matrix, weights: Matrix) -> Matrix:
    found: Matrix = (weights[:, None] * members).sum(axis=0) / weights.sum()
    return found


def _choose_members(
    members: Matrix, target: Matrix, n_steps: int, combine: Combine | None, weights: Matrix
) -> list[int]:
    chosen: list[int] = []
    weighted, total, total_weight = weights[:, None] * members, np.zeros(target.size), 0.0
    for _ in range(n_steps):
        if combine is None:
            with np.errstate(all="ignore"):
                said_with = (total + weighted) / (total_weight + weights)[:, None]
            # A member without weight would change nothing.
            errors = np.where(weights > 0, np.mean((said_with - target) ** 2, axis=1), np.inf)
        else:
            picked = members[chosen]
            said = [combine(np.concatenate([picked, member[None]])) for member in members]
            errors = np.mean((np.stack(said) - target) ** 2, axis=1)
        best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
        chosen.append(best)
        total += weighted[best]
        total_weight += weights[best]
    return chosen


class Pursuit(NamedTuple):
    """Terms in the order in which they were chosen, and intercept and coefficients with some of the first of them."""

    chosen: list[int]
    solutions: list[Matrix]


def pursue(terms: Matrix, target: Matrix, n_most: int) -> Pursuit:
    """Choose terms, (n_terms, n_rows), for a sum that is near the target; sums of a few sizes, see `sizes_to`."""
    values = terms - terms.mean(axis=1)[:, None]
    scale = np.sqrt(np.mean(values**2, axis=1))
    is_usable = scale > LEAST_SPREAD
    values /= np.where(is_usable, scale, 1.0)[:, None]
    chosen = _choose_terms(values, target - target.mean(), is_usable, n_most)
    columns = np.column_stack([np.ones(target.size), terms[chosen].T])
    squares, products = product(columns.T, columns), product(columns.T, target)
    penalty = RIDGE * target.size * np.diag([0.0, *scale[chosen] ** 2])
    solutions = [
        on_one_thread(np.linalg.solve, (squares + penalty)[: n + 1, : n + 1], products[: n + 1])
        for n in sizes_to(len(chosen)) or [0]
    ]
    return Pursuit(chosen, solutions)


def sizes_to(n_most: int) -> list[int]:
    """Numbers of terms that have sums: 1, 2, ..., 8, and then each about an eighth more than the one before."""
    found = [1] if n_most else []
    while found and found[-1] < n_most:
        found.append(min(found[-1] + max(1, found[-1] // GROWTH), n_most))
    return found


def _choose_terms(values: Matrix, residual: Matrix, is_free: NDArray[np.bool_], n_most: int) -> list[int]:
    """Of standardised terms; as many at a time as sizes grow, each among those with the highest correlations."""
    n_most = min(n_most, int(is_free.sum()), residual.size - 1)
    basis = np.empty((n_most, residual.size))
    chosen: list[int] = []
    while len(chosen) < n_most:
        n_chosen, n_next = len(chosen), min(max(1, len(chosen) // GROWTH), n_most - len(chosen))
        worth = np.where(is_free, np.abs(product(values, residual)), 0.0)
        among = np.argsort(-worth, kind="stable")[: 1 if n_next == 1 else SHORTLIST * n_next]
        among = among[worth[among] > 0]
        if not among.size:
            break
        own, known = values[among], basis[:n_chosen]
        own -= product(product(own, known.T), known)
        for place in _choose_some(own, residual, basis[n_chosen : n_chosen + n_next]):
            residual = residual - product(residual, basis[len(chosen)]) * basis[len(chosen)]
            chosen.append(int(among[place]))
        is_free[chosen] = False
        if len(chosen) == n_chosen:  # the chosen ones say all that these do
            is_free[among] = False
    return chosen


def _choose_some(own: Matrix, residual: Matrix, directions: Matrix) -> list[int]:
    """Places of as many as there are directions to fill, the part of each that is new, of length one."""
    least = LEAST_NEW * np.sqrt(residual.size)
    found: list[int] = []
    for direction in directions:
        lengths = np.sqrt(np.sum(own**2, axis=1))
        worth = np.where(lengths > least, np.abs(product(own, residual)), 0.0)
        best = int(np.argmax(worth))
        if worth[best] <= 0:
            break
        direction[:] = own[best] / lengths[best]
        found.append(best)
        residual = residual - product(residual, direction) * direction
        own -= np.outer(product(own, direction), direction)
    return found


def make_folds(n_rows: int, seed: int) -> list[NDArray[np.intp]]:
    """Rows of each fold."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return [np.sort(order[f::N_FOLDS]) for f in range(min(N_FOLDS, n_rows))]
