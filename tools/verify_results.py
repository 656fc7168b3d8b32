"""`make verify-results`: run a few committed rows again and compare. Arguments: how many, 3 by default; a seed."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

from symgrove.experiments.datasets import ORDERS, load
from symgrove.experiments.runner import RUNS_FILE, Row, circumstances, read_rows, run_one
from symgrove.experiments.study import Run

FILE = Path(__file__).parent.parent / "docs" / "results" / RUNS_FILE
TOLERANCE = 1e-6  # relative; other versions or processors may round differently, and Grove evolves in float32
TIMES = {"seconds"}
# Of Grove, another order of sums leads to other terms after some generations. Its rows of these commits agree with
# today's only on the average (docs/adr/0015, tools/paired_errors.py), so they are not compared one by one.
OLDER_GROVE = {"dd49df5a8ed3", "c65f443e7a08", "af99249b3653", "36feda4eab21", "0d01420d31c1"}


def rerun(row: Row) -> Row:
    """The run of a row, again."""
    parameters = tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in row["parameters"].items()))
    order = row.get("order", ORDERS[0])
    run = Run(row["dataset"], row["split"], row["estimator"], parameters, row["record"], order=order)
    return run_one(run, load(row["dataset"], order=order))


def differences(row: Row, again: Row) -> list[str]:
    """Names of the measured numbers that are not the same."""
    if again["error"] is not None:
        return [again["error"]]
    facts = circumstances().keys() | TIMES
    return [
        name
        for name, value in row.items()
        if name not in facts and isinstance(value, (int, float, list))
        if not np.allclose(value, again[name], rtol=TOLERANCE, atol=0)
    ]


def main(n_rows: int, seed: int) -> int:
    """Compare; returns the number of rows that differ."""
    made = [row for row in read_rows(FILE).values() if row["error"] is None]
    rows = [row for row in made if not (row["estimator"].startswith("Grove") and row["commit"] in OLDER_GROVE)]
    print(f"{n_rows} of {len(rows)} rows, seed {seed}; {len(made) - len(rows)} of an earlier Grove are left out")
    n_wrong = 0
    for row in random.Random(seed).sample(rows, n_rows):
        wrong = differences(row, rerun(row))
        n_wrong += bool(wrong)
        others = [n for n in ("numpy", "numba", "scikit_learn", "machine") if circumstances()[n] != row[n]]
        what = (
            f"{row['estimator']} {row['parameters']} on {row['dataset']}, split {row['split']}, made at {row['commit']}"
        )
        print(f"{'DIFFERS in ' + ', '.join(wrong) if wrong else 'same'}: {what}")
        if others:
            print(f"  (other {', '.join(others)} here)")
    return n_wrong


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(arguments[0] if arguments else 3, arguments[1] if arguments[1:] else random.randrange(10**6)))
