"""`make many-rows`: time, memory and error from 50 to 1,000,000 rows, Grove beside four kinds of boosted trees.

Each run is a process of its own with one thread: a table (tools/many_rows_data.py), a number of training rows, a split,
a method. Rows go to docs/results/many-rows.jsonl; those that are there are not made again, those that failed are. Then
docs/many-rows.md is written from them (tools/many_rows_page.py).

    python tools/many_rows.py                                        everything (half a day)
    python tools/many_rows.py --quick                                two minutes, into build/
    python tools/many_rows.py --methods lightgbm catboost --most 10000
    python tools/many_rows.py --only-page

LightGBM is also tuned, by 30 random configurations, up to 10,000 rows; above, below a million, it has the configuration
that was found on 10,000 rows of the same split. Five folds judge them, above 1,000 rows one fifth of the rows.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import many_rows_page
import numpy as np
from many_rows_data import MOST, N_TUNED, SIZES, TABLES, parts_of

ROOT = Path(__file__).resolve().parents[1]
ROWS, PAGE = ROOT / "docs" / "results" / "many-rows.jsonl", ROOT / "docs" / "many-rows.md"
QUICK_ROWS, QUICK_PAGE = ROOT / "build" / "many-rows.jsonl", ROOT / "build" / "many-rows.md"
QUICK = {"friedman1": (50, 1_000), "churn": (4_930,)}  # one split each, three configurations
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")
SECONDS = 7_200  # for one run
N_FOLDS, MOST_FOLDED = 5, 1_000  # to tune with, on so many rows at most; above one fifth of the rows judges
Row = dict[str, Any]


class Method(NamedTuple):
    """A column of the page: which package, and what it is tuned as, if it is."""

    label: str
    package: str
    library: str = ""


METHODS = {
    "grove": Method("Grove", "symgrove"),
    "lightgbm": Method("LightGBM", "lightgbm"),
    "xgboost": Method("XGBoost", "xgboost"),
    "catboost": Method("CatBoost", "catboost"),
    "hist-gradient-boosting": Method("HistGradientBoosting", "scikit-learn"),
    "lightgbm-tuned": Method("LightGBM, tuned", "lightgbm", "lightgbm"),
}


class Job(NamedTuple):
    """One run; `configuration` is that of tuned trees on more rows than they are tuned on."""

    table: str
    n_rows: int
    split: int
    method: str
    n_configurations: int = 30
    configuration: dict[str, Any] | None = None

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What identifies a row."""
        return self.table, self.n_rows, self.split, self.method


def n_splits(n_rows: int) -> int:
    """Five up to 10,000 rows, two from a million on."""
    return 5 if n_rows <= N_TUNED else 3 if n_rows < MOST else 2


def plan(methods: Sequence[str], tables: Sequence[str], most: int, splits: int) -> Iterator[Job]:
    """All runs, those on few rows first; trees are not tuned for a million rows."""
    sizes = sorted({size for name in tables for size in TABLES[name].sizes if size <= most})
    for n_rows in sizes:
        for split in range(min(splits, n_splits(n_rows))):
            for name in tables:
                for method in methods if n_rows in TABLES[name].sizes else ():
                    if n_rows < MOST or not METHODS[method].library:
                        yield Job(name, n_rows, split, method)


def read(file: Path) -> dict[tuple[str, int, int, str], Row]:
    """Rows by what they are of, the last of each."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {(row["table"], row["n_rows"], row["split"], row["method"]): row for row in map(json.loads, lines)}


def with_configuration(job: Job, rows: dict[tuple[str, int, int, str], Row]) -> Job | None:
    """The job as it can be run now; None if its configuration has not been found yet."""
    if not METHODS[job.method].library or job.n_rows <= N_TUNED:
        return job
    smaller = rows.get((job.table, N_TUNED, job.split, job.method))
    if smaller is None or smaller["error"] is not None:
        return None
    return job._replace(configuration=smaller["configuration"])


def make_model(job: Job, categories: Sequence[str]) -> Any:
    """The estimator of a run, not fitted, with its library's defaults and one thread."""
    kind = "Regressor" if TABLES[job.table].task == "regression" else "Classifier"
    if job.method == "grove":
        from symgrove.estimators.warm_up import warm_up  # noqa: PLC0415  (the others do not need it)

        model = getattr(importlib.import_module("symgrove"), f"Grove{kind}")(random_state=job.split, n_jobs=1)
        warm_up(model)  # compiling is not part of a run's time
        return model
    if METHODS[job.method].library:
        tuned = getattr(importlib.import_module("symgrove.experiments.tuned_trees"), f"TunedTrees{kind}")
        n_folds = N_FOLDS if job.n_rows <= MOST_FOLDED else 1
        search = tuned(METHODS[job.method].library, job.n_configurations, n_folds, random_state=job.split)
        return search if job.configuration is None else search.make_trees(job.configuration)
    if job.method == "catboost":
        known = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        catboost = getattr(importlib.import_module("catboost"), f"CatBoost{kind}")
        return catboost(**known, cat_features=list(categories), random_state=job.split)
    prefix, module, known = {
        "lightgbm": ("LGBM", "lightgbm", {"n_jobs": 1, "verbose": -1}),
        "xgboost": ("XGB", "xgboost", {"n_jobs": 1, "enable_categorical": True}),
        "hist-gradient-boosting": ("HistGradientBoosting", "sklearn.ensemble", {}),
    }[job.method]
    return getattr(importlib.import_module(module), prefix + kind)(**known, random_state=job.split)


