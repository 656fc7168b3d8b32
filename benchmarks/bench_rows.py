"""Many rows: two threads against one, and memory against the budget."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

from benchmarks.evolution import Run, make_asn_run, make_run
from benchmarks.table import Line, best_of

N_ROWS = 200_000


def make_large_run(n_threads: int, budget: int | None = None) -> Run:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    return make_run(X, y, dtype="float32", n_jobs=n_threads, memory_budget=budget)


def threads() -> Iterator[Line]:
    one, two = make_large_run(1), make_large_run(2)
    one.start()
    two.start()
    for _ in range(3):
        one.step()
        two.step()
    best_of(4, one.step, two.step)
    best = [min(run.seconds[-4:]) for run in (one, two)]
    assert one.state is not None
    assert two.state is not None
    same = np.array_equal(one.state.errors, two.state.errors)
    detail = f"{N_ROWS} rows, paper settings: {best[0]:.2f} s and {best[1]:.2f} s a generation; same bits: {same}"
    yield Line("1 thread over 2 threads", best[0] / best[1], ">= 1.6", detail)


def memory() -> Iterator[Line]:
    """Growth of the peak of a process that evolves with a budget, over the budget."""
    for budget in (100_000_000, 400_000_000):
        command = [sys.executable, "-m", "benchmarks.bench_rows", str(budget)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        grown, held = float(out[0]), float(out[1])
        detail = f"{grown / 1e6:.0f} MB more at the peak, {held / 1e6:.0f} MB of it in kept vectors"
        yield Line(f"peak memory over a budget of {budget // 10**6} MB", grown / budget, "<= 1.1", detail)


def measure_memory(budget: int) -> None:
    """Print how much the peak of this process grows while it evolves, and the bytes in kept vectors."""
    make_asn_run("float32")[0].step()  # compile, or load from the cache
    run = make_large_run(2, budget)
    gc.collect()
    before = psutil.Process().memory_info().rss
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    run.start()
    for _ in range(15):
        run.step()
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    print(int(peak[1]) * 1024 - before, run.engine._store.n_vectors * run.engine._store.vector_bytes)


def lines() -> Iterator[Line]:
    yield from threads()
    yield from memory()


if __name__ == "__main__":
    measure_memory(int(sys.argv[1]))
