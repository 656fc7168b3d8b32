"""Constructor parameters that methods share, and their checks: what was given, what is accepted.

Parameters are fields of keyword-only dataclasses without behaviour: scikit-learn reads their names and defaults from
the constructor that a dataclass gets, and an estimator adds its own by inheriting.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from symgrove._checks import (
    LARGEST_PROGRAM,
    MOST_PROGRAMS,
    MOST_SAMPLES,
    check_flag,
    check_number,
    check_pair,
    check_whole,
)
from symgrove._missing import check_not_missing
from symgrove._workers import as_list
from symgrove.dataset import check_dtype
from symgrove.engines.registry import DEFAULT, check_engine
from symgrove.evolution.checkpoint import check_path
from symgrove.fitness.named_losses import LOSSES
from symgrove.fitness.row_loss import OwnRowLoss, row_loss
from symgrove.forest.primitives import PAPER_FUNCTIONS, PROTECTION_EPSILON, PrimitiveSet
from symgrove.models.ensemble import COMBINE
from symgrove.models.target_transform import TRANSFORMS

Class = TypeVar("Class")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(cls: type[Class]) -> type[Class]:
    """Decorator of estimators: annotated fields become parameters. Comparing and printing stay scikit-learn's.

    Examples
    --------
    >>> from symgrove import extending as ex
    >>> @ex.with_parameters
    ... class MyRegressor(ex.ProgramParameters, ex.Regressor):
    ...     patience: int = 3
    >>> MyRegressor(patience=5).get_params()["patience"]
    5
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@with_parameters
class EvolutionParameters:
    """What every method has: the size of the run, the functions, and control.

    Examples
    --------
    >>> from symgrove import extending as ex
    >>> parameters = ex.EvolutionParameters(generations=7)
    >>> parameters.generations, parameters.dtype
    (7, 'float64')
    """

    population_size: int = 500
    generations: int = 100
    functions: Any = PAPER_FUNCTIONS
    epsilon: Any = PROTECTION_EPSILON
    standardize: bool = True
    categorical_features: Any = "from_dtype"
    max_time: float | None = None
    max_evaluations: int | None = None
    target_error: float | None = None
    calibration: float | None = None
    dtype: str = "float64"
    engine: str = DEFAULT
    memory_budget: int | None = None
    checkpoint: Any = None
    warm_start: bool = False
    callbacks: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


@with_parameters
class ProgramParameters(EvolutionParameters):
    """What methods with the paper's programs and subtree variation have.

    Examples
    --------
    >>> from symgrove import extending as ex
    >>> sorted({"p_crossover", "linear_scaling", "variation"} & set(ex.ProgramParameters().__dict__))
    ['linear_scaling', 'p_crossover', 'variation']
    """

    constant_range: tuple[float, float] | None = (-5.0, 5.0)
    init_depth: tuple[int, int] = (2, 6)
    min_grow_depth: int = 0
    max_size: int = 500
    p_crossover: float = 0.5
    p_mutation: float = 0.5
    linear_scaling: bool = True
    loss: Any = None
    variation: Any = None
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20


def check_shared(p: EvolutionParameters) -> None:
    """Check what an estimator has in common with others."""
    if isinstance(p, ProgramParameters):
        check_programs(p)
    else:
        check_evolution(p)


