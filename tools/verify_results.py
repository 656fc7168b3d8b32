"""`make verify-results`: run a few committed rows again and compare. Arguments: how many, 3 by default."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from symgrove.experiments.datasets import load
from symgrove.experiments.runner import RUNS_FILE, circumstances, read_rows, run_one
from symgrove.experiments.study import Run

FILE = Path(__file__).parent.parent / "docs" / "results" / RUNS_FILE
TOLERANCE = 1e-9  # relative; other versions or processors may round differently


def main(n_rows: int) -> int:
    """Compare train and test figures; returns the number of rows that differ."""
    rows = [row for row in read_rows(FILE).values() if row["error"] is None]
    here = circumstances()
    n_wrong = 0
    for row in random.sample(rows, n_rows):
        parameters = tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in row["parameters"].items()))
        run = Run(row["dataset"], row["split"], row["estimator"], parameters, row["record"])
        again = run_one(run, load(run.dataset))
        worst = (
            max(abs(again[k] - row[k]) / max(abs(row[k]), 1e-12) for k in ("train", "test"))
            if again["error"] is None
            else 1
        )
        others = [name for name in ("numpy", "numba", "scikit_learn", "machine") if here[name] != row[name]]
        verdict = "same" if worst <= TOLERANCE and again["key"] == row["key"] else "DIFFERS"
        n_wrong += verdict != "same"
        print(
            f"{verdict}: {row['estimator']} {row['parameters']} on {row['dataset']}, split {row['split']}: "
            f"{row['test']:.6f} and {again.get('test', float('nan')):.6f}"
            + (f" (other {', '.join(others)})" if others else "")
        )
    return n_wrong


sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
