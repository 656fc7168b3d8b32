"""Classes by distance, from the definition."""

import numpy as np


def geometry(columns, labels, weight, is_centred=True):
    """For each class its centroid and the inverse of its covariance; the identity where that is singular."""
    found = []
    for label in np.unique(labels):
        own = labels == label
        rows, w = np.array(columns).T[own], weight[own]
        centroid = np.average(rows, axis=0, weights=w)
        about = rows - centroid if is_centred else rows
        covariance = np.einsum("i,ia,ib->ab", w, about, about) / w.sum()
        found.append((centroid, inverse_or_identity(covariance)))
    return found


def inverse_or_identity(covariance):
    variances = np.diag(covariance)
    if not (np.isfinite(covariance).all() and (variances > 1e-25).all()):
        return np.eye(len(covariance))
    spread = np.sqrt(variances)
    correlations = covariance / np.outer(spread, spread)
    if np.linalg.eigvalsh(correlations)[0] < 1e-10:
        return np.eye(len(covariance))
    return np.linalg.inv(correlations) / np.outer(spread, spread)


def distances(columns, shapes):
    """Squared, (n_classes, n_rows)."""
    rows = np.array(columns).T
    return np.array([[(r - centre) @ inverse @ (r - centre) for r in rows] for centre, inverse in shapes])


def error(columns, labels, weight=None, is_centred=True):
    """Share of the rows whose nearest class is not their own."""
    if not all(np.isfinite(column).all() for column in columns):
        return np.inf
    weight = np.ones(len(labels)) if weight is None else weight
    nearest = distances(columns, geometry(columns, labels, weight, is_centred)).argmin(axis=0)
    return float(np.average(nearest != labels, weights=weight))
