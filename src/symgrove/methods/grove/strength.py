"""How strongly to fit: a stack of ensembles of different strength, weighed by out-of-fold predictions.

    folds = five, or on larger data one fifth of the rows
    in each, evolve every regime from scratch on the other rows, and predict its rows after every snapshot
    weights = what predicts those rows best: not negative, with sum at most one; the rest is the mean of the target
    on larger data, the strongest alone unless the stack is clearly better
    evolve those that have weight on all rows

Rows must be held out of whole evolutions: out-of-bag rows shape the terms through other teams. All evolutions go
through the one loop; what is done is in the checkpoint, so that a fit that is killed goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.evolution.checkpoint import Arrays, Checkpoint, fingerprint
from symgrove.evolution.interrupt import Interrupt
from symgrove.evolution.loop import Control
from symgrove.evolution.run import Result, RunControl, run
from symgrove.evolution.stopping import MaxGenerations, OutOfTime
from symgrove.methods.grove.configuration import Folds, Regime
from symgrove.methods.grove.setup import TeamSettings, make_evolutions, to_teams
from symgrove.methods.grove.turns import InTurns, Populations
from symgrove.methods.grove.weights import Strength, weigh
from symgrove.methods.problem import Rows
from symgrove.models.stack import Stack
from symgrove.models.teams import Teams
from symgrove.rng import stream

Matrix = NDArray[np.float64]
# Parts of the checkpoint: of the regimes and what was predicted, of the evolution under way, of levels, of histories.
DONE, RUN, LEVEL, HISTORY = "strength/done/", "strength/run/", "strength/level/", "strength/history/"


class Level(NamedTuple):
    """A regime, looked at after a number of generations."""

    regime: Regime
    generation: int

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.regime.name} {self.generation}"


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
    tell : callable
        Shows a line of progress.
    histories : dict
        Of each evolution, by its name.
    """

    checkpoint: Checkpoint
    interrupt: Interrupt
    end: float = np.inf
    tell: Callable[[str], None] = lambda text: None
    histories: dict[str, Arrays] = field(default_factory=dict)

    def run_to(
        self, method: Populations | InTurns, generation: int, name: str, previous: Result | None = None
    ) -> Result:
        """Evolve up to this generation; OutOfTime if someone wants to stop before. `save` keeps what comes of it."""
        now = time.perf_counter()
        loop = Control(
            [MaxGenerations(generation)],
            max_time=None if np.isinf(self.end) else max(self.end - now, 0.0),
            start=now,
            interrupt=self.interrupt,
        )
        result = run(method, RunControl(loop, self.checkpoint, f"{RUN}{name}/"), previous)
        if result.reason != "generations":
            raise OutOfTime
        self.histories[name] = result.history
        return result

    def save(self, part: str, arrays: Arrays, name: str, *, is_last: bool) -> None:
        """What came of an evolution, with its history; after the last time the evolution itself is not needed."""
        over: dict[str, Arrays] = {f"{RUN}{name}/": {}} if is_last else {}
        self.checkpoint.put({part: arrays, f"{HISTORY}{name}/": self.histories[name], **over})


def levels_of(regimes: Sequence[Regime]) -> tuple[Level, ...]:
    """All snapshots of all regimes; the last of the first regime is the strongest."""
    return tuple(Level(regime, generation) for regime in regimes for generation in regime.snapshots)


