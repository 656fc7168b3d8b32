"""Whole fits: against Operon with the same number of evaluations, 50 members against one, a million rows."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pyoperon.sklearn import SymbolicRegressor

from benchmarks.evolution import load_asn
from benchmarks.table import Line, best_of
from symgrove import TwoSEGPRegressor

PAPER = {"dtype": "float32", "random_state": 0}


def operon(seed: int = 0) -> SymbolicRegressor:
    """Operon with the paper's population, generations, functions and size limit, without constant optimisation."""
    return SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sqrt,log,constant,variable",
        population_size=500,
        pool_size=500,
        generations=100,
        max_evaluations=50_500,
        max_length=500,
        max_depth=1000,
        optimizer_iterations=0,
        n_threads=1,
        random_state=seed,
    )


def against_operon() -> Iterator[Line]:
    X, y, name = load_asn(0)
    TwoSEGPRegressor(**{**PAPER, "generations": 1}).fit(X, y)  # compile
    theirs, ours = operon(), TwoSEGPRegressor(**PAPER)
    their_time, our_time = best_of(3, lambda: theirs.fit(X, y), lambda: ours.fit(X, y))
    errors = [float(np.sqrt(np.mean((y - model.predict(X)) ** 2))) for model in (theirs, ours)]
    detail = f"{name}: {their_time:.1f} s and {our_time:.2f} s; training error {errors[0]:.2f} and {errors[1]:.2f}"
    yield Line("a paper-sized fit, float32: Operon over ours", their_time / our_time, ">= 8", detail)


def members() -> Iterator[Line]:
    X, y, _ = load_asn(0)
    one, fifty = (TwoSEGPRegressor(**{**PAPER, "n_estimators": n}) for n in (1, 50))
    times = best_of(5, lambda: one.fit(X, y), lambda: fifty.fit(X, y))
    sizes = [float(model.history_["mean_size"].mean()) for model in (one, fifty)]
    detail = f"{times[1]:.2f} s and {times[0]:.2f} s; mean sizes {sizes[1]:.0f} and {sizes[0]:.0f}"
    yield Line("a fit with 50 members over one with 1", times[1] / times[0], "<= 1.3", detail)


def million_rows() -> Iterator[Line]:
    command = [sys.executable, "-m", "benchmarks.bench_fit"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    detail = f"1,000,000 rows x 20 features, 5 generations, memory_budget 4 GB: {float(out[1]):.0f} s"
    yield Line("peak memory of the process, GB", float(out[0]), "<= 8", detail)


def measure_million_rows() -> None:
    """Print the peak memory of this process in GB and the seconds of a fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    start = time.perf_counter()
    TwoSEGPRegressor(generations=5, memory_budget=4 * 10**9, n_jobs=2, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    print(int(peak[1]) * 1024 / 1e9, seconds)


def time_limit() -> Iterator[Line]:
    """How long a fit takes over the limit it was given: small data and large, where a generation takes seconds."""
    rng = np.random.default_rng(0)
    for n_rows, limit in ((1000, 1.0), (200_000, 5.0)):
        X = rng.normal(size=(n_rows, 10))
        y = X[:, 0] * X[:, 1] + X[:, 2]
        model = TwoSEGPRegressor(generations=10**6, max_time=limit, random_state=0)
        start = time.perf_counter()
        model.fit(X, y)
        taken = time.perf_counter() - start
        detail = f"{taken:.2f} s for {limit:.0f} s; {model.n_generations_} generations"
        yield Line(f"time of a fit over max_time, {n_rows} rows", taken / limit, "<= 1.1", detail)


def lines() -> Iterator[Line]:
    yield from against_operon()
    yield from members()
    yield from time_limit()
    yield from million_rows()


if __name__ == "__main__":
    measure_million_rows()
