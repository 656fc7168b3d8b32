"""What a team's loss is on a row, and its derivatives: element-wise functions for an engine, of a weight `w`, a target
`t` and a prediction `p`, which is a log odds with the logistic loss and a logarithm with the Poisson loss.

Losses that are not smooth are made so within a small distance of zero. Their curvature is that of the parabola that
touches the loss from above: Newton's step is then a step of reweighted least squares, which cannot make it worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrove.engines.base import Function
from symgrove.fitness.named_losses import Deviation, NamedLoss

LEAST_CURVATURE = 1e-3
LARGEST_LOG_ODDS = 15.0
LARGEST_LOG = 15.0
SMOOTHED = 0.01  # residuals of absolute and quantile losses up to this are squared; in units of the target's spread


@dataclass(frozen=True)
class TeamLoss:
    """A loss: its value, weight times minus the first derivative, and weight times the second.

    Attributes
    ----------
    value, score, curvature
        Of (t, p), (w, t, p) and (w, t, p). `curvature` is None with squares: the weight.
    curvature_share : float
        About what the curvature is as a share of that of squares; the ridge is taken times it.
    start : function or None
        From means of the target to intercepts of teams without terms.
    level : float or None
        If `start` is None: they are this quantile of the target.
    """

    value: Function
    score: Function
    curvature: Function | None
    curvature_share: float = 1.0
    start: Function | None = None
    level: float | None = None

    @property
    def is_squared(self) -> bool:
        """Whether the best coefficients follow from one inverse, in one step."""
        return self.curvature is None


def _probability(p: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-np.clip(p, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)))


def _curvature(w: Any, t: Any, p: Any) -> Any:
    probability = _probability(p)
    return w * np.maximum(probability * (1.0 - probability), LEAST_CURVATURE)


def _log_loss(t: Any, p: Any) -> Any:
    # As log(1 + exp(-margin)), without overflow; logaddexp does the same five times slower.
    margin = np.where(t > 0.5, p, -p)
    return np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0.0)


def _log_odds(mean: Any) -> Any:
    share = np.clip(mean, 1e-3, 1 - 1e-3)
    return np.log(share / (1 - share))


def _mean(p: Any) -> Any:
    return np.exp(np.minimum(p, LARGEST_LOG))


def _half_deviance(t: Any, p: Any) -> Any:
    # Beyond the largest logarithm the mean goes on as a line, with the slope that it has there.
    of_target = t * np.log(np.where(t > 0, t, 1.0)) - t
    return of_target - t * p + _mean(p) * (1.0 + np.maximum(p - LARGEST_LOG, 0.0))


SQUARED = TeamLoss(lambda t, p: (t - p) ** 2, lambda w, t, p: w * (t - p), None, start=lambda mean: mean)
LOGISTIC = TeamLoss(_log_loss, lambda w, t, p: w * (t - _probability(p)), _curvature, 0.25, start=_log_odds)
POISSON = TeamLoss(
    _half_deviance,
    lambda w, t, p: w * (t - _mean(p)),
    lambda w, t, p: w * np.maximum(_mean(p), LEAST_CURVATURE),
    start=lambda mean: np.log(np.maximum(mean, 1e-3)),
)
TEAM_LOSSES = {"squared": SQUARED, "logistic": LOGISTIC, "poisson": POISSON}


def team_loss(loss: NamedLoss | None, scale: float) -> TeamLoss:
    """What teams minimise on a target that was divided by `scale`; None: labels of 0 and 1."""
    if isinstance(loss, Deviation):
        return _deviation_loss(loss, scale)
    return TEAM_LOSSES["logistic" if loss is None else loss.name]


def _deviation_loss(loss: Deviation, scale: float) -> TeamLoss:
    above, below = loss.above, loss.below
    delta = loss.delta / scale if loss.delta else SMOOTHED
    # Without a threshold of its own the loss has a slope of one beyond the smoothed part.
    unit = 1.0 if loss.delta else 1.0 / delta

    def factor(residual: Any) -> Any:
        return unit * np.where(residual > 0, above, below)

    def value(t: Any, p: Any) -> Any:
        size = np.abs(t - p)
        inner = np.minimum(size, delta)
        return factor(t - p) * inner * (size - 0.5 * inner)

    def score(w: Any, t: Any, p: Any) -> Any:
        return w * factor(t - p) * np.clip(t - p, -delta, delta)

    def curvature(w: Any, t: Any, p: Any) -> Any:
        return w * factor(t - p) * (delta / np.maximum(np.abs(t - p), delta))

    return TeamLoss(value, score, curvature, 2.0 * above * below / (above + below), level=loss.level)
