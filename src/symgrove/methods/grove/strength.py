"""How strongly to fit: a stack of ensembles of different strength, weighed by out-of-fold predictions.

    evolve the main regime on all rows for some generations: what there is if somebody stops the fit early
    folds = five, or on larger data one fifth of the rows
    evolve every regime from scratch on the other rows of each, all together, and predict its rows after every snapshot;
        a regressor's ends once a snapshot is clearly worse than the best before
    weights = what predicts those rows best: not negative, with sum at most one; the rest is the mean of the target
    on larger data, the strongest alone unless the stack is clearly better
    evolve the main regime further, up to the last snapshot that has weight; then others that have weight

Rows must be held out of whole evolutions: out-of-bag rows shape the terms through other teams. All evolutions go
through the one loop; what is done is in the checkpoint, so that a fit that is killed goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.evolution.checkpoint import Arrays, Checkpoint, fingerprint
from symgrove.evolution.interrupt import Interrupt
from symgrove.evolution.loop import Control
from symgrove.evolution.progress import Reporter
from symgrove.evolution.run import Result, RunControl, run
from symgrove.evolution.stopping import MaxGenerations, OutOfTime, Progress, Stop
from symgrove.fitness.named_losses import Squared
from symgrove.methods.grove.configuration import Regime
from symgrove.methods.grove.folds import (
    FoldRows,
    HeldOut,
    fit_populations,
    for_folds,
    has_room_for_populations,
    predict_populations,
    predict_teams,
    rows_of_folds,
)
from symgrove.methods.grove.pooling import FEW_PENALTIES
from symgrove.methods.grove.setup import TeamSettings, make_evolutions, to_teams
from symgrove.methods.grove.turns import InTurns, Populations
from symgrove.methods.grove.weights import Strength, latest_good, weigh
from symgrove.methods.problem import Rows, TrainingRows
from symgrove.models.stack import Stack
from symgrove.models.teams import Teams
from symgrove.rng import stream

Matrix = NDArray[np.float64]
# Parts of the checkpoint: of the regimes and what was predicted, of the evolution under way, of levels, of histories.
DONE, RUN, LEVEL, HISTORY = "strength/done/", "strength/run/", "strength/level/", "strength/history/"
COEFFICIENTS = "coefficients"  # what follows evolutions on many rows
BEFORE_CHOOSING = 10  # generations of the main evolution


class Level(NamedTuple):
    """A regime, looked at after a number of generations: its teams, or regressions over the terms of populations."""

    regime: Regime
    generation: int
    of_populations: bool = False

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.regime.name} {self.generation}" + (", populations" if self.of_populations else "")


@dataclass
class Surroundings:
    """What surrounds the evolutions that choose the strength.

    Attributes
    ----------
    checkpoint : Checkpoint
        Where they are saved, and what they go on from.
    interrupt : Interrupt
    end : float
        When the time is up.
    reporter : Reporter, optional
        Shows progress.
    histories : dict
        Of each evolution, by its name.
    """

    checkpoint: Checkpoint
    interrupt: Interrupt
    end: float = np.inf
    reporter: Reporter | None = None
    histories: dict[str, Arrays] = field(default_factory=dict)

    def run_to(
        self, method: Populations | InTurns, generation: int, name: str, previous: Result | None = None
    ) -> Result:
        """Evolve up to this generation; OutOfTime if someone wants to stop before. `save` keeps what comes of it."""
        now = time.perf_counter()
        what = "choosing the strength" if name.startswith("folds ") else name
        loop = Control(
            [MaxGenerations(generation)],
            [] if self.reporter is None else [self.reporter.observer(name, what)],
            max_time=None if np.isinf(self.end) else max(self.end - now, 0.0),
            start=now,
            interrupt=self.interrupt,
        )
        result = run(method, RunControl(loop, self.checkpoint, f"{RUN}{name}/"), previous)
        if result.reason != "generations":
            raise OutOfTime
        self.histories[name] = result.history
        return result

    def tell(self, text: str, begins: str | None = None) -> None:
        """Show a step; `begins` is its name in the plan."""
        if self.reporter is not None:
            self.reporter.say(text, begins)

    def save(self, part: str, arrays: Arrays, name: str, *, is_last: bool) -> None:
        """What came of an evolution, with its history; after the last time the evolution itself is not needed."""
        over: dict[str, Arrays] = {f"{RUN}{name}/": {}} if is_last else {}
        self.checkpoint.put({part: arrays, f"{HISTORY}{name}/": self.histories[name], **over})


def levels_of(regimes: Sequence[Regime], *, has_populations: bool) -> tuple[Level, ...]:
    """All snapshots of all regimes, and perhaps regressions over what the main one has found."""
    main, *others = regimes
    own = [Level(main, generation) for generation in main.snapshots]
    if has_populations:
        own.append(Level(main, main.snapshots[-1], of_populations=True))
    return (*own, *(Level(regime, generation) for regime in others for generation in regime.snapshots))


def choose_strength(
    settings: TeamSettings,
    regimes: Sequence[Regime],
    training: Rows,
    seed: int,
    around: Surroundings,
    *,
    has_populations: bool,
) -> tuple[Strength, float]:
    """Weights of the levels, and the penalty of regressions over the terms of populations."""
    rules = settings.configuration.folds
    cheaper = [for_folds(regime, rules) for regime in regimes]
    levels = levels_of(cheaper, has_populations=has_populations)
    folds = rows_of_folds(training, seed, rules, is_logistic=not settings.losses)
    record = _Record.begin_or_resume(levels, folds, around)
    for r, regime in enumerate(cheaper):
        around.tell(
            f"choosing the strength: {regime.name}, rows held out {len(folds.held_out)} times", f"folds {regime.name}"
        )
        own_seed = int(stream(seed, "folds of a regime", r).integers(2**31))
        _predict_levels(settings, regime, folds, own_seed, record, min(regimes[r].n_populations, regimes[r].n_teams))
    good = [i for regime in cheaper for i in record.good(settings, regime, training)]
    last = max(levels[i].generation for i in good if levels[i].regime == cheaper[0])
    strongest = [j for j, i in enumerate(good) if (levels[i].regime, levels[i].generation) == (cheaper[0], last)]
    own = record.out_of_fold[good], record.spread[good]
    chosen = weigh(*own, training, rules, losses=settings.losses, strongest=strongest)
    weights = np.zeros(len(levels))
    weights[good] = chosen.weights
    return chosen._replace(weights=weights), record.penalty


@dataclass
class _Record:
    """What folds have shown so far: predictions of levels, their spread, and how many levels are done.

    Those that are done are predicted, or left out because an evolution ended before.
    """

    levels: Sequence[Level]
    around: Surroundings
    out_of_fold: Matrix
    spread: Matrix
    key: NDArray[np.str_]
    n_done: int = 0
    penalty: float = 0.0

    @property
    def is_there(self) -> NDArray[np.bool_]:
        """Which levels are predicted."""
        found: NDArray[np.bool_] = np.any(np.isfinite(self.spread), axis=1)
        return found

    def good(self, settings: TeamSettings, regime: Regime, training: Rows) -> list[int]:
        """Levels of a regime that may have weight: of one that ends early, none after it began to get worse."""
        own = [i for i, level in enumerate(self.levels) if level.regime == regime and self.is_there[i]]
        of_teams = [i for i in own if not self.levels[i].of_populations]
        rules = settings.configuration.folds
        if rules.ends_at == float("inf") or not own:
            return own
        last = of_teams[latest_good(self.out_of_fold[of_teams], training, rules, settings.losses)]
        return [i for i in own if self.levels[i].generation <= self.levels[last].generation]

    @classmethod
    def begin_or_resume(cls, levels: Sequence[Level], folds: FoldRows, around: Surroundings) -> _Record:
        n_rows, n_targets = len(folds.training.X), len(folds.training.targets)
        key = np.array(fingerprint({}, {"levels": repr(levels), "rows": n_rows}))
        empty = np.full((len(levels), n_targets, n_rows), np.nan)
        record = cls(levels, around, empty, np.full((len(levels), n_rows), np.nan), key)
        saved = around.checkpoint.part(DONE)
        if str(saved.get("key")) != str(key):  # of another number of generations
            around.checkpoint.put({"strength/": {}, DONE: record.arrays()})
            return record
        with around.checkpoint.reading():
            for name, own_array in (("out_of_fold", record.out_of_fold), ("spread", record.spread)):
                if saved[name].shape != own_array.shape or saved[name].dtype != np.float64:
                    raise ValueError(f"{name!r} must be float64 of shape {own_array.shape}, got {saved[name].shape}")
            record.out_of_fold, record.spread = saved["out_of_fold"], saved["spread"]
            record.n_done, record.penalty = int(saved["n_done"]), float(saved["penalty"])
            record._check(np.concatenate(folds.held_out))
            if record.penalty not in (0.0, *FEW_PENALTIES):
                raise ValueError(f"a penalty of {record.penalty} is none of {FEW_PENALTIES}")
        for name, array in around.checkpoint.part(HISTORY).items():
            own, _, column = name.partition("/")
            around.histories.setdefault(own, {})[column] = array
        return record

    def _check(self, held_out: NDArray[np.intp]) -> None:
        """Refuse a damaged record: predictions must be whole, and of levels that are done."""
        expected = np.zeros(self.spread.shape, dtype=np.bool_)
        expected[np.ix_(self.is_there, held_out)] = True
        is_finite = np.isfinite(self.out_of_fold)
        is_right = (is_finite == expected[:, None]).all() and (np.isfinite(self.spread) == expected).all()
        if not is_right or self.n_done > len(self.levels) or self.is_there[self.n_done :].any():
            raise ValueError(f"{self.n_done} levels are done, which does not go with the predictions")

    def add(self, found: HeldOut) -> None:
        self.out_of_fold[self.n_done], self.spread[self.n_done] = found
        self.n_done += 1

    def arrays(self) -> Arrays:
        counters: Arrays = {"n_done": np.array(self.n_done), "penalty": np.array(self.penalty)}
        return {"key": self.key, **counters, "out_of_fold": self.out_of_fold, "spread": self.spread}


def _predict_levels(
    settings: TeamSettings, regime: Regime, folds: FoldRows, seed: int, record: _Record, n_populations_of_fit: int
) -> None:
    """Evolve on what folds leave, and predict what they hold out for every level that is not done yet."""
    waiting = [i for i, level in enumerate(record.levels) if level.regime == regime and i >= record.n_done]
    if not waiting:
        return
    name = f"folds {regime.name}"
    with folds.evolutions(settings, regime, seed) as method:
        result = None
        for i in waiting:
            level = record.levels[i]
            result = record.around.run_to(method, level.generation, name, result)
            each = [*folds.ensembles(settings, method, result.state)]
            if level.of_populations:
                own = min(regime.n_populations, regime.n_teams), n_populations_of_fit
                found, record.penalty = predict_populations(settings, folds, each, *own)
            else:
                found = predict_teams(settings, folds, each)
            record.add(found)
            if record.good(settings, regime, folds.training)[-1] != i:  # what follows would be worse still
                record.n_done = waiting[-1] + 1
            is_last = record.n_done > waiting[-1]
            record.around.save(DONE, record.arrays(), name, is_last=is_last)
            if is_last:
                break


def grow(
    settings: TeamSettings,
    regime: Regime,
    training: TrainingRows,
    seed: int,
    around: Surroundings,
    hidden: NDArray[np.intp] | None = None,
) -> Iterator[Teams]:
    """Evolve from scratch on all rows but those hidden; an ensemble after every snapshot."""
    if not regime.snapshots:
        return
    name = f"all rows {regime.name}"
    with make_evolutions(settings, regime, training, seed, hidden) as method:
        result = None
        for generation in regime.snapshots:
            part = f"{LEVEL}{regime.name} {generation}/"
            saved = around.checkpoint.part(part)
            if saved:
                with around.checkpoint.reading():
                    state = method.from_arrays(saved)
            else:
                result = around.run_to(method, generation, name, result)
                state = result.state
                around.save(part, method.to_arrays(state), name, is_last=generation == regime.snapshots[-1])
            yield to_teams(settings, method, state, training)


class Chosen(NamedTuple):
    """A stack, and how it was chosen.

    `weights` are those of all levels by name; `out_of_fold` and `spread` are predictions of the training rows by
    evolutions that never saw them, and the spread of their teams.
    """

    stack: Stack
    weights: dict[str, float]
    out_of_fold: Matrix
    spread: Matrix


@dataclass
class StrengthSearch:
    """Chooses the strength in the course of the main evolution, and is a reason for that to stop.

    Attributes
    ----------
    regimes : sequence of Regime
        The main one first.
    end : float
        When the time for choosing is up; the main evolution then goes on alone.
    """

    settings: TeamSettings
    regimes: Sequence[Regime]
    training: Rows
    seed: int
    around: Surroundings
    end: float = np.inf
    weights: dict[Level, float] | None = None
    _chosen: Strength | None = None
    _penalty: float = 0.0

    def stop_of(self, method: Populations) -> Stop:
        """The search as a reason to stop the main evolution, whose method it is."""
        return _Ending(self, method)

    def choose(self) -> None:
        """Find weights of all levels; OutOfTime if there is no time."""
        regimes, settings = self.regimes, self.settings
        has_room = has_room_for_populations(settings, regimes[0], self.training)
        has_populations = isinstance(settings.loss, Squared) and has_room
        within = replace(self.around, end=min(self.end, self.around.end))
        own = settings, regimes, self.training, self.seed, within
        self._chosen, self._penalty = choose_strength(*own, has_populations=has_populations)
        levels = levels_of(regimes, has_populations=has_populations)
        self.weights = dict(zip(levels, self._chosen.weights.tolist(), strict=True))

    @property
    def used(self) -> dict[Level, float]:
        """Levels that have weight."""
        return {level: weight for level, weight in (self.weights or {}).items() if weight > 0}

    def generations_of_main(self) -> list[int]:
        """That are used."""
        return sorted({level.generation for level in self.used if level.regime == self.regimes[0]})

    def stack(self, strongest: Stack, n_generations: int) -> Chosen:
        """Ensembles of different strength; `strongest` is the main evolution after so many generations."""
        assert self._chosen is not None
        assert self.weights is not None
        settings, training, main = self.settings, self.training, self.regimes[0]
        used = self.used
        found: dict[tuple[Regime, int], Teams] = {}
        for regime in self.regimes:
            wanted = sorted({level.generation for level in used if level.regime == regime})
            to_grow = tuple(g for g in wanted if (regime, g) != (main, n_generations))
            grown = grow(settings, replace(regime, snapshots=to_grow), training, self.seed, self.around)
            found |= {(regime, generation): teams for generation, teams in zip(to_grow, grown, strict=True)}
        found[main, n_generations] = strongest.levels[0]
        levels = []
        for level in used:
            teams = found[level.regime, level.generation]
            n_populations = min(main.n_populations, main.n_teams)
            own = teams, training, n_populations, self._penalty
            levels.append(fit_populations(settings, *own) if level.of_populations else teams)
        labels, weights = tuple(level.name for level in used), np.array([*used.values()])
        stack = replace(strongest, levels=tuple(levels), weights=weights, labels=labels, smaller=())
        by_name = {level.name: weight for level, weight in self.weights.items()}
        return Chosen(stack, by_name, self._chosen.out_of_fold, self._chosen.spread)


@dataclass
class _Ending:
    """Asked after each generation of the main evolution: chooses the strength in time, and keeps what has weight."""

    search: StrengthSearch
    method: Populations
    has_time: bool = True
    name: str = "strength"

    def __call__(self, progress: Progress) -> bool:
        """Whether the main evolution is as strong as it should be."""
        search, generation = self.search, progress.values["generation"]
        main = search.regimes[0]
        first = max((g for g in main.snapshots if g <= BEFORE_CHOOSING), default=main.snapshots[0])
        if search.weights is None and self.has_time and generation >= first:
            for part in self.method.parts:
                part.engine.forget()  # room for the folds; terms are soon evaluated again
            try:
                search.choose()
            except OutOfTime:
                self.has_time = False
        if generation in search.generations_of_main()[:-1]:
            kept = self.method.to_arrays(progress.state)
            search.around.checkpoint.put({f"{LEVEL}{main.name} {generation}/": kept})
        return search.weights is not None and generation >= max(search.generations_of_main(), default=0)
