"""Parts of Law, from their definitions."""

import itertools

import numpy as np
import sympy


def described(columns, y, weight=None):
    """Share of the target's variation that a regression on columns and a constant leaves no residual of."""
    w = np.ones(y.size) if weight is None else weight
    A = np.column_stack([*columns, np.ones(y.size)]) * w[:, None]
    rest = y * w - A @ np.linalg.lstsq(A, y * w, rcond=None)[0]
    mean = (w**2 * y).sum() / (w**2).sum()
    return 1 - (rest**2).sum() / (w**2 * (y - mean) ** 2).sum()


def all_pairs(vectors, y):
    """Share of a unit vector y that each two unit vectors describe."""
    found = {}
    for i, j in itertools.product(range(len(vectors)), repeat=2):
        A = vectors[[i, j]].T
        rest = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
        found[i, j] = 1 - rest @ rest
    return found


def signomial(c, exponents, X):
    """A sum of monomials."""
    return sum(own * np.prod(X**p, axis=1) for own, p in zip(c, exponents, strict=True))


def sympy_size(expression):
    """Nodes of a SymPy expression."""
    return sum(1 for _ in sympy.preorder_traversal(expression))
