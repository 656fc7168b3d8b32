"""Independent evolutions, one for each member, in parallel through joblib, each with a checkpoint of its own."""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from symgrove._workers import n_workers
from symgrove.engines.registry import ELSEWHERE, is_far
from symgrove.estimators import callbacks
from symgrove.estimators.base import Estimator
from symgrove.estimators.resuming import generation_of
from symgrove.estimators.runs import Finished, Limits
from symgrove.estimators.warm_up import warm_up
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.checkpoint import Arrays, Checkpoint, Saved
from symgrove.evolution.interrupt import Interrupt, StopOnFile, StopOnInterrupt, ignoring_interrupts_outside
from symgrove.methods.matched_budget import Budget
from symgrove.methods.problem import Problem
from symgrove.methods.programs import Fitted
from symgrove.models.out_of_bag import joined_outside
from symgrove.models.program_model import ProgramModel, join_models


class _MemberRun(NamedTuple):
    """One member's evolution: plain values, which can be sent to other processes."""

    problem: Problem
    limits: Limits
    checkpoint: Checkpoint


class _MemberResult(NamedTuple):
    """What it leaves."""

    finished: Finished
    arrays: Arrays


def evolve_members(
    estimator: Estimator,
    n_members: int,
    budget: Budget,
    problem: Problem,
    limits: Limits,
    checkpoint: Checkpoint,
    interrupt: Interrupt,
    given: tuple[Any, Any] | None,
) -> Finished:
    """All members, as one."""
    # A new object, because fitted attributes would travel with this one; members say nothing.
    own = {"population_size": budget.population_size, "verbose": 0}
    plain = type(estimator)(**{**estimator.get_params(deep=False), **own})
    engine = estimator.engine if problem.training.is_here else ELSEWHERE
    n_parallel = n_at_once(estimator.n_jobs, n_members, engine)
    share = share_of_each(limits._replace(generations=budget.generations), n_members, n_parallel)
    n_threads = problem.n_threads if is_far(engine) else 1
    runs = _member_runs(problem, share, checkpoint, n_members, n_threads)
    with ExitStack() as stack:
        if given is not None and callbacks.has_callbacks(estimator):
            # Told of the fit as a whole; generations pass in other processes.
            stack.enter_context(callbacks.tell_callbacks(estimator, *given, lambda state: {}))
        stop = StopOnFile(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "stop")
        assert isinstance(interrupt, StopOnInterrupt)
        stack.enter_context(interrupt.requesting_with(stop.file))
        workers = Parallel(n_jobs=n_parallel, verbose=10 if estimator.verbose else 0)
        try:
            found = workers(delayed(_evolve_member)(plain, own_run, stop, os.getpid()) for own_run in runs)
        except Exception:
            if not interrupt.is_requested:
                raise
            # Ctrl-C also reaches workers that are still starting, and kills them: begin one member here.
            found = [_evolve_member(plain, runs[0], stop, os.getpid()), *([None] * (n_members - 1))]
    done: dict[int, _MemberResult] = {j: own for j, own in enumerate(found) if own is not None}
    parts = {f"{j}/": own.arrays for j, own in done.items()}
    checkpoint.arrays = {}
    if checkpoint.put(parts):
        for file in member_files(checkpoint.path, n_members):
            file.unlink(missing_ok=True)
    attributes = {"population_size_": budget.population_size, "generations_": budget.generations}
    return _join([own.finished for own in done.values()], attributes)


def n_at_once(n_jobs: int | None, n_members: int, engine: str) -> int:
    """Evolutions at the same time; of those on a cluster, each has all workers."""
    return 1 if is_far(engine) else min(n_workers(n_jobs), n_members)


def share_of_each(limits: Limits, n_members: int, n_parallel: int) -> Limits:
    """Limits of one member; time and evaluations are divided."""
    n_rounds = math.ceil(n_members / n_parallel)
    return limits._replace(
        max_time=None if limits.max_time is None else limits.max_time / n_rounds,
        max_evaluations=None if limits.max_evaluations is None else max(1, limits.max_evaluations // n_members),
    )


def _member_runs(
    problem: Problem, limits: Limits, checkpoint: Checkpoint, n_members: int, n_threads: int
) -> list[_MemberRun]:
    """A run for each member."""
    files = member_files(checkpoint.path, n_members)
    return [
        _MemberRun(
            problem._replace(kept_out=None, member=j, n_threads=n_threads),
            limits,
            Checkpoint(files[j] if files else None, checkpoint.meta, checkpoint.part(f"{j}/")),
        )
        for j in range(n_members)
    ]


def _evolve_member(estimator: Estimator, own_run: _MemberRun, stop: StopOnFile, process: int) -> _MemberResult | None:
    """One evolution, maybe in another process; None if a stop was requested before it began."""
    if own_run.problem.member > 0 and stop.is_requested:
        return None
    with ignoring_interrupts_outside(process):
        warm_up(estimator)
        finished = Estimator._evolve(estimator, own_run.problem, own_run.limits, own_run.checkpoint, stop)
        return _MemberResult(finished, own_run.checkpoint.arrays)


def member_files(path: Any, n_members: int) -> list[Path]:
    """Where members are saved until all are done."""
    return [] if path is None else [Path(f"{os.fspath(path)}.{j}") for j in range(n_members)]


def load_members(path: Any, n_members: int, mark: str) -> Saved | None:
    """All members' runs, from the file of a complete run and from those that a run under way has left."""
    stored = checkpoints.load(path, mark)
    for j, file in enumerate(member_files(path, n_members)):
        own = checkpoints.load(file, mark)
        if own is None:
            continue
        arrays, meta = stored or ({}, own[1])
        known = {name.removeprefix(f"{j}/"): a for name, a in arrays.items() if name.startswith(f"{j}/")}
        if not known or generation_of(own) > generation_of((known, meta)):
            arrays = arrays | {f"{j}/{name}": array for name, array in own[0].items()}
        stored = arrays, meta
    return stored


def _join(members: Sequence[Finished], attributes: dict[str, Any]) -> Finished:
    """What all members leave, as one."""
    reasons = Counter(member.reason for member in members)
    del reasons["generations"]
    models = [member.fitted.model for member in members]
    outside = [joined_outside(own) for own in zip(*(member.fitted.outside for member in members), strict=True)]
    return Finished(
        Fitted(
            join_models([model for model in models if isinstance(model, ProgramModel)]),
            outside,
            members[0].fitted.row_losses,
        ),
        _join_histories([member.history for member in members]),
        reasons.most_common(1)[0][0] if reasons else "generations",
        max(member.n_generations for member in members),
        attributes,
    )


def _join_histories(histories: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """One history of all members; a member that ended early stays as it was."""
    length = max(len(h["generation"]) for h in histories)
    shapes = {name: column.shape[1:] for h in histories for name, column in h.items()}
    joined: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        columns = [
            h[name][np.minimum(np.arange(length), len(h[name]) - 1)]
            if name in h and h[name].shape[1:] == shape
            else np.full((length, *shape), np.nan)
            for h in histories
        ]
        if name == "errors":
            joined[name] = np.concatenate(columns, axis=-1)
        elif name == "generation":
            joined[name] = np.max(columns, axis=0)
        elif name in ("mean_size", "max_size"):
            joined[name] = np.max(columns, axis=0) if name == "max_size" else np.mean(columns, axis=0)
        elif name in ("n_evaluations", "n_distinct", "n_elites", "seconds"):
            joined[name] = np.sum(columns, axis=0)
        else:  # what callbacks have added
            joined[name] = np.stack(columns, axis=-1)
    return joined
