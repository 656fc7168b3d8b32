"""Probabilities that hold: shares of the classes, corrected on rows that a model was not fitted on.

    corrected share of class k = weight[k] * share[k] ** power, divided by the sum over the classes

For two classes this is Platt's correction of the log odds. Power and weights have the highest likelihood on the rows,
with a slight pull towards no correction, so that few rows, or rows that are all right, do not make them infinite.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from symgrove.blas import product

Matrix = NDArray[np.float64]
FLOOR = 0.005  # shares below it count as this much
LARGEST = 20.0  # of the power and of the logarithms of weights


class Correction(NamedTuple):
    """Power, and a weight for each class."""

    power: float
    weights: Matrix
    floor: float = FLOOR

    def apply(self, shares: Matrix) -> Matrix:
        """Corrected shares, (n_rows, n_classes)."""
        raised = self.weights * np.maximum(shares, self.floor) ** self.power
        return raised / raised.sum(axis=1, keepdims=True)

    def document(self) -> dict[str, Any]:
        """For a model file."""
        return {"power": self.power, "weights": self.weights.tolist()}


def fit_correction(shares: Matrix, labels: NDArray[np.intp]) -> Correction:
    """The correction of shares, (n_rows, n_classes), for which the labels are most likely."""
    n_rows, n_classes = shares.shape
    logarithms = np.log(np.maximum(shares, FLOOR))
    rows = np.arange(n_rows)

    def loss(numbers: Matrix) -> tuple[float, Matrix]:
        power, offsets = numbers[0], numbers[1:]
        values = power * logarithms + offsets
        values -= values.max(axis=1, keepdims=True)
        total = np.exp(values)
        corrected = total / total.sum(axis=1, keepdims=True)
        gap = corrected.copy()
        gap[rows, labels] -= 1.0
        pull = np.concatenate([[power - 1.0], offsets])
        gradient = np.concatenate([[(gap * logarithms).sum()], gap.sum(axis=0)]) + pull
        likelihood = np.log(np.maximum(corrected[rows, labels], 1e-300)).sum()
        return float(product(0.5 * pull, pull) - likelihood), gradient

    start = np.concatenate([[1.0], np.zeros(n_classes)])
    bounds = [(0.0, LARGEST), *[(-LARGEST, LARGEST)] * n_classes]
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return Correction(float(found[0]), np.exp(found[1:]))
