"""Greedy choices from their definitions."""

import numpy as np


def choose_members(members, target, n_steps, combine):
    chosen = []
    for _ in range(n_steps):
        errors = []
        for i in range(len(members)):
            said = combine(np.stack([members[j] for j in [*chosen, i]]))
            errors.append(np.mean((said - target) ** 2))
        chosen.append(int(np.argmin(errors)))
    return chosen


def pursue(terms, target, n_steps, ridge):
    """Terms and their ridge regression, intercept first, by augmented least squares."""
    chosen, residual = [], target - target.mean()
    for _ in range(n_steps):
        worth = [-1.0 if i in chosen else abs(np.corrcoef(terms[i], residual)[0, 1]) for i in range(len(terms))]
        chosen.append(int(np.argmax(worth)))
        columns = np.column_stack([np.ones(target.size), terms[chosen].T])
        extra = np.sqrt(ridge * target.size) * np.eye(len(chosen) + 1)[1:]
        rows, goal = np.vstack([columns, extra]), np.append(target, np.zeros(len(chosen)))
        solution = np.linalg.lstsq(rows, goal, rcond=None)[0]
        residual = target - columns @ solution
    return chosen, solution
