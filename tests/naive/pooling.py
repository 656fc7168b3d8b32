"""Ridge regressions over terms and logistic ones by Newton's steps, from the definitions."""

import numpy as np


def ridge(values, y, weight, penalty):
    """Intercept and coefficients, (n_terms + 1,), of a weighted ridge regression; the intercept is not penalised."""
    phi = np.vstack([np.ones(values.shape[1]), values]).T
    root = np.sqrt(weight)[:, None]
    shrink = np.sqrt(penalty * weight.sum()) * np.eye(phi.shape[1])[1:]
    A, b = np.vstack([phi * root, shrink]), np.concatenate([y * root[:, 0], np.zeros(len(shrink))])
    return np.linalg.lstsq(A, b, rcond=None)[0]


def logistic_gradient(values, y, weight, penalty, coefficients):
    """Of the penalised loss; a quarter of the penalty, because the curvature is at most that."""
    phi = np.vstack([np.ones(values.shape[1]), values])
    p = 1 / (1 + np.exp(-(coefficients @ phi)))
    shrink = np.full(len(phi), 0.25 * penalty * weight.sum())
    shrink[0] = 0.0
    return phi @ (weight * (y - p)) - shrink * coefficients
