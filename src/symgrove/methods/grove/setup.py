"""From training rows to evolutions of teams, and from their states to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import Dataset, check_dtype, features_by_column
from symgrove.engines.base import Engine
from symgrove.engines.registry import make_engine
from symgrove.fitness.bootstrap import bootstrap_counts, subsample_counts
from symgrove.fitness.named_losses import Deviation, NamedLoss, Poisson, robust_scale, weighted_quantile
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.grove.configuration import GroveConfiguration, Regime
from symgrove.methods.grove.losses import LARGEST_LOG, team_loss
from symgrove.methods.grove.memory import team_needs
from symgrove.methods.grove.teams import TeamEvolution, TeamState
from symgrove.methods.problem import Problem, Rows
from symgrove.methods.programs import Fitted
from symgrove.methods.side_by_side import SideBySide
from symgrove.models.row_blocks import row_blocks, rows_at_a_time
from symgrove.models.stack import Stack
from symgrove.models.standardization import Standardization, no_standardization, standardization_of
from symgrove.models.teams import Range, Teams
from symgrove.rng import stream
from symgrove.variation.mixture import MixedVariation

Matrix = NDArray[np.float64]


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
    losses : tuple of NamedLoss
        Of each target, if it is a number; empty: labels, whose teams are logistic.
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
    losses: tuple[NamedLoss, ...]
    n_threads: int
    memory_budget: int
    configuration: GroveConfiguration
    engine: str

    @property
    def loss(self) -> NamedLoss | None:
        """Of the first target; those of others differ at most in their units."""
        return self.losses[0] if self.losses else None


def make_evolutions(settings: TeamSettings, regime: Regime, training: Rows, seed: int) -> SideBySide[TeamEvolution]:
    """Evolutions of teams on training rows, a population each; the samples are divided among them."""
    n_rows = len(training.X)
    if settings.sampling == "bootstrap":
        counts = bootstrap_counts(n_rows, regime.n_teams, seed, np.uint8)
    else:
        counts = subsample_counts(n_rows, regime.n_teams, seed, float(settings.sampling), np.uint8)
    n_populations = min(regime.n_populations, regime.n_teams)
    standardization = _standardization(settings, training)
    columns = features_by_column(training.X, check_dtype(settings.dtype), standardization.apply)
    data = Dataset(columns, np.ascontiguousarray(training.targets[0]))
    needs = team_needs(regime, training, settings.dtype, settings.configuration)
    budget = settings.memory_budget
    reserved = min(needs.reserved(n_rows), budget)
    engine = make_engine(data, settings.primitives, settings.n_threads, budget, settings.engine, reserved)
    parts = [
        _make_evolution(settings, regime, training, standardization, own, own_engine, _seed_of_population(seed, i))
        for i, (own, own_engine) in enumerate(
            zip(np.array_split(counts, n_populations), engine.split(n_populations), strict=True)
        )
    ]
    return SideBySide(parts, standardization, share_target=True)


def _seed_of_population(seed: int, i: int) -> int:
    return seed if i == 0 else int(stream(seed, "population", i).integers(2**31))


def _make_evolution(
    settings: TeamSettings,
    regime: Regime,
    training: Rows,
    standardization: Standardization,
    counts: NDArray[Any],
    engine: Engine,
    seed: int,
) -> TeamEvolution:
    n_rows, n_features = training.X.shape
    row_weight = np.ones(n_rows) if training.weight is None else training.weight / training.weight.mean()
    n_targets = len(training.targets)
    centre, scale = centres_and_scales(training, settings.loss)
    own = settings.configuration
    rules = regime.rules
    max_terms = own.most_terms(rules.max_terms, n_rows)
    return TeamEvolution(
        engine=engine,
        vary=_mixture(Forest(n_features, settings.primitives), training.X, standardization, regime, own, seed),
        counts=counts,
        targets=(training.targets - centre[:, None]) / scale[:, None],
        row_weight=row_weight,
        # No more may join than stay: room for them is taken for every team.
        rules=replace(rules, max_terms=max_terms, n_joining=min(rules.n_joining, max_terms)),
        candidates=own.candidates,
        n_close=own.most_judged(regime.n_teams * n_targets),
        loss=team_loss(settings.loss, float(scale[0])),
        seed=seed,
    )


def _mixture(
    forest: Forest,
    X: Matrix,
    standardization: Standardization,
    regime: Regime,
    configuration: GroveConfiguration,
    seed: int,
) -> MixedVariation:
    own = configuration.candidates
    n_values = min(len(X), own.n_data_values)
    drawn = stream(seed, "values").choice(len(X), size=n_values, replace=False)
    values = standardization.apply(X[drawn]).T
    return MixedVariation(forest, values, regime.max_size, own.shares, own.share_of_constants, own.tree_height)


def _standardization(settings: TeamSettings, training: Rows) -> Standardization:
    X = training.X
    return standardization_of(X, training.weight) if settings.standardize else no_standardization(X.shape[1])


def _range_of_features(standardization: Standardization, X: Matrix) -> Range:
    """Of standardised features."""
    ranges = [
        (Z.min(axis=0), Z.max(axis=0))
        for Z in (standardization.apply(X[rows]) for rows in row_blocks(len(X), rows_at_a_time(X.shape[1])))
    ]
    low, high = zip(*ranges, strict=True)
    return Range(np.min(low, axis=0), np.max(high, axis=0))


def centres_and_scales(training: Rows, loss: NamedLoss | None) -> tuple[Matrix, Matrix]:
    """Of each target, (n_targets,); labels stay as they are, counts are divided by their mean."""
    if loss is None:
        return np.zeros(len(training.targets)), np.ones(len(training.targets))
    centre, scale = zip(*(_centre_and_scale(y, training.weight, loss) for y in training.targets), strict=True)
    return np.array(centre), np.array(scale)


def _centre_and_scale(y: Matrix, weight: Matrix | None, loss: NamedLoss) -> tuple[float, float]:
    if isinstance(loss, Deviation):  # few large values must not decide
        return weighted_quantile(y, weight, 0.5), robust_scale(y, weight)
    if isinstance(loss, Poisson):
        return 0.0, float(np.average(y, weights=weight)) or 1.0
    reach = float(np.abs(y).max()) or 1.0  # squares of what is divided by it do not overflow
    centre = reach * float(np.average(y / reach, weights=weight))
    scale = reach * float(np.sqrt(np.average((y / reach - centre / reach) ** 2, weights=weight)))
    return centre, scale if scale > 1e-12 * abs(centre) and np.isfinite(1.0 / scale) else 1.0


def to_teams(
    settings: TeamSettings, method: SideBySide[TeamEvolution], states: Sequence[TeamState], training: Rows
) -> Teams:
    """The teams of the states as one ensemble with a forest of its own, in the units of the target."""
    evolutions = method.parts
    standardization = _standardization(settings, training)
    centre, scale = centres_and_scales(training, settings.loss)
    forest = Forest(training.X.shape[1], settings.primitives)
    parts = [_collect(forest, *each) for each in zip(evolutions, states, strict=True)]
    # Populations may have the same program, features above all.
    programs, first = np.unique(np.concatenate([part.programs for part in parts]), return_index=True)
    term_centre, spread, low, high = (
        np.concatenate(column)[first] for column in zip(*(part.about for part in parts), strict=True)
    )
    coefficients = np.concatenate([part.coefficients_of(programs) for part in parts])
    target_of = np.concatenate([evolution.target_of for evolution in evolutions])
    order = np.argsort(target_of, kind="stable")
    has_log_link = isinstance(settings.loss, Poisson)
    shift, unit = (np.log(scale), np.ones(scale.size)) if has_log_link else (centre, scale)
    ranges = [_range_of_predictions(settings, *each) for each in zip(training.targets, scale.tolist(), strict=True)]
    own = target_of[order]
    return Teams(
        forest=forest,
        programs=programs,
        centre=term_centre,
        spread=spread,
        coefficients=unit[own][:, None] * coefficients[order],
        intercept=shift[own] + unit[own] * np.concatenate([state.coefficients[:, 0] for state in states])[order],
        target_of=own,
        standardization=standardization,
        features=_range_of_features(standardization, training.X) if settings.clip else None,
        terms=Range(low, high) if settings.clip else None,
        predictions=_joined(ranges),
        aggregation=settings.aggregation,
        loss="logistic" if settings.loss is None else settings.loss.name,
        errors=_in_units(settings.loss, np.concatenate([state.errors for state in states])[order], scale[own]),
    )


def _range_of_predictions(settings: TeamSettings, y: Matrix, scale: float) -> Range | None:
    """What teams' sums are kept within; of counts, which have logarithms of zero and below, always something."""
    low, high = float(y.min()), float(y.max())
    if isinstance(settings.loss, Poisson):
        middle = float(np.log(scale))
        return Range(
            float(np.log(low)) if settings.clip and low > 0 else middle - LARGEST_LOG,
            float(np.log(high)) if settings.clip and high > 0 else middle + LARGEST_LOG,
        )
    return Range(low, high) if settings.clip and settings.loss is not None else None


