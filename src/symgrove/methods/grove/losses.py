"""What a team's loss is on a row, and its derivatives: element-wise functions for an engine, of a weight `w`, a target
`t` and a prediction `p`, which is a log odds with the logistic loss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from symgrove.engines.base import Function

LEAST_CURVATURE = 1e-3
LARGEST_LOG_ODDS = 15.0


class TeamLoss(NamedTuple):
    """A loss: its value, weight times minus the first derivative, and weight times the second (None: the weight)."""

    value: Function
    score: Function
    curvature: Function | None


def _probability(p: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-np.clip(p, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)))


def _curvature(w: Any, p: Any) -> Any:
    probability = _probability(p)
    return w * np.maximum(probability * (1.0 - probability), LEAST_CURVATURE)


def _log_loss(t: Any, p: Any) -> Any:
    # As log(1 + exp(-margin)), without overflow; logaddexp does the same five times slower.
    margin = np.where(t > 0.5, p, -p)
    return np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0.0)


SQUARED = TeamLoss(lambda t, p: (t - p) ** 2, lambda w, t, p: w * (t - p), None)
LOGISTIC = TeamLoss(_log_loss, lambda w, t, p: w * (t - _probability(p)), _curvature)
