"""From what a fit is given to the problem that it solves, and the run that it goes on with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.elsewhere import Elsewhere, RowCoder, note_names
from symgrove.estimators.input import read_rows, ready
from symgrove.estimators.looking import AsGiven, Look, PieceRules, look_at_all
from symgrove.estimators.parameters import early_stopping_of
from symgrove.estimators.resuming import seed_of
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.checkpoint import Checkpoint
from symgrove.evolution.progress import say
from symgrove.methods.memory import copied_bytes
from symgrove.methods.problem import Problem, Rows, TrainingRows, split
from symgrove.methods.spread_rows import Blocks, SpreadRows, look_at
from symgrove.models.block_sums import joined
from symgrove.models.task import Task
from symgrove.rng import stream

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

MOST_KEPT_OUT = 50_000  # rows for calibration or early stopping, of rows that are elsewhere: more are no better


def pose(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, Checkpoint]:
    """Check what is given, find the run to go on with, and hold rows out for calibration and early stopping."""
    if isinstance(X, Elsewhere):
        return _pose_elsewhere(estimator, X)
    checked = read_rows(estimator, X, y, estimator._weigh(y, sample_weight), estimator._check_target(y))
    estimator._compile()
    task, targets = estimator._encode(checked.y)
    rows = Rows(checked.X, targets, checked.weight, checked.positions)
    weight = np.zeros(0) if rows.weight is None else rows.weight
    arrays = {"X": rows.X, "targets": rows.targets, "weight": weight}
    seed, checkpoint = _run_of(estimator, arrays, rows, checked.columns.identity)
    training, held_out, kept_out = rows, None, None
    if estimator.calibration is not None:
        training, kept_out = split(training, estimator.calibration, seed, "calibration", task)
    early = early_stopping_of(estimator)
    if early is not None:
        training, held_out = split(training, early.validation_fraction, seed, "validation", task)
    estimator.columns_ = checked.columns.learned(training.X, training.weight)
    task = estimator._with_transforms(task, training.targets)
    training, held_out, kept_out = ready((training, held_out, kept_out), checked.columns, estimator.columns_, task)
    problem = Problem(training, task, seed, 0, estimator._n_threads(), held_out, kept_out, checked.n_given)
    problem = problem._replace(n_copied=copied_bytes(rows, problem, (X, y, sample_weight)))
    return estimator._within_memory(problem), checkpoint


def _run_of(
    estimator: Estimator, arrays: dict[str, NDArray[Any]], rows: TrainingRows, more: dict[str, Any]
) -> tuple[int, Checkpoint]:
    """The seed of the fit, and what it goes on with: the run of the same data and parameters, if there is one."""
    mark, saved = "", None
    if _is_resumed(estimator):
        mark = checkpoints.fingerprint(arrays, {**estimator._identity(rows), **more})
        saved = estimator._saved_before(mark)
    seed = int(saved[1]["seed"]) if saved is not None else seed_of(estimator.random_state)
    meta = {"fingerprint": mark, "seed": seed}
    return seed, Checkpoint(estimator.checkpoint, meta, None if saved is None else saved[0])


def _is_resumed(estimator: Estimator) -> bool:
    return estimator.checkpoint is not None or bool(estimator.warm_start)


def _pose_elsewhere(estimator: Estimator, given: Elsewhere) -> tuple[Problem, Checkpoint]:
    """The same of rows on workers: one pass checks them, another finds what their features and targets are, if needed.

    Medians and categories are those of all rows, also of those kept out for calibration.
    """
    categorical, names = note_names(estimator, given)
    target = estimator._check_target(given.y)
    is_numeric = not estimator._has_labels
    is_simple = is_numeric and estimator.calibration is None and getattr(estimator, "target_transform", None) is None
    rules = PieceRules(type(estimator), categorical, target, is_numeric, is_simple, _is_resumed(estimator))
    raw = Blocks(given.table, AsGiven(), has_room=given.has_room, room=given.room)
    if estimator.verbose:
        say(type(estimator).__name__, f"a look at {given.table.n_rows:,} rows")
    found, look = look_at_all(raw, rules)
    estimator._compile()
    task = _task_of(estimator, look)
    estimator.columns_ = look.columns_of(names)
    weights = None if look.labels is None else estimator._weigh_labels(*look.classes())
    reading = RowCoder(estimator.columns_, categorical is not None, task, weights)
    blocks = replace(raw, read=reading)
    if look.facts is not None:
        rows = SpreadRows(blocks, np.array([own.n_rows for own in found]), look.facts)
    else:
        rows = _looked_at_again(blocks, look)
    digests = {"pieces": np.frombuffer(b"".join(look.digests), dtype=np.uint8)}
    seed, checkpoint = _run_of(estimator, digests, rows, {"columns": str(estimator.columns_.document())})
    rows, held_out, kept_out = _split(rows, _shares_out(estimator), seed, look)
    # Methods for many rows ask what TrainingRows says, and no more; others were refused.
    training = cast("Rows", rows)
    problem = Problem(training, task, seed, 0, estimator._n_threads(), held_out, kept_out, look.n_given)
    return estimator._within_memory(problem), checkpoint


def _task_of(estimator: Estimator, look: Look) -> Task:
    """What the target means: its ends, and points between them, say all that is checked."""
    if look.labels is not None:
        return estimator._encode(look.classes()[0])[0]
    assert look.ends is not None
    ends = look.ends[:, 0] if look.ends.shape[1] == 1 else look.ends
    task, targets = estimator._encode(ends)
    if getattr(estimator, "target_transform", None) is None:
        return task
    points = [joined(own).values for own in look.points]
    n_most = max(own.size for own in points)
    # All of a length, for one matrix: the largest again, which is there anyway.
    filled = [
        np.concatenate([ends, own, np.full(n_most - own.size, ends[1])])
        for own, ends in zip(points, targets, strict=True)
    ]
    return estimator._with_transforms(task, np.array(filled))


def _looked_at_again(blocks: Blocks, look: Look) -> SpreadRows:
    """Rows with the facts of their features and targets, and of targets in the user's units if these are others."""
    sizes, facts = look_at(blocks)
    own = None
    if cast("RowCoder", blocks.read).task.transforms:
        own = facts._replace(sketches=look.points)
    return SpreadRows(blocks, sizes, facts, own)


