"""Rows held out of the whole evolution: which they are, and, for early stopping, how an ensemble does on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import make_dataset
from symgrove.engines.cpu import CpuEngine
from symgrove.fitness.losses import THRESHOLD
from symgrove.methods._several import Part, States
from symgrove.models.ensemble import COMBINE
from symgrove.models.standardization import Standardization
from symgrove.rng import stream

# What is done with members' outputs before they are averaged; None: nothing.
Head = Callable[[NDArray[np.float64]], NDArray[np.float64]] | None


# For each purpose of rows held out: the parameter that sets their share, and how to do without.
_PARAMETERS = {
    "validation": ("validation_fraction", "early_stopping=False"),
    "calibration": ("calibration", "calibration=None"),
}


class Training(NamedTuple):
    """Checked training data: targets is (n_targets, n_rows), `rows` are the positions in what the user gave."""

    X: NDArray[np.float64]
    targets: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    rows: NDArray[np.intp]


def split(
    training: Training, fraction: float, seed: int, purpose: str, *, is_stratified: bool
) -> tuple[Training, Training]:
    """Training rows, and rows held out of them; stratified, every class keeps its share, and a row to train on.

    The purpose is "validation" or "calibration".
    """
    n_rows = len(training.X)
    order = stream(seed, purpose).permutation(n_rows)
    groups = [order]
    if is_stratified:
        labels = training.targets[0] if len(training.targets) == 1 else np.argmax(training.targets, axis=0)
        groups = [order[labels[order] == label] for label in np.unique(labels)]
    held_out = np.concatenate([group[: min(int(np.ceil(fraction * group.size)), group.size - 1)] for group in groups])
    if held_out.size == 0:
        name, off = _PARAMETERS[purpose]
        raise ValueError(f"{name}={fraction} of {n_rows} rows leaves none to hold out, or none to train on. Set {off}.")
    is_held_out = np.isin(np.arange(n_rows), held_out)
    return _take(training, np.flatnonzero(~is_held_out)), _take(training, np.flatnonzero(is_held_out))


def _take(training: Training, rows: NDArray[np.intp]) -> Training:
    weight = None if training.weight is None else training.weight[rows]
    return Training(training.X[rows], training.targets[:, rows], weight, training.rows[rows])


class HeldOutError:
    """Error of the ensembles on rows that no part of the evolution sees, combined as in predictions."""

    def __init__(
        self,
        held_out: Training,
        head: Head,
        aggregation: str,
        standardization: Standardization,
        parts: Sequence[Part],
        stack: ExitStack,
    ) -> None:
        self.targets = held_out.targets
        self.weight = held_out.weight
        self.head = head
        self.combine = COMBINE[aggregation]
        self.parts = parts
        Z = standardization.apply(held_out.X)
        self.engines = [
            stack.enter_context(CpuEngine(make_dataset(Z, target, part.engine.dtype), part.engine.blocks.primitives))
            for target, part in zip(self.targets, parts, strict=True)
        ]

    def __call__(self, state: States) -> float:
        predictions = np.stack([self._predict(*each) for each in zip(self.engines, self.parts, state, strict=True)])
        with np.errstate(over="ignore"):
            if self.head is None:
                loss = (predictions[0] - self.targets[0]) ** 2
            elif len(predictions) == 1:
                loss = ((predictions[0] > THRESHOLD) != self.targets[0]).astype(np.float64)
            else:
                loss = (predictions.argmax(axis=0) != self.targets.argmax(axis=0)).astype(np.float64)
        error = float(np.average(loss, weights=self.weight))
        return error if np.isfinite(error) else np.inf

    def _predict(self, engine: CpuEngine, part: Part, state: Any) -> NDArray[np.float64]:
        ensemble = part.members(state)
        roots, member = np.unique(ensemble.root, return_inverse=True)
        outputs = engine.outputs(state.forest, roots)[member.ravel()].astype(np.float64)
        with np.errstate(all="ignore"):
            members = ensemble.intercept[:, None] + ensemble.slope[:, None] * outputs
        return self.combine(members if self.head is None else self.head(members), 0.0)
