"""Kernel of many small triangular factors."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel


@kernel
def whiten(covariances, smallest_pivots, is_singular, out):
    """Lower triangular F with F' F = the inverse of each matrix, (n, k, k), unless that is singular.

    Cholesky's decomposition of the correlations, row by row, and its inverse. A matrix is singular if the share of a
    variance that the dimensions before it do not explain is not above its smallest pivot, (n, k).
    """
    n, k = covariances.shape[0], covariances.shape[1]
    root = np.zeros((k, k))
    spread = np.empty(k)
    for i in range(n):
        inverse = out[i]
        inverse[:, :] = 0.0
        is_singular[i] = False
        for a in range(k):
            spread[a] = np.sqrt(covariances[i, a, a])
            if not (spread[a] > 0.0 and np.isfinite(spread[a])):
                is_singular[i] = True
        for a in range(k):
            if is_singular[i]:
                break
            for b in range(a + 1):
                total = covariances[i, a, b] / spread[a] / spread[b]
                for c in range(b):
                    total -= root[a, c] * root[b, c]
                if b < a:
                    root[a, b] = total / root[b, b]
                elif total > smallest_pivots[i, a] and np.isfinite(total):
                    root[a, a] = np.sqrt(total)
                else:
                    is_singular[i] = True
        for a in range(k):
            if is_singular[i]:
                break
            for c in range(a):
                for b in range(c + 1):
                    inverse[a, b] -= root[a, c] * inverse[c, b]
            for b in range(a):
                inverse[a, b] /= root[a, a]
            inverse[a, a] = 1.0 / root[a, a]
        for a in range(k):
            for b in range(a + 1):
                inverse[a, b] /= spread[b]