def _shares_out(estimator: Estimator) -> dict[str, float]:
    """Shares of the rows that the fit does not see, by what they are for."""
    early = early_stopping_of(estimator)
    found = {"validation": early and early.validation_fraction, "calibration": estimator.calibration}
    return {purpose: share for purpose, share in found.items() if share is not None}


def _split(
    rows: SpreadRows, shares: dict[str, float], seed: int, look: Look
) -> tuple[SpreadRows, Rows | None, Rows | None]:
    """Rows to train on; and some for early stopping and for calibration, which come here."""
    if not shares:
        return rows, None, None
    own: dict[str, NDArray[np.intp]] = {}
    for purpose in reversed(shares):  # of what calibration leaves, as of rows in memory
        taken = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *own.values()]))
        n_left = rows.n_rows - taken.size
        n_wanted = min(int(np.ceil(shares[purpose] * n_left)), MOST_KEPT_OUT)
        places = np.sort(stream(seed, purpose).choice(n_left, size=n_wanted, replace=False))
        # Places among the rows that are left, as places among all: each is behind the taken ones that come before it.
        own[purpose] = places + np.searchsorted(taken - np.arange(taken.size), places, side="right")
    everything = np.sort(np.concatenate([*own.values()]))
    found = rows.take(everything)
    reading = cast("RowCoder", rows.blocks.read).without(found.positions)
    training = _looked_at_again(replace(rows.blocks, read=reading), look)
    parts = {purpose: found.take(np.searchsorted(everything, places)) for purpose, places in own.items()}
    return training, parts.get("validation"), parts.get("calibration")
