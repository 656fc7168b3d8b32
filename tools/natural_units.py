"""What `standardize` decides where a law is simple in its own units: ideal gas and Coulomb, found or not, by seed.

A law is found if the relative error on 1,000 new rows, from ranges 1.5 times as wide, is below one in a million.
Writes docs/results/natural-units.jsonl, a line for each fit, and prints the table of docs/paper-map.md. Run it with:
python tools/natural_units.py (a minute)
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from symgrove import ClassicGPRegressor, GroveRegressor, TwoSEGPRegressor

Array = np.ndarray
ROWS = Path(__file__).parents[1] / "docs/results/natural-units.jsonl"
SEEDS = range(4)
N_ROWS, N_NEW, FOUND = 300, 1000, 1e-6
# Name: the law, and the range of each feature.
LAWS: dict[str, tuple[Callable[[Array], Array], list[tuple[float, float]]]] = {
    "ideal gas, p = 8.314 n T / V": (lambda X: 8.314 * X[:, 0] * X[:, 1] / X[:, 2], [(1, 5), (250, 400), (1, 5)]),
    "Coulomb, F = 8.99 q1 q2 / r²": (lambda X: 8.99 * X[:, 0] * X[:, 1] / X[:, 2] ** 2, [(1, 5), (1, 5), (1, 5)]),
}
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "classic GP, at most 15 nodes": (ClassicGPRegressor, {"max_size": 15}),
    "2SEGP, at most 15 nodes": (TwoSEGPRegressor, {"max_size": 15}),
    "2SEGP, default (500 nodes)": (TwoSEGPRegressor, {}),
    "Grove, one team of five terms": (
        GroveRegressor,
        {"n_estimators": 1, "sampling": 1.0, "strength": "fixed", "max_terms": 5, "max_size": 9, "clip": False},
    ),
}


def rows(ranges: list[tuple[float, float]], n_rows: int, seed: int, wider: float = 1.0) -> Array:
    """Uniform in ranges that reach further up by a factor."""
    low, high = np.transpose(ranges)
    return np.random.default_rng(seed).uniform(low, high * wider, size=(n_rows, len(ranges)))


def error_of(law: str, method: str, seed: int, standardize: bool) -> float:
    """Relative root mean squared error on new rows."""
    function, ranges = LAWS[law]
    kind, parameters = METHODS[method]
    X, X_new = rows(ranges, N_ROWS, seed), rows(ranges, N_NEW, 1000 + seed, 1.5)
    model = kind(standardize=standardize, random_state=seed, **parameters).fit(X, function(X))
    y = function(X_new)
    return float(np.sqrt(np.mean((model.predict(X_new) - y) ** 2) / np.mean(y**2)))


def main() -> None:
    """One line for each law and method: seeds that found it, and the median error, with and without."""
    told = []
    print("| law | method | standardised: found, median error | not standardised: found, median error |")
    print("|---|---|---|---|")
    for law in LAWS:
        for method in METHODS:
            cells = []
            for standardize in (True, False):
                errors = [error_of(law, method, seed, standardize) for seed in SEEDS]
                own = {"law": law, "method": method, "standardize": standardize}
                told += [{**own, "seed": seed, "error": error} for seed, error in zip(SEEDS, errors, strict=True)]
                n_found = sum(error < FOUND for error in errors)
                cells.append(f"{n_found} of {len(errors)}, {np.median(errors):.1g}")
            print(f"| {law} | {method} | {' | '.join(cells)} |", flush=True)
    ROWS.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in told), encoding="utf-8")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
