"""What refusing duplicates does to classic GP: distinct programs, errors of table 2, laws found with short programs.

Writes a row for each fit to docs/results/duplicates.jsonl and prints a table. Argument: processes, 1 by default. Needs
the paper's data sets.
"""

from __future__ import annotations

import json
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from symgrove import ClassicGPRegressor
from symgrove.experiments.datasets import load

ROWS = Path(__file__).parents[1] / "docs" / "results" / "duplicates.jsonl"
SETS = ("asn", "ccs", "enc", "enh")
LAWS = ("coulomb", "ideal gas")
N_SEEDS = 10


def law(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a physical law in natural units, without noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 5, (200, 3))
    y = X[:, 0] * X[:, 1] / X[:, 2] ** 2 if name == "coulomb" else X[:, 0] * X[:, 1] / X[:, 2]
    return X, y


def fit(name: str, seed: int, *, allow_duplicates: bool) -> dict[str, Any]:
    """One fit: the paper's settings on a split of a data set, or short programs on a law."""
    is_law = name in LAWS
    X, y = law(name, seed) if is_law else (load(name).X, load(name).y)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    settings: dict[str, Any] = {"max_size": 15, "standardize": False} if is_law else {}
    model = ClassicGPRegressor(**settings, allow_duplicates=allow_duplicates, random_state=seed, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    errors = [float(np.sqrt(np.mean((model.predict(A) - b) ** 2))) for A, b in ((X, y), (X_test, y_test))]
    distinct = [int(model.history_["n_distinct"][g]) for g in (5, 10, 100)]
    return {
        "data": name,
        "seed": seed,
        "allow_duplicates": allow_duplicates,
        "train": errors[0],
        "test": errors[1],
        "distinct": distinct,
        "is_found": bool(is_law and errors[1] < 1e-6 * y_test.std()),
    }


def main(n_jobs: int) -> None:
    """Fit, write rows, print medians."""
    runs = list(product((*LAWS, *SETS), range(N_SEEDS), (True, False)))
    rows = Parallel(n_jobs=n_jobs)(delayed(fit)(name, seed, allow_duplicates=d) for name, seed, d in runs)
    ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{'data':>10} {'duplicates':>11} {'train':>8} {'test':>8} {'distinct after 5, 10, 100':>26} found")
    for name, allowed in product((*LAWS, *SETS), (True, False)):
        own = [row for row in rows if row["data"] == name and row["allow_duplicates"] == allowed]
        train, test = (np.median([row[part] for row in own]) for part in ("train", "test"))
        distinct = np.median([row["distinct"] for row in own], axis=0).astype(int).tolist()
        n_found = sum(row["is_found"] for row in own)
        print(f"{name:>10} {'kept' if allowed else 'refused':>11} {train:8.3f} {test:8.3f} {distinct!s:>26} {n_found}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1)
