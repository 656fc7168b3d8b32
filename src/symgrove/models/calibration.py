"""What rows outside the fit taught a model, as a value and as part of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from symgrove.models.conformal import ConformalScores, Widths
from symgrove.models.document import Document, Entries
from symgrove.models.mixture import Noise
from symgrove.models.probabilities import LARGEST, Correction

LARGEST_STRETCH = 1e4
MOST_INFINITE = 10**5  # a file of a few bytes must not take much memory
SOURCES = ("conformal", "oob")


class Calibration(NamedTuple):
    """What residuals taught: how wide intervals are, and how values scatter."""

    scores: ConformalScores
    noise: Noise


def calibrations_to_document(widths: Widths, calibrations: Mapping[str, Calibration]) -> Document:
    """Residuals' lessons by their source; how many scores are infinite, below and above, is a number of its own."""
    return {
        "floor": widths.floor,
        "slope": widths.slope,
        **{
            name: {
                "scores": found.scores.sorted[np.isfinite(found.scores.sorted)].tolist(),
                "n_infinite": [int((found.scores.sorted == end).sum()) for end in (-np.inf, np.inf)],
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
    n_low, n_high = entries.wholes("n_infinite", 0, MOST_INFINITE, 2).tolist()
    ends = np.full(n_low, -np.inf), np.full(n_high, np.inf)
    scores = np.concatenate([ends[0], np.sort(entries.numbers("scores")), ends[1]])
    noise = Noise(entries.number("stretch"), entries.number("deviation"))
    if not scores.size or not (0 <= noise.stretch <= LARGEST_STRETCH and noise.deviation > 0):
        raise ValueError(
            f"{entries.where} needs scores, a stretch from 0 to {LARGEST_STRETCH:g}, and a deviation above 0."
        )
    return Calibration(ConformalScores(widths, scores), noise)


def correction_from_document(entries: Entries, n_classes: int) -> Correction:
    """Undo `Correction.document`."""
    correction = Correction(entries.number("power"), entries.numbers("weights", n_classes))
    largest = np.exp(LARGEST) * (1 + 1e-9)
    is_usable = (correction.weights >= 1 / largest) & (correction.weights <= largest)
    if not (0 <= correction.power <= LARGEST and is_usable.all()):
        raise ValueError(f"'power' or 'weights' are out of range in {entries.where}.")
    return correction
