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
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from symgrove.estimators.base import Estimator
from symgrove.estimators.grove import GroveEstimator
from symgrove.estimators.sklearn_types import Predictor
from symgrove.estimators.warm_up import warm_up
from symgrove.experiments.datasets import ORDERS, DataSet
from symgrove.experiments.records import PROBES, RECORDS
from symgrove.experiments.study import Run, make_estimator

Row = dict[str, Any]
RUNS_FILE = "runs.jsonl"
TEST_SHARE = 0.3
RUNS_AT_ONCE = 4  # for each worker, with backends that return all results at the end


class NoRowsError(ValueError):
    """A study that is to be shown has no runs."""


def read_rows(file: Path) -> dict[str, Row]:
    """Rows by key, the last of each; a last line that was cut off is left out."""
    rows: dict[str, Row] = {}
    if not file.exists():
        return rows
    *lines, _ = file.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                row = json.loads(line)
                rows[row["key"]] = {"error": row["error"], **row}
        except (json.JSONDecodeError, KeyError, TypeError):
            text = f"line {number} of {str(file)!r} is not a row of results; mend or remove it."
            raise ValueError(text) from None
    return rows


def append_row(file: Path, row: Row) -> None:
    """Append a line in one write; what an interrupted write has left is cut off first."""
    line = (json.dumps(row, allow_nan=False) + "\n").encode()
    with file.open("a+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        if size:
            stream.seek(size - 1)
            if stream.read(1) != b"\n":
                stream.truncate(file.read_bytes().rfind(b"\n") + 1)
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def only_process(folder: Path, name: str = RUNS_FILE) -> Iterator[None]:
    """Refuse a second process that would write to the same file of rows; released however this one ends."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with (folder / name).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"another process is writing to {str(folder)!r}; wait for it, or name another.") from None
        yield


def run_all(
    runs: Sequence[Run],
    data: Mapping[str, DataSet],
    out: Path,
    n_jobs: int | None = None,
    show: Callable[[int, int, float], None] | None = None,
    *,
    again: bool = False,
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
    again : bool
        Do all of them, also those that are there: the last row of a run counts.
    """
    return do_missing(
        runs, lambda run: delayed(run_one)(run, data[run.dataset]), out / RUNS_FILE, n_jobs, show, again=again
    )


def do_missing(
    runs: Sequence[Any],
    call: Callable[[Any], Any],
    file: Path,
    n_jobs: int | None = None,
    show: Callable[[int, int, float], None] | None = None,
    *,
    again: bool = False,
) -> dict[str, Row]:
    """Do the runs, of any kind with a `key`, whose rows a file does not have; returns all rows.

    `call` makes joblib's delayed call of a run, which gives its row.
    """
    with only_process(file.parent, file.name):
        rows = read_rows(file)
        wanted = {run.key: run for run in runs}
        missing = [run for key, run in wanted.items() if again or rows.get(key, {"error": ""})["error"] is not None]
        start = time.perf_counter()
        for n_done, row in enumerate(_results([call(run) for run in missing], n_jobs), start=1):
            append_row(file, row)
            rows[row["key"]] = row
            if show is not None:
                left = (time.perf_counter() - start) / n_done * (len(missing) - n_done)
                show(len(wanted) - len(missing) + n_done, len(wanted), left)
    return rows


def _results(calls: Sequence[Any], n_jobs: int | None) -> Iterator[Row]:
    """Rows as they come."""
    if not calls:
        return
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
    if run.order != ORDERS[0]:
        row["order"] = run.order
    try:
        whole = {**row, **_measure(run, data), **circumstances()}
        json.dumps(whole, allow_nan=False)  # numbers that are not finite are a failure of this run, not of the study
        return whole
    except Exception as error:
        return {**row, "error": f"{type(error).__name__}: {error}", **circumstances()}


def _measure(run: Run, data: DataSet) -> Row:
    parts = train_test_split(data.X, data.y, test_size=TEST_SHARE, random_state=run.split)
    X, X_test, y, y_test = parts
    probe = PROBES.get(run.record)
    model = make_estimator(run, **({"callbacks": probe} if probe else {}))
    if isinstance(model, Estimator):
        warm_up(model)  # compiling is not part of a run's time
        limits = nullcontext()
    else:  # some want labels from 0 on, some take all cores
        if data.task == "classification":
            _, labels = np.unique(np.concatenate([y, y_test]), return_inverse=True)
            y, y_test = labels[: len(y)], labels[len(y) :]
        limits = threadpool_limits(1)
    start = time.perf_counter()
    with limits:
        model.fit(X, y)
    seconds = time.perf_counter() - start
    train, test = (_error_of(model, data.task, *part) for part in ((X, y), (X_test, y_test)))
    measured: Row = {"train": train, "test": test, "seconds": round(seconds, 3), **_size_of(model)}
    if run.record:
        measured |= RECORDS[run.record](model, X, y, X_test, y_test)
    return measured


def _error_of(model: Predictor, task: str, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Root mean squared error, or accuracy."""
    predicted = np.asarray(model.predict(X))
    if predicted.shape != y.shape:  # a column would be broadcast, to a wrong number
        raise ValueError(f"predict returned shape {predicted.shape}; expected one value for each row, {y.shape}.")
    return float(accuracy_score(y, predicted) if task == "classification" else np.sqrt(np.mean((predicted - y) ** 2)))


def _size_of(model: Predictor) -> Row:
    """How large a model is, and how many programs were evaluated for it; nothing for other libraries' models."""
    if not isinstance(model, Estimator):
        return {}
    size: Row = {
        "mean_size": round(float(np.mean([m.evolved_size for m in model.ensemble_])), 2) if model.ensemble_ else 0.0,
        "n_evaluations": int(model.history_["n_evaluations"][-1]),
    }
    size |= model.model_.count_members()
    if not isinstance(model, GroveEstimator):
        return size
    weights = model.stacking_weights_
    return {**size, "found": round(float(np.sum([*weights.values()])), 4), "strength": weights}


@lru_cache(maxsize=1)
def circumstances() -> dict[str, Any]:
    """Where and with what this process makes rows."""
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
    """The commit that the package's files are of, marked if they differ from it; empty if git does not have them."""
    package = Path(__file__).parents[1]

    def git(*arguments: str) -> str:
        told = subprocess.run(["git", *arguments], cwd=package, capture_output=True, text=True, check=True)
        return told.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)
        changed = git("status", "--porcelain", "--", str(package))
        return git("rev-parse", "--short=12", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _machine() -> str:
    """The processor's name where the system tells, else its kind."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
