"""How strongly each feature acts in a model of teams.

A feature's values are shuffled, and the model's predictions compared with the old ones: 1 minus the squared
correlation, normalised to sum to one over the features. It describes the model, not the world; no target is involved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.rng import stream

if TYPE_CHECKING:
    from symgrove.models.stack import Stack

N_ROWS = 64


def team_importances(
    stack: Stack, X: NDArray[np.float64], seed: int, owners: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Importance of every feature, (n_features,), summing to one, or all zero if no feature acts.

    With `owners`, of every column: the features of a column are shuffled together.
    """
    rng = stream(seed, "importance")
    n_features = X.shape[1]
    rows = rng.choice(len(X), size=min(len(X), N_ROWS), replace=False)
    order = rng.permutation(rows.size)
    owners = np.arange(n_features) if owners is None else owners
    used = np.unique(owners[_used_features(stack)])
    changed = np.repeat(X[rows][None], len(used) + 1, axis=0)
    for i, k in enumerate(used):
        own = owners == k
        changed[i][:, own] = changed[i][order][:, own]
    predictions = stack.predict(changed.reshape(-1, n_features)).reshape(-1, len(used) + 1, rows.size)
    strength = np.zeros(int(owners.max()) + 1)
    for own in predictions:
        strength[used] += [_lost(own[-1], after) for after in own[:-1]]
    return strength / strength.sum() if strength.sum() > 0 else strength


def _used_features(stack: Stack) -> list[int]:
    """Features that occur in programs; of many columns these are few."""
    found = set()
    for teams in stack.levels:
        for node in teams.forest.reachable(teams.programs):
            if teams.forest.name(node) == "feature":
                found.add(int(teams.forest.columns.left[node]))
    return sorted(found)


def _lost(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """1 - squared correlation, 0 where the predictions are constant."""
    b, a = (v - v.mean() for v in (before / _reach(before), after / _reach(after)))
    size = product(b, b) * product(a, a)
    if not size > 0 or np.array_equal(before, after):
        return 0.0
    return float(np.clip(1.0 - product(a, b) ** 2 / size, 0.0, 1.0))


def _reach(values: NDArray[np.float64]) -> float:
    """The largest distance from zero, or 1: what values are divided by so that squares do not overflow."""
    return float(np.abs(values).max()) or 1.0
