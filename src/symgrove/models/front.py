"""Points of a front: formulas of several sizes, each with its errors and a prediction of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.models.checked_rows import CheckedRows
from symgrove.models.coding import coded
from symgrove.models.columns import TableColumns
from symgrove.models.program_model import ProgramModel
from symgrove.models.reading import Reading
from symgrove.models.shown import Shown

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class FrontPoint(Shown):
    """A formula on the front of sizes and errors.

    Attributes
    ----------
    size : int
        Nodes of its SymPy expression, every constant counted, as it was found; it may be shown in fewer.
    error : float
        Root mean squared error on the training rows.
    held_out_error : float
        The same on rows that the search did not see, with the constants that it had found by then.
    description_length : float
        Bits that it takes to write the formula down, and the rows that were searched on with its help.
    formula : str
        In the user's units and column names.
    latex, sympy
        The same as LaTeX with rounded numbers, and as a SymPy expression.
    """

    size: int
    error: float
    held_out_error: float
    description_length: float
    model: ProgramModel = field(repr=False, compare=False)
    _names: Sequence[str] | None = field(repr=False, compare=False)
    _columns: TableColumns = field(repr=False, compare=False)

    @property
    def _reading(self) -> Reading | None:  # type: ignore[override]
        return self.model.reading

    def _shown(self) -> tuple[Forest, int]:
        found = self.model.as_sum()
        assert found is not None  # it is one formula
        return found

    def predict(self, X: Any) -> Matrix:
        """Predictions; columns of frames are found by name."""
        if hasattr(X, "columns"):
            X = X[[column.name for column in self._columns.columns]]
        table = np.asarray(X) if isinstance(X, CheckedRows) else coded(X, self._columns)
        return self.model.predict(self._columns.features(table))[0]