def check_evolution(p: EvolutionParameters) -> None:
    """Check what does not depend on data; rates are checked where they are used."""
    check_whole("population_size", p.population_size, 2, MOST_PROGRAMS, is_optional=type(p).population_size is None)
    check_whole("generations", p.generations, 0)
    for name in ("standardize", "warm_start"):
        check_flag(name, getattr(p, name))
    check_number("max_time", p.max_time, 0, np.inf, is_optional=True)
    check_whole("max_evaluations", p.max_evaluations, 1, is_optional=True)
    check_number("target_error", p.target_error, -np.inf, np.inf, is_optional=True)
    check_number("calibration", p.calibration, 0, 1, is_optional=True)
    check_whole("memory_budget", p.memory_budget, 1, is_optional=True)
    check_whole("verbose", int(p.verbose) if isinstance(p.verbose, bool) else p.verbose, 0)
    check_transform(p)
    check_dtype(p.dtype)
    check_engine(p.engine)
    is_whole = isinstance(p.n_jobs, (int, np.integer)) and not isinstance(p.n_jobs, bool)
    if p.n_jobs is not None and not (is_whole and p.n_jobs != 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {p.n_jobs!r}.")
    PrimitiveSet(p.functions, p.epsilon)
    if not all(callable(callback) for callback in as_list(p.callbacks)):
        raise ValueError(f"callbacks must be a function or a list of functions, got {p.callbacks!r}.")
    if p.checkpoint is not None:
        check_path(p.checkpoint)


def check_transform(p: Any) -> None:
    """What becomes of the target of regressors before the fit, and losses that do not go with it."""
    given = getattr(p, "target_transform", None)
    if given is None:
        return
    if not (isinstance(given, str) and given in TRANSFORMS):
        raise ValueError(f"target_transform must be None, {' or '.join(map(repr, TRANSFORMS))}, got {given!r}.")
    if isinstance(getattr(p, "loss", None), str) and p.loss == "poisson":
        raise ValueError("loss='poisson' has a logarithm as its link already: set target_transform=None.")
    if getattr(p, "huber_delta", None) is not None:
        raise ValueError("huber_delta is in units of y, and the fit is of the transformed y: leave it None.")


def check_programs(p: ProgramParameters) -> None:
    """Check all of them, but for rates."""
    check_population(p)
    check_whole("max_size", p.max_size, 1, LARGEST_PROGRAM)
    check_loss(p)
    check_not_missing(p.variation)
    if p.variation is not None and not callable(p.variation):
        raise ValueError(
            f"variation must be None or a function (forest, parents, donors, rng) -> children, got {p.variation!r}."
        )


def check_population(p: Any) -> None:
    """Check what methods have that draw a population and may stop early, besides rates."""
    check_pair("init_depth", p.init_depth)
    check_whole("init_depth[0]", p.init_depth[0], 0)
    check_whole("min_grow_depth", p.min_grow_depth, 0)
    check_scaled(p)


def check_scaled(p: Any) -> None:
    """Check what methods have that scale programs and may stop early."""
    check_evolution(p)
    if p.constant_range is not None:
        check_pair("constant_range", p.constant_range)
    check_flag("linear_scaling", p.linear_scaling)
    check_early_stopping(p)


def check_early_stopping(p: Any) -> None:
    """Check what methods have that may stop early."""
    check_flag("early_stopping", p.early_stopping)
    check_number("validation_fraction", p.validation_fraction, 0, 1)
    check_whole("n_generations_no_change", p.n_generations_no_change, 1)


class EarlyStopping(NamedTuple):
    """Which share of the rows is held out, and after how many generations without improvement a run ends."""

    validation_fraction: float
    n_generations_no_change: int


def early_stopping_of(p: EvolutionParameters) -> EarlyStopping | None:
    """Of methods that have these parameters; None if it is not wanted."""
    if not getattr(p, "early_stopping", False):
        return None
    return EarlyStopping(*(getattr(p, name) for name in EarlyStopping._fields))


def as_row_loss(loss: Any) -> OwnRowLoss:
    """What `row_loss` makes of a function, if it is not yet; one without a name is called loss."""
    if isinstance(loss, OwnRowLoss):
        return loss
    is_nameless = getattr(loss, "__name__", "") == "<lambda>"
    return row_loss(loss, name="loss" if is_nameless else None)


def check_loss(p: Any) -> None:
    """None, a function of target and prediction, what `row_loss` makes of one, or a name where `p` has names."""
    check_not_missing(p.loss)
    check_shape_of_loss(p)
    names = names_of_losses(p)
    if p.loss is None or (isinstance(p.loss, str) and p.loss in names):
        return
    try:
        as_row_loss(p.loss)
    except TypeError:
        either = f"one of {', '.join(map(repr, names))}" if names else "None"
        hint = ""
        if p.loss == "poisson" and names:
            hint = " The Poisson loss needs a logarithm as its link, which GroveRegressor has."
        raise ValueError(
            f"loss must be {either} or a function (y, prediction) -> loss on one row, got {p.loss!r}.{hint}"
        ) from None


def names_of_losses(p: Any) -> tuple[str, ...]:
    """Losses that an estimator of programs knows by name: those that need no link, if it has their parameters."""
    return tuple(name for name in LOSSES if name != "poisson") if _has_losses_by_name(p) else ()


def _has_losses_by_name(p: Any) -> bool:
    return "quantile" in {own.name for own in fields(p)}


def check_shape_of_loss(p: Any) -> None:
    """Check the parameters of losses by name, where an estimator has them."""
    if _has_losses_by_name(p):
        check_number("quantile", p.quantile, 0, 1)
        check_number("huber_delta", p.huber_delta, 0, np.inf, is_optional=True)


def check_samples(n_estimators: int, prune: bool, population_size: int | None = None) -> None:
    """Check what methods with one member for each bootstrap sample have.

    With `population_size`, every sample must be able to keep a program of the one population.

    Examples
    --------
    >>> from symgrove.extending import check_samples
    >>> check_samples(10, True, population_size=50)
    >>> check_samples(100, True, population_size=50)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...
    """
    check_whole("n_estimators", n_estimators, 1, MOST_SAMPLES)
    check_flag("prune", prune)
    if population_size is not None and n_estimators > population_size:
        raise ValueError(
            f"n_estimators={n_estimators} is larger than population_size={population_size}: some samples would keep no "
            "program. Lower n_estimators or raise population_size."
        )


def check_aggregation(p: Any) -> None:
    """How members are combined; classifiers do not have it, because their members vote."""
    check_choice("aggregation", getattr(p, "aggregation", "mean"), tuple(COMBINE))


def check_rates(p: Any) -> None:
    """Chances of crossover and mutation, which exclude each other."""
    rates = p.p_crossover, p.p_mutation
    for name, rate in zip(("p_crossover", "p_mutation"), rates, strict=True):
        check_number(name, rate, -np.inf, np.inf)
    if min(rates) < 0 or sum(rates) > 1 + 1e-12:
        raise ValueError(
            "p_crossover and p_mutation must be probabilities that sum to at most 1, "
            f"got {p.p_crossover} and {p.p_mutation}."
        )


def check_choice(name: str, value: Any, accepted: tuple[str, ...]) -> None:
    """One of a few words.

    Examples
    --------
    >>> from symgrove.extending import check_choice
    >>> check_choice("mode", "fast", ("fast", "slow"))
    >>> check_choice("mode", "quick", ("fast", "slow"))
    Traceback (most recent call last):
    ValueError: mode must be one of 'fast', 'slow', got 'quick'.
    """
    if not (isinstance(value, str) and value in accepted):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, accepted))}, got {value!r}.")
