"""Boosted trees of three libraries, tuned by random search with inner cross-validation, to compare with.

XGBoost and LightGBM are optional: `pip install symgrove[trees]`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import KFold, RandomizedSearchCV, StratifiedKFold


class TreeLibrary(NamedTuple):
    """Where boosted trees are, what their classes are called, their settings on one core, and what is searched."""

    module: str
    prefix: str
    settings: Mapping[str, Any]
    space: Mapping[str, Any]


class WholeNumbers:
    """Whole numbers from `low` to `high`, with logarithms that are spread evenly."""

    def __init__(self, low: int, high: int) -> None:
        self.distribution = loguniform(low, high)

    def rvs(self, random_state: Any = None) -> int:
        """One of them."""
        return round(self.distribution.rvs(random_state=random_state))


FIFTHS = 5
# The published searches stop adding trees by rows held out; here the number of trees is drawn too.
N_TREES = WholeNumbers(100, 1000)
LIBRARIES = {
    # Salinas and Erickson, TabRepo (2024).
    "lightgbm": TreeLibrary(
        "lightgbm",
        "LGBM",
        {"n_jobs": 1, "verbose": -1},
        {
            "n_estimators": N_TREES,
            "learning_rate": loguniform(5e-3, 0.1),
            "colsample_bytree": uniform(0.4, 0.6),
            "min_child_samples": randint(2, 61),
            "num_leaves": randint(16, 256),
            "extra_trees": [False, True],
        },
    ),
    # Grinsztajn, Oyallon and Varoquaux (2022), but for learning rates below 0.005, too low for 1000 trees.
    "xgboost": TreeLibrary(
        "xgboost",
        "XGB",
        {"n_jobs": 1, "enable_categorical": True},
        {
            "n_estimators": N_TREES,
            "learning_rate": loguniform(5e-3, 0.7),
            "max_depth": randint(1, 12),
            "min_child_weight": WholeNumbers(1, 100),
            "subsample": uniform(0.5, 0.5),
            "colsample_bytree": uniform(0.5, 0.5),
            "colsample_bylevel": uniform(0.5, 0.5),
            "gamma": loguniform(1e-8, 7),
            "reg_lambda": loguniform(1, 4),
            "reg_alpha": loguniform(1e-8, 1e2),
        },
    ),
    # What is searched for LightGBM, as far as scikit-learn has it.
    "hist-gradient-boosting": TreeLibrary(
        "sklearn.ensemble",
        "HistGradientBoosting",
        {"early_stopping": False},
        {
            "max_iter": N_TREES,
            "learning_rate": loguniform(5e-3, 0.1),
            "max_features": uniform(0.4, 0.6),
            "min_samples_leaf": randint(2, 61),
            "max_leaf_nodes": randint(16, 256),
        },
    ),
}


class _TunedTrees(BaseEstimator):
    """What both classes share: `n_configurations` are drawn and judged on `n_folds` folds; the best is fitted again.

    With one fold, a fifth of the rows judges.
    """

    _suffix: ClassVar[str]
    _folds: ClassVar[type]
    _scoring: ClassVar[str]

    def __init__(
        self,
        library: str = "lightgbm",
        n_configurations: int = 30,
        n_folds: int = 5,
        random_state: int | None = None,
    ) -> None:
        self.library = library
        self.n_configurations = n_configurations
        self.n_folds = n_folds
        self.random_state = random_state

    def make_trees(self, configuration: Mapping[str, Any]) -> Any:
        """Boosted trees of the library with a configuration, not fitted."""
        if self.library not in LIBRARIES:
            raise ValueError(f"library must be one of {', '.join(LIBRARIES)}, got {self.library!r}.")
        known = LIBRARIES[self.library]
        try:
            kind = getattr(importlib.import_module(known.module), known.prefix + self._suffix)
        except ImportError:
            raise ImportError(
                f"{type(self).__name__} needs {known.module}; install it with: pip install 'symgrove[trees]'"
            ) from None
        return kind(**known.settings, **configuration, random_state=self.random_state)

    def fit(self, X: Any, y: Any) -> Any:
        """Search, then fit the best configuration on all rows."""
        folds = self._folds(self.n_folds if self.n_folds > 1 else FIFTHS, shuffle=True, random_state=self.random_state)
        search = RandomizedSearchCV(
            self.make_trees({}),
            dict(LIBRARIES[self.library].space),
            n_iter=self.n_configurations,
            scoring=self._scoring,
            cv=folds if self.n_folds > 1 else [next(folds.split(X, y))],
            random_state=self.random_state,
            error_score="raise",
        )
        search.fit(X, y)
        self.trees_ = search.best_estimator_
        self.configuration_ = {n: v.item() if isinstance(v, np.generic) else v for n, v in search.best_params_.items()}
        self.validation_score_ = float(search.best_score_)
        return self

    def predict(self, X: Any) -> Any:
        """Predictions of the best configuration."""
        return self.trees_.predict(X)


class TunedTreesRegressor(RegressorMixin, _TunedTrees):
    """Chosen by the root mean squared error."""

    _suffix, _folds, _scoring = "Regressor", KFold, "neg_root_mean_squared_error"


class TunedTreesClassifier(ClassifierMixin, _TunedTrees):
    """Chosen by accuracy, what studies judge by."""

    _suffix, _folds, _scoring = "Classifier", StratifiedKFold, "accuracy"

    @property
    def classes_(self) -> Any:
        """Labels of the classes."""
        return self.trees_.classes_
