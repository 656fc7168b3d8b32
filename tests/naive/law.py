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


def nearest_multiples(estimate, A, grid, largest):
    """Multiples of the grid for which the length of A (z - estimate) is least, by trying all."""
    steps = np.arange(-largest, largest + grid / 2, grid)
    points = np.array([*itertools.product(steps, repeat=estimate.size)])
    return points[np.argmin((((points - estimate) @ A.T) ** 2).sum(axis=1))]


def sympy_size(expression):
    """Nodes of a SymPy expression."""
    return sum(1 for _ in sympy.preorder_traversal(expression))


def value_of(forest, root, columns, replaced=None):
    """A program's outputs, by the meaning of its primitives; `replaced` has outputs of some nodes."""
    if replaced and root in replaced:
        return replaced[root]
    name = forest.name(root)
    if name == "feature":
        return columns[forest.columns.left[root]]
    if name == "constant":
        return np.full(columns.shape[1], forest.columns.value[root])
    operands = [value_of(forest, child, columns, replaced) for child in forest.children(root)]
    with np.errstate(all="ignore"):
        return forest.primitives[name].meaning(operands[0], operands[-1], 0.0)


def line(f, y, weight):
    """Weighted least squares of y on 1 and f, and the mean squared error."""
    A = np.column_stack([np.ones(f.size), f]) * np.sqrt(weight)[:, None]
    coefficients = np.linalg.lstsq(A, y * np.sqrt(weight), rcond=None)[0]
    rest = y - coefficients[0] - coefficients[1] * f
    return coefficients, (weight * rest**2).sum() / weight.sum()


def divides_by_zero_between_rows(forest, root, columns):
    """Whether a divisor of the program changes its sign, or is zero."""
    divisors = [forest.children(n)[1] for n in forest.reachable([root]) if forest.name(n) == "plain_div"]
    values = [value_of(forest, own, columns) for own in divisors]
    return any(not own.min() * own.max() > 0 for own in values)


def dimension(expression, dimensions):
    """Exponents of base units of a SymPy expression whose numbers have no unit; None if it is wrong in units."""
    n_base = len(next(iter(dimensions.values())))
    if expression.is_number:
        return np.zeros(n_base)
    if expression.is_Symbol:
        return np.array(dimensions[expression.name], dtype=float)
    own = [dimension(part, dimensions) for part in expression.args]
    if any(each is None for each in own):
        return None
    if expression.is_Add:
        return own[0] if all(np.allclose(own[0], each) for each in own) else None
    if isinstance(expression, sympy.Abs):  # a root of a square
        return own[0]
    if expression.is_Mul:
        return np.sum(own, axis=0)
    if expression.is_Pow and expression.exp.is_number:
        return float(expression.exp) * own[0]
    return np.zeros(n_base) if all(np.allclose(each, 0) for each in own) else None


def monomials(dimensions, wanted, choices):
    """All exponents, of some choices, whose product has a dimension."""
    return {
        exponents
        for exponents in itertools.product(choices, repeat=len(dimensions))
        if np.allclose(np.array(exponents) @ dimensions, wanted) and any(exponents)
    }
