"""Progress on stderr: how far a fit is, what it has found, and how long it still takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from symgrove.evolution.displays import Display, make_display
from symgrove.evolution.remaining import Left, Outlook, Pace, in_words
from symgrove.evolution.stopping import Progress
from symgrove.evolution.watching import Moment, Watcher, current_watcher

BEFORE_FORMULAS, BETWEEN_FORMULAS = 0.5, 1.0  # seconds
SHARE_FOR_FORMULAS = 0.02  # of the time, at most, once the first has been made


class Teller(Protocol):
    """What is told of generations of the main evolution."""

    def errors(self, values: Mapping[str, Any]) -> str:
        """Of its errors, from the values that describe it."""
        ...

    def shown_errors(self, values: Mapping[str, Any]) -> Any:
        """The same as `ShownErrors`."""
        ...

    def formula(self, state: Any, *, as_mathml: bool) -> str:
        """The best formula of a state."""
        ...

    def model(self, state: Any) -> Any:
        """What would predict if the evolution ended now."""
        ...


class Reporter:
    """Shows generation, errors, the time left and the best formula so far, which is made now and then.

    Whoever watches (watching.py) is told too. It observes the main evolution; `observer` makes observers of others.

    Parameters
    ----------
    name : str
    outlook : Outlook
    max_time : float, optional
        Seconds after which the fit ends in any case.
    clock : callable
        Seconds since some moment.
    is_shown : bool
        Whether anything is shown; else only who watches is told.

    Attributes
    ----------
    told : Teller
        Set before the evolution begins.
    """

    told: Teller

    def __init__(
        self,
        name: str,
        outlook: Outlook,
        max_time: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
        *,
        is_shown: bool = True,
    ) -> None:
        self.name = name
        self.outlook = outlook
        self.max_time = np.inf if max_time is None else max_time
        self._clock = clock
        self._start = self._before = clock()
        self._pace = Pace(outlook.costs)
        self._at: dict[str, int] = {}
        self._begun: set[str] = set()
        self._where = self._errors = self._formula = ""
        self._next_formula = BEFORE_FORMULAS
        self._is_shown = is_shown
        self._display: Display | None = None
        self._watcher: Watcher | None = current_watcher()
        self._latest: Progress | None = None  # of the main evolution, while it is told of

    def __enter__(self) -> Reporter:
        self._display = make_display(self.name) if self._is_shown else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._display is not None:
            text = f"{self._where}{self._errors}  {self._seconds():.1f} s"
            self._display.close(text if kind is None else None)

    def __call__(self, progress: Progress) -> None:
        """Show a generation of the main evolution."""
        self._errors = f"  {self.told.errors(progress.values)}"
        seconds = self._seconds()
        display = self._display
        if display and seconds >= self._next_formula and (not self._formula or display.is_due(seconds)):
            self._formula = self.told.formula(progress.state, as_mathml=display.has_mathematics)
            cost = self._seconds() - seconds
            self._next_formula = seconds + max(BETWEEN_FORMULAS, cost / SHARE_FOR_FORMULAS)
            self._before += cost
        self._latest = progress
        self._observe("main", "", progress)
        self._latest = None

    def observer(self, name: str, what: str) -> Callable[[Progress], None]:
        """An observer of another evolution of the outlook, which begins now; `what` it is for people."""
        self._at.setdefault(name, 0)
        return partial(self._observe, name, f"{what}, ")

    def say(self, what: str, begins: str | None = None) -> None:
        """Show a step that is no evolution; `begins` is its name in the outlook."""
        if begins is not None:
            self._at.setdefault(begins, 0)
        self._where = what
        self._show(is_step=True)

    def _observe(self, name: str, what: str, progress: Progress) -> None:
        generation, now = int(progress.values["generation"]), self._clock()
        if name in self._begun and generation > self._at[name]:  # a resumed run begins later
            self._pace.note(name, generation, now - self._before)
        self._begun.add(name)
        self._at[name], self._before = generation, now
        last = max((s.last for own in self.outlook.outcomes(self._at) for s in own.stages if s.name == name), default=0)
        self._where = f"{what}generation {generation}/{max(last, generation)}"
        self._show(is_step=False)

    def _show(self, *, is_step: bool) -> None:
        seconds = self._seconds()
        left = self._left(seconds)
        if self._watcher is not None:
            self._watcher(self._moment(seconds, left))
            self._before += self._seconds() - seconds  # a generation does not take longer because somebody watches
        if self._display is None:
            return
        words = "" if left is None else f", {in_words(left, is_bound=self.outlook.is_bound)}"
        share = 0.0 if left is None else seconds / (seconds + left.expected)
        text = f"{self._where}{self._errors}  {seconds:.1f} s{words}"
        self._display.show(share, text, self._formula, seconds, is_step=is_step)

    def _moment(self, seconds: float, left: Left | None) -> Moment:
        if self._latest is None:
            return Moment(self._where, seconds, left, None, None)
        told, latest = self.told, self._latest
        return Moment(self._where, seconds, left, told.shown_errors(latest.values), partial(told.model, latest.state))

    def _seconds(self) -> float:
        return self._clock() - self._start

    def _left(self, seconds: float) -> Left | None:
        found = self._pace.left(self.outlook.outcomes(self._at))
        return None if found is None else found.within(self.max_time - seconds)


def say(name: str, text: str) -> None:
    """One line of progress."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)
