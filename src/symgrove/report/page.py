"""A finished page: a text that saves itself, and shows itself in notebooks."""

from __future__ import annotations

import os
from html import escape

from symgrove._files import atomic_write

FRAME_HEIGHT = 800  # pixels, in a notebook


class ReportPage(str):
    """The HTML of a report. Notebooks show it in a frame, so that its styles stay inside."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        with atomic_write(path) as temporary:
            temporary.write_text(self, encoding="utf-8")

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {FRAME_HEIGHT}px; border: 0"
        return f'<iframe srcdoc="{escape(str(self))}" style="{style}" title="report"></iframe>'

    def __repr__(self) -> str:
        return f"<report of {len(self):,} characters; .save(path) writes it>"
