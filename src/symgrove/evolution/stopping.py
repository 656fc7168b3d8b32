"""When to stop: generations, evaluations, a target error, stagnation on held-out rows.

A stop is a callable with a name. It is asked after each generation and at the start. Wall-clock time is not here: the
loop watches it within generations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class OutOfTime(Exception):
    """Raised within an evaluation when the time is up."""


class Progress(NamedTuple):
    """What observers and stops see: the state, its description, and the seconds so far in this call."""

    state: Any
    values: Mapping[str, Any]
    seconds: float


class Stop(Protocol):
    """A reason to stop."""

    name: str

    def __call__(self, progress: Progress) -> bool:
        """Whether to stop now."""
        ...


class MaxGenerations:
    """Stop at this generation."""

    name = "generations"

    def __init__(self, generations: int) -> None:
        self.generations = generations

    def __call__(self, progress: Progress) -> bool:
        return bool(progress.values["generation"] >= self.generations)


class MaxEvaluations:
    """Stop once this many programs have been made and scored."""

    name = "max_evaluations"

    def __init__(self, evaluations: int) -> None:
        self.evaluations = evaluations

    def __call__(self, progress: Progress) -> bool:
        return bool(progress.values["n_evaluations"] >= self.evaluations)


class TargetError:
    """Stop once the mean error of the elites is this low."""

    name = "target_error"

    def __init__(self, error: float) -> None:
        self.error = error

    def __call__(self, progress: Progress) -> bool:
        return bool(np.mean(progress.values["errors"]) <= self.error)


class NoChange:
    """Stop when a method says that nothing got better for a number of generations."""

    name = "n_generations_no_change"

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def __call__(self, progress: Progress) -> bool:
        return bool(progress.values[self.name] >= self.patience)


class Stagnation:
    """Stop when the error on held-out rows has not fallen for a number of generations; remembers the best state.

    Parameters
    ----------
    measure : callable
        Error on the held-out rows of a state.
    patience : int
        Generations without improvement.
    snapshot : callable
        A state as plain arrays, to go back to.
    """

    name = "early_stopping"

    def __init__(
        self, measure: Callable[[Any], float], patience: int, snapshot: Callable[[Any], dict[str, NDArray[Any]]]
    ) -> None:
        self.measure = measure
        self.patience = patience
        self.snapshot = snapshot
        self.best_error = np.inf
        self.best_generation = 0
        self.best: dict[str, NDArray[Any]] | None = None
        self.last_generation = -1

    def __call__(self, progress: Progress) -> bool:
        generation = int(progress.values["generation"])
        if generation > self.last_generation:  # a resumed run comes by its last generation again
            self.last_generation = generation
            error = self.measure(progress.state)
            if error < self.best_error or self.best is None:
                self.best_error, self.best_generation = error, generation
                self.best = self.snapshot(progress.state)
        return generation - self.best_generation >= self.patience

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that a resumed run needs."""
        marks = np.array([self.best_error, self.best_generation, self.last_generation], dtype=np.float64)
        return {"marks": marks, **{f"best.{name}": array for name, array in (self.best or {}).items()}}

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `to_arrays` saved."""
        self.best_error = float(arrays["marks"][0])
        self.best_generation, self.last_generation = int(arrays["marks"][1]), int(arrays["marks"][2])
        self.best = {name.removeprefix("best."): a for name, a in arrays.items() if name.startswith("best.")} or None
