"""From training rows to evolutions of teams, and from their states to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
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
from symgrove.methods.grove.populations import seed_of_population
from symgrove.methods.grove.teams import (
    GENERATIONS_BETWEEN_REFRESHES,
    TeamEvolution,
    TeamState,
)
from symgrove.methods.grove.turns import InTurns, Others, Populations, RowsOfTurns
from symgrove.methods.problem import Problem, Rows, TrainingRows
from symgrove.methods.programs import Fitted
from symgrove.methods.side_by_side import SideBySide
from symgrove.models.stack import Stack
from symgrove.models.standardization import Standardization, no_standardization
from symgrove.models.teams import Range, Teams
from symgrove.rng import stream
from symgrove.variation.mixture import MixedVariation

Matrix = NDArray[np.float64]
Positions = NDArray[np.intp]


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


def make_evolutions(
    settings: TeamSettings, regime: Regime, training: TrainingRows, seed: int, hidden: Positions | None = None
) -> Populations | InTurns:
    """Evolutions of teams on training rows but for those hidden; if rows are many, in turns, each population apart."""
    n_most = rows_of_an_evolution(settings, regime, training)
    together = team_needs(regime, training, settings.dtype, settings.configuration)
    scales = scales_of(settings, training)
    seen = Others(training.n_rows, hidden)
    if isinstance(training, Rows) and seen.size <= min(n_most, together.rows_within(settings.memory_budget)):
        own = training if hidden is None else training.take(seen.places(np.arange(seen.size)))
        return _on_all_rows(settings, regime, own, scales, seed)
    turns = RowsOfTurns(training, seen, seed, min(regime.n_populations, regime.n_teams), min(n_most, seen.size))
    n_turns = 1 + max(regime.snapshots, default=0) // GENERATIONS_BETWEEN_REFRESHES
    make = partial(_on_some_rows, settings, regime, replace(turns, n_turns=n_turns), scales, seed)
    return InTurns(make, GENERATIONS_BETWEEN_REFRESHES)


def rows_of_an_evolution(settings: TeamSettings, regime: Regime, training: TrainingRows) -> int:
    """How many rows the evolutions of a regime have at a time."""
    own, n_rows = settings.configuration, training.n_rows
    together, apart = (team_needs(regime, training, settings.dtype, own, apart=each) for each in (False, True))
    most = own.many.rows_of_a_turn if n_rows >= own.many.fewest_rows else n_rows
    if n_rows <= min(together.rows_within(settings.memory_budget), most):
        return n_rows
    return min(apart.rows_within(settings.memory_budget), most, n_rows - 1)


class Scales(NamedTuple):
    """How features and each target are scaled, whatever rows an evolution has."""

    standardization: Standardization
    centre: Matrix
    scale: Matrix


def scales_of(settings: TeamSettings, rows: TrainingRows) -> Scales:
    """Of features and targets on these rows."""
    return Scales(_standardization(settings, rows), *centres_and_scales(rows, settings.loss))


class TeamSamples(NamedTuple):
    """What each team is fitted on, whatever its target.

    Attributes
    ----------
    counts : (n_samples, n_rows)
    population_of : (n_samples,)
    n_own_rows : int
        That a sample is drawn from.
    """

    counts: NDArray[Any]
    population_of: Positions
    n_own_rows: int


def _on_all_rows(settings: TeamSettings, regime: Regime, training: Rows, scales: Scales, seed: int) -> Populations:
    """All populations on the same rows; the samples are divided among them."""
    n_rows = len(training.X)
    samples = TeamSamples(_counts(settings, n_rows, regime.n_teams, seed), populations_of_teams(regime), n_rows)
    return _together(settings, regime, training, scales, samples, seed)


def _together(
    settings: TeamSettings, regime: Regime, rows: Rows, scales: Scales, samples: TeamSamples, seed: int
) -> Populations:
    engine = _engine(settings, regime, rows, scales.standardization, 1)
    evolution = _make_evolution(settings, regime, rows, scales, samples, engine, seed)
    return SideBySide([evolution], scales.standardization, share_target=True)


def populations_of_teams(regime: Regime) -> Positions:
    """The population of each of a target's teams."""
    parts = np.array_split(np.arange(regime.n_teams), min(regime.n_populations, regime.n_teams))
    return np.repeat(np.arange(len(parts)), [part.size for part in parts])


