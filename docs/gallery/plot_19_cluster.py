"""
On a cluster
============

With `engine="dask"` the rows lie on the workers of a Dask cluster, in blocks. The model does not depend on how many
workers there are, nor on whether one of them leaves in the middle: to the last bit. Here the cluster is three threads
of this machine; a cluster of many machines is used the same way, by a `Client` to it.
"""

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_friedman1

from symgrove import TwoSEGPRegressor

X, y = make_friedman1(20_000, noise=1.0, random_state=0)
settings = {"population_size": 200, "generations": 15, "n_estimators": 20, "dtype": "float32", "random_state": 0}
models = {}


def fit(name, n_workers, leaving=None):
    """2SEGP on a cluster of so many workers, of which one leaves after a generation."""
    options = {"n_workers": n_workers, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster):

        def leave(progress):
            if progress.values["generation"] == leaving:
                cluster.scale(n_workers - 1)

        models[name] = TwoSEGPRegressor(**settings, engine="dask", callbacks=leave).fit(X, y)


fit("one worker", 1)
fit("three workers", 3)
fit("three, of which one leaves after generation 5", 3, leaving=5)
first = models["one worker"].predict(X)
for name, model in models.items():
    print(f"{name}: the same predictions, bit by bit: {np.array_equal(model.predict(X), first)}")

# %%
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, model), width in zip(models.items(), (7, 4, 1.5), strict=True):
    ax.plot(model.history_["generation"], np.mean(model.history_["errors"], axis=1), lw=width, label=name)
ax.set(xlabel="generation", ylabel="mean error of the elites")
ax.legend(frameon=False)

# %%
# What travels in a generation, and from how many rows on it pays: :doc:`../cluster`.
