"""Where progress is shown: a bar in a notebook or on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from html import escape
from importlib import import_module
from typing import Any, Protocol

N_STEPS = 1000  # of a bar
SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_UPDATES = 2.0, 0.5  # of a notebook
LONGEST_FORMULA = 50  # characters, on a plain line


class Display(Protocol):
    """Shows one line of progress, again and again; `has_mathematics` if formulas are to be MathML."""

    has_mathematics: bool

    def is_due(self, seconds: float) -> bool:
        """Whether something would be shown now."""
        ...

    def show(self, share: float, text: str, formula: str, seconds: float, *, is_step: bool) -> None:
        """The share of the work that is done, and more; a step is shown however shortly it comes after another."""
        ...

    def close(self, text: str | None) -> None:
        """The last line, or None if the work was broken off."""
        ...


class Lines:
    """Plain lines, now and then."""

    has_mathematics = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._last = -SECONDS_BETWEEN_LINES

    def is_due(self, seconds: float) -> bool:
        return seconds - self._last >= SECONDS_BETWEEN_LINES

    def show(self, share: float, text: str, formula: str, seconds: float, *, is_step: bool) -> None:
        if is_step or self.is_due(seconds):
            self._last = seconds
            shown = formula if len(formula) <= LONGEST_FORMULA else f"{formula[:LONGEST_FORMULA]}..."
            print(f"{self.name}: {text}{shown and '  '}{shown}", file=sys.stderr, flush=True)

    def close(self, text: str | None) -> None:
        if text is not None:
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)


class TerminalBar:
    """A bar and its text on one line, cut where the terminal ends."""

    has_mathematics = False

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        columns = (
            TextColumn(name, markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[text]}", markup=False, table_column=rest),
        )
        self._bar: Any = Bar(*columns, console=Console(stderr=True), expand=True)
        self._bar.start()
        self._task = self._bar.add_task(name, total=N_STEPS, text="")

    def is_due(self, seconds: float) -> bool:
        return True

    def show(self, share: float, text: str, formula: str, seconds: float, *, is_step: bool) -> None:
        self._bar.update(self._task, completed=N_STEPS * share, text=f"{text}  {formula}")

    def close(self, text: str | None) -> None:
        if text is not None:
            self._bar.update(self._task, completed=N_STEPS, text=text)
        self._bar.stop()


class NotebookBar:
    """A bar below the cell of a notebook, by the means of the notebook itself."""

    has_mathematics = True

    def __init__(self, name: str) -> None:
        notebook = import_module("IPython.display")
        self.name = name
        self._html = notebook.HTML
        self._last = -SECONDS_BETWEEN_UPDATES
        self._share = 0.0
        self._handle: Any = notebook.display(notebook.HTML(self._written(0.0, "", "")), display_id=True)

    def is_due(self, seconds: float) -> bool:
        return seconds - self._last >= SECONDS_BETWEEN_UPDATES

    def show(self, share: float, text: str, formula: str, seconds: float, *, is_step: bool) -> None:
        if is_step or self.is_due(seconds):
            self._last, self._share = seconds, share
            self._handle.update(self._html(self._written(share, text, formula)))

    def close(self, text: str | None) -> None:
        share, said = (self._share, "broken off") if text is None else (1.0, text)
        self._handle.update(self._html(self._written(share, said, "")))

    def _written(self, share: float, text: str, formula: str) -> str:
        bar = f"<progress value='{share:.3f}' max='1'></progress>"
        return f"<div style='overflow-x:auto'>{bar} {escape(self.name)}: {escape(text)}<br/>{formula}</div>"


def make_display(name: str) -> Display:
    """What suits the place that progress is seen at."""
    if _is_in_notebook():
        return NotebookBar(name)
    return TerminalBar(name) if sys.stderr.isatty() else Lines(name)


def _is_in_notebook() -> bool:
    """Whether this is the kernel of a notebook; then its packages are loaded already."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
