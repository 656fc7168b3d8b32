"""Transforms of the target: its logarithm, or the power of Box and Cox, learned on training rows.

    transformed = log(y), or (y^power - 1) / power
    prediction  = what undoes it, of the transformed prediction within `low` and `high`

A formula that is a little too high has a power or an exponential that is far too high, or infinite. So predictions stay
between min² / max and max² / min of the training target: as far outside of what it showed, in ratios, as that is wide.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.models.document import Document, Entries

Matrix = NDArray[np.float64]
TRANSFORMS = ("log", "box-cox")
LARGEST_POWER = 5.0
DIGITS = 3  # of the power: more are noise, and formulas show it
LEAST_RANGE = 1e-9  # of the transformed target, relative to it: below, powers lose it to rounding


class TargetTransform(NamedTuple):
    """The power of Box and Cox, 0 for the logarithm, and what predictions are kept within, transformed."""

    power: float
    low: float
    high: float

    def apply(self, y: Matrix) -> Matrix:
        """Of targets above zero."""
        if not (np.asarray(y) > 0).all():
            raise ValueError(f"this model transforms its target, which must be above 0; y goes down to {np.min(y):g}.")
        return _of_logarithms(np.log(y), self.power)

    def clip(self, values: Matrix) -> Matrix:
        """Transformed predictions within the limits."""
        return np.clip(values, self.low, self.high)

    def undo(self, values: Matrix) -> Matrix:
        """Predictions in the target's own units, from transformed ones."""
        return self.undo_ends(self.clip(values))

    def undo_ends(self, values: Matrix) -> Matrix:
        """The same without limits, of ends of intervals and quantiles: 0, or infinite, where nothing is transformed
        to them."""
        with np.errstate(over="ignore", divide="ignore"):
            if self.power == 0:
                return np.exp(values)
            return np.power(np.maximum(self.power * values + 1.0, 0.0), 1.0 / self.power)

    def slope(self, values: Matrix) -> Matrix:
        """Derivative of `undo_ends`."""
        return self.undo_ends(values) if self.power == 0 else self.undo_ends(values) ** (1.0 - self.power)

    def of(self, name: str) -> str:
        """The transformed target as people write it."""
        if self.power == 0:
            return f"log({name})"
        shown = f"{self.power:g}" if self.power > 0 else f"({self.power:g})"
        return f"({name}^{shown} - 1) / {shown}"

    def latex_of(self, name: str) -> str:
        """The same as LaTeX."""
        if self.power == 0:
            return rf"\log\left({name}\right)"
        return rf"\frac{{{name}^{{{self.power:g}}} - 1}}{{{self.power:g}}}"

    def document(self) -> Document:
        """For a model file."""
        return self._asdict()


def _of_logarithms(logs: Any, power: float) -> Matrix:
    with np.errstate(over="ignore"):
        return np.asarray(logs, dtype=np.float64) if power == 0 else np.expm1(power * np.asarray(logs)) / power


def learn_transform(kind: str, y: Matrix) -> TargetTransform:
    """From the training target, (n_rows,)."""
    if not np.min(y) > 0:
        raise ValueError(
            f"target_transform={kind!r} needs a y above 0 on every row; it goes down to {np.min(y):g}. Shift it, leave "
            "rows out, or set target_transform=None."
        )
    logs = np.log(y)
    low, high = float(logs.min()), float(logs.max())
    power = _power_of(y) if kind == "box-cox" else 0.0
    ends = np.array([low, high]), np.array([low - (high - low), high + (high - low)])
    inside, outside = (_of_logarithms(np.clip(each, *_representable()), power) for each in ends)
    if power != 0 and not (np.isfinite(inside).all() and np.ptp(inside) > LEAST_RANGE * np.abs(inside).max()):
        unit = 10.0 ** round(float(np.median(logs)) / np.log(10.0))
        raise ValueError(
            f"target_transform='box-cox' of a y from {np.min(y):g} to {np.max(y):g}, with the power {power:g}, loses "
            f"it to rounding. Divide y by {unit:g}, or take target_transform='log'."
        )
    largest = np.finfo(np.float64).max
    return TargetTransform(power, *np.clip(outside, -largest, largest).tolist())


def _representable() -> tuple[float, float]:
    """Logarithms of the smallest and the largest number of full precision."""
    found = np.finfo(np.float64)
    return float(np.log(found.tiny)), float(np.log(found.max))


def _power_of(y: Matrix) -> float:
    """The one of the largest likelihood, by scipy."""
    if np.ptp(y) == 0:
        raise ValueError(f"target_transform='box-cox' needs a y that varies; it is {y[0]:g} on every row.")
    with np.errstate(all="ignore"):
        # A power does not depend on the unit, and is found best where the target is near 1.
        stats = import_module("scipy.stats")  # takes longer to import than the rest of a command
        found = float(stats.boxcox(y / np.exp(np.mean(np.log(y))))[1])
    return round(float(np.clip(found, -LARGEST_POWER, LARGEST_POWER)), DIGITS) + 0.0


def transform_from(entries: Entries) -> TargetTransform:
    """Undo `TargetTransform.document`."""
    found = TargetTransform(*(entries.number(name) for name in TargetTransform._fields))
    if not (abs(found.power) <= LARGEST_POWER and found.low <= found.high):
        raise ValueError(f"{entries.where} has a transform of the target that is none: {found}.")
    return found
