"""What is wrong with a table, said at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MOST_SHOWN = 20


class Troubles:
    """Errors about a table, which are collected and raised together."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.found: list[str] = []

    def add(self, text: str) -> None:
        """One more; what was said already is not repeated."""
        if text not in self.found:
            self.found.append(text)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Take an error down and go on."""
        try:
            yield
        except ValueError as error:
            self.add(str(error))

    def check(self) -> None:
        """Raise what was found, if there is something."""
        if len(self.found) == 1:
            raise ValueError(self.found[0])
        if self.found:
            more = len(self.found) - MOST_SHOWN
            lines = [*self.found[:MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]
            raise ValueError(f"{self.label} has {len(self.found)} troubles:\n" + "\n".join(f"- {t}" for t in lines))
