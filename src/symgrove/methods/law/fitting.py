"""Free constants by least squares: Levenberg's and Marquardt's steps with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law.algebra import solve
from symgrove.methods.law.formulas import LawFormulas, RowSet

Matrix = NDArray[np.float64]
FEWEST_FINITE = 0.995  # a formula that is finite on fewer rows is no formula of them
SMALLEST_GAIN = 1e-9
N_TRIES = 4


class Fitting(NamedTuple):
    """Values of the free constants, and the mean squared error with them; infinite if there is none."""

    values: tuple[float, ...]
    error: float


def error_of(formulas: LawFormulas, root: int, rows: RowSet, values: Sequence[float]) -> float:
    """Mean squared error; rows on which the formula is not finite count as predicted by the target's mean."""
    return _error(formulas.predict(root, rows, values), rows)[1]


def _error(predicted: Matrix, rows: RowSet) -> tuple[Matrix, float]:
    is_finite = np.isfinite(predicted)
    if is_finite.mean() < FEWEST_FINITE:
        return predicted, np.inf
    if not is_finite.all():
        predicted = np.where(is_finite, predicted, rows.mean)
    with np.errstate(over="ignore"):
        residuals = rows.residuals(predicted)
        error = float((residuals * residuals).sum()) / rows.n_rows
    return residuals, error if np.isfinite(error) else np.inf


def fit(formulas: LawFormulas, root: int, rows: RowSet, values: Sequence[float], n_steps: int) -> Fitting:
    """Steps from given values, as long as they lower the error."""
    own = np.array(values, dtype=np.float64)
    if not own.size:
        return Fitting((), error_of(formulas, root, rows, ()))
    damping, zeros = 1e-6, np.zeros(rows.n_rows)  # a formula without features is one number
    found = formulas.compute(root, rows, own.tolist())
    residuals, error = _error(found[root] + zeros, rows)
    for _ in range(n_steps if np.isfinite(error) else 0):
        slopes = formulas.slopes(root, rows, own.size, found)
        if rows.root_weight is not None:
            slopes = slopes * rows.root_weight
        slopes[~np.isfinite(slopes)] = 0.0
        length = np.sqrt((slopes**2).sum(axis=1)) + 1e-300
        scaled = slopes / length[:, None]
        gram, gradient = product(scaled, scaled.T), product(scaled, residuals)
        for _ in range(N_TRIES):
            step = solve(gram + damping * np.eye(len(gram)), gradient) / length
            tried = formulas.compute(root, rows, (own + step).tolist())
            new_residuals, new_error = _error(tried[root] + zeros, rows)
            if new_error < error:
                break
            damping = max(30 * damping, 1e-6)
        else:
            break
        gain = 1.0 - new_error / error if error > 0 else 0.0
        own, residuals, error, damping, found = own + step, new_residuals, new_error, 0.1 * damping, tried
        if gain < SMALLEST_GAIN:
            break
    return Fitting(tuple(own.tolist()), error)


def standard_errors(formulas: LawFormulas, root: int, rows: RowSet, found: Fitting) -> Matrix:
    """Of the free constants, each as if the others were known."""
    _, slopes = formulas.jacobian(root, rows, found.values)
    slopes[~np.isfinite(slopes)] = 0.0
    if rows.root_weight is not None:
        slopes *= rows.root_weight
    return np.sqrt(found.error / np.maximum((slopes**2).sum(axis=1), 1e-300))
