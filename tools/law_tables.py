"""Law on tables and on noise: sizes of formulas, errors on new rows, seconds of a fit.

    tables      the paper's four regression sets, 70 % of the rows: size, root mean squared error
    friedman    Friedman's first problem, 1,000 rows, noise 1: size, R² on 2,000 further rows without noise
    noise       a target that is nothing but noise, 50 to 500 rows, 2 to 20 inputs: R² on 1,000 further rows
    few         50, 100 and 150 rows of the sets, and of Friedman's problem with noise 3, tested on all others: R²

    python tools/law_tables.py tables friedman noise --draws 20               to judge
    python tools/law_tables.py tables few noise --draws 3 --first 100         to tune with
    python tools/law_tables.py tables --names enc,enh --draws 20
    python tools/law_tables.py --draws 20 --only-show

Draws from 100 on are to tune with; their rows go to build/. Those of the others go to docs/results/law-tables.jsonl.
Rows that are there are not made again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from symgrove import LawRegressor
from symgrove.experiments.datasets import load
from symgrove.experiments.runner import append_row, circumstances
from symgrove.methods.law.warm_up import compile_kernels

ROOT = Path(__file__).parents[1]
ROWS, TUNING_ROWS = ROOT / "docs" / "results" / "law-tables.jsonl", ROOT / "build" / "law-tables.jsonl"
FIRST_TO_TUNE = 100
SETS, FEW = ("asn", "ccs", "enc", "enh"), (50, 100, 150)
N_FRIEDMAN, N_NOISE_TARGETS = 5, 5  # in a draw, so that 20 draws are 100 targets of noise
GROUPS = ("tables", "friedman", "noise", "few")
Matrix = np.ndarray


class Parts(NamedTuple):
    """Rows to fit and rows to predict."""

    X: Matrix
    y: Matrix
    X_test: Matrix
    y_test: Matrix


def names_of(group: str) -> list[str]:
    """Problems of a group."""
    if group == "tables":
        return list(SETS)
    if group == "few":
        return [f"{name} {n}" for name in (*SETS, "friedman") for n in FEW]
    return ["friedman"] if group == "friedman" else [f"noise {k}" for k in range(N_NOISE_TARGETS)]


def parts_of(group: str, name: str, draw: int) -> Parts:
    """Rows of a problem."""
    if group == "tables":
        data = load(name)
        X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=draw)
        return Parts(X, y, X_test, y_test)
    if group == "friedman":
        X, y = make_friedman1(1000, noise=1.0, random_state=draw)
        return Parts(X, y, *make_friedman1(2000, noise=0.0, random_state=(draw + 1) * 1000))
    if group == "noise":
        rng = np.random.default_rng([draw, int(name.split()[1]), 7])
        n, n_inputs = int(np.exp(rng.uniform(np.log(50), np.log(500)))), int(rng.integers(2, 21))
        X, y = rng.normal(size=(n + 1000, n_inputs)), rng.normal(size=n + 1000)
        return Parts(X[:n], y[:n], X[n:], y[n:])
    kind, n_rows = name.split()
    X, y = make_friedman1(1500, noise=3.0, random_state=0) if kind == "friedman" else load(kind)[1:3]
    order = np.random.default_rng([draw, int(n_rows)]).permutation(len(y))
    inside, outside = order[: int(n_rows)], order[int(n_rows) :]
    return Parts(X[inside], y[inside], X[outside], y[outside])


def run(group: str, name: str, draw: int) -> dict[str, Any]:
    """One fit."""
    X, y, X_test, y_test = parts_of(group, name, draw)
    model = LawRegressor(random_state=draw, n_jobs=1)
    compile_kernels()  # is not part of a run's time
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.process_time()  # one thread: what else the machine does counts little
        model.fit(X, y)
        seconds = time.process_time() - start
    rmse = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    mean_error = float(np.sqrt(np.mean((y.mean() - y_test) ** 2)))
    member = model.ensemble_[0]
    return {
        "group": group,
        "name": name,
        "draw": draw,
        "n_rows": len(y),
        "n_inputs": X.shape[1],
        "rmse": rmse,
        "r2": 1 - rmse**2 / float(np.var(y_test)),
        "r2_of_the_mean": 1 - mean_error**2 / float(np.var(y_test)),
        "size": next(point.size for point in model.front_ if point.formula == member.formula),
        "seconds": round(seconds, 2),
        "reason": model.stop_reason_,
        "formula": member.rounded(4),
        "front": [
            [p.size, p.error, p.held_out_error, float(np.sqrt(np.mean((p.predict(X_test) - y_test) ** 2)))]
            for p in model.front_
        ],
        **circumstances(),
    }


def read(file: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Rows by what they are of."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {(row["group"], row["name"], row["draw"]): row for row in map(json.loads, lines)}


def show(rows: Sequence[dict[str, Any]]) -> None:
    """A line for each problem: medians over draws, and the worst."""
    print(
        f"{'problem':>14} {'draws':>5} {'size':>5} {'most':>5} {'rmse':>8} {'R²':>7} {'mean':>7} {'lowest':>7} {'s':>6}"
    )
    problems: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        problems.setdefault("noise" if row["group"] == "noise" else row["name"], []).append(row)
    for name, own in problems.items():
        size, rmse, r2, seconds = (np.array([row[key] for row in own]) for key in ("size", "rmse", "r2", "seconds"))
        print(
            f"{name:>14} {len(own):5} {np.median(size):5.0f} {size.max():5} {np.median(rmse):8.4g} {np.median(r2):7.3f}"
            f" {r2.mean():7.3f} {r2.min():7.3f} {np.median(seconds):6.1f}"
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=GROUPS, default=GROUPS[:3])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="draws from 100 on are to tune with")
    parser.add_argument("--names", help="only these problems, separated by commas")
    parser.add_argument("--rows", type=Path, help="file of the rows")
    parser.add_argument("--only-show", action="store_true", help="no runs")
    given = parser.parse_args()
    file = given.rows or (TUNING_ROWS if given.first >= FIRST_TO_TUNE else ROWS)
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = read(file)
    draws = range(given.first, given.first + given.draws)
    planned = [
        (group, name, draw)
        for draw in draws
        for group in given.groups
        for name in names_of(group)
        if group != "friedman" or draw < given.first + N_FRIEDMAN
        if given.names is None or name in given.names.split(",")
    ]
    for key in planned if not given.only_show else ():
        if key not in rows:
            rows[key] = run(*key)
            append_row(file, rows[key])
            r = rows[key]
            told = f"size {r['size']}, rmse {r['rmse']:.4g}, R² {r['r2']:.3f}, {r['seconds']} s, {r['reason']}"
            print(f"{key}: {told}", flush=True)
    show([rows[key] for key in planned if key in rows])


if __name__ == "__main__":
    main()
