"""One evolution: set it up or resume it, let the loop run, save it. It knows no estimator and no method."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from symgrove.evolution.checkpoint import Arrays, Checkpoint, damaged
from symgrove.evolution.history import History
from symgrove.evolution.loop import Control, Method, Observer, evolve
from symgrove.evolution.stopping import Progress, Stagnation

State = TypeVar("State")
SECONDS_BETWEEN_CHECKPOINTS = 2.0


class Resumable(Method[State], Protocol[State]):
    """A method whose states can be saved."""

    def to_arrays(self, state: State) -> Arrays:
        """A state as plain arrays."""
        ...

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> State:
        """The state that `to_arrays` saved."""
        ...


class Result(NamedTuple):
    """What a run leaves.

    Attributes
    ----------
    state
        The last complete state, or the best one that early stopping saw.
    history : dict of arrays
    reason : str
        Why it ended.
    n_generations : int
    """

    state: Any
    history: Arrays
    reason: str
    n_generations: int


@dataclass(frozen=True)
class RunControl:
    """Everything around a run that is not its method.

    Attributes
    ----------
    loop : Control
        When to stop, whom to tell; its history is replaced by that of the run that goes on.
    checkpoint : Checkpoint
        Where the run is saved, and what it goes on from.
    group : str
        The run's part of the checkpoint; a fit may have several runs.
    early_stopping : Stagnation or None
    """

    loop: Control = field(default_factory=Control)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    group: str = ""
    early_stopping: Stagnation | None = None

    def saved(self) -> dict[str, Arrays] | None:
        """The parts of the checkpoint that are of this run, if it has been saved; those within it may be before."""
        found = {name: self.checkpoint.part(f"{self.group}{name}/") for name in ("state", "history", "stagnation")}
        if found["state"]:
            return found
        if found["history"] or found["stagnation"]:
            raise damaged(self.checkpoint.path, KeyError("state"))
        return None


def run(method: Resumable[State], control: RunControl, previous: Result | None = None) -> Result:
    """Evolve until something says stop; from where a previous run of the same method ended, if it is given."""
    saved = control.saved() if previous is None else None
    if previous is not None:
        state, history = previous.state, History(previous.history)
    elif saved is None:
        state, history = method.init(), History()
    else:
        state, history = _resumed(method, control, saved)
    loop = replace(control.loop, history=history)
    own = _Run(method, replace(control, loop=loop))
    stops = [*loop.stops, *([control.early_stopping] if control.early_stopping is not None else [])]
    observers: list[Observer] = [
        *loop.observers,
        *([_Saver(own.save)] if control.checkpoint.path is not None else []),
    ]
    first = [state]
    del state  # handed over, so that it does not live to the end: it may hold vectors
    state, reason = evolve(method, first.pop(), replace(loop, stops=stops, observers=observers))
    n_generations = int(method.describe(state)["generation"])
    own.save(state)
    best = None if control.early_stopping is None else control.early_stopping.best
    return Result(state if best is None else method.from_arrays(best), history.as_arrays(), reason, n_generations)


def _resumed(method: Resumable[State], control: RunControl, saved: dict[str, Arrays]) -> tuple[State, History]:
    with control.checkpoint.reading():
        if control.early_stopping is not None:
            control.early_stopping.from_arrays(saved["stagnation"])
        return method.from_arrays(saved["state"]), History(saved["history"])


class _Run(NamedTuple):
    """A run under way: how it is saved."""

    method: Resumable[Any]
    control: RunControl

    def save(self, state: Any) -> None:
        parts = {"state": self.method.to_arrays(state), "history": self.control.loop.history.as_arrays()}
        if self.control.early_stopping is not None:
            parts["stagnation"] = self.control.early_stopping.to_arrays()
        group = self.control.group
        self.control.checkpoint.put({f"{group}{name}/": arrays for name, arrays in parts.items()})


class _Saver:
    """Observer that saves a checkpoint now and then."""

    def __init__(self, save: Callable[[Any], None]) -> None:
        self.save = save
        self.last = time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        if time.perf_counter() - self.last >= SECONDS_BETWEEN_CHECKPOINTS:
            self.save(progress.state)
            self.last = time.perf_counter()
