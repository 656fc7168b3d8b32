"""Constructor parameters that methods share, and their checks: what was given, what is accepted.

Parameters are fields of keyword-only dataclasses: scikit-learn reads their names and defaults from the constructor that
a dataclass gets, and a method adds its own by inheriting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from symgrove._checks import (
    LARGEST_PROGRAM,
    MOST_PROGRAMS,
    MOST_SAMPLES,
    check_flag,
    check_number,
    check_pair,
    check_whole,
)
from symgrove.dataset import check_dtype
from symgrove.evolution.checkpoint import check_path
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PAPER_FUNCTIONS, PROTECTION_EPSILON, PrimitiveSet
from symgrove.forest.random_programs import RandomPrograms


# Not compared and not printed by the dataclass: that is scikit-learn's.
@dataclass(kw_only=True, eq=False, repr=False)
class EvolutionParameters(BaseEstimator):
    """What every method has: the size of the run, the functions, and control."""

    population_size: int = 500
    generations: int = 100
    functions: Any = PAPER_FUNCTIONS
    epsilon: Any = PROTECTION_EPSILON
    standardize: bool = True
    max_time: float | None = None
    max_evaluations: int | None = None
    target_error: float | None = None
    calibration: float | None = None
    dtype: str = "float64"
    memory_budget: int | None = None
    checkpoint: Any = None
    warm_start: bool = False
    callbacks: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        """Check what does not depend on data; functions, epsilon and rates are checked where they are used."""
        check_whole("population_size", self.population_size, 2, MOST_PROGRAMS)
        check_whole("generations", self.generations, 0)
        for name in ("standardize", "warm_start"):
            check_flag(name, getattr(self, name))
        check_number("max_time", self.max_time, 0, np.inf, is_optional=True)
        check_whole("max_evaluations", self.max_evaluations, 1, is_optional=True)
        check_number("target_error", self.target_error, -np.inf, np.inf, is_optional=True)
        check_number("calibration", self.calibration, 0, 1, is_optional=True)
        check_whole("memory_budget", self.memory_budget, 1, is_optional=True)
        check_whole("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        check_dtype(self.dtype)
        is_whole = isinstance(self.n_jobs, (int, np.integer)) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (is_whole and self.n_jobs != 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}.")
        PrimitiveSet(self.functions, self.epsilon)
        callbacks = self.callbacks if isinstance(self.callbacks, (list, tuple)) else [self.callbacks]
        if not all(callback is None or callable(callback) for callback in callbacks):
            raise ValueError(f"callbacks must be a function or a list of functions, got {self.callbacks!r}.")
        if self.checkpoint is not None:
            check_path(self.checkpoint)


@dataclass(kw_only=True, eq=False, repr=False)
class ProgramParameters(EvolutionParameters):
    """What methods with the paper's programs and subtree variation have."""

    constant_range: tuple[float, float] | None = (-5.0, 5.0)
    init_depth: tuple[int, int] = (2, 6)
    min_grow_depth: int = 0
    max_size: int = 500
    p_crossover: float = 0.5
    p_mutation: float = 0.5
    linear_scaling: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20

    def _make_source(self, forest: Forest) -> RandomPrograms:
        return RandomPrograms(forest, self.constant_range, self.init_depth[1])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("max_size", self.max_size, 1, LARGEST_PROGRAM)
        check_pair("init_depth", self.init_depth)
        check_whole("init_depth[0]", self.init_depth[0], 0)
        check_whole("min_grow_depth", self.min_grow_depth, 0)
        if self.constant_range is not None:
            check_pair("constant_range", self.constant_range)
        for name in ("linear_scaling", "early_stopping"):
            check_flag(name, getattr(self, name))
        check_number("validation_fraction", self.validation_fraction, 0, 1)
        check_whole("n_generations_no_change", self.n_generations_no_change, 1)


@dataclass(kw_only=True, eq=False, repr=False)
class EnsembleParameters(ProgramParameters):
    """What methods with one member for each bootstrap sample have."""

    n_estimators: int = 50
    prune: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("n_estimators", self.n_estimators, 1, MOST_SAMPLES)
        check_flag("prune", self.prune)


def check_one_program_a_sample(n_estimators: int, population_size: int) -> None:
    """Every sample must be able to keep a program of the one population."""
    if n_estimators > population_size:
        raise ValueError(
            f"n_estimators={n_estimators} is larger than population_size={population_size}: some samples would keep no "
            "program. Lower n_estimators or raise population_size."
        )


def check_choice(name: str, value: Any, accepted: tuple[str, ...]) -> None:
    """One of a few words."""
    if not (isinstance(value, str) and value in accepted):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, accepted))}, got {value!r}.")
