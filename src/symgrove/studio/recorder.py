"""From moments of a fit to events, so often that people see it move and so seldom that the fit has the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symgrove.evolution.watching import Moment
from symgrove.models.front import FrontPoint
from symgrove.models.model import Model
from symgrove.studio.events import EventLog
from symgrove.studio.snapshots import Snapshots, rounded

BETWEEN_LINES, BETWEEN_SNAPSHOTS, BETWEEN_BEATS = 0.25, 0.8, 0.5  # seconds
SHARE_FOR_SNAPSHOTS = 0.15  # of the time, at most, once the first has been made


class Recorder:
    """Watches a fit (`watched_by`), and writes what a page shows of it.

    Parameters
    ----------
    log : EventLog
    snapshots : Snapshots
    before : float
        Seconds that the run has had before this fit.
    clock : callable
    """

    def __init__(
        self, log: EventLog, snapshots: Snapshots, before: float = 0.0, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.log, self.snapshots, self.before = log, snapshots, before
        self._clock = clock
        self._start = clock()
        self._next_line = self._next_snapshot = 0.0

    def __call__(self, moment: Moment) -> None:
        """Write what is due."""
        now = self._clock()
        if now >= self._next_line:
            self._next_line = now + BETWEEN_LINES
            if moment.errors is None:
                self.log.write("beat", **self._at(moment))
            else:
                self.log.write("errors", **self._at(moment), **_errors(moment.errors))
        if moment.found is not None and now >= self._next_snapshot:
            self.show(moment.found())
            cost = self._clock() - now
            self._next_snapshot = now + cost + max(BETWEEN_SNAPSHOTS, cost / SHARE_FOR_SNAPSHOTS)

    def show(self, found: Model | Sequence[FrontPoint]) -> list[dict[str, Any]]:
        """Write what has been found; its formulas."""
        seconds = round(self.seconds, 2)
        shot = self.snapshots.of(found)
        self.log.write("best", seconds=seconds, front=shot.front, said=shot.said)
        return shot.front

    @property
    def seconds(self) -> float:
        """That the run has had."""
        return self.before + self._clock() - self._start

    def _at(self, moment: Moment) -> dict[str, Any]:
        left = None if moment.left is None else [rounded(seconds) for seconds in moment.left]
        return {"seconds": round(self.seconds, 2), "what": moment.what, "left": left}


def _errors(shown: Any) -> dict[str, Any]:
    """The least error, quartiles, and what they are; of several targets or classes their mean."""
    with np.errstate(all="ignore"):
        rows = np.atleast_2d(shown.values)
        quantiles = np.quantile(rows, [0.0, 0.25, 0.5, 0.75], axis=1).mean(axis=1)
    values = [rounded(value) if np.isfinite(value) else None for value in quantiles.tolist()]
    return {"values": values, "of": shown.name, "unit": shown.unit.strip(), "is_share": shown.is_share}


class Heart:
    """A thread that says that the process lives, between what the fit itself writes, and asks whether to stop.

    Parameters
    ----------
    beat, check : callable
        Called every half second.
    """

    def __init__(self, beat: Callable[[], None], check: Callable[[], None]) -> None:
        self._beat, self._check = beat, check
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Heart:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(BETWEEN_BEATS):
            self._check()
            self._beat()
