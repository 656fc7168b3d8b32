"""One evolution, from a job to an outcome: set it up or resume it, let the loop run, save it, take the members out.

A job and an outcome can be sent to other processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from symgrove.dataset import make_dataset
from symgrove.engines.cpu import DEFAULT_MEMORY_BUDGET, CpuEngine
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.history import History
from symgrove.evolution.interrupt import Interrupt
from symgrove.evolution.loop import Control, Observer, evolve
from symgrove.evolution.progress import Reporter
from symgrove.evolution.stopping import MaxEvaluations, MaxGenerations, Progress, Stagnation, Stop, TargetError
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods._elites import Elites
from symgrove.methods._gp import Material
from symgrove.methods._held_out import Training
from symgrove.methods._several import Part, Several, States
from symgrove.models.ensemble import make_ensemble
from symgrove.models.standardization import Standardization, no_standardization, standardization_of
from symgrove.rng import stream

if TYPE_CHECKING:
    from symgrove.methods._estimator import EvolvedEnsemble
    from symgrove.methods._program_ensemble import ProgramEnsemble

SECONDS_BETWEEN_CHECKPOINTS = 2.0
Saved = tuple[dict[str, NDArray[Any]], dict[str, Any]]


class Job(NamedTuple):
    """What an evolution needs besides its parameters.

    Attributes
    ----------
    training, held_out, kept_out
        Rows to train on, rows for early stopping, and rows for `calibration`.
    seed : int
    mark : str
        Fingerprint of data and parameters.
    saved
        Arrays and meta of the run to go on with, if there is one.
    checkpoint
        Where to save the run.
    generations, max_time, max_evaluations
        Limits of this run.
    member : int
        Which of several independent runs this is.
    """

    training: Training
    held_out: Training | None
    kept_out: Training | None
    seed: int
    mark: str
    saved: Saved | None
    checkpoint: str | os.PathLike[str] | None
    generations: int
    max_time: float | None
    max_evaluations: int | None
    member: int


class Found(NamedTuple):
    """The model of a state.

    For each target: the members, their errors on the samples they were fitted on, and the rows that they were not
    fitted on, (n_members, n_rows). Teams of all targets are one ensemble. `smaller` are models with fewer terms.
    """

    ensembles: list[Any]
    in_bag: list[NDArray[np.float64]]
    outside: list[NDArray[np.bool_]]
    smaller: list[Any]


class Outcome(NamedTuple):
    """What an evolution leaves.

    Attributes
    ----------
    found : Found
    history : dict of ndarray
    arrays : dict of ndarray
        The run as it stands, to go on with.
    reason : str
        Why it ended.
    n_generations : int
    """

    found: Found
    history: dict[str, NDArray[Any]]
    arrays: dict[str, NDArray[Any]]
    reason: str
    n_generations: int


class Setting(NamedTuple):
    """One run: its method, and what predictions need."""

    method: Several
    standardization: Standardization
    aggregation: str


Tell = Callable[[Setting, ExitStack], Observer]


def run(estimator: EvolvedEnsemble, job: Job, interrupt: Interrupt, tell: Tell | None = None) -> Outcome:
    """Evolve; `tell` makes one more observer."""
    start = time.perf_counter()
    with ExitStack() as stack:
        setting = make_setting(estimator, job.training, job.seed, stack, job.member)
        state, history, stagnation = _resume(estimator, job, setting, stack)
        run = _Run(estimator, job, setting, stagnation, history)
        control = run.make_control(stack)
        if tell is not None:
            control.observers = [*control.observers, tell(setting, stack)]
        control.start, control.interrupt = start, interrupt
        state, reason = evolve(setting.method, state, control)
        arrays = run.to_arrays(state)
        if job.checkpoint is not None:
            run.save(state)
        n_generations = int(state[0].generation)
        if stagnation is not None and stagnation.best is not None:
            state = setting.method.from_arrays(stagnation.best)
        found = estimator._found(setting, state, job.training)
        return Outcome(found, history.as_arrays(), arrays, reason, n_generations)


def make_setting(
    estimator: EvolvedEnsemble, training: Training, seed: int, stack: ExitStack, member: int = 0
) -> Setting:
    """The method on training rows."""
    n_features = training.X.shape[1]
    standardization = (
        standardization_of(training.X, training.weight) if estimator.standardize else no_standardization(n_features)
    )
    parts = estimator._make_parts(training, standardization, seed, member, stack)
    several = Several(parts, estimator._parts_share_target)
    return Setting(several, standardization, estimator._aggregation())


def parts_for_targets(
    estimator: ProgramEnsemble,
    training: Training,
    standardization: Standardization,
    seed: int,
    member: int,
    stack: ExitStack,
) -> list[Part]:
    """An evolution of programs for each target."""
    n_features = training.X.shape[1]
    Z = standardization.apply(training.X)
    primitives = PrimitiveSet(estimator.functions, estimator.epsilon)
    budget = DEFAULT_MEMORY_BUDGET if estimator.memory_budget is None else estimator.memory_budget
    run_seed = seed if member == 0 else int(stream(seed, "member", member).integers(2**31))
    parts: list[Part] = []
    for k, target in enumerate(training.targets):
        data = make_dataset(Z, target, estimator.dtype)
        n_threads = estimator._n_engine_threads()
        engine = stack.enter_context(CpuEngine(data, primitives, n_threads, budget // len(training.targets)))
        own_seed = run_seed if k == 0 else int(stream(run_seed, "class", k).integers(2**31))
        source = estimator._make_source(Forest(n_features, primitives))
        material = Material(engine, estimator._loss(), source, training.weight, seed, own_seed, member)
        parts.append(estimator._make_part(material))
    return parts


def _resume(
    estimator: EvolvedEnsemble, job: Job, setting: Setting, stack: ExitStack
) -> tuple[States, History, Stagnation | None]:
    stagnation = None
    if job.held_out is not None:
        measure = estimator._held_out_error(job.held_out, setting, stack)
        stagnation = Stagnation(measure, estimator.n_generations_no_change, setting.method.to_arrays)
    if job.saved is None:
        return setting.method.init(), History(), stagnation
    groups: dict[str, dict[str, Any]] = {"state": {}, "history": {}, "stagnation": {}}
    try:
        for name, array in job.saved[0].items():
            group, _, rest = name.partition("/")
            groups[group][rest] = array
        if stagnation is not None:
            stagnation.from_arrays(groups["stagnation"])
        return setting.method.from_arrays(groups["state"]), History(groups["history"]), stagnation
    except Exception as error:  # damage shows itself in any way
        raise checkpoints.damaged(job.checkpoint, error) from error


class _Run(NamedTuple):
    """An evolution under way: how it is controlled and saved."""

    estimator: EvolvedEnsemble
    job: Job
    setting: Setting
    stagnation: Stagnation | None
    history: History

    def make_control(self, stack: ExitStack) -> Control:
        estimator, job = self.estimator, self.job
        stops: list[Stop] = [MaxGenerations(job.generations)]
        if job.max_evaluations is not None:
            stops.append(MaxEvaluations(job.max_evaluations))
        if estimator.target_error is not None:
            stops.append(TargetError(estimator.target_error))
        if self.stagnation is not None:
            stops.append(self.stagnation)
        observers: list[Observer] = list(as_list(estimator.callbacks))
        if estimator._shows_generations():
            observers.append(
                stack.enter_context(Reporter(job.generations, type(estimator).__name__, estimator._work_after(job)))
            )
        if job.checkpoint is not None:
            observers.append(_Saver(self.save))
        return Control(stops, observers, job.max_time, self.history)

    def to_arrays(self, state: States) -> dict[str, NDArray[Any]]:
        groups = {"state": self.setting.method.to_arrays(state), "history": self.history.as_arrays()}
        if self.stagnation is not None:
            groups["stagnation"] = self.stagnation.to_arrays()
        return {f"{group}/{name}": array for group, arrays in groups.items() for name, array in arrays.items()}

    def save(self, state: States) -> None:
        assert self.job.checkpoint is not None
        meta = {"fingerprint": self.job.mark, "seed": self.job.seed}
        checkpoints.save_or_warn(self.job.checkpoint, self.to_arrays(state), meta)


class _Saver:
    """Observer that saves a checkpoint now and then."""

    def __init__(self, save: Callable[[States], None]) -> None:
        self.save = save
        self.last = time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        if time.perf_counter() - self.last >= SECONDS_BETWEEN_CHECKPOINTS:
            self.save(progress.state)
            self.last = time.perf_counter()


def programs_found(setting: Setting, state: States, training: Training) -> Found:
    """The members of every target, with their final scaling, as an ensemble with a forest of its own."""
    members = [part.finish(own) for part, own in zip(setting.method.parts, state, strict=True)]
    ensembles = []
    for part, own, target, found in zip(setting.method.parts, state, training.targets, members, strict=True):
        fallback = float(np.average(target, weights=training.weight))
        elites = _usable(found, own.forest, fallback)
        ensembles.append(
            make_ensemble(
                own.forest,
                elites.root,
                elites.slope,
                elites.intercept,
                fallback,
                setting.standardization,
                setting.aggregation,
                part.loss.threshold,
            )
        )
    outside = [part.outside(own, m) for part, own, m in zip(setting.method.parts, state, members, strict=True)]
    return Found(ensembles, [m.error for m in members], outside, [])


def _usable(elites: Elites, forest: Forest, fallback: float) -> Elites:
    """Elites in which the mean of the target stands in where no program had finite outputs."""
    is_usable = np.isfinite(elites.error)
    if is_usable.all():
        return elites
    return elites._replace(
        root=np.where(is_usable, elites.root, forest.constant(0.0)),
        slope=np.where(is_usable, elites.slope, 0.0),
        intercept=np.where(is_usable, elites.intercept, fallback),
    )


def as_list(value: Any) -> list[Any]:
    """A value, or several, or None, as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def n_workers(n_jobs: int | None) -> int:
    """How many threads or processes joblib would use; on this machine, no more than it has cores."""
    backend = type(get_active_backend()[0])
    is_here = backend.__module__.startswith("joblib.")  # not Dask or another cluster
    wanted = int(effective_n_jobs(n_jobs))
    return min(wanted, cpu_count()) if is_here else wanted
