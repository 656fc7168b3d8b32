"""Least squares of a target on some columns and an intercept, from the definition."""

import numpy as np


def head(columns, y, weight=None):
    """Coefficients, intercept and mean squared error; columns that are constant or repeat have the coefficient 0."""
    w = np.ones(len(y)) if weight is None else weight
    used = []
    for i, column in enumerate(columns):
        is_new = all(not np.array_equal(column, columns[j]) for j in used)
        if np.ptp(column) > 0 and is_new:
            used.append(i)
    design = np.column_stack([np.ones(len(y)), *(columns[i] for i in used)])
    size, root = np.abs(design).max(axis=0), np.sqrt(w)
    found, *_ = np.linalg.lstsq(design / size * root[:, None], y * root, rcond=1e-13)
    found = found / size
    coefficients = np.zeros(len(columns))
    coefficients[used] = found[1:]
    return coefficients, found[0], np.average((y - design @ found) ** 2, weights=w)
