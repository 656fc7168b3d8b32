"""Coefficients of finished teams on all rows, by sums over blocks of rows: for more rows than evolutions see at once.

A team's coefficients are a Newton step from those that it has: exact for squares, a few steps for other losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product
from symgrove.fitness.named_losses import NamedLoss, Poisson
from symgrove.methods.grove.losses import TeamLoss, team_loss
from symgrove.methods.grove.setup import centres_and_scales, in_units
from symgrove.methods.problem import HowToPass, Rows, TrainingRows
from symgrove.models.row_blocks import row_blocks
from symgrove.models.teams import Teams

Matrix = NDArray[np.float64]
ROWS_OF_A_BLOCK = 2048  # a constant, because the order of sums, and so the last bits, depend on it


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

    def __add__(self, other: TeamSums) -> TeamSums:
        """Of the rows of both."""
        return self._with(other, np.add)

    def __sub__(self, other: TeamSums) -> TeamSums:
        """Without the rows of the other."""
        return self._with(other, np.subtract)

    def _with(self, other: TeamSums, operation: Callable[[Any, Any], Any]) -> TeamSums:
        return TeamSums(
            self.terms,
            [operation(a, b) for a, b in zip(self.gram, other.gram, strict=True)],
            [operation(a, b) for a, b in zip(self.gradient, other.gradient, strict=True)],
            operation(self.loss, other.loss),
            operation(self.total, other.total),
        )


class RowPass(HowToPass):
    """A pass over rows whose terms are asked for."""

    def blocks(self, teams: Teams, rows: Rows) -> Iterator[tuple[slice, Matrix]]:
        """Ranges of rows, and the values of all terms on them."""
        for some in row_blocks(len(rows.X), ROWS_OF_A_BLOCK):
            for block, values in teams.term_values(rows.X[some], self.n_threads):
                self.check()
                yield slice(some.start + block.start, some.start + block.start + values.shape[1]), values


class TargetUnits(NamedTuple):
    """In which units teams of each target evolve: t' = (t - centre) / scale, and of a team's sum (p - shift) / unit.

    With the Poisson loss sums are logarithms, so that their shift is one, and their unit one.
    """

    loss: TeamLoss
    named: NamedLoss | None
    centre: Matrix
    scale: Matrix
    shift: Matrix
    unit: Matrix


def units_of(rows: TrainingRows, loss: NamedLoss | None) -> TargetUnits:
    """Of all training rows."""
    centre, scale = centres_and_scales(rows, loss)
    has_log_link = isinstance(loss, Poisson)
    shift, unit = (np.log(scale), np.ones(scale.size)) if has_log_link else (centre, scale)
    return TargetUnits(team_loss(loss, float(scale[0])), loss, centre, scale, shift, unit)


def sums_of(rows: Rows, teams: Teams, units: TargetUnits, how: RowPass) -> TeamSums:
    """Sums of every team over all rows."""
    loss = units.loss
    terms = [np.flatnonzero(own) for own in teams.coefficients]
    gram = [np.zeros((own.size + 1, own.size + 1)) for own in terms]
    gradient = [np.zeros(own.size + 1) for own in terms]
    losses, total = np.zeros((2, teams.n_teams))
    for block, values in how.blocks(teams, rows):
        weight = np.ones(values.shape[1]) if rows.weight is None else rows.weight[block]
        for j, own in enumerate(terms):
            k = teams.target_of[j]
            target = (rows.targets[k, block] - units.centre[k]) / units.scale[k]
            phi = np.vstack([np.ones((1, values.shape[1])), values[own]])
            prediction = product(_in_evolution(teams, j, own, units), phi)
            curvature = weight if loss.curvature is None else loss.curvature(weight, target, prediction)
            gram[j] += product(phi, (phi * curvature).T)
            gradient[j] += product(phi, loss.score(weight, target, prediction))
            losses[j] += product(weight, loss.value(target, prediction))
            total[j] += weight.sum()
    return TeamSums(terms, gram, gradient, losses, total)


def _in_evolution(teams: Teams, j: int, own: NDArray[np.intp], units: TargetUnits) -> Matrix:
    """Intercept and coefficients of a team in the units of its evolution."""
    k = teams.target_of[j]
    return np.append(teams.intercept[j] - units.shift[k], teams.coefficients[j, own]) / units.unit[k]


def step(teams: Teams, sums: TeamSums, units: TargetUnits, ridge: float) -> Teams:
    """The teams after a Newton step, with the penalty of the evolution; their errors are those of all rows."""
    intercept, coefficients, errors = teams.intercept.copy(), teams.coefficients.copy(), teams.errors.copy()
    # Of squares the score is half of the derivative, of all other losses the whole.
    half = 1.0 if units.loss.is_squared else 0.5
    for j, own in enumerate(sums.terms):
        k = teams.target_of[j]
        penalty = np.full(own.size + 1, units.loss.curvature_share * ridge * sums.total[j])
        penalty[0] = 0.0
        gradient = sums.gradient[j] - penalty * _in_evolution(teams, j, own, units)
        change: Any = on_one_thread(np.linalg.solve, sums.gram[j] + np.diag(penalty), gradient)
        intercept[j] += units.unit[k] * change[0]
        coefficients[j, own] += units.unit[k] * change[1:]
        gain = 2 * product(sums.gradient[j], change) - product(change, product(sums.gram[j], change))
        errors[j] = (sums.loss[j] - half * gain) / sums.total[j]
    errors = in_units(units.named, errors, units.scale[teams.target_of])
    return replace(teams, intercept=intercept, coefficients=coefficients, errors=errors)