def choose_strength(
    settings: TeamSettings, regimes: Sequence[Regime], training: Rows, seed: int, around: Surroundings
) -> Strength:
    """Weights of the levels."""
    cheaper = [for_folds(regime, settings.configuration.folds) for regime in regimes]
    record = _Record.begin_or_resume(cheaper, training, around)
    folds = _folds(training, seed, settings.configuration.folds, is_logistic=not settings.losses)
    record.check(folds)
    before = time.perf_counter()
    first = record.n_done // len(levels_of(cheaper))
    for f, held_out in enumerate(folds):
        left = (time.perf_counter() - before) / (f - first) * (len(folds) - f) if f > first else None
        if f >= first:
            shown = "" if left is None else f", {left:.0f} s left"
            around.tell(f"choosing the strength, fold {f + 1} of {len(folds)}{shown}")
        rest = training.take(np.setdiff1d(np.arange(len(training.X)), held_out))
        for r, regime in enumerate(cheaper):
            own_seed = int(stream(seed, "fold", f * len(cheaper) + r).integers(2**31))
            _predict_fold(settings, regime, rest, training.X[held_out], own_seed, record, (f, r), held_out)
    strongest = len(cheaper[0].snapshots) - 1
    rules = settings.configuration.folds
    return weigh(record.out_of_fold, record.spread, training, rules, losses=settings.losses, strongest=strongest)


@dataclass
class _Record:
    """What folds have shown so far: predictions of every level, their spread, and how many of them are there."""

    regimes: Sequence[Regime]
    around: Surroundings
    out_of_fold: Matrix
    spread: Matrix
    key: NDArray[np.str_]
    n_done: int = 0

    @classmethod
    def begin_or_resume(cls, regimes: Sequence[Regime], training: Rows, around: Surroundings) -> _Record:
        levels, n_rows = levels_of(regimes), len(training.X)
        shape = len(levels), len(training.targets), n_rows
        key = np.array(fingerprint({}, {"regimes": repr(regimes), "rows": n_rows}))
        record = cls(regimes, around, np.full(shape, np.nan), np.full((len(levels), n_rows), np.nan), key)
        saved = around.checkpoint.part(DONE)
        if str(saved.get("key")) != str(key):  # of another number of generations
            around.checkpoint.put({"strength/": {}, DONE: record.arrays()})
            return record
        with around.checkpoint.reading():
            for name, own_array in (("out_of_fold", record.out_of_fold), ("spread", record.spread)):
                if saved[name].shape != own_array.shape or saved[name].dtype != np.float64:
                    raise ValueError(f"{name!r} must be float64 of shape {own_array.shape}, got {saved[name].shape}")
            record.out_of_fold, record.spread = saved["out_of_fold"], saved["spread"]
            record.n_done = int(saved["n_done"])
        for name, array in around.checkpoint.part(HISTORY).items():
            own, _, column = name.partition("/")
            around.histories.setdefault(own, {})[column] = array
        return record

    def check(self, folds: Sequence[NDArray[np.intp]]) -> None:
        """Refuse a damaged record: predictions must be there for the levels that are done, and for no others."""
        n_levels = len(self.out_of_fold)
        expected = np.zeros((n_levels, self.out_of_fold.shape[2]), dtype=np.bool_)
        for f, held_out in enumerate(folds):
            for level in range(n_levels):
                expected[level, held_out] = f * n_levels + level < self.n_done
        is_there = np.isfinite(self.out_of_fold)
        with self.around.checkpoint.reading():
            is_right = (is_there == expected[:, None]).all() and (np.isfinite(self.spread) == expected).all()
            if not is_right or self.n_done > n_levels * len(folds):
                raise ValueError(f"{self.n_done} levels are done, which does not go with the predictions")

    def add(self, level: int, held_out: NDArray[np.intp], prediction: Matrix, spread: Matrix) -> None:
        self.out_of_fold[level][:, held_out] = prediction
        self.spread[level, held_out] = spread
        self.n_done += 1

    def arrays(self) -> Arrays:
        own: Arrays = {"key": self.key, "n_done": np.array(self.n_done)}
        return {**own, "out_of_fold": self.out_of_fold, "spread": self.spread}


