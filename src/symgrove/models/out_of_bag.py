"""What members say about rows that their own bootstrap sample did not draw.

Optimistic: samples share one population, so a row shapes programs also through the samples that did draw it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.models.ensemble import Ensemble


class OutOfBag(NamedTuple):
    """Prediction on every row (NaN where every sample drew it) and error of every sample's member (NaN if no rows)."""

    prediction: NDArray[np.float64]
    error: NDArray[np.float64]


def predict_out_of_bag(
    ensemble: Ensemble,
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    counts: NDArray[np.integer],
    weight: NDArray[np.float64] | None,
    row_loss: RowLoss,
) -> OutOfBag:
    """Mean (squared loss) or vote share (classification) of the members that did not train on a row."""
    prediction = np.empty(len(X))
    losses, weights = np.zeros((2, ensemble.n_samples))
    for rows, outputs in ensemble.outputs(X):
        members = ensemble.member_predictions(outputs)
        is_outside = (counts[:, rows] == 0) & np.isfinite(members)
        target = y[rows]
        if row_loss is RowLoss.SQUARED:
            values = np.where(is_outside, members, 0.0)
            with np.errstate(over="ignore"):
                loss = (values - target) ** 2
        else:
            values = (members > THRESHOLD).astype(np.float64)
            loss = (values != target).astype(np.float64)
        n_outside = is_outside.sum(axis=0)
        with np.errstate(invalid="ignore"):
            prediction[rows] = np.where(is_outside, values, 0.0).sum(axis=0) / np.where(n_outside, n_outside, np.nan)
        w = np.where(is_outside, 1.0 if weight is None else weight[rows], 0.0)
        losses += (w * np.where(is_outside, loss, 0.0)).sum(axis=1)
        weights += w.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return OutOfBag(prediction, losses / np.where(weights > 0, weights, np.nan))
