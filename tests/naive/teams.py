"""Teams by refitting: a weighted ridge regression with an unpenalised intercept, from the definition."""

import numpy as np


def fit(columns, y, weight, penalty):
    """Coefficients of [1, *columns] and the objective: weighted squares plus the penalty times squared coefficients."""
    A = np.column_stack([np.ones(len(y)), *columns])
    P = penalty * np.diag([0.0] + [1.0] * len(columns))
    c = np.linalg.solve(A.T @ (weight[:, None] * A) + P, A.T @ (weight * y))
    r = y - A @ c
    return c, float(weight @ r**2 + penalty * c[1:] @ c[1:])


def best_to_join(columns, candidates, y, weight, penalty):
    """Position of the candidate with which the objective is lowest, and that objective."""
    objectives = [fit([*columns, z], y, weight, penalty)[1] for z in candidates]
    return int(np.argmin(objectives)), min(objectives)


def best_to_leave(columns, y, weight, penalty):
    """Position of the column without which the objective is lowest, and that objective."""
    objectives = [fit(columns[:i] + columns[i + 1 :], y, weight, penalty)[1] for i in range(len(columns))]
    return int(np.argmin(objectives)), min(objectives)


def standardize(outputs, weight):
    """Centre, spread and standardised values of one program, or None if it is useless."""
    if not np.isfinite(outputs).all() or np.abs(outputs).max() > 1e6:
        return None
    centre = np.average(outputs, weights=weight)
    spread = np.sqrt(np.average((outputs - centre) ** 2, weights=weight))
    if spread <= 1e-5 * (1 + abs(centre)):
        return None
    return centre, spread, (outputs - centre) / spread


def weighted_sums(outputs, terms):
    """Sums of terms on every row, one after the other: centred, scaled, within limits, 0 where not finite."""
    sums = np.zeros((terms.n_members, outputs.shape[1]))
    for p, output in enumerate(outputs):
        for row, o in enumerate(output.tolist()):
            with np.errstate(all="ignore"):
                z = (np.float64(o) - terms.centre[p]) * terms.factor[p]
            z = max(min(z, terms.high[p]), terms.low[p]) if z == z else z
            for entry in range(terms.first[p], terms.first[p + 1]):
                sums[terms.member[entry], row] += terms.coefficient[entry] * (z if np.isfinite(z) else 0.0)
    return sums
