"""Programs in which operands of commutative primitives have one order: a + b and b + a are one node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symgrove.forest.forest import Forest, Ids


def in_one_order(forest: Forest, roots: Sequence[int] | Ids) -> tuple[Forest, Ids]:
    """A new forest with these programs, operands of commutative primitives in order of their ids, and their roots."""
    own = Forest(forest.n_features, forest.primitives)
    made: dict[int, int] = {}
    for node in forest.reachable(roots):
        name = forest.name(node)
        operands = [made[child] for child in forest.children(node)]
        if name == "feature":
            made[node] = own.feature(int(forest.columns.left[node]))
        elif name == "constant":
            made[node] = own.constant(float(forest.columns.value[node]))
        else:
            made[node] = own.apply(name, *(sorted(operands) if own.primitives[name].commutes else operands))
    return own, np.array([made[int(root)] for root in roots], dtype=np.int64)
