"""How much memory fits and predictions take, against `memory_budget`: every estimator, many rows.

Each line is a process of its own. After a small fit with the same settings, so that compiled code is there, it notes
the resident memory, makes the call, and reads the peak: beyond what was handed in and what is kept or returned.
`--traced` counts allocations of Python and NumPy in place of resident pages, which is exact and slower. A fit that is
refused, because the budget cannot hold what it needs, is told as such. Run it with:
python tools/memory_of_fits.py --rows 20000 100000 500000 --budgets 256 1024 --write docs/results/memory.jsonl
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from symgrove import estimators

N_FEATURES, N_SMALL = 10, 400
SETTINGS = {"population_size": 196, "generations": 2, "random_state": 0}
OF_GROVE = {"generations": 60, "random_state": 0}  # then teams are full
Array = np.ndarray


def kinds() -> list[str]:
    """Names of all estimators."""
    return [name for name in estimators.__all__ if name.endswith(("Regressor", "Classifier"))]


def rows_of(name: str, n_rows: int, n_classes: int) -> tuple[Array, Array]:
    """Features and a target with some noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=n_rows)
    if name.endswith("Regressor"):
        return X, y
    return X, np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)


def n_kept(value: Any) -> int:
    """Bytes of the arrays in a value: what a call returns, or what a fitted estimator keeps."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(map(n_kept, value.values()))
    return sum(map(n_kept, value)) if isinstance(value, (list, tuple)) else 0


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))


def peak_of(call: Callable[[], Any], kept: Callable[[Any], Any], *, is_traced: bool) -> int:
    """Bytes that a call takes at its peak, beyond those it leaves."""
    gc.collect()
    if is_traced:
        tracemalloc.start()
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak - n_kept(kept(result))
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed before must not hide what is taken now
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    result = call()
    return resident("VmHWM") - before - n_kept(kept(result))


def calls_of(model: Any, X: Array, y: Array) -> dict[str, Callable[[], Any]]:
    """What may be asked of a fitted model."""
    found: dict[str, Callable[[], Any]] = {"predict": lambda: model.predict(X), "score": lambda: model.score(X, y)}
    if hasattr(model, "predict_proba"):
        return {**found, "predict_proba": lambda: model.predict_proba(X)}
    found["return_std"] = lambda: model.predict(X, return_std=True)
    if "Classic" in type(model).__name__:  # its one member leaves no rows out that intervals could be learned from
        return found
    return {**found, "predict_interval": lambda: model.predict_interval(X)}


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Peaks of one fit and of what its model is asked, in bytes; or why the fit was refused."""
    warnings.simplefilter("ignore")
    X, y = rows_of(job["estimator"], job["n_rows"], job["n_classes"])
    make = getattr(estimators, job["estimator"])
    settings = OF_GROVE if job["estimator"].startswith("Grove") else SETTINGS
    small = make(**{**settings, "generations": 2}, n_jobs=job["n_jobs"]).fit(X[:N_SMALL], y[:N_SMALL])
    for call in calls_of(small, X[:N_SMALL], y[:N_SMALL]).values():
        call()
    model = make(**settings, n_jobs=job["n_jobs"], memory_budget=job["budget"])
    is_traced = job["is_traced"]
    try:
        peaks = {"fit": peak_of(lambda: model.fit(X, y), vars, is_traced=is_traced)}
    except ValueError as error:
        return {**job, "refused": str(error)}
    for name, call in calls_of(model, X, y).items():
        peaks[name] = peak_of(call, lambda result: result, is_traced=is_traced)
    return {**job, "peaks": peaks}


def told(row: dict[str, Any]) -> str:
    """A line of the table: peaks as shares of the budget."""
    name = row["estimator"] + (f", {row['n_classes']} classes" if row["estimator"].endswith("Classifier") else "")
    found = row.get("refused", "").split(":")[0] or ", ".join(
        f"{call} {peak / row['budget']:.2f}" for call, peak in row["peaks"].items()
    )
    return f"| {name} | {row['n_rows']:,} | {row['budget'] >> 20} | {found} |"


def main() -> None:
    """A table of shares of the budget, and a line of JSON for each fit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--estimators", nargs="+", default=kinds(), metavar="NAME")
    parser.add_argument("--rows", nargs="+", type=int, default=[20_000, 100_000, 500_000])
    parser.add_argument("--budgets", nargs="+", type=int, default=[256, 1024], help="in MiB")
    parser.add_argument("--classes", type=int, default=3, help="of classifiers")
    parser.add_argument("--jobs", type=int, default=1, help="n_jobs of the estimators")
    parser.add_argument("--traced", action="store_true", help="count allocations, not resident pages")
    parser.add_argument("--write", type=Path, help="where the lines of JSON go")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # a job, within its own process
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(json.loads(given.one))))
        return
    found = []
    print("| estimator | rows | budget, MiB | peak / budget |")
    print("|---|---|---|---|")
    for name in given.estimators:
        for n_rows in given.rows:
            for budget in given.budgets:
                job = {"estimator": name, "n_rows": n_rows, "n_classes": given.classes, "budget": budget << 20}
                job |= {"n_jobs": given.jobs, "is_traced": given.traced}
                own = [sys.executable, __file__, "--one", json.dumps(job)]
                found.append(json.loads(subprocess.run(own, check=True, capture_output=True).stdout))
                print(told(found[-1]), flush=True)
    if given.write:
        given.write.write_text("".join(json.dumps(row) + "\n" for row in found))


if __name__ == "__main__":
    main()
