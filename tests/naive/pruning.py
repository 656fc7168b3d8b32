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


def pursue(terms, target, n_steps):
    """Orthogonal matching pursuit, and least squares, intercept first."""
    chosen, residual = [], target - target.mean()
    for _ in range(n_steps):
        worth = [-1.0 if i in chosen else abs(np.corrcoef(terms[i], residual)[0, 1]) for i in range(len(terms))]
        chosen.append(int(np.argmax(worth)))
        columns = np.column_stack([np.ones(target.size), terms[chosen].T])
        solution = np.linalg.lstsq(columns, target, rcond=None)[0]
        residual = target - columns @ solution
    return chosen, solution
