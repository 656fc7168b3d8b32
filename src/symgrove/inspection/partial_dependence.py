"""What the model predicts, on average and row by row, when one feature is set to given values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._style import BLUE, Axes, new_axes, plain
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import labels_of
from symgrove.estimators.input import columns_of
from symgrove.inspection._input import (
    checked,
    class_index,
    feature_index,
    features_to_show,
    member_predictions,
    prediction,
    some_rows,
)

Matrix = NDArray[np.float64]
BAND = (0.1, 0.9)


class Curve(NamedTuple):
    """Partial dependence on one feature.

    Attributes
    ----------
    feature : str
    grid : (n_points,)
        Values of the feature; of categories, their places in `labels`.
    average : (n_points,)
        Mean prediction over the rows.
    individual : (n_rows, n_points)
        Prediction of each row.
    low, high : (n_points,)
        Between them are the averages of eight in ten members: how far the members agree.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> curve = inspection.partial_dependence(model, X, "x3", n_rows=20)
    >>> curve.feature, curve.individual.shape[0]
    ('x3', 20)
    """

    feature: str
    grid: Matrix
    average: Matrix
    individual: Matrix
    low: Matrix
    high: Matrix
    labels: tuple[str, ...] = ()


def partial_dependence(
    model: Estimator,
    X: Any,
    feature: Any,
    *,
    target: Any = None,
    n_points: int = 30,
    n_rows: int = 200,
    random_state: int = 0,
) -> Curve:
    """Predictions with a feature set to each of some values, on rows of X.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X : array-like of shape (n_rows, n_features)
    feature : str or int
    target : label, optional
        Of a classifier: the class whose probability is shown; the last one if not given.
    n_points : int
        Values of the feature: quantiles from 2 % to 98 %, or all of them if there are fewer.
    n_rows : int
        At most so many rows, drawn at random.
    random_state : int

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> curve = inspection.partial_dependence(model, X, "x3", n_points=4)
    >>> curve.grid.shape == curve.average.shape
    True
    """
    X = checked(model, X)
    j, k = feature_index(model, feature), class_index(model, target)
    column = columns_of(model).columns[j]
    labels = (column.categories or ()) + (("another",) if column.has_others else ())
    grid = np.arange(float(len(labels))) if labels else _grid(np.asarray(X[:, j]), n_points)
    rows = X[some_rows(len(X), n_rows, random_state)]
    moved = np.repeat(rows[None], grid.size, axis=0)
    moved[:, :, j] = grid[:, None]
    flat = moved.reshape(-1, X.shape[1])
    individual = prediction(model, flat, k).reshape(grid.size, len(rows))
    members = member_predictions(model, flat, k).reshape(-1, grid.size, len(rows)).mean(axis=2)
    low, high = np.quantile(members, BAND, axis=0)
    return Curve(labels_of(model)[j], grid, individual.mean(axis=1), individual.T, low, high, labels)


def _grid(values: Matrix, n_points: int) -> Matrix:
    values = values[~np.isnan(values)]
    distinct = np.unique(values) if values.size else np.zeros(1)
    if distinct.size <= n_points:
        return distinct
    return np.unique(np.quantile(values, np.linspace(0.02, 0.98, n_points)))


class PartialDependenceDisplay:
    """Average, individual curves, and the members' band, for several features.

    Attributes
    ----------
    curves : list of Curve
    label : str
        Of the vertical axis.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> display = inspection.PartialDependenceDisplay.from_estimator(model, X, ["x0", "x3"])
    >>> len(display.curves)
    2
    """

    def __init__(self, curves: list[Curve], label: str = "prediction") -> None:
        self.curves = curves
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        model: Estimator,
        X: Any,
        features: Sequence[Any] | None = None,
        *,
        target: Any = None,
        n_most: int = 4,
        ax: Sequence[Axes] | None = None,
        **options: Any,
    ) -> PartialDependenceDisplay:
        """Compute and plot; without `features`, for the `n_most` that act most. Options: see `partial_dependence`."""
        shown = features_to_show(model, features, n_most)
        k = class_index(model, target)
        label = f"probability of {model.classes_[k]}" if isinstance(model, Classifier) else "prediction"
        curves = [partial_dependence(model, X, j, target=target, **options) for j in shown]
        return cls(curves, label).plot(ax=ax)

    def plot(self, ax: Sequence[Axes] | None = None, n_individual: int = 30) -> PartialDependenceDisplay:
        """Draw each curve on axes of its own."""
        self.axes_ = (
            list(np.ravel(np.asarray(ax, dtype=object))) if ax is not None else [new_axes() for _ in self.curves]
        )
        if len(self.axes_) != len(self.curves):
            raise ValueError(f"ax must have {len(self.curves)} axes, one for each feature, got {len(self.axes_)}.")
        for axes, curve in zip(self.axes_, self.curves, strict=True):
            axes.set_xlabel(plain(curve.feature))
            axes.set_ylabel(plain(self.label))
            if curve.labels:
                reach = [curve.average - curve.low, curve.high - curve.average]
                middle = curve.average.mean()
                axes.bar(curve.grid, curve.average - middle, bottom=middle, color=BLUE, width=0.7)
                axes.errorbar(curve.grid, curve.average, np.maximum(reach, 0), fmt="none", ecolor="grey")
                axes.axhline(middle, color="grey", linewidth=0.8)
                axes.set_xticks(curve.grid, [plain(label) for label in curve.labels], rotation=30, ha="right")
                continue
            rows = np.linspace(0, len(curve.individual) - 1, min(n_individual, len(curve.individual))).astype(int)
            axes.plot(curve.grid, curve.individual[rows].T, color="grey", linewidth=0.5, alpha=0.35)
            axes.fill_between(curve.grid, curve.low, curve.high, color=BLUE, alpha=0.3, linewidth=0)
            axes.plot(curve.grid, curve.average, color=BLUE, linewidth=2)
        return self
