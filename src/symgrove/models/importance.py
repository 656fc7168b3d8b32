"""How strongly each feature acts in an ensemble.

For each member and feature, the feature's values are shuffled and the member's outputs compared with the old ones:
1 minus the squared correlation, which is 0 if nothing changes and 1 if nothing is left. Averaged over members (those
that do not use the feature count 0) and normalised to sum to one. It describes the model, not the world: correlated
features share, and no target is involved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.dataset import make_dataset
from symgrove.engines.registry import make_engine
from symgrove.models.ensemble import Ensemble
from symgrove.rng import stream

N_ROWS = 256


def feature_importances(
    ensembles: Sequence[Ensemble], X: NDArray[np.float64], seed: int, owners: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Importance of every feature, (n_features,), summing to one, or all zero if no feature acts.

    With `owners`, of every column: the features of a column are shuffled together.
    """
    owners = np.arange(X.shape[1]) if owners is None else owners
    rng = stream(seed, "importance")
    rows = rng.choice(len(X), size=min(len(X), N_ROWS), replace=False)
    order = rng.permutation(rows.size)
    total = np.zeros(int(owners.max()) + 1)
    for ensemble in ensembles:
        total += _strengths(ensemble, X[rows], order, owners)
    return total / total.sum() if total.sum() > 0 else total


def _strengths(
    ensemble: Ensemble, X: NDArray[np.float64], order: NDArray[np.intp], owners: NDArray[np.intp]
) -> NDArray[np.float64]:
    Z = ensemble.standardization.apply(X)
    data = make_dataset(Z, np.zeros(len(Z)), "float64")
    shares = ensemble.shares * (ensemble.slope != 0)
    weight = np.bincount(ensemble.program_of, shares, ensemble.programs.size) / ensemble.shares.sum()
    uses = _uses(ensemble)
    strength = np.zeros(int(owners.max()) + 1)
    with make_engine(data, ensemble.forest.primitives) as engine:
        before = engine.outputs(ensemble.forest, ensemble.programs).astype(np.float64)
    for k in np.unique(owners[uses.any(axis=0)]):
        own = owners == k
        column, has = data.columns[own].copy(), uses[:, own].any(axis=1)
        data.columns[own] = column[:, order]
        with make_engine(data, ensemble.forest.primitives) as engine:
            after = engine.outputs(ensemble.forest, ensemble.programs[has]).astype(np.float64)
        data.columns[own] = column
        strength[k] = product(weight[has], _lost(before[has], after))
    return strength


def _uses(ensemble: Ensemble) -> NDArray[np.bool_]:
    """Which program uses which feature, (n_programs, n_features)."""
    forest = ensemble.forest
    uses = np.zeros((ensemble.programs.size, forest.n_features), dtype=np.bool_)
    for p, root in enumerate(ensemble.programs):
        nodes = np.array(forest.reachable([int(root)]))
        uses[p, forest.columns.left[nodes[forest.columns.code[nodes] == 0]]] = True
    return uses


def _lost(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - squared correlation of each row, between 0 and 1; 0 where the outputs are constant."""
    with np.errstate(all="ignore"):
        before = before / np.abs(before).max(axis=1, keepdims=True)
        after = after / np.abs(after).max(axis=1, keepdims=True)
        b = before - before.mean(axis=1, keepdims=True)
        a = after - after.mean(axis=1, keepdims=True)
        squared = (a * b).sum(axis=1) ** 2 / ((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.clip(1.0 - np.where(np.isfinite(squared), squared, 1.0), 0.0, 1.0)
