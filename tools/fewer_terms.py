"""Defaults of Grove made smaller by `simplify_ensemble`: terms, errors on test rows and seconds, one line for each.

    python tools/fewer_terms.py [file]

Half of the rows of a data set are fitted on; these and a quarter make the smaller model, the last quarter tests it. Of
Friedman's first problem 1,000 rows are fitted on, 1,000 more make it smaller, 1,000 test. Rows go to
docs/results/fewer-terms.jsonl; those that are there are not made again. Prints the table of docs/smaller.md.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

from symgrove import GroveClassifier, GroveRegressor, simplify_ensemble
from symgrove.experiments.datasets import load
from symgrove.experiments.runner import append_row, circumstances

ROWS = Path(__file__).parents[1] / "docs" / "results" / "fewer-terms.jsonl"
FRIEDMAN = {"friedman 1": 0.0, "friedman 1, noise 1": 1.0}
NAMES = (*FRIEDMAN, "asn", "ccs", "enc", "enh", "bcw")
INCREASES = (0.01, 0.05)
SPLIT = 300


def parts_of(name: str) -> list[tuple[Any, Any]]:
    """Rows to fit on, to make the model smaller with besides these, and to test on."""
    if name in FRIEDMAN:
        X, y = make_friedman1(3000, noise=FRIEDMAN[name], random_state=SPLIT)
        places = np.split(np.arange(3000), 3)
    else:
        data = load(name)
        X, y = data.X, data.y
        order = np.random.default_rng(SPLIT).permutation(len(y))
        places = np.split(order, [len(y) // 2, 3 * len(y) // 4])
    return [(X[own], y[own]) for own in places]


def error_of(model: Any, X: Any, y: Any) -> float:
    """Root mean squared error, of classes that of the probabilities."""
    if isinstance(model, GroveRegressor):
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    wanted = np.asarray(y)[:, None] == model.classes_
    return float(np.sqrt(np.mean((model.predict_proba(X) - wanted) ** 2)))


def measure(name: str) -> list[dict[str, Any]]:
    """A row for each increase."""
    (X, y), (X_more, y_more), test = parts_of(name)
    kind = GroveClassifier if name == "bcw" else GroveRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(random_state=0, n_jobs=1).fit(X, y)
    rows, found = (np.concatenate([X, X_more]), np.concatenate([y, y_more])), []
    for increase in INCREASES:
        start = time.perf_counter()
        smaller = simplify_ensemble(model, *rows, max_error_increase=increase)
        found.append(
            {
                "data": name,
                "max_error_increase": increase,
                "terms_before": smaller.n_parts_before,
                "terms": smaller.n_parts,
                "error_before": smaller.error_before,
                "error": smaller.error,
                "n_judging": smaller.n_rows,
                "test_error_before": error_of(model, *test),
                "test_error": error_of(smaller.model, *test),
                "seconds": time.perf_counter() - start,
                **circumstances(),
            }
        )
    return found


def line_of(name: str, rows: list[dict[str, Any]]) -> str:
    """Of the table in docs/smaller.md."""
    cells = [name, f"{rows[0]['terms_before']:,}"]
    for row in rows:
        cells += [f"{row['terms']:,}", *(f"{row[f'{of}error'] / row[f'{of}error_before']:.2f}" for of in ("", "test_"))]
    return "| " + " | ".join([*cells, f"{max(row['seconds'] for row in rows):.0f}"]) + " |"


def main(file: Path) -> None:
    """Measure what is missing, and print the table."""
    known = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    for name in NAMES:
        own = [row for row in known if row["data"] == name]
        if not own:
            own = measure(name)
            for row in own:
                append_row(file, row)
        print(line_of(name, own), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROWS)
