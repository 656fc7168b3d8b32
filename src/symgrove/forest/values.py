"""Values of programs on few rows, by the meanings of the primitive table: what `engines/` computes for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest

Matrix = NDArray[np.float64]


def values_of(forest: Forest, roots: Sequence[int], X: Matrix, constants: Mapping[int, float] | None = None) -> Matrix:
    """Values of programs on rows (n_rows, n_features): (n_roots, n_rows); `constants` are other values of theirs."""
    others = {} if constants is None else constants
    found: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for node in forest.reachable(roots):
            name = forest.name(node)
            if name == "feature":
                found[node] = X[:, int(forest.columns.left[node])]
            elif name == "constant":
                found[node] = np.full(len(X), others.get(node, forest.columns.value[node]))
            else:
                children = forest.children(node)
                a, b = found[children[0]], found[children[-1]]
                found[node] = forest.primitives[name].meaning(a, b, forest.primitives.epsilon_of(name))
    return np.stack([found[int(root)] for root in roots])


def slopes_of(forest: Forest, root: int, X: Matrix, constants: Sequence[int]) -> Matrix:
    """Derivatives of a program by its constants, given as nodes, on rows: (n_constants, n_rows)."""
    order = forest.reachable([root])
    found = dict(zip(order, values_of(forest, order, X), strict=True))
    adjoint: dict[int, Any] = {root: np.ones(len(X))}
    with np.errstate(all="ignore"):
        for node in reversed(order):
            children = forest.children(node)
            if not children or node not in adjoint:
                continue
            row = forest.primitives[forest.name(node)]
            if not row.derivative:
                raise ValueError(
                    f"primitive {row.name!r} has no derivative; make it with symgrove.primitive(..., derivative=...)."
                )
            a, b, epsilon = found[children[0]], found[children[-1]], forest.primitives.epsilon_of(row.name)
            for child, derivative in zip(children, row.derivative, strict=True):
                adjoint[child] = adjoint.get(child, 0.0) + adjoint[node] * derivative(a, b, epsilon)
    return np.array([adjoint[node] + np.zeros(len(X)) for node in constants]).reshape(len(constants), len(X))
