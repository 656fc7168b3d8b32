"""Predictions beside the truth: predicted against actual, and residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import numeric_vector
from symgrove._style import BLUE, ORANGE, Axes, new_axes
from symgrove.estimators.base import Estimator
from symgrove.estimators.regressor import Regressor
from symgrove.inspection._input import check_ours, rows_and_target, some_rows

Matrix = NDArray[np.float64]
KINDS = ("actual_vs_predicted", "residual_vs_predicted")


class PredictionErrorDisplay:
    """Points for rows, with their intervals if there are any; of regressors.

    Attributes
    ----------
    actual, predicted : (n_rows,)
    intervals : (n_rows, 2) or None

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> display = inspection.PredictionErrorDisplay.from_estimator(model, X, y)
    >>> display.actual.shape
    (60,)
    """

    def __init__(self, actual: Matrix, predicted: Matrix, intervals: Matrix | None = None) -> None:
        self.actual = numeric_vector("actual", actual)
        self.predicted = numeric_vector("predicted", predicted)
        self.intervals = intervals

    @classmethod
    def from_estimator(
        cls,
        model: Estimator,
        X: Any,
        y: Any,
        *,
        kind: str = "actual_vs_predicted",
        coverage: float | None = None,
        n_rows: int = 500,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> PredictionErrorDisplay:
        """Compute for at most `n_rows` rows, drawn at random, and plot; with `coverage`, intervals too."""
        check_ours(model)
        if not isinstance(model, Regressor):
            raise ValueError(
                f"errors of predictions are those of numbers, and {type(model).__name__} predicts classes. "
                "CalibrationDisplay shows its probabilities, sklearn.metrics.ConfusionMatrixDisplay its labels."
            )
        X, y, _ = rows_and_target(model, X, y)
        rows = some_rows(len(X), n_rows, random_state)
        intervals = None if coverage is None else model.predict_interval(X[rows], coverage)
        return cls(y[rows], model.predict(X[rows]), intervals).plot(ax=ax, kind=kind)

    def plot(self, ax: Axes | None = None, kind: str = "actual_vs_predicted") -> PredictionErrorDisplay:
        """Draw actual values, or residuals (actual less predicted), against predictions."""
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        is_residual = kind == KINDS[1]
        shift = self.predicted if is_residual else np.zeros(self.predicted.size)
        if self.intervals is not None:
            low, high = self.intervals.T - shift
            self.ax_.vlines(self.predicted, low, high, color="grey", alpha=0.3, linewidth=0.8)
        self.ax_.scatter(self.predicted, self.actual - shift, s=9, color=BLUE, alpha=0.6, linewidths=0)
        ends = [self.predicted.min(), self.predicted.max()]
        self.ax_.plot(ends, [0, 0] if is_residual else ends, color=ORANGE, linewidth=1)
        self.ax_.set_xlabel("predicted")
        self.ax_.set_ylabel("actual less predicted" if is_residual else "actual")
        return self
