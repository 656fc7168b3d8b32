"""Whether promises hold: intervals against the coverage they were asked for, probabilities against frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_number
from symgrove._style import BLUE, Axes, new_axes, plain
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import scored_rows
from symgrove.estimators.regressor import Regressor
from symgrove.inspection._input import check_ours, class_index, rows_and_target

Matrix = NDArray[np.float64]
LEVELS = tuple(np.round(np.arange(0.05, 1.0, 0.05), 2).tolist())
# Standard errors of a share that are drawn to both sides.
BAND = 1.96


def coverage(model: Estimator, X: Any, y: Any, levels: Sequence[float] = LEVELS, method: str = "auto") -> Matrix:
    """Share of the rows that are inside the intervals of each coverage, (n_levels,).

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(100, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, generations=5, calibration=0.4, random_state=0).fit(X, y)
    >>> inspection.coverage(model, X, y, levels=(0.5, 0.9)).shape
    (2,)
    """
    if not isinstance(model, Regressor):
        raise TypeError(f"coverage is for regressors; {type(model).__name__} has `reliability`.")
    for level in levels:
        check_number("levels", level, 0, 1)
    X, y, _ = rows_and_target(model, X, y)
    scores, prediction, spread = scored_rows(model, X, method)
    away = np.abs(y - prediction)
    widths = scores.widths.of(spread)
    return np.array([np.mean(away <= scores.factor(level) * widths) for level in levels])


def reliability(
    model: Estimator, X: Any, y: Any, *, target: Any = None, n_bins: int = 10
) -> tuple[Matrix, Matrix, Matrix]:
    """Mean predicted probability, share of the class, and number of rows, in bins of equal width that have rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from symgrove import TwoSEGPClassifier, inspection
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = TwoSEGPClassifier(population_size=50, n_estimators=10, generations=3, random_state=0).fit(X, y)
    >>> predicted, observed, n_rows = inspection.reliability(model, X, y)
    >>> int(n_rows.sum())
    569
    """
    k = class_index(model, target)
    if k is None or not isinstance(model, Classifier):
        raise ValueError("reliability is for classifiers; for regressors, see `coverage`.")
    X, y, _ = rows_and_target(model, X, y)
    predicted = np.asarray(model.predict_proba(X)[:, k])
    is_class = y == model.classes_[k]
    place = np.minimum((predicted * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(place).astype(np.float64)
    used = counts > 0
    means = np.bincount(place, predicted)[used] / counts[used]
    return means, np.bincount(place, is_class)[used] / counts[used], counts[used]


class CalibrationDisplay:
    """What was promised against what came: coverage of intervals, or probabilities of a class.

    Attributes
    ----------
    promised, found : (n_points,)
    n_rows : (n_points,)
        Rows behind each point.
    label : str

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(100, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, generations=5, calibration=0.4, random_state=0).fit(X, y)
    >>> display = inspection.CalibrationDisplay.from_estimator(model, X, y)
    >>> display.promised.shape == display.found.shape
    True
    """

    def __init__(self, promised: Matrix, found: Matrix, n_rows: Matrix, label: str) -> None:
        self.promised = promised
        self.found = found
        self.n_rows = n_rows
        self.label = label

    @classmethod
    def from_estimator(
        cls, model: Estimator, X: Any, y: Any, *, target: Any = None, method: str = "auto", ax: Axes | None = None
    ) -> CalibrationDisplay:
        """Of a regressor its intervals (`method` as in `predict_interval`), of a classifier its probabilities."""
        check_ours(model)
        if isinstance(model, Classifier):
            k = class_index(model, target)
            return cls(*reliability(model, X, y, target=target), f"probability of {model.classes_[k]}").plot(ax=ax)
        levels = np.array(LEVELS)
        n_rows = np.full(levels.size, len(np.asarray(y)))
        return cls(levels, coverage(model, X, y, LEVELS, method), n_rows, "share inside intervals").plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> CalibrationDisplay:
        """Draw the points, with what chance alone would do to a perfect model."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        error = BAND * np.sqrt(self.promised * (1 - self.promised) / np.maximum(self.n_rows, 1))
        self.ax_.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        low, high = np.clip([self.promised - error, self.promised + error], 0, 1)
        self.ax_.fill_between(self.promised, low, high, color="grey", alpha=0.25, linewidth=0)
        self.ax_.plot(self.promised, self.found, "o-", color=BLUE, markersize=4)
        self.ax_.set_xlabel(plain(f"promised: {self.label}"))
        self.ax_.set_ylabel("observed")
        return self
