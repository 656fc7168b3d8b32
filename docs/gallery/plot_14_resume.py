"""
Stop, resume, go on
===================

A run with a checkpoint can be killed at any time. Begun again with the same call, it goes on, and ends with the same
model, to the last bit, as if nothing had happened.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from symgrove import TwoSEGPRegressor

X, y = make_friedman1(400, noise=1.0, random_state=0)
file = Path(tempfile.mkdtemp()) / "run.npz"
settings = {"population_size": 300, "n_estimators": 20, "generations": 60, "random_state": 0}


def after_25(progress):
    """Stop early, as Ctrl-C, a limit of time or a power cut would."""
    return progress.values["generation"] >= 25


first = TwoSEGPRegressor(**settings, checkpoint=file, callbacks=after_25).fit(X, y)
again = TwoSEGPRegressor(**settings, checkpoint=file).fit(X, y)
whole = TwoSEGPRegressor(**settings).fit(X, y)
print(first.stop_reason_, first.n_generations_, "generations; then", again.n_generations_)
print("the same predictions, bit by bit:", np.array_equal(again.predict(X), whole.predict(X)))

# %%
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for model, style in ((whole, {"color": "0.75", "lw": 6}), (again, {"color": "#D55E00"}), (first, {"color": "#0072B2"})):
    ax.plot(model.history_["generation"], np.mean(model.history_["errors"], axis=1), **style)
ax.legend(["never stopped", "resumed", "stopped after 25"], frameon=False)
ax.set(xlabel="generation", ylabel="mean error of the elites")
