"""A model in one formula: what it says about as well, in a line, and how well each of them says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.document import (
    Allowance,
    Document,
    Entries,
    forest_from_document,
    forest_to_document,
    optional_numbers,
)
from symgrove.models.reading import Reading, reading_from
from symgrove.models.shown import Shown

R2, ACCURACY = MEASURES = ("R²", "accuracy")
# What the rows that judge are: new to both, new to the formula and left out by parts of the model, or compared with it.
NEW_ROWS, HELD_OUT, PREDICTIONS = ROWS = ("new rows", "rows held out", "the model's predictions")
ALMOST_ONE = 0.995  # from which on scores have more digits


@dataclass(frozen=True)
class OneFormula(Shown):
    """One formula that imitates an ensemble.

    Attributes
    ----------
    size : int
        Nodes, as of a front.
    score, score_before : float
        Of the formula and of the ensemble, R² or accuracy (`measure`); NaN if it is not known.
    measure, rows : str
        What scores are, and which rows they are of; see docs/smaller.md.
    n_rows : int
    label : Any
        The class whose log odds the formula gives; None if it gives numbers.
    """

    size: int
    score: float
    score_before: float
    measure: str
    rows: str
    n_rows: int
    label: Any
    _forest: Forest = field(repr=False, compare=False)
    _root: int = field(repr=False, compare=False)
    _names: Sequence[str] | None = field(repr=False, compare=False)
    _reading: Reading | None = field(repr=False, compare=False)

    def _shown(self) -> tuple[Forest, int]:
        own = Forest(self._forest.n_features, self._forest.primitives)
        return own, int(own.copy_from(self._forest, [self._root])[0])

    def sentence(self, target: str | None = None, digits: int | None = None) -> str:
        """The formula with what it is of, and the scores."""
        return f"In one formula: {self.left_side(target)} = {self.rounded(digits)} ({self.scores})"

    def left_side(self, target: str | None = None) -> str:
        """What the formula gives: the target, or the log odds of a class."""
        return (target or "y") if self.label is None else f"log odds of {self.label}"

    @property
    def scores(self) -> str:
        """In words."""
        if self.rows == PREDICTIONS:
            return f"{self.measure} {self.score:.2f} with the ensemble's predictions"
        own = f"{self.measure} {self._shown_score(self.score)}"
        before = (
            "" if np.isnan(self.score_before) else f"; the ensemble {self._shown_score(self.score_before)} on the same"
        )
        return f"{own} on {self.n_rows:,} {self.rows}{before}"

    def _shown_score(self, score: float) -> str:
        best = max(self.score, self.score_before) if np.isfinite(self.score_before) else self.score
        return f"{score:.2f}" if not best >= ALMOST_ONE else f"{score:.4f}"

    def values(self, style: str = "text", digits: int | None = None) -> dict[str, Any]:
        """For machines."""
        names = ("size", "score", "score_before", "measure", "rows", "n_rows")
        formula = self.latex if style == "latex" else self.rounded(digits)
        label = None if self.label is None else str(self.label)
        return {"formula": formula, "log_odds_of": label, **{name: getattr(self, name) for name in names}}

    def document(self) -> Document:
        """For a model file, which knows names and classes."""
        scores = optional_numbers([self.score, self.score_before])
        return {
            "forest": forest_to_document(self._forest),
            "program": self._root,
            "size": self.size,
            **dict(zip(("score", "score_before"), scores, strict=True)),
            "measure": self.measure,
            "rows": self.rows,
            "n_rows": self.n_rows,
            "reading": None if self._reading is None else self._reading.document(),
        }


def one_formula_from(
    entries: Entries,
    n_features: int,
    primitives: PrimitiveSet,
    allowance: Allowance,
    names: Sequence[str] | None,
    classes: NDArray[Any] | None,
) -> OneFormula:
    """Undo `OneFormula.document`."""
    forest = forest_from_document(entries.entries("forest"), n_features, primitives, allowance)
    return OneFormula(
        size=entries.whole("size", 1),
        score=entries.number("score", is_optional=True),
        score_before=entries.number("score_before", is_optional=True),
        measure=entries.text("measure", MEASURES),
        rows=entries.text("rows", ROWS),
        n_rows=entries.whole("n_rows", 1),
        label=None if classes is None else classes[1],
        _forest=forest,
        _root=entries.whole("program", 0, len(forest) - 1),
        _names=names,
        _reading=reading_from(entries.entries("reading"), n_features) if "reading" in entries else None,
    )
