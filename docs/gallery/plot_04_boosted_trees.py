"""
Beside boosted trees: better, and not
=====================================

On a smooth target, an ensemble of formulas needs a fraction of the rows that trees need. On a target made of boxes,
trees are at home. And trees are much faster, always.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor

from symgrove import GroveRegressor


def smooth(n, seed):
    """Friedman's first problem: a sine, a square, two lines, five columns of nothing, and noise."""
    return make_friedman1(n, noise=1.0, random_state=seed)


def boxes(n, seed):
    """A chessboard in four of ten columns, which no short formula says."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 10))
    cells = np.floor(4 * X[:, :2]).sum(axis=1) % 2 + 0.5 * (np.floor(3 * X[:, 2:4]).sum(axis=1) % 2)
    return X, 4 * cells + 0.5 * rng.normal(size=n)


sizes = (60, 150, 400, 1000)
errors, seconds = {}, {}
for make in (smooth, boxes):
    X_new, y_new = make(3000, 99)
    for name, estimator in (
        ("Grove", GroveRegressor(generations=30, n_estimators=20, strength="fixed", random_state=0)),
        ("boosted trees", HistGradientBoostingRegressor(random_state=0)),
    ):
        for n in sizes:
            X, y = make(n, 0)
            start = time.perf_counter()
            model = estimator.fit(X, y)
            seconds[make, name, n] = time.perf_counter() - start
            errors[make, name, n] = np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2))

# %%
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
colours = {"Grove": "#0072B2", "boosted trees": "#D55E00"}
for name, colour in colours.items():
    for ax, make in zip(axes, (smooth, boxes), strict=False):
        ax.plot(sizes, [errors[make, name, n] for n in sizes], "o-", color=colour, label=name)
        ax.set(xscale="log", xlabel="training rows", ylabel="error on new rows", title=make.__name__)
        ax.set_ylim(bottom=0)
    axes[2].plot(sizes, [seconds[smooth, name, n] for n in sizes], "o-", color=colour, label=name)
axes[2].set(xscale="log", yscale="log", xlabel="training rows", ylabel="seconds of a fit", title="time, smooth")
axes[0].legend(frameon=False)

# %%
# The whole comparison, with tuned LightGBM and CatBoost on real tables up to a million rows: :doc:`../many-rows`.