def make_fold_evolutions(
    settings: TeamSettings, regime: Regime, rows: Rows, rests: Sequence[Positions], seed: int
) -> Populations:
    """Evolutions that go through generations together, each on a part of the rows: those that its fold leaves.

    Teams of a fold follow those of the fold before. Rows beyond a fold's have weight zero in it: of them it knows how
    features and terms are spread, and nothing of the target but its mean and spread.
    """
    n_rows, first = len(rows.X), populations_of_teams(regime)
    counts = np.zeros((len(rests) * regime.n_teams, n_rows), dtype=np.uint8)
    for f, rest in enumerate(rests):
        own_seed = int(stream(seed, "fold", f).integers(2**31))
        counts[f * regime.n_teams : (f + 1) * regime.n_teams, rest] = _counts(
            settings, rest.size, regime.n_teams, own_seed
        )
    populations = np.concatenate([f * (first.max() + 1) + first for f in range(len(rests))])
    samples = TeamSamples(counts, populations, min(rest.size for rest in rests))
    return _together(settings, regime.times(len(rests)), rows, scales_of(settings, rows), samples, seed)


def _on_some_rows(
    settings: TeamSettings,
    regime: Regime,
    turns: RowsOfTurns,
    scales: Scales,
    seed: int,
    turn: int,
) -> Populations:
    """A population each on rows of its own, which it has for one turn."""
    n_populations, n_rows = turns.n_populations, turns.n_rows
    parts = []
    for i, teams in enumerate(np.array_split(np.arange(regime.n_teams), n_populations)):
        own = turns.of(i, turn)
        counts = _counts(settings, n_rows, teams.size, int(stream(seed, "sample", i, turn).integers(2**31)))
        engine = _engine(settings, regime, own, scales.standardization, n_populations)
        samples = TeamSamples(counts, np.zeros(teams.size, dtype=np.intp), n_rows)
        parts.append(_make_evolution(settings, regime, own, scales, samples, engine, seed_of_population(seed, i)))
    return SideBySide(parts, scales.standardization, share_target=True)


def _counts(settings: TeamSettings, n_rows: int, n_teams: int, seed: int) -> NDArray[Any]:
    if settings.sampling == "bootstrap":
        return bootstrap_counts(n_rows, n_teams, seed, np.uint8)
    return subsample_counts(n_rows, n_teams, seed, float(settings.sampling), np.uint8)


