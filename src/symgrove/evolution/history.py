"""What a run records: one row for each generation, one column for each named value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.evolution.stopping import Progress


class History:
    """Columns of values that grow by a row each generation; a generation that is there is not recorded again."""

    def __init__(self, columns: dict[str, NDArray[Any]] | None = None) -> None:
        self._rows: dict[str, list[Any]] = {name: list(values) for name, values in (columns or {}).items()}
        times = self._rows.get("seconds", [])
        self._seconds_before = float(times[-1]) if times else 0.0

    def append(self, progress: Progress, probed: Mapping[str, Any]) -> None:
        """Add the row of a generation; seconds go on from those of the run that is resumed."""
        generations = self._rows.get("generation", [])
        if generations and generations[-1] >= progress.values["generation"]:
            return
        seconds = self._seconds_before + progress.seconds
        for name, value in {**probed, **progress.values, "seconds": seconds}.items():
            self._rows.setdefault(name, []).append(value)

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Every column as an array whose first axis is the generation."""
        return {name: np.array(values) for name, values in self._rows.items()}
