"""Checks of constructor parameters: what was given, what is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove._checks import check_flag, check_number, check_pair, check_whole
from symgrove.dataset import check_dtype
from symgrove.evolution.checkpoint import check_path
from symgrove.forest.primitives import PrimitiveSet


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
    PrimitiveSet(estimator.functions, estimator.epsilon)
    callbacks = estimator.callbacks if isinstance(estimator.callbacks, (list, tuple)) else [estimator.callbacks]
    if not all(callback is None or callable(callback) for callback in callbacks):
        raise ValueError(f"callbacks must be a function or a list of functions, got {estimator.callbacks!r}.")
    if estimator.checkpoint is not None:
        check_path(estimator.checkpoint)
    if estimator.selection != "partition" and not callable(estimator.selection):
        raise ValueError(
            "selection must be 'partition' or a function (errors, n_selected, rng) -> indices, "
            f"got {estimator.selection!r}."
        )
