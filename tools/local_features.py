"""Do distances to landmark rows, or random projections, as further features help Grove's classifier?

Three sets of features on the same splits (70/30, from seed 200 on): as they are; with Euclidean distances of the
standardised row to 16 training rows drawn at random; with 16 random projections of it. Both are formulas of the
features. Rows go to docs/results/local-features.jsonl, and those that are there are not made again.

    python tools/local_features.py 10        splits of each table
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from symgrove import GroveClassifier
from symgrove.experiments.datasets import load
from symgrove.experiments.runner import append_row, circumstances
from symgrove.experiments.statistics import compare_corrected

ROWS = Path(__file__).parents[1] / "docs" / "results" / "local-features.jsonl"
SETS = ("sonar", "iono", "heart", "bcw", "wine")
KINDS = ("plain", "landmarks", "projections")
N_MORE = 16
FIRST = 200


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels."""
    if name == "wine":
        return load_wine(return_X_y=True)
    data = load(name)
    return data.X, data.y


def more(kind: str, X: np.ndarray, X_test: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features with further ones, learned on the training rows."""
    if kind == "plain":
        return X, X_test
    rng = np.random.default_rng(seed)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    Z, Z_test = ((own - mean) / np.where(spread > 0, spread, 1.0) for own in (X, X_test))
    if kind == "landmarks":
        landmarks = Z[rng.choice(len(Z), N_MORE, replace=False)]
        found = [np.sqrt(((own[:, None] - landmarks) ** 2).sum(axis=2)) for own in (Z, Z_test)]
    else:
        directions = rng.normal(size=(Z.shape[1], N_MORE)) / np.sqrt(Z.shape[1])
        found = [own @ directions for own in (Z, Z_test)]
    return np.hstack([X, found[0]]), np.hstack([X_test, found[1]])


def run(name: str, split: int) -> None:
    """Accuracies of the three kinds on one split."""
    X, y = table(name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=split)
    row: dict[str, Any] = {"dataset": name, "split": split, "n_train": len(X), "n_test": len(X_test)}
    for kind in KINDS:
        own, own_test = more(kind, X, X_test, split)
        model = GroveClassifier(random_state=split, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row[kind] = float(model.fit(own, y).score(own_test, y_test))
    append_row(ROWS, {**row, **circumstances()})


def read() -> dict[tuple[str, int], dict[str, Any]]:
    """Rows by table and split."""
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    return {(row["dataset"], row["split"]): row for row in map(json.loads, lines)}


def main(n_splits: int) -> None:
    """Run what is missing, and print mean accuracies and the corrected test of each difference."""
    for split in range(FIRST, FIRST + n_splits):
        for name in SETS:
            if (name, split) not in read():
                run(name, split)
    rows = read()
    for name in SETS:
        own = [rows[name, split] for split in range(FIRST, FIRST + n_splits)]
        ratio = own[0]["n_test"] / own[0]["n_train"]
        means = {kind: float(np.mean([row[kind] for row in own])) for kind in KINDS}
        scores = {kind: [row[kind] for row in own] for kind in KINDS}
        tests = [compare_corrected(scores[kind], scores["plain"], ratio).p_value for kind in KINDS[1:]]
        print(f"{name:>6}", *(f"{kind} {mean:.3f}" for kind, mean in means.items()), *(f"p {p:.2f}" for p in tests))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10)
