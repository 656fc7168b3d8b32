"""The LASSO path of standardised columns from their correlations, and what is read off it.

Coordinate descent over falling penalties (Friedman, Hastie and Tibshirani 2010), as the LASSO of EFS does it: the path
starts with an infinite penalty, ends where more weight explains little, and its penalties and tolerance are those of
Arnaldo, O'Reilly and Veeramachaneni (2015). Only correlations enter, which an engine makes of its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.fitness import lasso_kernels

Matrix = NDArray[np.float64]

N_PENALTIES = 100
LEAST_PENALTY = 1e-4  # of the smallest one that makes all weights zero
LEAST_PENALTY_FEW_ROWS = 5e-2  # with fewer rows than columns
TOLERANCE = 1e-4


class _Limits(NamedTuple):
    """When a path ends, and when a penalty is given up."""

    n_least: int = 5
    highest: float = 0.99999
    gain: float = 1e-5
    n_passes: int = 10_000


class LassoPath(NamedTuple):
    """Weights of standardised columns, (n_penalties, n_columns), and the training R² of each, penalties falling."""

    weights: Matrix
    r_squared: Matrix


def lasso_path(correlation: Matrix, with_target: Matrix, n_rows: int, tolerance: float = TOLERANCE) -> LassoPath:
    """The path of columns with these correlations with each other and with the target."""
    n_columns = with_target.size
    penalties = penalties_of(with_target, n_rows)
    weights, r_squared = np.zeros((penalties.size, n_columns)), np.zeros(penalties.size)
    room = np.empty((2, n_columns))
    n_done = lasso_kernels.descend(
        np.ascontiguousarray(correlation), with_target, penalties, tolerance, _Limits(), *room, r_squared, weights
    )
    return LassoPath(weights[:n_done], r_squared[:n_done])


def penalties_of(with_target: Matrix, n_rows: int) -> Matrix:
    """Infinity, then falling by equal factors to a share of the smallest penalty that makes all weights zero."""
    share = LEAST_PENALTY_FEW_ROWS if n_rows < with_target.size else LEAST_PENALTY
    largest = np.abs(with_target).max(initial=0.0)
    return np.append(np.inf, largest * share ** (np.arange(1, N_PENALTIES) / (N_PENALTIES - 1)))


def path_scores(path: LassoPath) -> Matrix:
    """Score of every column: R² of the penalties at which it has a weight, added; 0 without one at the highest R²."""
    is_used = path.weights != 0
    added = np.where(is_used, path.r_squared[:, None], 0.0).sum(axis=0)
    return np.where(is_used[np.argmax(path.r_squared)], added, 0.0)


class LassoModel(NamedTuple):
    """Weights of standardised columns, (n_columns,), their training R², and a number to compare models by, low best."""

    weights: Matrix
    r_squared: float
    criterion: float


def least_penalized(path: LassoPath, n_rows: int) -> LassoModel:
    """The last of a path; compared by the share of the variance that is left.

    It is the last whose R² exceeds that of the first, which is what the authors' program takes.
    """
    explained = float(path.r_squared[-1])
    return LassoModel(path.weights[-1], explained, 1.0 - explained)


def lowest_bic(path: LassoPath, n_rows: int) -> LassoModel:
    """That of the lowest Bayesian information criterion, with a degree of freedom for each weight that is not zero.

    (Zou, Hastie and Tibshirani 2007: the number of such weights is an unbiased estimate.)
    """
    n_weights = np.count_nonzero(path.weights, axis=1)
    left = np.maximum(1.0 - path.r_squared, np.finfo(np.float64).eps)
    criterion = n_rows * np.log(left) + np.log(n_rows) * n_weights
    best = int(np.argmin(criterion))
    return LassoModel(path.weights[best], float(path.r_squared[best]), float(criterion[best]))


# Which model of a path is taken, by name.
SELECTION_RULES: dict[str, Callable[[LassoPath, int], LassoModel]] = {"published": least_penalized, "bic": lowest_bic}