def as_texts(X: Any, categories: Sequence[str]) -> Any:
    """Categories as texts, because CatBoost takes no missing ones."""
    texts = {name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in categories}
    return X.assign(**texts) if texts else X


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))


def error_of(task: str, predicted: Any, y: np.ndarray) -> float:
    """Root mean squared error, or the share of mistakes."""
    flat = np.asarray(predicted).reshape(y.shape)
    return float(np.mean(flat != y)) if task == "classification" else float(np.sqrt(np.mean((flat - y) ** 2)))


def measure(job: Job) -> Row:
    """Fit once in this process: error, times, memory at the peak (of the process, and beyond what was there before)."""
    warnings.simplefilter("ignore")
    parts = parts_of(job.table, job.n_rows, job.split)
    categories = [name for name in getattr(parts.X, "columns", ()) if parts.X[name].dtype == "category"]
    if job.method == "catboost":
        parts = parts._replace(X=as_texts(parts.X, categories), X_test=as_texts(parts.X_test, categories))
    model = make_model(job, categories)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed before must not hide what is taken now
    Path("/proc/self/clear_refs").write_text("5")
    before, start = resident("VmRSS"), time.process_time()  # one thread: what else the machine does counts little
    model.fit(parts.X, parts.y)
    seconds, peak = time.process_time() - start, resident("VmHWM")
    start = time.process_time()
    predicted = model.predict(parts.X_test)
    measured: Row = {
        "test": error_of(TABLES[job.table].task, predicted, parts.y_test),
        "seconds": round(seconds, 3),
        "seconds_to_predict": round(time.process_time() - start, 3),
        "n_predicted": len(parts.y_test),
        "peak": peak,
        "beyond": peak - before,
        "n_features": parts.X.shape[1],
        "version": version(METHODS[job.method].package),
    }
    found = getattr(model, "configuration_", job.configuration)
    return measured if found is None else {**measured, "configuration": found}


def run(job: Job, seconds: int) -> Row:
    """A run in a process of its own; what goes wrong is in `error`."""
    row: Row = {"table": job.table, "n_rows": job.n_rows, "split": job.split, "method": job.method, "error": None}
    command = [sys.executable, __file__, "--one", json.dumps(job)]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {**row, "error": f"stopped after {seconds} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
        return {**row, "error": last[:300]}
    return {**row, **json.loads(done.stdout.splitlines()[-1])}


def run_all(jobs: Sequence[Job], file: Path, seconds: int) -> None:
    """Do the runs that are missing, and append each as it comes."""
    from symgrove.experiments.runner import append_row, circumstances  # noqa: PLC0415  (processes of runs do without)

    file.parent.mkdir(parents=True, exist_ok=True)
    rows = read(file)
    for n_done, planned in enumerate(jobs, start=1):
        if rows.get(planned.key, {"error": ""})["error"] is None:
            continue
        job = with_configuration(planned, rows)
        if job is None:
            continue
        row = {**run(job, seconds), **circumstances()}
        append_row(file, row)
        rows[job.key] = row
        told = row["error"] or f"error {row['test']:.4g}, {row['seconds']:.2f} s, {row['peak'] >> 20} MiB"
        print(f"{n_done} of {len(jobs)}: {job.table}, {job.n_rows:,} rows, split {job.split}, {job.method}: {told}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--most", type=int, default=SIZES[-1], help="training rows at most")
    parser.add_argument("--splits", type=int, default=n_splits(0), help="splits at most")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for one run at most")
    parser.add_argument("--quick", action="store_true", help="a few small runs into build/")
    parser.add_argument("--only-page", action="store_true", help="no runs")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # a job, within its own process
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(Job(*json.loads(given.one)))))
        return
    rows, page = (QUICK_ROWS, QUICK_PAGE) if given.quick else (ROWS, PAGE)
    if given.quick:
        jobs = [Job(name, n, 0, m, 3) for name, sizes in QUICK.items() for n in sizes for m in given.methods]
    else:
        jobs = list(plan(given.methods, given.tables, given.most, given.splits))
    if not given.only_page:
        run_all(jobs, rows, given.seconds)
    page.parent.mkdir(parents=True, exist_ok=True)
    labels = {name: method.label for name, method in METHODS.items()}
    page.write_text(many_rows_page.page_of(list(read(rows).values()), labels), encoding="utf-8")
    print(f"wrote {page}")


if __name__ == "__main__":
    main()
