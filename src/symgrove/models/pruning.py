"""Fewer members, or fewer terms: greedy choices, with errors on rows that the choice did not see.

    members: the one whose addition, with replacement, lowers the error most (Caruana et al. 2004)
    terms:   the one with the highest correlation with what the chosen ones leave (orthogonal matching pursuit)

Choices are made on all rows; the error of each step is that of choices made on four fifths, on the last fifth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product

Matrix = NDArray[np.float64]
N_FOLDS = 5
Combine = Callable[[Matrix], Matrix]


class PruningSteps(NamedTuple):
    """What was chosen, step by step.

    `losses` are squared errors of each step on every row, when it was not used; `errors` their means, when all were.
    """

    chosen: list[int]
    losses: Matrix  # (n_steps, n_rows)
    errors: list[float]


def choose_members(
    members: Matrix,
    target: Matrix,
    n_steps: int,
    combine: Combine | None,
    folds: list[Matrix],
    weights: Matrix | None = None,
) -> PruningSteps:
    """Steps of choosing members, (n_members, n_rows); `combine` is None for the mean, which may have weights."""
    own = np.ones(len(members)) if weights is None else weights
    losses = np.empty((n_steps, target.size))
    for held_out in folds:
        rest = np.setdiff1d(np.arange(target.size), held_out)
        chosen, _ = _choose_members(members[:, rest], target[rest], n_steps, combine, own)
        for step in range(n_steps):
            some = chosen[: step + 1]
            picked = members[some][:, held_out]
            said = _mean(picked, own[some]) if combine is None else combine(picked)
            losses[step, held_out] = (said - target[held_out]) ** 2
    chosen, errors = _choose_members(members, target, n_steps, combine, own)
    return PruningSteps(chosen, losses, errors)


def _mean(members: Matrix, weights: Matrix) -> Matrix:
    found: Matrix = (weights[:, None] * members).sum(axis=0) / weights.sum()
    return found


def _choose_members(
    members: Matrix, target: Matrix, n_steps: int, combine: Combine | None, weights: Matrix
) -> tuple[list[int], list[float]]:
    chosen: list[int] = []
    found: list[float] = []
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
        found.append(float(errors[best]))
        total += weighted[best]
        total_weight += weights[best]
    return chosen, found


class Pursuit(NamedTuple):
    """Terms in the order in which they were chosen, and intercept and coefficients with 0, 1, ... of them."""

    chosen: list[int]
    solutions: list[Matrix]


def pursue(terms: Matrix, target: Matrix, n_steps: int, ridge: float) -> Pursuit:
    """Choose terms, (n_terms, n_rows), for a sum that is near the target; a penalty of ridge times the rows."""
    n_rows = target.size
    centre = terms.mean(axis=1)
    scale = np.sqrt(np.mean((terms - centre[:, None]) ** 2, axis=1))
    is_usable = scale > 1e-9
    residual = target - target.mean()
    chosen: list[int] = []
    solutions: list[Matrix] = [np.array([target.mean()])]
    for _ in range(min(n_steps, int(is_usable.sum()))):
        with np.errstate(all="ignore"):
            worth = np.where(is_usable, np.abs(product(terms - centre[:, None], residual)) / scale, -1.0)
        worth[chosen] = -1.0
        if worth.max() <= 0:
            break
        chosen.append(int(np.argmax(worth)))
        columns = np.column_stack([np.ones(n_rows), terms[chosen].T])
        penalty = np.diag([0.0, *[ridge * n_rows] * len(chosen)])
        solution = on_one_thread(np.linalg.solve, product(columns.T, columns) + penalty, product(columns.T, target))
        solutions.append(solution)
        residual = target - product(columns, solution)
    return Pursuit(chosen, solutions)


def make_folds(n_rows: int, seed: int) -> list[Matrix]:
    """Rows of each fold."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return [np.sort(order[f::N_FOLDS]) for f in range(min(N_FOLDS, n_rows))]
