"""A random forest with MAPIE's CV+ intervals, to compare with; MAPIE is optional."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor

COVERAGES = (0.8, 0.9, 0.95)


class MapieForestRegressor(RegressorMixin, BaseEstimator):
    """CV+ on five folds around `RandomForestRegressor`; intervals of three coverages."""

    def __init__(self, n_estimators: int = 500, random_state: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MapieForestRegressor:
        """Fit the forests of the folds and the one that predicts."""
        from mapie.regression import CrossConformalRegressor

        forest = RandomForestRegressor(self.n_estimators, n_jobs=1, random_state=self.random_state)
        self.mapie_ = CrossConformalRegressor(
            forest, confidence_level=list(COVERAGES), method="plus", cv=5, n_jobs=1, random_state=self.random_state
        )
        self.mapie_.fit_conformalize(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Predictions of the forest that was fitted on all rows."""
        return self.mapie_.predict(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Lower and upper ends, (n_rows, 2)."""
        intervals = self.mapie_.predict_interval(X)[1]
        return np.asarray(intervals[:, :, COVERAGES.index(coverage)])
