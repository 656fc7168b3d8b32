"""How sure a regressor may be: what residuals of rows outside the fit taught it.

"conformal": rows that `calibration` kept out, or that `calibrate` was given; new rows of the same kind are covered as
promised. "oob": training rows, predicted by what did not train on them; nothing is promised, because members share a
population (see conformal.py for the rule).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from symgrove.models.calibration import Calibration, calibrations_from_document, calibrations_to_document
from symgrove.models.conformal import Widths, fit_widths, make_scores
from symgrove.models.document import Document, Entries
from symgrove.models.mixture import fit_noise
from symgrove.models.model import LeftOut
from symgrove.rng import stream

Matrix = NDArray[np.float64]
ADVICE = "fit with calibration=0.2, or give rows that the model was not fitted on to `calibrate`."
# So many training rows are enough to learn how residuals depend on the spread.
MOST_ROWS = 1000
ALL_ALIKE = Widths(1.0, 0.0)


@dataclass(frozen=True)
class Intervals:
    """Relative widths, and what was learned from which rows; at first nothing: all widths alike."""

    widths: Widths = ALL_ALIKE
    known: Mapping[str, Calibration] = field(default_factory=dict)

    def learn(self, source: str, residuals: Matrix, spread: Matrix) -> Intervals:
        """With what these residuals teach."""
        found = Calibration(make_scores(residuals, spread, self.widths), fit_noise(residuals, spread))
        return replace(self, known={**self.known, source: found})

    def calibration(self, method: str) -> Calibration:
        """What to use: "conformal", "oob", or "auto" for the better one that is there."""
        name = ("conformal" if "conformal" in self.known else "oob") if method == "auto" else method
        if name in self.known:
            return self.known[name]
        if name == "conformal":
            raise ValueError(f"no rows were kept out of this fit: {ADVICE}")
        raise ValueError(f"this model knows of no training rows that its members left out: {ADVICE}")

    @property
    def best(self) -> Calibration | None:
        """What "auto" uses, if there is anything."""
        return self.known.get("conformal") or self.known.get("oob")

    def document(self) -> Document:
        """For a model file."""
        return calibrations_to_document(self.widths, self.known)


def intervals_from(entries: Entries) -> Intervals:
    """Undo `Intervals.document`."""
    return Intervals(*calibrations_from_document(entries))


def learn_from_left_out(left_out: LeftOut | None, y: Matrix, seed: int) -> Intervals:
    """Widths, and intervals without a promise, from training rows and what did not train on them."""
    if left_out is None:
        return Intervals()
    prediction, spread = left_out.prediction[0], left_out.spread
    rows = np.flatnonzero(np.isfinite(prediction) & np.isfinite(spread))
    if rows.size > MOST_ROWS:
        rows = np.sort(stream(seed, "uncertainty").choice(rows, MOST_ROWS, replace=False))
    with np.errstate(all="ignore"):
        residuals = y[rows] - prediction[rows]
    learned = Intervals(fit_widths(residuals, spread[rows]))
    return learned.learn("oob", residuals, spread[rows]) if rows.size else learned
