"""From training rows to evolutions of teams, and from their states to a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import make_dataset
from symgrove.engines.registry import make_engine
from symgrove.fitness.bootstrap import bootstrap_counts, subsample_counts
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.grove.configuration import CandidateRules, GroveConfiguration, Regime
from symgrove.methods.grove.teams import TeamEvolution, TeamState
from symgrove.methods.problem import Problem, Rows
from symgrove.methods.programs import Fitted
from symgrove.methods.side_by_side import SideBySide
from symgrove.models.stack import Stack
from symgrove.models.standardization import Standardization, no_standardization, standardization_of
from symgrove.models.teams import Range, Teams
from symgrove.rng import stream
from symgrove.variation.mixture import MixedVariation

Matrix = NDArray[np.float64]
SMALLEST_BUDGET = 1 << 20  # of a population, if there is as much


class TeamSettings(NamedTuple):
    """What all evolutions of one fit share.

    Attributes
    ----------
    primitives, dtype
        Programs and what they are evaluated in.
    standardize, clip : bool
    sampling : "bootstrap" or float
        How each team's rows are drawn.
    aggregation : str
    is_logistic : bool
    n_threads, memory_budget : int
    configuration : GroveConfiguration
    engine : str
    """

    primitives: PrimitiveSet
    dtype: str
    standardize: bool
    clip: bool
    sampling: str | float
    aggregation: str
    is_logistic: bool
    n_threads: int
    memory_budget: int
    configuration: GroveConfiguration
    engine: str


def make_evolutions(settings: TeamSettings, regime: Regime, training: Rows, seed: int) -> SideBySide[TeamEvolution]:
    """Evolutions of teams on training rows, a population each; the samples are divided among them."""
    n_rows = len(training.X)
    if settings.sampling == "bootstrap":
        counts = bootstrap_counts(n_rows, regime.n_teams, seed)
    else:
        counts = subsample_counts(n_rows, regime.n_teams, seed, float(settings.sampling))
    n_populations = min(regime.n_populations, regime.n_teams)
    budget = max(settings.memory_budget // n_populations, min(settings.memory_budget, SMALLEST_BUDGET))
    share = settings._replace(memory_budget=budget)
    parts: list[TeamEvolution] = []
    with ExitStack() as on_failure:
        for i, own in enumerate(np.array_split(counts, n_populations)):
            own_seed = seed if i == 0 else _seed_of_population(seed, i)
            parts.append(on_failure.enter_context(_make_evolution(share, regime, training, own, own_seed)))
        on_failure.pop_all()  # from now on the method closes the engines
    return SideBySide(parts, _standardized(settings, training)[0], share_target=True)


def _seed_of_population(seed: int, i: int) -> int:
    return int(stream(seed, "population", i).integers(2**31))


def _make_evolution(
    settings: TeamSettings, regime: Regime, training: Rows, counts: NDArray[Any], seed: int
) -> TeamEvolution:
    _, Z = _standardized(settings, training)
    n_rows = len(Z)
    row_weight = np.ones(n_rows) if training.weight is None else training.weight / training.weight.mean()
    n_targets = len(training.targets)
    centre, scale = _centre_and_scale(training, is_logistic=settings.is_logistic)
    own = settings.configuration
    rules = regime.rules
    max_terms = max(own.fewest_terms, min(rules.max_terms, n_rows // own.rows_per_term))
    data = make_dataset(Z, training.targets[0], settings.dtype)
    return TeamEvolution(
        engine=make_engine(data, settings.primitives, settings.n_threads, settings.memory_budget, settings.engine),
        vary=_mixture(Forest(Z.shape[1], settings.primitives), Z, regime.max_size, own.candidates, seed),
        weights=np.tile(counts * row_weight, (n_targets, 1)),
        targets=(training.targets - centre) / scale,
        target_of=np.repeat(np.arange(n_targets), len(counts)),
        row_weight=row_weight / n_rows,
        # No more may join than stay: room for them is taken for every team.
        rules=replace(rules, max_terms=max_terms, n_joining=min(rules.n_joining, max_terms)),
        candidates=own.candidates,
        n_close=max(own.n_close, own.n_close_of_all // (regime.n_teams * n_targets)),
        is_logistic=settings.is_logistic,
        seed=seed,
    )


def _mixture(forest: Forest, Z: Matrix, max_size: int, candidates: CandidateRules, seed: int) -> MixedVariation:
    n_values = min(len(Z), candidates.n_data_values)
    values = Z[stream(seed, "values").choice(len(Z), size=n_values, replace=False)].T
    return MixedVariation(
        forest, values, max_size, candidates.shares, candidates.share_of_constants, candidates.tree_height
    )


def _standardized(settings: TeamSettings, training: Rows) -> tuple[Standardization, Matrix]:
    X = training.X
    found = standardization_of(X, training.weight) if settings.standardize else no_standardization(X.shape[1])
    return found, found.apply(X)


def _centre_and_scale(training: Rows, *, is_logistic: bool) -> tuple[float, float]:
    """Of the target; labels stay as they are."""
    if is_logistic:
        return 0.0, 1.0
    y = training.targets[0]
    reach = float(np.abs(y).max()) or 1.0  # squares of what is divided by it do not overflow
    centre = reach * float(np.average(y / reach, weights=training.weight))
    scale = reach * float(np.sqrt(np.average((y / reach - centre / reach) ** 2, weights=training.weight)))
    return centre, scale if scale > 1e-12 * abs(centre) and np.isfinite(1.0 / scale) else 1.0


def to_teams(
    settings: TeamSettings, method: SideBySide[TeamEvolution], states: Sequence[TeamState], training: Rows
) -> Teams:
    """The teams of the states as one ensemble with a forest of its own, in the units of the target."""
    evolutions = method.parts
    standardization, Z = _standardized(settings, training)
    centre, scale = _centre_and_scale(training, is_logistic=settings.is_logistic)
    forest = Forest(Z.shape[1], settings.primitives)
    parts = [_collect(forest, *each) for each in zip(evolutions, states, strict=True)]
    # Populations may have the same program, features above all.
    programs, first = np.unique(np.concatenate([part.programs for part in parts]), return_index=True)
    term_centre, spread, low, high = (
        np.concatenate(column)[first] for column in zip(*(part.about for part in parts), strict=True)
    )
    coefficients = np.concatenate([part.coefficients_of(programs) for part in parts])
    target_of = np.concatenate([evolution.target_of for evolution in evolutions])
    order = np.argsort(target_of, kind="stable")
    y = training.targets[0]
    return Teams(
        forest=forest,
        programs=programs,
        centre=term_centre,
        spread=spread,
        coefficients=scale * coefficients[order],
        intercept=(centre + scale * np.concatenate([state.coefficients[:, 0] for state in states]))[order],
        target_of=target_of[order],
        standardization=standardization,
        features=Range(Z.min(axis=0), Z.max(axis=0)) if settings.clip else None,
        terms=Range(low, high) if settings.clip else None,
        predictions=Range(y.min(), y.max()) if settings.clip and not settings.is_logistic else None,
        aggregation=settings.aggregation,
        is_logistic=settings.is_logistic,
        errors=(scale * (scale * np.concatenate([state.errors for state in states])))[order],
    )


def stack_of(
    settings: TeamSettings, method: SideBySide[TeamEvolution], states: Sequence[TeamState], problem: Problem
) -> Fitted:
    """The main evolution as a model, and the rows that each team was not fitted on.

    If it is one team, the model knows smaller ones: terms leave one by one.
    """
    training = problem.training
    evolutions = method.parts
    is_one_team = len(evolutions) == evolutions[0].n_teams == 1
    smaller = [(own,) for own in evolutions[0].shrink(states[0])] if is_one_team else []
    stacks = [
        Stack(
            levels=(to_teams(settings, method, own, training),),
            weights=np.ones(1),
            base=base_of(training),
            task=problem.task,
            primitives=settings.primitives,
            n_features=training.X.shape[1],
            labels=(f"main {states[0].generation}",),
        )
        for own in (tuple(states), *smaller)
    ]
    order = np.argsort(np.concatenate([evolution.target_of for evolution in evolutions]), kind="stable")
    outside = np.concatenate([evolution.weights == 0 for evolution in evolutions])[order]
    return Fitted(replace(stacks[0], smaller=tuple(stacks) if is_one_team else ()), [outside])


class _Collected(NamedTuple):
    """The teams of one evolution: programs, what is known about each (centre, spread, low, high), coefficients."""

    programs: Ids
    about: tuple[Matrix, ...]
    coefficients: Matrix

    def coefficients_of(self, programs: Ids) -> Matrix:
        """Over a sorted list that has these programs among others."""
        found = np.zeros((len(self.coefficients), programs.size))
        found[:, np.searchsorted(programs, self.programs)] = self.coefficients
        return found


def _collect(forest: Forest, evolution: TeamEvolution, state: TeamState) -> _Collected:
    """The teams of a state, their programs copied into a forest."""
    is_term = state.roots >= 0
    roots, position = np.unique(state.roots[is_term], return_inverse=True)
    terms = evolution.terms(state, roots)
    coefficients = np.zeros((len(state.roots), roots.size))
    np.add.at(coefficients, (np.nonzero(is_term)[0], position.ravel()), state.coefficients[is_term])
    about = terms.centre, terms.spread, terms.low, terms.high
    return _Collected(forest.copy_from(state.forest, roots), about, coefficients)


def base_of(training: Rows) -> Matrix:
    """What is predicted if nothing is known of a row: the mean of each target."""
    reach = np.maximum(np.abs(training.targets).max(axis=1, keepdims=True), 1e-300)
    return reach[:, 0] * np.average(training.targets / reach, axis=1, weights=training.weight)


def table_bytes(regime: Regime, n_targets: int, n_rows: int, itemsize: int) -> int:
    """Memory for the values of the teams' terms and of the candidates."""
    n_vectors = regime.n_teams * n_targets * (1 + regime.rules.max_terms + regime.rules.n_joining)
    return int((n_vectors + 3 * regime.rules.population_size) * n_rows * itemsize)


def rows_that_fit(regime: Regime, n_targets: int, itemsize: int, budget: int) -> int:
    """How many training rows the budget has room for."""
    return max(budget // table_bytes(regime, n_targets, 1, itemsize), 1)
