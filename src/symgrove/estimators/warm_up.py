"""Compile what a fit needs, or load it from the cache, on a few made-up rows: `max_time` does not count it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symgrove._workers import as_list
from symgrove.methods.problem import Problem, Rows

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

# What has been compiled in this process: kinds of estimators with their functions and dtype.
_done: set[tuple[Any, ...]] = set()
# Parameters of the small run, where an estimator has them.
_SMALL = {"population_size": 9, "n_estimators": 3, "torus": None, "variation": None, "memory_budget": None}


def warm_up(estimator: Estimator) -> None:
    """Evolve a little, once for each kind of estimator, functions and dtype.

    Methods from outside are left alone: they may not be made for so few rows, features and programs.
    """
    if not type(estimator).__module__.startswith("symgrove."):
        return
    functions: list[Any] = as_list(estimator.functions)
    names = tuple(f if isinstance(f, str) else getattr(f, "function", f) for f in functions)
    options = (str(estimator.dtype), *(repr(getattr(estimator, name, "")) for name in ("linear_scaling", "selection")))
    loss = getattr(estimator, "loss", None)
    key = (type(estimator), names, getattr(loss, "function", loss), *options)
    if key in _done:
        return
    small = _small(estimator)
    X = np.arange(12.0).reshape(6, 2) % 5
    task, targets = small._encode(X[:, 0] % 2)
    problem = Problem(Rows(X, targets, None, np.arange(6)), task, 0)
    with small.make_method(problem) as method:
        small.make_model(problem, method, method.step(method.init()))
    _done.add(key)


def _small(estimator: Estimator) -> Estimator:
    """The estimator with few programs, and without functions of the user's that may keep a state."""
    parameters = estimator.get_params(deep=False)
    parameters |= {name: value for name, value in _SMALL.items() if name in parameters}
    selection = parameters.get("selection")
    if callable(selection) and not type(selection).__module__.startswith("symgrove."):
        parameters["selection"] = "partition"
    return type(estimator)(**parameters)