def _predict_fold(
    settings: TeamSettings,
    regime: Regime,
    rest: Rows,
    X: Matrix,
    seed: int,
    record: _Record,
    place: tuple[int, int],
    held_out: NDArray[np.intp],
) -> None:
    """Evolve on the rest of the rows, and predict those held out after every snapshot that is not there yet."""
    f, r = place
    n_before = sum(len(own.snapshots) for own in record.regimes[:r])
    n_levels = len(levels_of(record.regimes))
    missing = [i for i in range(len(regime.snapshots)) if f * n_levels + n_before + i >= record.n_done]
    if not missing:
        return
    name = f"fold {f + 1} {regime.name}"
    with make_evolutions(settings, regime, rest, seed) as method:
        result = None
        for i in missing:
            result = record.around.run_to(method, regime.snapshots[i], name, result)
            teams = to_teams(settings, method, result.state, rest)
            for part in method.parts:
                part.engine.forget()  # room for predictions; terms are soon evaluated again
            spread = teams.all_members(X, settings.n_threads).std(axis=0)
            record.add(n_before + i, held_out, teams.predict(X, settings.n_threads), spread)
            record.around.save(DONE, record.arrays(), name, is_last=i == missing[-1])


def grow(
    settings: TeamSettings,
    regime: Regime,
    training: Rows,
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


def for_folds(regime: Regime, folds: Folds) -> Regime:
    """Cheaper evolutions of the same strength, for rows held out: fewer populations, teams and candidates."""
    rules = regime.rules
    share = min(1.0, folds.population_size / rules.population_size)
    window = rules.window if rules.window <= folds.small_window else max(1, round(share * rules.window))
    fewer = replace(rules, population_size=min(rules.population_size, folds.population_size), window=window)
    return replace(
        regime,
        n_populations=min(regime.n_populations, folds.n_populations),
        n_teams=min(regime.n_teams, folds.n_teams),
        rules=fewer,
    )


def _folds(training: Rows, seed: int, folds: Folds, *, is_logistic: bool) -> list[NDArray[np.intp]]:
    """Five folds, or one fifth of the rows; of labels, each gets its share."""
    order = stream(seed, "folds").permutation(len(training.X))
    if is_logistic:
        labels = np.argmax(training.targets, axis=0) if len(training.targets) > 1 else training.targets[0]
        order = order[np.argsort(labels[order], kind="stable")]
    return [np.sort(order[f :: folds.n_folds]) for f in range(n_folds(order.size, folds))]


def n_folds(n_rows: int, folds: Folds) -> int:
    """How often rows are held out of whole evolutions."""
    return folds.n_folds if n_rows <= folds.most_rows else 1


def work_of(regime: Regime) -> float:
    """About what a regime costs, to tell the time left: by its candidates and by its teams, alike in the default."""
    n_candidates = regime.n_populations * regime.rules.population_size
    return regime.snapshots[-1] * (n_candidates / 5000 + regime.n_teams / 50)


class Chosen(NamedTuple):
    """A stack, and how it was chosen.

    `weights` are those of all levels by name; `out_of_fold` and `spread` are predictions of the training rows by
    evolutions that never saw them, and the spread of their teams.
    """

    stack: Stack
    weights: dict[str, float]
    out_of_fold: Matrix
    spread: Matrix


def choose_stack(
    settings: TeamSettings, regimes: Sequence[Regime], strongest: Stack, training: Rows, seed: int, around: Surroundings
) -> Chosen:
    """Ensembles of different strength, weighed on rows that they never saw; `strongest` is the main one."""
    chosen = choose_strength(settings, regimes, training, seed, around)
    by_name = dict(zip((level.name for level in levels_of(regimes)), chosen.weights.tolist(), strict=True))
    main = regimes[0]
    levels: list[Teams] = []
    for regime in regimes:
        wanted = [level.generation for level in levels_of([regime]) if by_name[level.name] > 0]
        is_there = regime is main and main.snapshots[-1] in wanted
        to_grow = wanted[:-1] if is_there else wanted
        levels += grow(settings, replace(regime, snapshots=tuple(to_grow)), training, seed, around)
        levels += strongest.levels if is_there else ()
    used = {name: weight for name, weight in by_name.items() if weight > 0}
    stack = replace(strongest, levels=tuple(levels), weights=np.array([*used.values()]), labels=tuple(used), smaller=())
    return Chosen(stack, by_name, chosen.out_of_fold, chosen.spread)
