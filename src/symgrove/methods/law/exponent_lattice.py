"""Which rounded exponents are near continuous ones, measured by how much the error of the formula rises.

Noise leaves some exponents vague and others sharp, and what is true of one depends on the others. Rounding each alone
goes wrong; here the sharpest is rounded first, and the others follow it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product
from symgrove.methods.law.algebra import least_squares

Matrix = NDArray[np.float64]
MOST_BEHIND = 40.0  # of the squares divided by their variance: what is further behind the nearest cannot be true
LEAST_PRECISION = 1e-6  # as a share of the mean
BRANCHES = 4  # times the number of points wanted, while they are built


def precision_of(columns: Matrix, slopes: Matrix, residuals: Matrix) -> Matrix:
    """How sharp exponents are, (n_exponents, n_exponents): the inverse of their covariance.

    `slopes` are derivatives of the predictions by exponents, (n_exponents, n_rows); coefficients of `columns`,
    (n_columns, n_rows), are free. All are weighted like the residuals.
    """
    left = slopes - product(least_squares(columns, slopes.T).T, columns)
    variance = float((residuals * residuals).mean())
    found: Matrix = product(left, left.T) / max(variance, 1e-300)
    found[np.diag_indices_from(found)] += LEAST_PRECISION * np.trace(found) / len(found) + 1e-12
    return found


def near(estimate: Matrix, precision: Matrix, grid: float, n_most: int, largest: float) -> list[Matrix]:
    """Multiples of `grid` near an estimate, (n_exponents,), the nearest first."""
    order = _sharpest_first(precision)
    # Of U z, with the sharpest exponent last, entry i depends on exponents from i on.
    backwards = order[::-1]
    lower: Matrix = on_one_thread(np.linalg.cholesky, precision[np.ix_(backwards, backwards)])
    U, centre = lower.T, estimate[backwards]
    found: list[tuple[float, tuple[float, ...]]] = [(0.0, ())]
    for i in range(len(order) - 1, -1, -1):
        grown = []
        for behind, chosen in found:
            moved = np.array(chosen) - centre[i + 1 :]
            middle = float(centre[i] - (U[i, i + 1 :] * moved).sum() / U[i, i])
            for value in _values_near(middle, grid):
                if abs(value) <= largest:
                    grown.append((behind + (float(U[i, i]) * (value - middle)) ** 2, (value, *chosen)))
        found = sorted(grown)[: BRANCHES * n_most]
    points = []
    for behind, chosen in found[:n_most]:
        if behind > found[0][0] + MOST_BEHIND:
            break
        point = np.empty(len(order))
        point[backwards] = chosen
        points.append(point)
    return points


def _values_near(middle: float, grid: float) -> list[float]:
    """Multiples of the grid, and zero, since most exponents are."""
    nearest = round(middle / grid) * grid
    values = [nearest, nearest + grid, nearest - grid]
    return values if 0.0 in values else [*values, 0.0]


def _sharpest_first(precision: Matrix) -> NDArray[np.intp]:
    """Places in the order in which they are rounded; what was rounded is known to those that follow."""
    left, order = [*range(len(precision))], []
    while left:
        own = precision[np.ix_(left, left)]
        variances = np.diag(on_one_thread(np.linalg.inv, own))
        order.append(left.pop(int(np.argmin(variances))))
    return np.array(order, dtype=np.intp)
