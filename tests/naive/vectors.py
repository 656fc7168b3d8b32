"""Sums over rows of vectors, from the definitions: a row of weight zero does not enter."""

import math

import numpy as np


def weighted_sum(values, weight=None):
    """Sum of numbers times weights."""
    weight = np.ones(len(values)) if weight is None else weight
    return math.fsum(float(v) * float(w) for v, w in zip(values, weight, strict=True) if w != 0)


def products(left, right, weights, left_index, right_index):
    """Entry (j, a, b) of vectors `left_index[j, a]` and `right_index[j, b]`; 0 where one is negative."""
    out = np.zeros((len(left_index), len(left_index[0]), len(right_index[0])))
    for j, a, b in np.ndindex(*out.shape):
        i, k = left_index[j][a], right_index[j][b]
        if i >= 0 and k >= 0:
            with np.errstate(all="ignore"):
                values = left[i] * right[k]
            out[j, a, b] = weighted_sum(values, None if weights is None else weights[j])
    return out


def combination(coefficients, vectors, index):
    """Sum of the vectors of an index, times coefficients; those with the coefficient 0 do not enter."""
    used = [c * vectors[i] for c, i in zip(coefficients, index, strict=True) if i >= 0 and c != 0]
    return sum(used, np.zeros(vectors.shape[1]))


def summary(values, weight, direction):
    """Lowest, highest, mean, spread, and the product of the distances from the mean with a direction."""
    mean = np.average(values, weights=weight)
    spread = np.sqrt(np.average((values - mean) ** 2, weights=weight))
    return values.min(), values.max(), mean, spread, (values - mean) @ direction


def distance(vectors, index, centre, factor):
    """On every row: squared length of a factor times vectors of an index less a centre; negative ones do not enter."""
    used = [k for k, i in enumerate(index) if i >= 0]
    out = np.zeros(vectors.shape[1])
    for a in used:
        out += sum(factor[a][b] * (vectors[index[b]] - centre[b]) for b in used) ** 2
    return out
