"""A table that was read from a file, as estimators take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symgrove.models.columns import TextFormat


class TableFrame:
    """The little of a data frame that estimators ask for: columns of numbers, or of texts, by name.

    `formats` say how numbers and dates were written in texts, of columns where a model is to remember that.
    """

    def __init__(
        self, given: dict[str, np.ndarray[Any, Any]], n_rows: int, formats: dict[str, TextFormat] | None = None
    ) -> None:
        self.given = given
        self.formats = formats or {}
        self.columns = list(given)
        self.shape = (n_rows, len(given))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self.given[name]

    def take(self, rows: Sequence[int]) -> TableFrame:
        """Some of the rows."""
        places = np.array(rows, dtype=np.intp)
        return TableFrame({n: column[places] for n, column in self.given.items()}, len(rows), self.formats)

    def missing(self) -> dict[str, np.ndarray[Any, Any]]:
        """Which rows of a column have no value, of columns with such rows."""
        marks = {
            n: np.isnan(c) if c.dtype.kind == "f" else np.array([v is None for v in c]) for n, c in self.given.items()
        }
        return {name: own for name, own in marks.items() if own.any()}
