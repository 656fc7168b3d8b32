"""Coefficients of finished teams on all rows, by sums over blocks of rows: for more rows than evolutions see at once.

A team's coefficients are a Newton step from those that it has: exact for squares, a few steps for the logistic loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product
from symgrove.methods.grove.losses import LOGISTIC, SQUARED
from symgrove.methods.problem import Rows
from symgrove.models.row_blocks import row_blocks
from symgrove.models.teams import Teams

Matrix = NDArray[np.float64]
NUMBER = 8  # bytes
# Constants, because the order of sums, and so the last bits, depend on them.
ROWS_OF_A_BLOCK = 2048
MOST_BLOCKS_AT_ONCE = 8
SHARE_OF_BLOCKS = 1 / 16


@dataclass(frozen=True)
class TeamSums:
    """Sums over rows, at the coefficients that teams have.

    Attributes
    ----------
    terms : list of (n_own,)
        Which terms each team has.
    gram : list of (n_own + 1, n_own + 1)
        Products of its terms, the intercept first, with the curvature of the loss.
    gradient : list of (n_own + 1,)
        Minus the derivative of the loss.
    loss, total : (n_teams,)
        Of the loss, and of the weights.
    """

    terms: list[NDArray[np.intp]]
    gram: list[Matrix]
    gradient: list[Matrix]
    loss: Matrix
    total: Matrix

    def __sub__(self, other: TeamSums) -> TeamSums:
        """Without the rows of the other."""
        return TeamSums(
            self.terms,
            [a - b for a, b in zip(self.gram, other.gram, strict=True)],
            [a - b for a, b in zip(self.gradient, other.gradient, strict=True)],
            self.loss - other.loss,
            self.total - other.total,
        )


@dataclass(frozen=True)
class RowPass:
    """How a pass over all rows is made.

    Attributes
    ----------
    n_threads : int
    memory_budget : int
        Of which blocks of rows take a small share.
    check : callable
        Called between blocks; it may raise.
    """

    n_threads: int = 1
    memory_budget: int = 1 << 28
    check: Callable[[], None] = lambda: None

    def blocks(self, teams: Teams, rows: Rows) -> Iterator[tuple[slice, Matrix]]:
        """Ranges of rows, and the values of all terms on them."""
        room = int(SHARE_OF_BLOCKS * self.memory_budget) // (NUMBER * max(teams.programs.size, 1))
        n_at_once = int(np.clip(room // ROWS_OF_A_BLOCK, 1, MOST_BLOCKS_AT_ONCE)) * ROWS_OF_A_BLOCK
        for some in row_blocks(len(rows.X), n_at_once):
            for block, values in teams.term_values(rows.X[some], self.n_threads):
                for part in row_blocks(values.shape[1], ROWS_OF_A_BLOCK):
                    self.check()
                    start = some.start + block.start + part.start
                    own = values[:, part]
                    yield slice(start, start + own.shape[1]), own


def sums_of(teams: Teams, rows: Rows, how: RowPass) -> TeamSums:
    """Sums of every team over all rows."""
    loss = LOGISTIC if teams.is_logistic else SQUARED
    terms = [np.flatnonzero(own) for own in teams.coefficients]
    gram = [np.zeros((own.size + 1, own.size + 1)) for own in terms]
    gradient = [np.zeros(own.size + 1) for own in terms]
    losses, total = np.zeros((2, teams.n_teams))
    for block, values in how.blocks(teams, rows):
        weight = np.ones(values.shape[1]) if rows.weight is None else rows.weight[block]
        for j, own in enumerate(terms):
            target = rows.targets[teams.target_of[j], block]
            phi = np.vstack([np.ones((1, values.shape[1])), values[own]])
            prediction = product(np.append(teams.intercept[j], teams.coefficients[j, own]), phi)
            curvature = weight if loss.curvature is None else loss.curvature(weight, prediction)
            gram[j] += product(phi, (phi * curvature).T)
            gradient[j] += product(phi, loss.score(weight, target, prediction))
            losses[j] += product(weight, loss.value(target, prediction))
            total[j] += weight.sum()
    return TeamSums(terms, gram, gradient, losses, total)


def step(teams: Teams, sums: TeamSums, ridge: float) -> Teams:
    """The teams after a Newton step, with the penalty of the evolution; their errors are those of all rows."""
    intercept, coefficients, errors = teams.intercept.copy(), teams.coefficients.copy(), teams.errors.copy()
    # The loss is the square, or minus the logarithm, of which the gradient is half or the whole derivative.
    half, share = (0.5, 0.25) if teams.is_logistic else (1.0, 1.0)
    for j, own in enumerate(sums.terms):
        penalty = np.full(own.size + 1, share * ridge * sums.total[j])
        penalty[0] = 0.0
        before = np.append(intercept[j], coefficients[j, own])
        gradient = sums.gradient[j] - penalty * before
        change: Any = on_one_thread(np.linalg.solve, sums.gram[j] + np.diag(penalty), gradient)
        intercept[j] += change[0]
        coefficients[j, own] += change[1:]
        gain = 2 * product(sums.gradient[j], change) - product(change, product(sums.gram[j], change))
        errors[j] = (sums.loss[j] - half * gain) / sums.total[j]
    return replace(teams, intercept=intercept, coefficients=coefficients, errors=errors)
