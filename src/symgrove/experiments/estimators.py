"""Estimators that studies name: ours and the baselines by short names, any other as `module:Class`.

A name of the second form is Python code that is imported and run.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from symgrove import estimators
from symgrove.estimators import ESTIMATORS
from symgrove.estimators.base import Estimator
from symgrove.experiments.baselines import BASELINES, load_baseline

NEEDED = ("fit", "predict", "get_params")
# What others can record too: `predict_interval(X, coverage)` gives lower and upper ends, (n_rows, 2).
RECORD_OF_INTERVALS = "intervals"


def load_estimator(name: str) -> tuple[Any, dict[str, Any]]:
    """The class of this name, and the parameters that it has in all studies."""
    if name in ESTIMATORS:
        return getattr(estimators, name), {}
    return load_baseline(name) if name in BASELINES else (_imported(name), {})


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if not (module and attribute):
        known = ", ".join((*ESTIMATORS, *BASELINES))
        raise ValueError(
            f"the estimator {name!r} is not known; known are {known}. Name any other as module:Class, such as "
            "sklearn.svm:SVR."
        )
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:  # importing runs the module, which may raise anything
        raise ValueError(
            f"the estimator {name!r}: importing {module} failed with {type(error).__name__}: {error}. Install it, or "
            "put the folder that it is in on PYTHONPATH."
        ) from error
    if found is None:
        raise ValueError(f"the estimator {name!r}: {module} has no {attribute!r}; correct the name of the class.")
    if not isinstance(found, type) or not all(callable(getattr(found, method, None)) for method in NEEDED):
        what = "a class without " + " or ".join(m for m in NEEDED if not callable(getattr(found, m, None)))
        raise ValueError(
            f"the estimator {name!r} is {what if isinstance(found, type) else f'of type {type(found).__name__}'}; "
            f"accepted are classes with {', '.join(NEEDED)}, as scikit-learn's regressors and classifiers have. "
            "Derive yours from RegressorMixin or ClassifierMixin, and BaseEstimator, in sklearn.base."
        )
    return found


def is_of_other_library(name: str) -> bool:
    """Whether an estimator is a baseline, or of any package but this one."""
    return name in BASELINES or (":" in name and name.partition(":")[0].partition(".")[0] != "symgrove")


def make(name: str, parameters: Mapping[str, Any], seed: int) -> Any:
    """An estimator with its parameters, and with the seed if it takes one."""
    kind, shared = load_estimator(name)
    settings = {**shared, **parameters}
    model = kind(**settings)
    takes_seed = "random_state" in inspect.signature(kind).parameters or "random_state" in model.get_params()
    return kind(**settings, random_state=seed) if takes_seed else model


def check(name: str, parameters: Mapping[str, Any], task: str, record: str) -> None:
    """Refuse at once what would make every run fail, or measure something else than it says."""
    kind, shared = load_estimator(name)
    known = inspect.signature(kind).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    for parameter in parameters:
        if parameter == "random_state":
            raise ValueError(
                f"{name} has no parameter 'random_state' to set here: its seed is the number of the split."
            )
        if parameter not in known and not takes_any:
            raise ValueError(f"{name} has no parameter {parameter!r} to set here; it has {', '.join(known)}.")
    try:
        model = kind(**{**shared, **parameters})
        model.get_params()
    except Exception as error:
        raise ValueError(f"{name} cannot be made with {dict(parameters)}: {type(error).__name__}: {error}") from error
    wanted, told = {"regression": "regressor", "classification": "classifier"}[task], _type_of(model)
    if told not in (wanted, None):
        raise ValueError(f"{name} is named as {wanted}, but is a {told}; name another, or name it as {told}.")
    if record == RECORD_OF_INTERVALS and not callable(getattr(kind, "predict_interval", None)):
        raise ValueError(f"{name} has no predict_interval(X, coverage), which the record {record!r} needs.")
    if record not in ("", RECORD_OF_INTERVALS) and not issubclass(kind, Estimator):
        raise ValueError(f"{name} is not an estimator of symgrove, and only those can record {record!r}.")


def _type_of(model: Any) -> str | None:
    """What scikit-learn's tags say an estimator is; None for classes without tags."""
    try:
        told: str | None = model.__sklearn_tags__().estimator_type
    except AttributeError:
        return None
    return told