def _joined(ranges: list[Range | None]) -> Range | None:
    """Of one target as numbers, of several as arrays."""
    known = [each for each in ranges if each is not None]
    if len(known) < 2:
        return known[0] if known else None
    return Range(*(np.array(ends) for ends in zip(*known, strict=True)))


def _in_units(loss: NamedLoss | None, errors: Matrix, scale: Matrix) -> Matrix:
    """Mean losses of teams in the units of the target: of counts, deviances."""
    if isinstance(loss, Poisson):
        return 2.0 * scale * errors
    if isinstance(loss, Deviation) and not loss.delta:
        return scale * errors
    return scale * (scale * errors)


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
            base=base_of(training, settings.losses),
            task=problem.task,
            primitives=settings.primitives,
            n_features=training.X.shape[1],
            labels=(f"main {states[0].generation}",),
        )
        for own in (tuple(states), *smaller)
    ]
    order = np.argsort(np.concatenate([evolution.target_of for evolution in evolutions]), kind="stable")
    outside = np.concatenate([evolution.outside() for evolution in evolutions])[order]
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


def base_of(training: Rows, losses: Sequence[NamedLoss]) -> Matrix:
    """What is predicted if nothing is known of a row: the mean of each target, or what else the loss asks for."""
    if losses and isinstance(losses[0], Deviation):
        pairs = zip(losses, training.targets, strict=True)
        return np.array([loss.constant(target, training.weight) for loss, target in pairs])
    reach = np.maximum(np.abs(training.targets).max(axis=1, keepdims=True), 1e-300)
    return reach[:, 0] * np.average(training.targets / reach, axis=1, weights=training.weight)
