"""
Beside boosted trees: better, and not
=====================================

On a smooth target, an ensemble of formulas needs a fraction of the rows that trees need. Where the target is a number
for each cell of a table, which no short formula says, trees win once there are rows enough. And trees are much
faster, always.
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


def lookup(n, seed):
    """A random number for each of 36 cells, in two of six columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6))
    heights = np.random.default_rng(7).normal(size=(6, 6))
    return X, heights[np.floor(6 * X[:, 0]).astype(int), np.floor(6 * X[:, 1]).astype(int)] + 0.2 * rng.normal(size=n)


sizes = (100, 400, 2000)
errors, seconds = {}, {}
for make in (smooth, lookup):
    X_new, y_new = make(3000, 99)
    for name, estimator in (
        ("Grove", GroveRegressor(generations=30, n_estimators=15, strength="fixed", random_state=0)),
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
    for ax, make in zip(axes, (smooth, lookup), strict=False):
        ax.plot(sizes, [errors[make, name, n] for n in sizes], "o-", color=colour, label=name)
        ax.set(xscale="log", xlabel="training rows", ylabel="error on new rows", title=make.__name__)
    axes[2].plot(sizes, [seconds[smooth, name, n] for n in sizes], "o-", color=colour, label=name)
axes[2].set(xscale="log", yscale="log", xlabel="training rows", ylabel="seconds of a fit", title="time, smooth")
for ax in axes[:2]:
    ax.set_ylim(bottom=0)
axes[0].legend(frameon=False)

# %%
# The whole comparison, with tuned LightGBM and CatBoost on real tables up to a million rows: :doc:`../many-rows`.
