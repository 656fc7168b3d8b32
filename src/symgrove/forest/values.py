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
