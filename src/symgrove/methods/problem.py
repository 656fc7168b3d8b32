"""A problem: what is to be learned, and from which rows. Plain values, which can be sent to other processes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.models.seen_rows import seen_rows
from symgrove.models.task import Task
from symgrove.rng import stream

Matrix = NDArray[np.float64]
# For each purpose of rows held out: the parameter that sets their share, and how to do without.
_PARAMETERS = {
    "validation": ("validation_fraction", "early_stopping=False"),
    "calibration": ("calibration", "calibration=None"),
}


class Rows(NamedTuple):
    """Checked rows of data: targets is (n_targets, n_rows), `positions` are those in what the user gave.

    `own_targets` are in the user's units, where `targets` are transformed.
    """

    X: Matrix
    targets: Matrix
    weight: Matrix | None
    positions: NDArray[np.intp]
    own_targets: Matrix | None = None

    @property
    def given_targets(self) -> Matrix:
        """In the user's units."""
        return self.targets if self.own_targets is None else self.own_targets

    def transformed(self, task: Task) -> Rows:
        """With targets as the task transforms them."""
        return (
            self._replace(targets=task.transformed(self.targets), own_targets=self.targets) if task.transforms else self
        )

    def in_units(self) -> Rows:
        """Undo `transformed`."""
        return self._replace(targets=self.given_targets, own_targets=None)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        own = None if self.own_targets is None else self.own_targets[:, rows]
        return Rows(self.X[rows], self.targets[:, rows], weight, self.positions[rows], own)


class Problem(NamedTuple):
    """What a method is to solve.

    Attributes
    ----------
    training : Rows
        To train on.
    task : Task
    seed : int
    member : int
        Which of several independent runs this is.
    n_threads : int
        Of one evolution.
    held_out, kept_out : Rows or None
        Rows for early stopping, and for `calibration`.
    n_given : int
        Rows that the user gave.
    n_copied : int
        Bytes of these rows that are not the user's own arrays.
    hidden : (n_hidden,) or None
        Training rows, by place, that an evolution is to be judged by and does not see.
    """

    training: Rows
    task: Task
    seed: int
    member: int = 0
    n_threads: int = 1
    held_out: Rows | None = None
    kept_out: Rows | None = None
    n_given: int = 0
    n_copied: int = 0
    hidden: NDArray[np.intp] | None = None


def split(rows: Rows, fraction: float, seed: int, purpose: str, task: Task) -> tuple[Rows, Rows]:
    """Rows to train on, and rows held out of them; every class keeps its share, and a row to train on.

    The purpose is "validation" or "calibration".
    """
    n_rows = len(rows.X)
    order = stream(seed, purpose).permutation(n_rows)
    groups = [order]
    labels = task.strata(rows.targets)
    if labels is not None:
        groups = [order[labels[order] == label] for label in np.unique(labels)]
    held_out = np.concatenate([group[: min(int(np.ceil(fraction * group.size)), group.size - 1)] for group in groups])
    if held_out.size == 0:
        name, off = _PARAMETERS[purpose]
        raise ValueError(f"{name}={fraction} of {n_rows} rows leaves none to hold out, or none to train on. Set {off}.")
    is_held_out = np.isin(np.arange(n_rows), held_out)
    return rows.take(np.flatnonzero(~is_held_out)), rows.take(np.flatnonzero(is_held_out))


def rows_seen(problem: Problem) -> dict[str, Any]:
    """Marks of the rows that the model has seen, by what they were for."""
    used = [problem.training, *([problem.held_out] if problem.held_out is not None else [])]
    kept_out = problem.kept_out
    return {
        "fit": seen_rows([(rows.X, rows.given_targets) for rows in used]),
        "calibration": None if kept_out is None else seen_rows([(kept_out.X, kept_out.given_targets)]),
    }
