"""Polynomials of all features: what is separable of a target, and whether residuals still depend on the features."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law.algebra import solve
from symgrove.methods.law.findings import Found
from symgrove.methods.law.formulas import LawFormulas, RowSet
from symgrove.methods.law.task import LawTask

Matrix = NDArray[np.float64]
MOST_ROWS = 3000
MOST_FEATURES = 12
# Degrees by the number of features: a few hundred columns at most.
DEGREES = {1: 9, 2: 8, 3: 6, 4: 5, 5: 4, 6: 4, 7: 3, 8: 3, 9: 3}
RESIDUAL_DEGREES = {1: 10, 2: 7, 3: 5, 4: 4, 5: 4, 6: 3, 7: 3, 8: 3}
ROWS_A_COLUMN, N_OF_PREDICTION = 3, 5  # of residuals: rows at least, and columns made of the prediction
EXPONENTS = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 4.0, -4.0, 5.0, -5.0, 1.5, -1.5)
N_FIRST = 6  # exponents after which a clear winner ends the trials


def basis(columns: Matrix, degree: int) -> Matrix:
    """Products of Chebyshev's polynomials up to a total degree, (n_rows, n_columns)."""
    low, high = columns.min(axis=1, keepdims=True), columns.max(axis=1, keepdims=True)
    Z = 2 * (columns - low) / (high - low + 1e-300) - 1
    powers = [np.ones_like(Z), Z]
    for _ in range(2, degree + 1):
        powers.append(2 * Z * powers[-1] - powers[-2])
    found = [(np.ones(Z.shape[1]), degree)]
    for j in range(len(Z)):
        found = [(own * powers[k][j] if k else own, left - k) for own, left in found for k in range(left + 1)]
    return np.stack([own for own, _ in found], axis=1)


def left_over(A: Matrix, target: Matrix) -> float:
    """Sum of squares that a regression leaves."""
    rest = residuals_of(A, target)
    return np.inf if rest is None else float((rest * rest).sum())


def residuals_of(A: Matrix, target: Matrix) -> Matrix | None:
    """Of a regression; None if a column is not finite."""
    with np.errstate(all="ignore"):
        A = A / (np.sqrt((A * A).sum(axis=0)) + 1e-300)
    if not np.isfinite(A).all():
        return None
    gram, first = product(A.T, A), product(A.T, target)
    gram[np.diag_indices_from(gram)] += 1e-11
    rest: Matrix = target - product(A, solve(gram, first))
    return rest


def separable_powers(task: LawTask) -> dict[int, float]:
    """Features that the target is a power of, times something of the others: exponents by feature."""
    d, n = task.n_features, min(task.rows.n_rows, MOST_ROWS)
    if d < 2 or d > MOST_FEATURES:
        return {}
    degree = DEGREES.get(d, 2)
    order = task.rng("separation").permutation(task.rows.n_rows)[:n]
    columns, y = task.rows.columns[:, order], task.rows.y[order]
    root = np.ones(n) if task.rows.root_weight is None else task.rows.root_weight[order]
    y = y * root
    everything = basis(columns, degree) * root[:, None]
    if n < 2 * everything.shape[1]:
        return {}
    whole = left_over(everything, y)
    found = {}
    for j in np.flatnonzero(task.is_positive).tolist():
        if task.is_over():
            break
        others = basis(np.delete(columns, j, axis=0), DEGREES.get(d, 2))
        tried: list[tuple[float, float]] = []
        for exponent in EXPONENTS:
            tried.append((left_over(others * (columns[j] ** exponent * root)[:, None], y), exponent))
            best = sorted(tried)[:2]
            if len(tried) == N_FIRST and best[0][0] < 1.02 * whole and best[1][0] > 1.3 * best[0][0]:
                break
        tried.sort()
        is_clean = whole < 1e-3 * n * max(float(y.var()), 1e-300)
        if tried[0][0] < (1.15 if is_clean else 1.05) * whole and tried[1][0] > 1.06 * tried[0][0]:
            found[j] = tried[0][1]
    return found


class LackOfFit:
    """Whether residuals of a formula can be told from noise, by polynomials of the features and of the prediction.

    `rows_a_column` is how many rows there are at least for each column of the regression. `is_weak` says that rows are
    too few for the degree that could see everything.
    """

    def __init__(self, rows: RowSet, rows_a_column: int = ROWS_A_COLUMN) -> None:
        self.rows, self.rows_a_column = rows, rows_a_column
        varying = rows.columns[np.ptp(rows.columns, axis=1) > 0]
        d, whole = len(varying), RESIDUAL_DEGREES.get(len(varying), 2)
        degree = whole
        while degree > 1 and rows.n_rows < rows_a_column * (comb(d + degree, d) + N_OF_PREDICTION):
            degree -= 1
        self.is_weak = degree < whole
        self.columns = basis(varying, degree) if 0 < d <= MOST_FEATURES else None

    def passes(self, formulas: LawFormulas, found: Found) -> bool:
        """Whether nothing is left; False if there are too few rows to tell."""
        made = self._columns(formulas, found)
        if made is None:
            return False
        A, rest = made
        n_rows, n_columns = A.shape
        after = left_over(A, rest)
        ratio = ((float((rest * rest).sum()) - after) / n_columns) / (after / (n_rows - n_columns) + 1e-300)
        return bool(ratio < 1 + 4.5 * np.sqrt(2 / n_columns))

    def smoothed(self, formulas: LawFormulas, found: Found) -> tuple[Matrix, float] | None:
        """What a formula and a polynomial of what it leaves predict, and the mean square of the rest: noise, if all is
        well."""
        made = self._columns(formulas, found)
        rest = None if made is None else residuals_of(*made)
        if made is None or rest is None:
            return None
        root = self.rows.root_weight
        with np.errstate(all="ignore"):
            smooth = self.rows.y - (rest if root is None else np.where(root > 0, rest / root, 0.0))
        return smooth, float((rest * rest).sum()) / (len(rest) - made[0].shape[1])

    def _columns(self, formulas: LawFormulas, found: Found) -> tuple[Matrix, Matrix] | None:
        """Columns of the regression and residuals, weighted; None if there are too few rows."""
        if self.columns is None:
            return None
        predicted = formulas.predict(found.root, self.rows, found.values)
        rest = np.where(np.isfinite(predicted), self.rows.residuals(predicted), 0.0)
        spread = predicted.std() if np.isfinite(predicted).all() else 0.0
        z = np.clip((predicted - predicted.mean()) / spread, -5, 5) if spread > 0 else np.zeros(rest.size)
        A = np.column_stack([self.columns, z, z**2, z**3, np.sin(3 * z), np.cos(3 * z)])
        if self.rows.root_weight is not None:
            A = A * self.rows.root_weight[:, None]
        return None if len(A) < self.rows_a_column * A.shape[1] else (A, rest)


def exponents_of(powers: dict[int, float], n_features: int) -> Sequence[float]:
    """Of all features."""
    return [powers.get(j, 0.0) for j in range(n_features)]
