"""Many rows: evolutions are judged themselves, on rows that they did not see, and coefficients are found on all rows.

hold some rows out
evolve every regime on the others, in turns if they are very many; the main one until it gains no more (plateau.py)
coefficients of all teams = best on those others, by sums over blocks of rows
weights = what predicts the rows held out best
coefficients once more, with the rows held out among the others
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.evolution.stopping import OutOfTime
from symgrove.fitness.named_losses import Squared
from symgrove.methods.grove.configuration import ManyRows, Regime
from symgrove.methods.grove.pooling import SHARE_OF_POOL, bytes_of_sums, levels_of, pool_sums
from symgrove.methods.grove.settling import RowPass, TargetUnits, step, sums_of, units_of
from symgrove.methods.grove.setup import TeamSettings
from symgrove.methods.grove.strength import COEFFICIENTS, Chosen, Surroundings, grow
from symgrove.methods.grove.weights import weigh
from symgrove.methods.problem import Rows, TrainingRows
from symgrove.models.row_blocks import FEWEST_ROWS
from symgrove.models.stack import Stack
from symgrove.models.task import Task
from symgrove.models.teams import Teams
from symgrove.rng import stream

Matrix = NDArray[np.float64]
Positions = NDArray[np.intp]
# Of terms with each other, over all rows: of rows elsewhere, so many are made at most. 30,000,000 rows with 1,800
# terms, a quarter of an hour on two cores; nobody would see what more rows do to coefficients.
MOST_PRODUCTS = 1e14


def rows_to_hide(rows: TrainingRows, task: Task, seed: int, many: ManyRows) -> Positions:
    """Places of rows to judge evolutions by; classes keep their shares, but for chance where rows are elsewhere."""
    n_rows, n_held_out = rows.n_rows, n_to_hide(rows.n_rows, many)
    if not isinstance(rows, Rows):
        return np.sort(stream(seed, "held out").choice(n_rows, size=n_held_out, replace=False))
    order = stream(seed, "held out").permutation(n_rows)
    labels = task.strata(rows.targets)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    return np.sort(order[((np.arange(n_held_out) + 0.5) * n_rows / n_held_out).astype(np.intp)])


def n_to_hide(n_rows: int, many: ManyRows) -> int:
    """How many rows evolutions do not see, of so many."""
    return max(1, min(int(many.share_held_out * n_rows), many.most_held_out))


class _Parted(NamedTuple):
    """All rows, and those held out."""

    rows: TrainingRows
    held_out: Rows

    def sums(self, function: Callable[..., Any], teams: Teams, units: TargetUnits, how: RowPass) -> tuple[Any, Any]:
        """Sums over all rows, and without those held out; over some panels of both where they are too many."""
        every = 1 if self.rows.is_here else panels_apart(self.rows.n_rows, teams.programs.size)
        everything = self.rows.fold(_of_panels, function, every, teams, units, how=how)
        return everything, everything - _of_panels(self.held_out, function, every, teams, units, how)


def panels_apart(n_rows: int, n_terms: int) -> int:
    """Of how many panels one is summed: all, until products of terms are more than `MOST_PRODUCTS`."""
    return max(1, math.ceil(n_rows * n_terms**2 / MOST_PRODUCTS))


def _of_panels(rows: Rows, function: Callable[..., Any], every: int, *arguments: Any) -> Any:
    """Sums over every n-th panel of the rows that were given."""
    if every > 1:
        rows = rows.take(np.flatnonzero(rows.positions // FEWEST_ROWS % every == 0))
    return function(rows, *arguments)


class _Level(NamedTuple):
    """What a level may become: an ensemble for the rows held out, and, once it has weight, one of all rows."""

    judged: Teams
    make: Callable[[], Teams]


def settle_stack(
    settings: TeamSettings,
    regimes: Sequence[Regime],
    strongest: Stack,
    training: TrainingRows,
    seed: int,
    around: Surroundings,
    hidden: Positions,
    *,
    fixed: bool,
) -> Chosen:
    """Ensembles with coefficients of all rows, weighed on the rows held out; `strongest` is the main one.

    `fixed`: the main teams alone, whatever the rows held out say. What is chosen has predictions of the rows held out.
    """
    parted = _Parted(training, training.take(hidden))
    main, *others = regimes
    label = f"{main.name} {main.snapshots[-1]}"
    found = {label: (strongest.levels[0], main)}
    for regime in others:
        last = replace(regime, snapshots=regime.snapshots[-1:])
        for teams in grow(settings, last, training, seed, around, hidden):
            found[f"{regime.name} {last.snapshots[0]}"] = teams, regime
    around.tell("coefficients on all rows", COEFFICIENTS)
    levels: dict[str, _Level] = {}
    for name, (teams, regime) in found.items():
        has_room = bytes_of_sums(teams.programs.size) < SHARE_OF_POOL * settings.memory_budget
        is_pooled = not fixed and isinstance(settings.loss, Squared) and has_room
        levels |= (_pool if is_pooled else _settle)(settings, name, teams, regime, parted, around)
    weights, out_of_fold, spread = _weigh(settings, levels, parted, fixed=fixed)
    by_name = dict(zip(levels, weights, strict=True))
    used = {name: level.make() for name, level in levels.items() if by_name[name] > 0}
    own_weights = np.array([by_name[name] for name in used])
    stack = replace(strongest, levels=tuple(used.values()), weights=own_weights, labels=tuple(used), smaller=())
    if fixed and strongest.smaller:  # one team, and what was left of it when terms left one by one
        stack = replace(stack, smaller=(stack, *strongest.smaller[1:]))
    return Chosen(stack, by_name, out_of_fold, spread)


def _weigh(
    settings: TeamSettings, levels: Mapping[str, _Level], parted: _Parted, *, fixed: bool
) -> tuple[list[float], Matrix, Matrix]:
    """Weights of the levels, what they predict together for the rows held out, and the spread of their teams."""
    X, n_threads = parted.held_out.X, settings.n_threads
    out_of_fold = np.stack([level.judged.predict(X, n_threads) for level in levels.values()])
    spread = np.stack([level.judged.all_members(X, n_threads).std(axis=0) for level in levels.values()])
    if fixed:
        return [1.0], out_of_fold[0], spread[0]
    rules = settings.configuration.folds
    found = weigh(out_of_fold, spread, parted.held_out, rules, losses=settings.losses, everything=parted.rows)
    return found.weights.tolist(), found.out_of_fold, found.spread


def _how(settings: TeamSettings, around: Surroundings) -> RowPass:
    def check() -> None:
        if around.interrupt.is_requested or time.perf_counter() > around.end:
            raise OutOfTime

    told = 0.0

    def tell(share: float) -> None:
        nonlocal told
        if share < 1 and share >= told + 0.1:
            told = share
            around.tell(f"coefficients on all rows, {share:.0%} of a pass")

    return RowPass(settings.n_threads, check, tell)


def _settle(
    settings: TeamSettings, name: str, teams: Teams, regime: Regime, parted: _Parted, around: Surroundings
) -> dict[str, _Level]:
    """Every team with its own terms."""
    how, ridge, units = _how(settings, around), regime.rules.ridge, units_of(parted.rows, settings.loss)
    n_steps = 1 if units.loss.is_squared else settings.configuration.many.n_newton_steps
    for i in range(n_steps):
        everything, rest = parted.sums(sums_of, teams, units, how)
        if i < n_steps - 1:
            teams = step(teams, rest, units, ridge)
    return {name: _Level(step(teams, rest, units, ridge), partial(step, teams, everything, units, ridge))}


def _pool(
    settings: TeamSettings, name: str, teams: Teams, regime: Regime, parted: _Parted, around: Surroundings
) -> dict[str, _Level]:
    """Every team with its own terms, and regressions over terms of many teams; of each kind with the best penalty."""
    how, held_out, units = _how(settings, around), parted.held_out, units_of(parted.rows, settings.loss)
    everything, rest = parted.sums(pool_sums, teams, units, how)
    n_populations = min(regime.n_populations, regime.n_teams)
    kinds = [*levels_of(teams, n_populations, regime.rules.ridge)]
    choices = [(own, penalty) for own in kinds if len(own.penalties) > 1 for penalty in own.penalties]
    tried = [own.first().fit(teams, rest, penalty) for own, penalty in choices]
    losses = np.zeros(len(tried))
    for block, values in how.blocks(teams, held_out):
        targets, weight = held_out.targets[:, block], 1.0 if held_out.weight is None else held_out.weight[block]
        for i, level in enumerate(tried):
            difference = (level.combine(level.team_predictions(values)) - targets) / units.scale[:, None]
            losses[i] += float((weight * difference**2).sum())
    levels: dict[str, _Level] = {}
    for own in kinds:
        rated = [(loss, penalty) for loss, (kind, penalty) in zip(losses, choices, strict=True) if kind is own]
        penalty = min(rated)[1] if rated else own.penalties[0]
        label = name if own.name == "teams" else f"{name}, {own.name}"
        levels[label] = _Level(own.fit(teams, rest, penalty), partial(own.fit, teams, everything, penalty))
    return levels
