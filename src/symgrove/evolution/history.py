"""What a run records: one row for each generation, one column for each named value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.evolution.stopping import Progress


class History:
    """Rows of named numbers or arrays; a generation that is there is not recorded again."""

    def __init__(self, columns: Mapping[str, NDArray[Any]] | None = None) -> None:
        names = list(columns or {})
        if names and not {"generation", "seconds"} <= set(names):
            raise ValueError(f"a history needs 'generation' and 'seconds', got {names}")
        self._rows = [dict(zip(names, row, strict=True)) for row in zip(*(columns or {}).values(), strict=True)]
        self._seconds_before = float(self._rows[-1]["seconds"]) if self._rows else 0.0

    def append(self, progress: Progress, probed: Mapping[str, Any]) -> None:
        """Add the row of a generation; seconds go on from those of the run that is resumed."""
        if self._rows and self._rows[-1]["generation"] >= progress.values["generation"]:
            return
        own = {**progress.values, "seconds": self._seconds_before + progress.seconds}
        for name, value in probed.items():
            self._check_probe(name, value, own)
        self._rows.append({**probed, **own})

    def _check_probe(self, name: str, value: Any, own: Mapping[str, Any]) -> None:
        """Refuse at once what could not be saved or put into a column later."""
        if name in own:
            raise ValueError(f"a callback returned {name!r}, which the history has already; use another name.")
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"a callback returned {name!r} = {value!r}; values for the history must be numbers.")
        shapes = {np.shape(row[name]) for row in self._rows if name in row}
        if shapes and array.shape not in shapes:
            raise ValueError(f"a callback returned {name!r} of shape {array.shape}, before it was {shapes.pop()}.")

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Every column as an array whose first axis is the generation; NaN where a probe said nothing."""
        shapes: dict[str, tuple[int, ...]] = {}
        for row in self._rows:
            shapes.update({name: np.shape(value) for name, value in row.items()})
        return {
            name: np.array([row[name] if name in row else np.full(shape, np.nan) for row in self._rows])
            for name, shape in shapes.items()
        }
