"""Coefficients of teams: derivatives of their losses, inverses of their Gram matrices, Newton steps; all at once.

Vectors stay in the engine; what comes out are products. `slots` says which vector is in which slot of a team.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.engines.base import Engine, Handle, Index
from symgrove.fitness.named_losses import weighted_quantile
from symgrove.methods.grove.losses import TeamLoss
from symgrove.selection.team import penalized_inverses

Matrix = NDArray[np.float64]
# Of other losses than squares: the largest change of a coefficient in a step, and shares of a step that are tried.
LARGEST_STEP = 3.0
STEP_SHARES = (1.0, 0.5, 0.25, 0.1)


@dataclass(frozen=True)
class TeamFits:
    """Fits of teams, one for each target and sample.

    Attributes
    ----------
    counts : (n_samples, n_rows)
    row_weight : (n_rows,)
        A row weighs this times its count in the sample.
    targets : (n_targets, n_rows)
    ridge : float
        Penalty, as a share of the sample's weight.
    """

    engine: Engine
    counts: NDArray[Any]
    row_weight: Matrix
    targets: Matrix
    ridge: float
    loss: TeamLoss

    @cached_property
    def total(self) -> Matrix:
        """Weight of each team's sample."""
        own = [float((row * self.row_weight).sum()) for row in self.counts]
        return np.tile(np.array(own), len(self.targets))

    @property
    def means(self) -> Matrix:
        """Of each team's target on its sample."""
        sums = [float((row * self.row_weight * target).sum()) for target in self.targets for row in self.counts]
        return np.array(sums) / self.total

    @property
    def starts(self) -> Matrix:
        """Intercept of each team before it has terms."""
        if self.loss.start is not None:
            found: Matrix = self.loss.start(self.means)
            return found
        level = float(self.loss.level or 0.0)
        each = [(target, row * self.row_weight) for target in self.targets for row in self.counts]
        return np.array([weighted_quantile(target, weight, level) for target, weight in each])

    @cached_property
    def penalty(self) -> Matrix:
        """Of each team, in the units of the Gram matrix."""
        return self.ridge * self.total * self.loss.curvature_share

    @cached_property
    def ones(self) -> Handle:
        """The vector of the intercepts."""
        return self.engine.put(np.ones((1, self.engine.n_rows)))

    @cached_property
    def _weights(self) -> Handle:
        each = [self.engine.put((row * self.row_weight)[None]) for row in self.counts]
        return reduce(add, each)[np.tile(np.arange(len(each)), len(self.targets))]

    @cached_property
    def _targets(self) -> Handle:
        return self.engine.put(self.targets)[np.repeat(np.arange(len(self.targets)), len(self.counts))]

    def scores(self, teams: Index, predictions: Handle) -> Handle:
        """Minus the first derivative of the teams' losses on every row, with its weight."""
        return self.engine.apply(self.loss.score, self._weights[teams], self._targets[teams], predictions)

    def curvatures(self, teams: Index, predictions: Handle) -> Handle:
        """The second derivative, with its weight: what rows weigh in products."""
        weights = self._weights[teams]
        if self.loss.curvature is None:
            return weights
        return self.engine.apply(self.loss.curvature, weights, self._targets[teams], predictions)

    def inverses(self, teams: Index, vectors: Handle, slots: Index, weights: Handle) -> Matrix:
        """Inverses of the penalised Gram matrices of some teams, from scratch."""
        gram = self.engine.products(vectors, vectors, weights, slots, slots)
        return penalized_inverses(gram, slots >= 0, self.penalty[teams], self.engine.threads)

    def solution(self, inverse: Matrix, vectors: Handle, slots: Index) -> Matrix:
        """The best coefficients of all teams with squares."""
        itself = np.arange(len(slots))[:, None]
        first = self.engine.products(self._targets, vectors, self._weights, itself, slots)[:, 0]
        return _times(inverse, first)

    def errors(self, predictions: Handle) -> Matrix:
        """Mean loss of every team on its sample."""
        return self.engine.sums(self.loss.value, self._targets, predictions, weights=self._weights) / self.total

    def newton(
        self, teams: Index, vectors: Handle, slots: Index, inverse: Matrix, coefficients: Matrix, predictions: Handle
    ) -> tuple[Matrix, Handle]:
        """One step towards the best coefficients of some teams, with the inverses as they are.

        `coefficients` are changed in place, and those of all teams; all other arrays are of the teams alone. Returns
        the share of the step that each has made, 0 if none was better, and the predictions after it.
        """
        own = coefficients[teams]
        penalty = np.repeat(self.penalty[teams, None], own.shape[1], axis=1)
        penalty[:, 0] = 0.0
        scores = self.scores(teams, predictions)
        itself = np.arange(len(teams))[:, None]
        gradient = self.engine.products(scores, vectors, None, itself, slots)[:, 0] - penalty * own
        step = np.clip(_times(inverse, gradient), -LARGEST_STEP, LARGEST_STEP)
        after = self.engine.combine(step, vectors, slots)
        shares = self._line_search(teams, own, step, penalty, predictions, after)
        coefficients[teams] += np.where(shares[:, None] > 0, shares[:, None] * step, 0.0)
        both = predictions + after
        n = len(teams)
        moved = np.column_stack([np.ones(n), shares])
        return shares, self.engine.combine(moved, both, np.arange(2 * n).reshape(2, n).T)

    def _line_search(
        self, teams: Index, own: Matrix, step: Matrix, penalty: Matrix, predictions: Handle, change: Handle
    ) -> Matrix:
        """The largest share of each team's step that lowers its objective."""

        def objective(some: Index, share: float) -> Matrix:
            targets, weights = self._targets[teams[some]], self._weights[teams[some]]
            value = self.loss.value
            at = self.engine.sums(
                lambda t, p, c: value(t, p + share * c), targets, predictions[some], change[some], weights=weights
            )
            return at + (0.5 * penalty[some] * (own[some] + share * step[some]) ** 2).sum(axis=1)

        shares = np.zeros(len(teams))
        waiting = np.arange(len(teams))
        before = objective(waiting, 0.0)
        for share in STEP_SHARES:
            is_better = objective(waiting, share) < before[waiting]
            shares[waiting[is_better]] = share
            waiting = waiting[~is_better]
            if not waiting.size:
                break
        return shares


def _times(matrices: Matrix, vectors: Matrix) -> Matrix:
    """A matrix times a vector, for each team."""
    found: Matrix = product(matrices, vectors[:, :, None])[:, :, 0]
    return found
