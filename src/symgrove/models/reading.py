"""What a model knows of its training rows for showing formulas: where features lie, and how far predictions are off.

Models hold no rows. Quantiles of every feature are enough to draw some that are like them, on which a shorter formula
is compared with the original and numbers are rounded: as far as the error on the training rows would rise by no more
than a hundredth of its standard error. With residuals of spread s on n rows, the standard error of the mean square is
about s² sqrt(2 / n), and numbers that move predictions by d add d² to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.models.document import Document, Entries

Matrix = NDArray[np.float64]
N_QUANTILES = 5
MOST_ROWS = 2000  # that quantiles and residuals are taken of
SHARE = 0.01  # of the standard error of the mean square
LEAST = 1e-10  # of the target's spread: residuals below it are rounding


@dataclass(frozen=True)
class Reading:
    """Of the training rows.

    Attributes
    ----------
    quantiles : (N_QUANTILES, n_features)
        From the smallest value of each feature to the largest.
    residual : float
        Root mean square of what the model leaves of the target, in the units of its formulas.
    n_rows : int
    """

    quantiles: Matrix
    residual: float
    n_rows: int

    @property
    def margin(self) -> float:
        """By how much rounded numbers may move predictions."""
        return float(self.residual * np.sqrt(SHARE * np.sqrt(2 / self.n_rows)))

    def with_residual(self, residual: float) -> Reading:
        """For another formula of the same rows."""
        return replace(self, residual=residual) if np.isfinite(residual) else self

    def document(self) -> Document:
        """For a model file."""
        return {"quantiles": self.quantiles.tolist(), "residual": self.residual, "n_rows": self.n_rows}


def some_rows(n_rows: int) -> slice:
    """Rows at equal distances, about MOST_ROWS of them."""
    return slice(None, None, -(-n_rows // MOST_ROWS))


def quantiles_of(X: Matrix) -> Matrix:
    """Of every feature, from its smallest value to its largest; `X` are some of the rows."""
    return np.asarray(np.quantile(X, np.linspace(0, 1, N_QUANTILES), axis=0))


def reading_of(X: Matrix, targets: Matrix, residuals: Matrix | None, known: float, n_rows: int) -> Reading:
    """From some training rows; targets and residuals are (n_targets, n_some), of `n_rows` in all.

    Of several targets, the one with the smallest residuals counts. Without residuals, theirs are `known`.
    """
    quantiles = quantiles_of(X)
    if residuals is None:
        return Reading(quantiles, known, n_rows)
    size = np.abs(targets).max(axis=1, keepdims=True)
    size = np.where(size > 0, size, 1.0)  # squares of huge targets would be infinite
    with np.errstate(all="ignore"):
        left = size[:, 0] * np.sqrt(((residuals / size) ** 2).mean(axis=1))
    spread = size[:, 0] * (targets / size).std(axis=1)
    left = np.where(np.isfinite(left), np.maximum(left, LEAST * spread), spread)
    return Reading(quantiles, float(left.min()), n_rows)


def reading_from(entries: Entries, n_features: int) -> Reading:
    """Undo `Reading.document`."""
    rows: list[Any] = entries.items("quantiles")
    if len(rows) != N_QUANTILES:
        raise ValueError(f"'quantiles' of {entries.where} must be {N_QUANTILES} lists, got {len(rows)}.")
    each = [Entries({"quantiles": row}, entries.where).numbers("quantiles", n_features) for row in rows]
    residual = entries.number("residual")
    if residual < 0:
        raise ValueError(f"'residual' of {entries.where} must not be negative, got {residual}.")
    # Ascending, whatever the file says.
    return Reading(np.maximum.accumulate(np.stack(each), axis=0), residual, entries.whole("n_rows", 1))
