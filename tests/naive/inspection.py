"""Questions to a model from their definitions, one row and one prediction at a time."""

import numpy as np


def central_differences(function, X, step):
    """Derivatives by differences over a step relative to each feature's size, (n_rows, n_features)."""
    found = np.empty(X.shape)
    for j in range(X.shape[1]):
        width = step * (1 + np.abs(X[:, j]))
        up, down = X.copy(), X.copy()
        up[:, j] += width
        down[:, j] -= width
        found[:, j] = (function(up) - function(down)) / (up[:, j] - down[:, j])
    return found


def partial_dependence(predict, rows, j, value):
    total = 0.0
    for row in rows:
        moved = row.copy()
        moved[j] = value
        total += predict(moved[None])[0]
    return total / len(rows)


def h_squared(predict, rows, i, j):
    """Friedman and Popescu 2008, equation 44."""

    def dependence(features):
        values = []
        for row in rows:
            moved = rows.copy()
            moved[:, features] = row[features]
            values.append(predict(moved).mean())
        return np.array(values) - np.mean(values)

    joint, first, second = dependence([i, j]), dependence([i]), dependence([j])
    return ((joint - first - second) ** 2).sum() / (joint**2).sum()
