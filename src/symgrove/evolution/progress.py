"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import numpy as np

from symgrove.evolution.stopping import Progress

SECONDS_BETWEEN_LINES = 2.0


class Reporter:
    """Observer that shows generation, best and median error, distinct programs and the time left.

    `n_more` is the work that follows the last generation, in generations.
    """

    def __init__(self, generations: int, name: str, n_more: float = 0.0) -> None:
        self.generations = generations
        self.name = name
        self.n_more = n_more
        self._bar: Any = None
        self._task: Any = None
        self._last_line = -np.inf
        self._first = generations

    def __enter__(self) -> Reporter:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn(self.name),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TextColumn("{task.fields[text]}"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task(self.name, total=self.generations, text="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        values = progress.values
        errors = np.asarray(values["errors"])
        generation = int(values["generation"])
        text = f"best {errors.min():.5g}  median {np.median(errors):.5g}"
        if "n_distinct" in values:
            text += f"  distinct {values['n_distinct']}"
        self._first = min(self._first, generation)  # a resumed run starts later
        left = self._time_left(generation, progress.seconds)
        if self._bar is not None:
            self._bar.update(self._task, completed=generation, text=text + left)
            return
        is_last = generation >= self.generations
        if is_last or progress.seconds - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = progress.seconds
            line = f"{self.name}: generation {generation}/{self.generations}  {text}  {progress.seconds:.1f} s{left}"
            print(line, file=sys.stderr, flush=True)

    def _time_left(self, generation: int, seconds: float) -> str:
        n_done = generation - self._first
        if not n_done:
            return ""
        return f", about {seconds / n_done * (self.generations - generation + self.n_more):.0f} s left"


def say(name: str, text: str) -> None:
    """One line of progress."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)
