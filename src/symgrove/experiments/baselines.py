"""Other libraries' estimators that studies compare with, by name, on one core: with default settings, or tuned.

CatBoost, XGBoost, LightGBM and MAPIE are optional: `pip install symgrove[trees]`.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Baseline(NamedTuple):
    """Where an estimator is, and parameters that make its runs comparable."""

    module: str
    parameters: dict[str, Any]


_FOREST = Baseline("sklearn.ensemble", {"n_estimators": 500, "n_jobs": 1})
_HISTOGRAMS = Baseline("sklearn.ensemble", {})
_XGBOOST = Baseline("xgboost", {"n_jobs": 1})
_LIGHTGBM = Baseline("lightgbm", {"n_jobs": 1, "verbose": -1})
_CATBOOST = Baseline("catboost", {"thread_count": 1, "verbose": False, "allow_writing_files": False})
_TUNED = Baseline("symgrove.experiments.tuned_trees", {})
BASELINES = {
    "RandomForestRegressor": _FOREST,
    "RandomForestClassifier": _FOREST,
    "ExtraTreesRegressor": _FOREST,
    "ExtraTreesClassifier": _FOREST,
    "HistGradientBoostingRegressor": _HISTOGRAMS,
    "HistGradientBoostingClassifier": _HISTOGRAMS,
    "XGBRegressor": _XGBOOST,
    "XGBClassifier": _XGBOOST,
    "LGBMRegressor": _LIGHTGBM,
    "LGBMClassifier": _LIGHTGBM,
    "CatBoostRegressor": _CATBOOST,
    "CatBoostClassifier": _CATBOOST,
    "TunedTreesRegressor": _TUNED,
    "TunedTreesClassifier": _TUNED,
    "MapieForestRegressor": Baseline("symgrove.experiments.mapie_forest", {}),
}


def load_baseline(name: str) -> tuple[Any, dict[str, Any]]:
    """The class of a baseline and its parameters, or a clear error if its library is missing."""
    module, parameters = BASELINES[name]
    try:
        return getattr(importlib.import_module(module), name), dict(parameters)
    except ImportError:
        raise ImportError(f"{name} needs {module}; install it with: pip install 'symgrove[trees]'") from None
