"""What rows outside the fit taught a model, as a value and as part of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from symgrove.models.conformal import Scores, Widths
from symgrove.models.document import Document, Entries
from symgrove.models.mixture import Noise
from symgrove.models.probabilities import Correction

SOURCES = ("conformal", "oob")


class Calibration(NamedTuple):
    """What residuals taught: how wide intervals are, and how values scatter."""

    scores: Scores
    noise: Noise


def calibrations_to_document(widths: Widths, calibrations: Mapping[str, Calibration]) -> Document:
    """Residuals' lessons by their source. Infinite scores are null."""
    return {
        "floor": widths.floor,
        "slope": widths.slope,
        **{
            name: {
                "scores": [value if np.isfinite(value) else None for value in found.scores.sorted.tolist()],
                "stretch": found.noise.stretch,
                "deviation": found.noise.deviation,
            }
            for name, found in calibrations.items()
        },
    }


def calibrations_from_document(entries: Entries) -> tuple[Widths, dict[str, Calibration]]:
    """Undo `calibrations_to_document`."""
    widths = Widths(entries.number("floor"), entries.number("slope"))
    if not (widths.floor > 0 and widths.slope >= 0):
        raise ValueError(f"'floor' must be above 0 and 'slope' not negative in {entries.where}.")
    return widths, {name: _calibration(entries.entries(name), widths) for name in SOURCES if name in entries}


def _calibration(entries: Entries, widths: Widths) -> Calibration:
    scores = entries.numbers("scores", is_optional=True)
    noise = Noise(entries.number("stretch"), entries.number("deviation"))
    if not scores.size or not (noise.stretch >= 0 and noise.deviation > 0):
        raise ValueError(f"{entries.where} needs scores, a stretch that is not negative, and a deviation above 0.")
    return Calibration(Scores(widths, np.sort(np.where(np.isnan(scores), np.inf, scores))), noise)


def correction_to_document(correction: Correction) -> Document:
    """A classifier's correction."""
    return {"power": correction.power, "weights": correction.weights.tolist()}


def correction_from_document(entries: Entries, n_classes: int) -> Correction:
    """Undo `correction_to_document`."""
    correction = Correction(entries.number("power"), entries.numbers("weights", n_classes))
    if correction.power < 0 or (correction.weights <= 0).any():
        raise ValueError(f"'power' must not be negative, and 'weights' must be above 0, in {entries.where}.")
    return correction
