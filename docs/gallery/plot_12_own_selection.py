"""
A selection of your own
=======================

What survives a generation is a function of errors, sizes and ages. Here are survivors by error alone, as in the
paper, beside a selection that prefers short programs among those that are nearly as good: the size of the population
tells.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from symgrove import TwoSEGPRegressor


def shortest_of_the_good(candidates, n_selected, rng):
    """Tournaments of eight on a random sample: the shortest of those within five percent of the lowest error."""
    drawn = rng.integers(candidates.sizes.size, size=(n_selected, 8))
    error = candidates.errors[drawn, rng.integers(candidates.errors.shape[1], size=(n_selected, 1))]
    is_good = error <= 1.05 * error.min(axis=1, keepdims=True)
    size = np.where(is_good, candidates.sizes[drawn], np.inf)
    return drawn[np.arange(n_selected), size.argmin(axis=1)]


X, y = make_friedman1(400, noise=1.0, random_state=0)
settings = {"population_size": 300, "generations": 40, "n_estimators": 20, "random_state": 0}
models = {
    "by error, the default": TwoSEGPRegressor(**settings).fit(X[:200], y[:200]),
    "the shortest of the good": TwoSEGPRegressor(**settings, selection=shortest_of_the_good).fit(X[:200], y[:200]),
}

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for (name, model), colour in zip(models.items(), ("#0072B2", "#D55E00"), strict=True):
    history = model.history_
    axes[0].plot(history["generation"], history["mean_size"], color=colour, label=name)
    axes[1].plot(history["generation"], np.mean(history["errors"], axis=1), color=colour, label=name)
    print(f"{name}: R² on new rows {model.score(X[200:], y[200:]):.2f}")
axes[0].set(xlabel="generation", ylabel="mean nodes of a program")
axes[1].set(xlabel="generation", ylabel="mean error of the elites")
axes[0].legend(frameon=False)
