"""Test errors of Grove of two versions on the same splits, and the interval of their mean log ratio.

    python tools/paired_errors.py fit rows.jsonl        with one version on the path, then with the other
    python tools/paired_errors.py compare before.jsonl after.jsonl

Splits are 70/30, from seed 300 on by default; of Friedman's first problem 1,000 rows are drawn to fit, of the tables of
other packages (`pip install symgrove[tables]`) 10,000. Old versions cannot read categories and missing values: these
are numbers and medians. The error is the root mean squared error, or of labels the share of mistakes with half a
mistake added, so that it has a logarithm. What a file has already is not fitted again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from many_rows_data import TABLES
from scipy import stats
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from symgrove import GroveClassifier, GroveRegressor
from symgrove.experiments.datasets import load
from symgrove.experiments.runner import circumstances

SETS = ("asn", "ccs", "enc", "enh", "heart", "sonar", "friedman1", "diamonds", "movies")
N_FRIEDMAN, N_LARGE = 1_000, 10_000  # rows to fit
Row = dict[str, Any]


def rows_of(name: str, split: int) -> tuple[Any, Any, Any, Any]:
    """Features and targets to fit and to test."""
    if name == "friedman1":
        X, y = make_friedman1(2 * N_FRIEDMAN, noise=1.0, random_state=split)
        return X[:N_FRIEDMAN], X[N_FRIEDMAN:], y[:N_FRIEDMAN], y[N_FRIEDMAN:]
    if name in TABLES and TABLES[name].n_rows > N_LARGE:
        frame, y = TABLES[name].load()
        codes = frame.apply(lambda column: column.cat.codes if column.dtype == "category" else column).astype(float)
        X = codes.fillna(codes.median()).to_numpy()
        return tuple(train_test_split(X, y.astype(float), train_size=N_LARGE, test_size=N_LARGE, random_state=split))
    data = load(name)
    return tuple(train_test_split(data.X, data.y, test_size=0.3, random_state=split))


def fit(name: str, split: int, seed: int) -> Row:
    """Fit once and measure."""
    X, X_test, y, y_test = rows_of(name, split)
    is_regression = name not in ("heart", "sonar")
    model = (GroveRegressor if is_regression else GroveClassifier)(random_state=seed, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = model.fit(X, y).predict(X_test)
    if is_regression:
        error = float(np.sqrt(np.mean((predicted - y_test) ** 2)))
    else:
        error = float((np.sum(predicted != y_test) + 0.5) / (len(y_test) + 1))
    return {"dataset": name, "split": split, "seed": seed, "error": error, **circumstances()}


def read(file: Path) -> dict[tuple[str, int, int], float]:
    """Errors by data set, split and seed."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {(row["dataset"], row["split"], row["seed"]): row["error"] for row in rows}


def fit_all(file: Path, names: list[str], first: int, n_splits: int, n_seeds: int, n_jobs: int) -> None:
    """Append the rows that are missing, as they come."""
    runs = [(name, first + s, seed) for s in range(n_splits) for seed in range(n_seeds) for name in names]
    missing = [run for run in runs if run not in read(file)]
    with file.open("a") as out:
        for row in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(fit)(*run) for run in missing):
            out.write(json.dumps(row) + "\n")
            out.flush()


def compare(before: Path, after: Path) -> int:
    """Print mean log ratios with their intervals; 1 if that over all sets leaves out 0."""
    old, new = read(before), read(after)
    missing = set(new) - set(old)
    if missing or not new:
        raise SystemExit(f"{after} has {len(new)} runs, {len(missing)} of which are not in {before}.")
    old = {run: error for run, error in old.items() if run in new}
    ratios: dict[tuple[str, int], list[float]] = {}
    for name, split, seed in sorted(old):
        ratio = float(np.log(new[name, split, seed] / old[name, split, seed]))
        ratios.setdefault((name, split), []).append(ratio)
    means = {place: float(np.mean(own)) for place, own in ratios.items()}  # seeds of a split are no draws of their own
    for name in (*sorted({name for name, _ in means}), "all"):
        own = np.array([mean for (own_name, _), mean in means.items() if name in (own_name, "all")])
        if own.size < 2:
            continue
        half = float(stats.t.ppf(0.975, own.size - 1) * own.std(ddof=1) / np.sqrt(own.size))
        low, high = own.mean() - half, own.mean() + half
        print(
            f"{name:>9}: mean log ratio {own.mean():+.4f}, 95 % interval {low:+.4f} to {high:+.4f}, {own.size} splits"
        )
    return int(own.size > 1 and not low <= 0 <= high)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    fitting = commands.add_parser("fit")
    fitting.add_argument("file", type=Path)
    for name, default in (("--first", 300), ("--splits", 20), ("--seeds", 2), ("--jobs", 1)):
        fitting.add_argument(name, type=int, default=default)
    fitting.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS])
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.before, given.after)
    fit_all(given.file, given.sets, given.first, given.splits, given.seeds, given.jobs)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
