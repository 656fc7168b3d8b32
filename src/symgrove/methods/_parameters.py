"""Checks of constructor parameters: what was given, what is accepted."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from symgrove.dataset import check_dtype


def check_whole(name: str, value: Any, low: int, *, is_optional: bool = False) -> None:
    """A whole number of at least `low`."""
    if is_optional and value is None:
        return
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not is_whole or value < low:
        also = " or None" if is_optional else ""
        raise ValueError(f"{name} must be a whole number of at least {low}{also}, got {value!r}.")


def check_number(name: str, value: Any, low: float, high: float, *, is_optional: bool = False) -> None:
    """A number strictly between `low` and `high`."""
    if is_optional and value is None:
        return
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not (is_number and low < value < high):
        also = " or None" if is_optional else ""
        raise ValueError(f"{name} must be a number above {low:g} and below {high:g}{also}, got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_pair(name: str, value: Any) -> None:
    """Two numbers, low and high."""
    try:
        low, high = value
        is_ordered = low <= high
    except (TypeError, ValueError):
        is_ordered = False
    if not is_ordered:
        raise ValueError(f"{name} must be a pair (low, high), got {value!r}.")


def check_evolution_parameters(estimator: Any) -> None:
    """Check all parameters that do not depend on data; functions, epsilon and rates are checked where they are used."""
    check_whole("population_size", estimator.population_size, 2)
    check_whole("n_estimators", estimator.n_estimators, 1)
    if estimator.n_estimators > estimator.population_size:
        raise ValueError(
            f"n_estimators={estimator.n_estimators} is larger than population_size={estimator.population_size}: some "
            "samples would keep no program. Lower n_estimators or raise population_size."
        )
    check_whole("generations", estimator.generations, 0)
    check_whole("max_size", estimator.max_size, 1)
    check_pair("init_depth", estimator.init_depth)
    check_whole("init_depth[0]", estimator.init_depth[0], 0)
    check_whole("min_grow_depth", estimator.min_grow_depth, 0)
    if estimator.constant_range is not None:
        check_pair("constant_range", estimator.constant_range)
    for name in ("linear_scaling", "standardize", "early_stopping", "warm_start", "prune"):
        check_flag(name, getattr(estimator, name))
    check_number("max_time", estimator.max_time, 0, np.inf, is_optional=True)
    check_whole("max_evaluations", estimator.max_evaluations, 1, is_optional=True)
    check_number("target_error", estimator.target_error, -np.inf, np.inf, is_optional=True)
    check_number("validation_fraction", estimator.validation_fraction, 0, 1)
    check_whole("n_generations_no_change", estimator.n_generations_no_change, 1)
    check_whole("memory_budget", estimator.memory_budget, 1, is_optional=True)
    check_whole("verbose", int(estimator.verbose) if isinstance(estimator.verbose, bool) else estimator.verbose, 0)
    check_dtype(estimator.dtype)
    if estimator.selection != "partition" and not callable(estimator.selection):
        raise ValueError(
            "selection must be 'partition' or a function (errors, n_selected, rng) -> indices, "
            f"got {estimator.selection!r}."
        )
