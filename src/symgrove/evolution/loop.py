"""The one loop: step until something says stop. It knows no method.

State is a value: a step that is cut short (the second Ctrl-C, the end of
the time) is dropped, the forest is rolled back, and the state before it stands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from symgrove.evolution.history import History
from symgrove.evolution.interrupt import Interrupt, StopOnInterrupt
from symgrove.evolution.stopping import OutOfTime, Progress, Stop

State = TypeVar("State")
# What follows the loop (final scaling, out-of-bag predictions) takes about this share of a generation: leave room.
RESERVE = 0.5
# Called after each generation: true stops the run, a mapping is a probe's named values for the history.
Observer = Callable[[Progress], bool | Mapping[str, Any] | None]


class Method(Protocol[State]):
    """A published method."""

    def init(self) -> State:
        """The state before the first generation."""
        ...

    def step(self, state: State) -> State:
        """The state after one more generation."""
        ...

    def rollback(self, state: State) -> State:
        """The state, usable again after a step from it was cut short."""
        ...

    def watch(self, check: Callable[[], None] | None) -> None:
        """Have the engines call `check` within evaluations; it may raise."""
        ...

    def describe(self, state: State) -> dict[str, Any]:
        """Named values for the history: at least generation, n_evaluations and errors (one for each sample)."""
        ...


@dataclass
class Control:
    """Everything around the loop that is not the method: when to stop, whom to tell."""

    stops: Sequence[Stop] = ()
    observers: Sequence[Observer] = ()
    max_time: float | None = None
    history: History = field(default_factory=History)
    start: float = field(default_factory=time.perf_counter)  # when the clock of `max_time` started
    interrupt: Interrupt = field(default_factory=StopOnInterrupt)  # whoever wants Ctrl-C caught enters it


def evolve(method: Method[State], state: State, control: Control) -> tuple[State, str]:
    """Run generations until a stop; returns the last complete state and why it is the last."""
    start = control.start
    deadline = None if control.max_time is None else start + control.max_time
    longest = time.perf_counter() - start  # scoring the initial population is like a generation
    while True:
        before = time.perf_counter()
        progress = Progress(state, method.describe(state), before - start)
        reason = _reason_to_stop(progress, control)
        if reason is None and deadline is not None and before + RESERVE * longest > deadline:
            reason = "max_time"
        if reason is not None:
            return state, reason
        method.watch(_alarm(None if deadline is None else deadline - RESERVE * longest))
        before = time.perf_counter()
        try:
            state = method.step(state)
        except OutOfTime:
            return method.rollback(state), "max_time"
        except KeyboardInterrupt:
            method.rollback(state)
            raise
        finally:
            method.watch(None)
        longest = max(longest, time.perf_counter() - before)


def _reason_to_stop(progress: Progress, control: Control) -> str | None:
    """Tell the observers, record the generation, and ask everyone; nobody is skipped because another said stop."""
    reasons = [stop.name for stop in control.stops if stop(progress)]
    probed: dict[str, Any] = {}
    for observer in control.observers:
        answer = observer(progress)
        if isinstance(answer, Mapping):
            probed.update(answer)
        elif answer:
            reasons.append("callback")
    control.history.append(progress, probed)
    if control.interrupt.is_requested:
        reasons.append("interrupted")
    return reasons[0] if reasons else None


def _alarm(deadline: float | None) -> Callable[[], None] | None:
    if deadline is None:
        return None

    def check() -> None:
        if time.perf_counter() > deadline:
            raise OutOfTime

    return check
