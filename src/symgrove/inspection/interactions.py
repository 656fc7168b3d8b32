"""How much of the joint effect of two features is more than the sum of their own effects (Friedman and Popescu's H)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._style import BLUE, LONGEST_LABEL, Axes, new_axes, plain
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import labels_of
from symgrove.inspection._input import checked, class_index, features_to_show, prediction, some_rows

Matrix = NDArray[np.float64]


class Interaction(NamedTuple):
    """A pair of features.

    `strength` is the share of the variance of their joint partial dependence that their own ones do not explain (H²);
    `effect` is the standard deviation of that part, in units of the prediction.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> (pair,) = inspection.interactions(model, X, ["x0", "x1"], n_rows=10)
    >>> {pair.first, pair.second} == {"x0", "x1"}, 0 <= pair.strength
    (True, True)
    """

    first: str
    second: str
    strength: float
    effect: float


def interactions(
    model: Estimator,
    X: Any,
    features: Sequence[Any] | None = None,
    *,
    target: Any = None,
    n_most: int = 6,
    n_rows: int = 50,
    random_state: int = 0,
) -> list[Interaction]:
    """Interactions of all pairs of some features, the largest effect first.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X : array-like of shape (n_rows, n_features)
    features : sequence of str or int, optional
        Otherwise the `n_most` that act most.
    target : label, optional
        Of a classifier: the class whose probability is looked at; the last one if not given.
    n_most : int
    n_rows : int
        Rows, drawn at random; a pair takes the square of `n_rows` predictions.
    random_state : int

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> pairs = inspection.interactions(model, X, ["x0", "x1", "x3"], n_rows=10)
    >>> len(pairs), pairs[0].effect >= pairs[-1].effect
    (3, True)
    """
    X = checked(model, X)
    k = class_index(model, target)
    shown = features_to_show(model, features, n_most)
    rows = X[some_rows(len(X), n_rows, random_state)]
    alone = {j: _centred(model, rows, (j,), k) for j in shown}
    names = labels_of(model)
    found = []
    for i, j in combinations(shown, 2):
        joint = _centred(model, rows, (i, j), k)
        rest = joint - alone[i] - alone[j]
        total = float(np.mean(joint**2))
        strength = float(np.mean(rest**2)) / total if total > 0 else 0.0
        found.append(Interaction(names[i], names[j], strength, float(np.sqrt(np.mean(rest**2)))))
    return sorted(found, key=lambda pair: -pair.effect)


def _centred(model: Estimator, rows: Matrix, features: tuple[int, ...], target: int | None) -> Matrix:
    """Partial dependence on features at the rows' own values, less its mean."""
    n = len(rows)
    moved = np.repeat(rows[None], n, axis=0)
    for j in features:
        moved[:, :, j] = rows[:, j][:, None]
    means = prediction(model, moved.reshape(-1, rows.shape[1]), target).reshape(n, n).mean(axis=1)
    return means - means.mean()


class InteractionDisplay:
    """Effects of the strongest interactions as bars.

    Attributes
    ----------
    pairs : list of Interaction

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> display = inspection.InteractionDisplay.from_estimator(model, X, features=["x0", "x1"], n_rows=10)
    >>> len(display.pairs)
    1
    """

    def __init__(self, pairs: list[Interaction]) -> None:
        self.pairs = pairs

    @classmethod
    def from_estimator(
        cls, model: Estimator, X: Any, features: Sequence[Any] | None = None, *, ax: Axes | None = None, **options: Any
    ) -> InteractionDisplay:
        """Compute and plot. Options: see `interactions`."""
        return cls(interactions(model, X, features, **options)).plot(ax=ax)

    def plot(self, ax: Axes | None = None, n_most: int = 10) -> InteractionDisplay:
        """Draw a bar for each of the strongest."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        shown = self.pairs[:n_most][::-1]
        longest = LONGEST_LABEL // 2
        labels = [f"{plain(pair.first, longest)} × {plain(pair.second, longest)}" for pair in shown]
        self.ax_.barh(range(len(shown)), [pair.effect for pair in shown], color=BLUE)  # shortened names may be equal
        self.ax_.set_yticks(range(len(shown)), labels)
        for y, pair in enumerate(shown):
            self.ax_.annotate(
                f"H² {pair.strength:.2f}", (pair.effect, y), (3, 0), textcoords="offset points", va="center"
            )
        self.ax_.set_xlabel("joint part")
        self.ax_.margins(x=0.3)
        return self
