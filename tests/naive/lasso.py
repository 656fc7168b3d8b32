"""A LASSO path by coordinate descent on the rows, as in the program of EFS's authors."""

import math

import numpy as np


def standardized(column, weight):
    """The column less its mean, over its standard deviation."""
    mean = np.average(column, weights=weight)
    return (column - mean) / math.sqrt(np.average((column - mean) ** 2, weights=weight))


def lasso_path(columns, target, weight, tolerance=1e-4):
    """(weights, R²) for each penalty, of standardised columns and target."""
    n_rows, n_columns = len(target), len(columns)
    least = 5e-2 if n_rows < n_columns else 1e-4
    largest = max((abs(np.average(z * target, weights=weight)) for z in columns), default=0.0)
    weighted = [z * weight / weight.sum() for z in columns]
    b, residual, path, before = [0.0] * n_columns, target.copy(), [], 0.0
    for step in range(100):
        penalty = math.inf if step == 0 else largest * least ** (step / 99)
        change = math.inf
        while change >= tolerance:
            change = 0.0
            for k, z in enumerate(columns):
                aim = float(weighted[k] @ residual) + b[k]
                new = math.copysign(max(abs(aim) - penalty, 0.0), aim)
                if new == b[k]:
                    continue
                residual = residual - (new - b[k]) * z
                change = max(change, abs(new - b[k]))
                b[k] = new
        explained = 1.0 - np.average(residual**2, weights=weight)
        path.append((list(b), explained))
        if step >= 4 and (explained - before < 1e-5 * explained or explained > 0.99999):
            break
        before = explained
    return path


def scores_of(path):
    """Of every column: R² added over the penalties that it has a weight at, if it has one at the highest R²."""
    best = max(range(len(path)), key=lambda i: path[i][1])
    return [
        sum(r2 for b, r2 in path if b[k] != 0.0) if path[best][0][k] != 0.0 else 0.0 for k in range(len(path[0][0]))
    ]