def _engine(
    settings: TeamSettings, regime: Regime, rows: Rows, standardization: Standardization, n_engines: int
) -> Engine:
    """An engine on some rows, one of several that share the memory budget."""
    columns = features_by_column(rows.X, check_dtype(settings.dtype), standardization.apply)
    data = Dataset(columns, np.ascontiguousarray(rows.targets[0]))
    needs = team_needs(regime, rows, settings.dtype, settings.configuration, apart=n_engines > 1)
    budget = settings.memory_budget // n_engines
    reserved = min(needs.reserved(len(rows.X)) // n_engines, budget)
    return make_engine(data, settings.primitives, settings.n_threads, budget, settings.engine, reserved)


def _make_evolution(
    settings: TeamSettings,
    regime: Regime,
    training: Rows,
    scales: Scales,
    samples: TeamSamples,
    engine: Engine,
    seed: int,
) -> TeamEvolution:
    n_rows, n_features = training.X.shape
    row_weight = np.ones(n_rows) if training.weight is None else training.weight / training.weight.mean()
    n_targets = len(training.targets)
    own = settings.configuration
    rules = regime.rules
    max_terms = own.most_terms(rules.max_terms, samples.n_own_rows)
    return TeamEvolution(
        engine=engine,
        vary=_mixture(Forest(n_features, settings.primitives), training.X, scales.standardization, regime, own, seed),
        counts=samples.counts,
        population_of=samples.population_of,
        targets=(training.targets - scales.centre[:, None]) / scales.scale[:, None],
        row_weight=row_weight,
        # No more may join than stay: room for them is taken for every team.
        rules=replace(rules, max_terms=max_terms, n_joining=min(rules.n_joining, max_terms)),
        candidates=own.candidates,
        n_close=own.most_judged(regime.n_teams_of_fit * n_targets),
        loss=team_loss(settings.loss, float(scales.scale[0])),
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


def _standardization(settings: TeamSettings, training: TrainingRows) -> Standardization:
    if not settings.standardize:
        return no_standardization(training.n_features)
    return training.standardization(by_blocks=training.n_rows >= settings.configuration.many.fewest_rows)


def centres_and_scales(training: TrainingRows, loss: NamedLoss | None) -> tuple[Matrix, Matrix]:
    """Of each target, (n_targets,); labels stay as they are, counts are divided by their mean."""
    if loss is None:
        return np.zeros(training.n_targets), np.ones(training.n_targets)
    each = (_centre_and_scale(training, k, loss) for k in range(training.n_targets))
    centre, scale = zip(*each, strict=True)
    return np.array(centre), np.array(scale)


def _centre_and_scale(training: TrainingRows, k: int, loss: NamedLoss) -> tuple[float, float]:
    if isinstance(loss, Deviation):  # few large values must not decide
        y, weight = training.target_points(k)
        return weighted_quantile(y, weight, 0.5), robust_scale(y, weight)
    if isinstance(loss, Poisson):
        return 0.0, training.mean_of_target(k) or 1.0
    centre, scale = training.centre_and_spread(k)
    return centre, scale if scale > 1e-12 * abs(centre) and np.isfinite(1.0 / scale) else 1.0


def to_teams(
    settings: TeamSettings, method: Populations | InTurns, states: Sequence[TeamState], training: TrainingRows
) -> Teams:
    """The teams of the states as one ensemble with a forest of its own, in the units of the target."""
    evolutions, standardization = method.parts, method.standardization
    centre, scale = centres_and_scales(training, settings.loss)
    forest = Forest(training.n_features, settings.primitives)
    parts = [_collect(forest, *each) for each in zip(evolutions, states, strict=True)]
    # Populations may have the same program, features above all.
    programs, first = np.unique(np.concatenate([part.programs for part in parts]), return_index=True)
    term_centre, spread, low, high = (
        np.concatenate(column)[first] for column in zip(*(part.about for part in parts), strict=True)
    )
    each = [part.coefficients_of(programs, term_centre, spread) for part in parts]
    coefficients, moved = (np.concatenate(column) for column in zip(*each, strict=True))
    target_of = np.concatenate([evolution.target_of for evolution in evolutions])
    order = np.argsort(target_of, kind="stable")
    has_log_link = isinstance(settings.loss, Poisson)
    shift, unit = (np.log(scale), np.ones(scale.size)) if has_log_link else (centre, scale)
    own = target_of[order]
    return Teams(
        forest=forest,
        programs=programs,
        centre=term_centre,
        spread=spread,
        coefficients=unit[own][:, None] * coefficients[order],
        intercept=shift[own] + unit[own] * (moved + np.concatenate([s.coefficients[:, 0] for s in states]))[order],
        target_of=own,
        standardization=standardization,
        features=Range(*training.feature_range(standardization)) if settings.clip else None,
        terms=Range(low, high) if settings.clip else None,
        predictions=range_of_predictions(settings, training),
        aggregation=settings.aggregation,
        loss="logistic" if settings.loss is None else settings.loss.name,
        errors=in_units(settings.loss, np.concatenate([state.errors for state in states])[order], scale[own]),
    )


def range_of_predictions(settings: TeamSettings, rows: TrainingRows) -> Range | None:
    """What teams' sums are kept within: of one target numbers, of several arrays; None: anything goes."""
    _, scale = centres_and_scales(rows, settings.loss)
    ranges = [_range_of_target(settings, *rows.target_ends(k), unit) for k, unit in enumerate(scale.tolist())]
    known = [each for each in ranges if each is not None]
    if len(known) < 2:
        return known[0] if known else None
    return Range(*(np.array(ends) for ends in zip(*known, strict=True)))


def _range_of_target(settings: TeamSettings, low: float, high: float, scale: float) -> Range | None:
    """Of counts, which have logarithms of zero and below, always something."""
    if isinstance(settings.loss, Poisson):
        middle = float(np.log(scale))
        return Range(
            float(np.log(low)) if settings.clip and low > 0 else middle - LARGEST_LOG,
            float(np.log(high)) if settings.clip and high > 0 else middle + LARGEST_LOG,
        )
    return Range(low, high) if settings.clip and settings.loss is not None else None


def in_units(loss: NamedLoss | None, errors: Matrix, scale: Matrix) -> Matrix:
    """Mean losses of teams in the units of the target: of counts, deviances."""
    if isinstance(loss, Poisson):
        return 2.0 * scale * errors
    if isinstance(loss, Deviation) and not loss.delta:
        return scale * errors
    return scale * (scale * errors)


def stack_of(
    settings: TeamSettings, method: Populations | InTurns, states: Sequence[TeamState], problem: Problem
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
            n_features=training.n_features,
            labels=(f"main {states[0].generation}",),
        )
        for own in (tuple(states), *smaller)
    ]
    return Fitted(replace(stacks[0], smaller=tuple(stacks) if is_one_team else ()), _outside(method))


def _outside(method: Populations | InTurns) -> list[NDArray[np.bool_]]:
    """Rows that each team was not fitted on; none are known if rows change."""
    if isinstance(method, InTurns):
        return []
    evolutions = method.parts
    order = np.argsort(np.concatenate([evolution.target_of for evolution in evolutions]), kind="stable")
    return [np.concatenate([evolution.outside() for evolution in evolutions])[order]]


class _Collected(NamedTuple):
    """The teams of one evolution: programs, what is known about each (centre, spread, low, high), coefficients."""

    programs: Ids
    about: tuple[Matrix, ...]
    coefficients: Matrix

    def coefficients_of(self, programs: Ids, centre: Matrix, spread: Matrix) -> tuple[Matrix, Matrix]:
        """Over a sorted list that has these programs among others, and what the intercepts change by.

        On other rows the same program has another centre and spread; the coefficients are for those given.
        """
        place = np.searchsorted(programs, self.programs)
        own_centre, own_spread, *_ = self.about
        found = np.zeros((len(self.coefficients), programs.size))
        found[:, place] = self.coefficients * (spread[place] / own_spread)
        return found, (self.coefficients * ((centre[place] - own_centre) / own_spread)).sum(axis=1)


def _collect(forest: Forest, evolution: TeamEvolution, state: TeamState) -> _Collected:
    """The teams of a state, their programs copied into a forest."""
    is_term = state.roots >= 0
    roots, position = np.unique(state.roots[is_term], return_inverse=True)
    terms = evolution.terms(state, roots)
    coefficients = np.zeros((len(state.roots), roots.size))
    np.add.at(coefficients, (np.nonzero(is_term)[0], position.ravel()), state.coefficients[is_term])
    about = terms.centre, terms.spread, terms.low, terms.high
    return _Collected(forest.copy_from(state.forest, roots), about, coefficients)


def base_of(training: TrainingRows, losses: Sequence[NamedLoss]) -> Matrix:
    """What is predicted if nothing is known of a row: the mean of each target, or what else the loss asks for."""
    if losses and isinstance(losses[0], Deviation):
        return np.array([loss.constant(*training.target_points(k)) for k, loss in enumerate(losses)])
    return training.means_of_targets()
