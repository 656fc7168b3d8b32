"""
A study: methods, tables, tests, and a figure
=============================================

A study is a few lines of data. Runs are recorded one by one, so that it can be killed and goes on, and statistics
know that splits share rows.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, make_friedman1

from symgrove.experiments.paper import run_study
from symgrove.experiments.study import load_study

STUDY = """
title = "One formula of twenty nodes, or a small ensemble?"
kind = "comparison"
runs = 10

[data.diabetes]
file = "diabetes.csv"
target = "y"

[data.friedman]
file = "friedman.csv"
target = "y"

[methods.ensemble]
label = "2SEGP, 20 members"
regressor = "TwoSEGPRegressor"
parameters = { population_size = 100, n_estimators = 20, generations = 20, max_size = 20 }

[methods.one]
label = "classic GP"
regressor = "ClassicGPRegressor"
parameters = { population_size = 100, generations = 20, max_size = 20 }

[methods.trees]
label = "extra trees"
regressor = "sklearn.ensemble:ExtraTreesRegressor"
"""
folder = Path(tempfile.mkdtemp())
X, y = load_diabetes(return_X_y=True, as_frame=True)
X.assign(y=y).to_csv(folder / "diabetes.csv", index=False)
X, y = make_friedman1(200, noise=1.0, random_state=0)
pd.DataFrame(X).rename(columns=str).assign(y=y).to_csv(folder / "friedman.csv", index=False)
(folder / "mine.toml").write_text(STUDY)

found = run_study(load_study(folder / "mine.toml"), folder / "results")  # symgrove paper mine.toml
print(len(found.rows), "runs")
print((folder / "results" / "mine.md").read_text())

# %%
# The rows are plain data, for pictures of one's own:
rows = pd.DataFrame(found.rows.values())
print(", ".join(rows.columns))
fig, axes = plt.subplots(1, 2, figsize=(10, 2.8), layout="constrained")
for ax, (name, part) in zip(axes, rows.groupby("dataset"), strict=True):
    groups = {name.split(":")[-1]: np.asarray(own["test"]) for name, own in part.groupby("estimator")}
    ax.boxplot(list(groups.values()), orientation="horizontal", tick_labels=list(groups))
    ax.set(title=name, xlabel="error on test rows, ten splits")
