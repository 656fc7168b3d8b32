"""`make small-and-noisy`: Grove on few rows and on noise, beside ridge regression and a random forest.

Training subsets of 50, 100 and 150 rows of the paper's four regression sets and of Friedman's first problem with noise
3, tested on all other rows. Arguments: draws of each, 20 by default; processes, 1 by default. Rows go to
docs/results/small-and-noisy.jsonl; those that are there are not made again.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from symgrove import GroveRegressor
from symgrove.experiments.datasets import load
from symgrove.experiments.runner import append_row, circumstances

ROWS = Path(__file__).parents[1] / "docs" / "results" / "small-and-noisy.jsonl"
SIZES = (50, 100, 150)
MODELS = ("grove", "ridge", "forest")
NAMES = ("asn", "ccs", "enc", "enh", "friedman")


def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and target."""
    if name == "friedman":
        return make_friedman1(1500, noise=3.0, random_state=0)
    data = load(name)
    return data.X, data.y


def scores(name: str, n_rows: int, draw: int) -> dict[str, Any]:
    """R² of Grove, ridge regression and a random forest on the rows that were not drawn."""
    X, y = problem(name)
    order = np.random.default_rng([draw, n_rows]).permutation(len(y))
    inside, outside = order[:n_rows], order[n_rows:]
    models = (
        GroveRegressor(random_state=draw, n_jobs=1),
        make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        RandomForestRegressor(300, random_state=draw, n_jobs=1),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [m.fit(X[inside], y[inside]).score(X[outside], y[outside]) for m in models]
    r2 = dict(zip(MODELS, found, strict=True))
    return {"data": name, "n_rows": n_rows, "draw": draw, **r2, **circumstances()}


def all_scores(runs: list[tuple[str, int, int]], n_jobs: int) -> np.ndarray:
    """R² of all models in all runs, (n_runs, n_models); what is missing is run."""
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    rows = {(row["data"], row["n_rows"], row["draw"]): row for row in map(json.loads, lines)}
    missing = [run for run in runs if run not in rows]
    made = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(scores)(*run) for run in missing)
    for row in made:
        append_row(ROWS, row)
        rows[row["data"], row["n_rows"], row["draw"]] = row
    return np.array([[rows[run][model] for model in MODELS] for run in runs])


def main(n_draws: int, n_jobs: int) -> int:
    """Print a table; returns 1 if a goal is missed."""
    tasks = [(name, n) for name in NAMES for n in SIZES]
    runs = [(name, n, draw) for name, n in tasks for draw in range(n_draws)]
    found = all_scores(runs, n_jobs).reshape(len(tasks), n_draws, len(MODELS))
    print(f"mean R² of {n_draws} draws; the lowest of Grove's")
    print(f"{'task':>14} {'Grove':>8} {'ridge':>8} {'forest':>8} {'lowest':>8}")
    for (name, n), own in zip(tasks, found, strict=True):
        mean = own.mean(axis=0)
        print(f"{name + ' ' + str(n):>14} {mean[0]:8.3f} {mean[1]:8.3f} {mean[2]:8.3f} {own[:, 0].min():8.3f}")
    better = found[:, :, 1:].mean(axis=1).max(axis=1)
    ours, lowest = found[:, :, 0].mean(), found[:, :, 0].min()
    print(f"mean {ours:.3f}; of the better of the other two on each task {better.mean():.3f}; lowest {lowest:.3f}")
    return int(lowest < -0.05 or ours < better.mean())


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(arguments[0] if arguments else 20, arguments[1] if arguments[1:] else 1))
