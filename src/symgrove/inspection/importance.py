"""How much worse a model predicts when a feature is shuffled."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._style import BLUE, Axes, new_axes, plain
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import features_of, labels_of, left_out_by, seen_by
from symgrove.estimators.input import columns_of
from symgrove.inspection._input import checked, rows_and_target
from symgrove.models.seen_rows import marks_of

Matrix = NDArray[np.float64]
Masks = list[NDArray[np.bool_]]  # for each target, the rows that each member left out


class Importance(NamedTuple):
    """Decrease of the score (R² or accuracy) for each feature, (n_features,), its standard deviation, and the names.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> found = inspection.permutation_importance(model, X, y, n_repeats=2)
    >>> found.features[:2], found.mean.shape
    (['x0', 'x1'], (10,))
    """

    mean: Matrix
    deviation: Matrix
    features: list[str]


def permutation_importance(
    model: Estimator,
    X: Any,
    y: Any,
    *,
    rows: str = "held-out",
    n_repeats: int = 5,
    random_state: int = 0,
    scoring: Any = None,
) -> Importance:
    """Importance of every feature by shuffling it.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X, y : array-like
        Rows that the model was not fitted on; or, out of bag, the very rows that `fit` was given.
    rows : "held-out" or "oob"
        held-out: the whole ensemble on the rows given (scikit-learn's `permutation_importance`). oob: each member on
        the training rows that its sample left out; needs no extra rows, but members share one population, so these
        rows are not quite new to them. Only for ensembles of programs that were fitted, not loaded: files do not hold
        the samples.
    n_repeats : int
    random_state : int
    scoring : str or callable, optional
        Of scikit-learn, for held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> found = inspection.permutation_importance(model, X, y, n_repeats=2)
    >>> len(found.mean)
    10
    """
    if rows not in ("held-out", "oob"):
        raise ValueError(f"rows must be 'held-out' or 'oob', got {rows!r}.")
    if rows == "held-out":
        from sklearn.inspection import permutation_importance as shuffled  # brings half of scikit-learn with it

        options = {"n_repeats": n_repeats, "random_state": random_state, "scoring": scoring}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")  # they were checked
            # scikit-learn loses sight of rows that are checked, so categories are given as texts.
            table, columns = checked(model, X), columns_of(model)
            found = shuffled(model, columns.values(table) if columns.categorical else table, y, **options)
        return Importance(found.importances_mean, found.importances_std, labels_of(model))
    if scoring is not None:
        raise ValueError("scoring is for rows='held-out'; out of bag, it is R² or accuracy.")
    outside = left_out_by(model)
    if outside is None:
        raise ValueError(
            f"this {type(model).__name__} does not know which training rows its members left out: give rows that it "
            "was not fitted on, with rows='held-out'."
        )
    X, _, targets = rows_and_target(model, X, y)
    if outside.rows.max(initial=0) >= len(X):
        raise ValueError(f"X has {len(X)} rows, fewer than `fit` was given: out of bag, X and y must be the same rows.")
    X, targets = np.asarray(X)[outside.rows], targets[:, outside.rows]
    marks = seen_by(model).get("fit")
    if marks is not None and not np.isin(marks_of(features_of(model, X), targets), marks).all():
        raise ValueError("these are not the rows of the fit: out of bag, X and y must be the same rows.")
    drops = _out_of_bag(model, X, model.model_.task.transformed(targets), outside.masks(), n_repeats, random_state)
    return Importance(drops.mean(axis=0), drops.std(axis=0), labels_of(model))


def _out_of_bag(
    model: Estimator, X: Matrix, targets: Matrix, masks: Masks, n_repeats: int, random_state: int
) -> Matrix:
    """Decreases of the score, (n_repeats, n_features)."""
    before = _loss(model, X, targets, masks)
    scale = 1.0 if model.model_.task.classes is not None else float(targets[0].var()) or 1.0
    rng = np.random.default_rng(random_state)
    drops = np.empty((n_repeats, X.shape[1]))
    for r in range(n_repeats):
        for j in range(X.shape[1]):
            moved = X.copy()
            moved[:, j] = moved[rng.permutation(len(X)), j]
            drops[r, j] = (_loss(model, moved, targets, masks) - before) / scale
    return drops


def _loss(model: Estimator, X: Matrix, targets: Matrix, masks: Masks) -> float:
    """Mean over the members of their mean loss outside their samples: squares, or wrong votes."""
    return float(np.nanmean(np.concatenate(model.model_.left_out(features_of(model, X), targets, masks, None).errors)))


class ImportanceDisplay:
    """Bars, the most important feature on top.

    Attributes
    ----------
    found : Importance

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> display = inspection.ImportanceDisplay.from_estimator(model, X, y)
    >>> type(display).__name__
    'ImportanceDisplay'
    """

    def __init__(self, found: Importance) -> None:
        self.found = found

    @classmethod
    def from_estimator(
        cls, model: Estimator, X: Any, y: Any, *, ax: Axes | None = None, **options: Any
    ) -> ImportanceDisplay:
        """Compute and plot. Options: see `permutation_importance`."""
        return cls(permutation_importance(model, X, y, **options)).plot(ax=ax)

    def plot(self, ax: Axes | None = None, n_most: int = 15) -> ImportanceDisplay:
        """Draw a bar for each of the most important features, with its standard deviation over the repeats."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        order = np.argsort(self.found.mean)[-n_most:]
        names = [plain(self.found.features[i]) for i in order]
        self.ax_.barh(names, self.found.mean[order], xerr=self.found.deviation[order], color=BLUE, ecolor="grey")
        self.ax_.set_xlabel("decrease of the score")
        return self
