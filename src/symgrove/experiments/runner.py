"""Runs a study: what is missing, in parallel through joblib, one line of JSON for each run.

A line is appended whole. Killed and started again, the runner reads what is there, drops a line that was cut off, and
does the rest. A run that fails is recorded with its error, and tried again next time.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.model_selection import train_test_split

from symgrove.experiments.datasets import DataSet
from symgrove.experiments.records import PROBES, RECORDS
from symgrove.experiments.study import Run, make_estimator

Row = dict[str, Any]
RUNS_FILE = "runs.jsonl"
TEST_SHARE = 0.3
RUNS_AT_ONCE = 4  # for each worker, with backends that return all results at the end


def read_rows(file: Path) -> dict[str, Row]:
    """Rows by key, the last of each; a line that was cut off is left out."""
    rows: dict[str, Row] = {}
    if not file.exists():
        return rows
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            rows[row["key"]] = row
        except (json.JSONDecodeError, KeyError, TypeError):
            if number < len(lines):
                text = f"line {number} of {str(file)!r} is not a row of results; mend or remove it."
                raise ValueError(text) from None
    return rows


def append_row(file: Path, row: Row) -> None:
    """Append a line in one write; what an interrupted write has left is cut off first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    line = (json.dumps(row, allow_nan=False) + "\n").encode()
    with file.open("a+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        if size:
            stream.seek(size - 1)
            if stream.read(1) != b"\n":
                stream.truncate(_end_of_last_line(file))
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def _end_of_last_line(file: Path) -> int:
    return file.read_bytes().rfind(b"\n") + 1


def run_all(
    runs: Sequence[Run],
    data: Mapping[str, DataSet],
    out: Path,
    n_jobs: int | None = None,
    show: Callable[[int, int, float], None] | None = None,
) -> dict[str, Row]:
    """Do the runs that are missing; returns all rows.

    Parameters
    ----------
    runs : sequence of Run
    data : mapping from names to DataSet
    out : Path
        Folder of the results.
    n_jobs : int, optional
        Runs at the same time, through joblib: `joblib.parallel_config` chooses the backend.
    show : callable, optional
        Told the number of runs that are done, that there are, and the seconds left.
    """
    file = out / RUNS_FILE
    rows = read_rows(file)
    missing = [run for run in dict.fromkeys(runs) if rows.get(run.key, {"error": ""}).get("error") is not None]
    facts = circumstances()
    start = time.perf_counter()
    for n_done, row in enumerate(_results(missing, data, n_jobs), start=1):
        whole = {**row, **facts}
        append_row(file, whole)
        rows[whole["key"]] = whole
        if show is not None:
            left = (time.perf_counter() - start) / n_done * (len(missing) - n_done)
            show(len(runs) - len(missing) + n_done, len(runs), left)
    return rows


def _results(runs: Sequence[Run], data: Mapping[str, DataSet], n_jobs: int | None) -> Iterator[Row]:
    """Rows as they come."""
    if not runs:
        return
    calls = [delayed(run_one)(run, data[run.dataset]) for run in runs]
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # a backend that returns all results at the end: a few at a time
        parallel = Parallel(n_jobs=n_jobs)
        n_at_once = RUNS_AT_ONCE * effective_n_jobs(n_jobs)
        for start in range(0, len(calls), n_at_once):
            yield from parallel(calls[start : start + n_at_once])
    else:
        yield from parallel(calls)


def run_one(run: Run, data: DataSet) -> Row:
    """Fit once and measure; what goes wrong is in `error`."""
    row: Row = {
        "key": run.key,
        "dataset": run.dataset,
        "split": run.split,
        "estimator": run.estimator,
        "parameters": {name: list(v) if isinstance(v, tuple) else v for name, v in run.parameters},
        "record": run.record,
        "error": None,
    }
    try:
        return {**row, **_measure(run, data)}
    except Exception as error:
        return {**row, "error": f"{type(error).__name__}: {error}"}


def _measure(run: Run, data: DataSet) -> Row:
    parts = train_test_split(data.X, data.y, test_size=TEST_SHARE, random_state=run.split)
    X, X_test, y, y_test = parts
    probe = PROBES.get(run.record)
    model = make_estimator(run, **({"callbacks": probe} if probe else {}))
    model._warm_up()  # compiling is not part of a run's time
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    if data.task == "regression":
        train, test = (float(np.sqrt(np.mean((model.predict(a) - b) ** 2))) for a, b in ((X, y), (X_test, y_test)))
    else:
        train, test = float(model.score(X, y)), float(model.score(X_test, y_test))
    measured: Row = {
        "train": train,
        "test": test,
        "seconds": round(seconds, 3),
        "n_members": sum(e.n_samples for e in model._ensembles),
        "n_distinct_members": sum(e.programs.size for e in model._ensembles),
        "mean_size": round(float(np.mean([m.size for m in model.ensemble_])), 2),
        "n_evaluations": int(model.history_["n_evaluations"][-1]),
    }
    if run.record:
        measured |= RECORDS[run.record](model, X, y, X_test, y_test)
    return measured


def circumstances() -> dict[str, Any]:
    """Where and with what a row was made."""
    return {
        "commit": _commit(),
        "symgrove": version("symgrove"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba"),
        "scikit_learn": version("scikit-learn"),
        "machine": _machine(),
        "cores": os.cpu_count(),
    }


def _commit() -> str:
    """The commit of the checkout that the package is run from, marked if files differ; empty if there is none."""
    folder = Path(__file__).parent
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip()


def _machine() -> str:
    """The processor's name where the system tells, else its kind."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
