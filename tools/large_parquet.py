"""A Parquet data set larger than memory, and what a fit on it takes: seconds, passes over all rows, memory.

    python tools/large_parquet.py make build/large --gigabytes 20
    python tools/large_parquet.py fit build/large --jobs 2 --memory-budget 1000000000 --write docs/results/large.jsonl
    python tools/large_parquet.py fit build/large --method 2SEGP --generations 2 --dtype float32 --jobs 2

`make` writes files of a gigabyte each: Friedman's first function of five of twenty columns, with noise of standard
deviation 1, so that an R² of 0.96 is all that there is. A pass over all rows is what Grove sums, or a question of
2SEGP's engine. `fit` adds up the memory of this process and all its children,
four times a second; of pages that several processes have, each counts its share (PSS).
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import symgrove as sg
from symgrove.engines.dask_rows import FORGET, DaskRows
from symgrove.methods.spread_rows import Blocks
from symgrove.models.stack import Stack
from symgrove.shards.parquet import open_parquet

N_COLUMNS = 20
ROWS_OF_A_GROUP = 1 << 18
BYTES_OF_A_ROW = 8 * (N_COLUMNS + 1)
NAMES = [f"x{j}" for j in range(N_COLUMNS)]
SECONDS_BETWEEN_LOOKS = 0.25
METHODS = {"Grove": sg.GroveRegressor, "2SEGP": sg.TwoSEGPRegressor}


def rows_of(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and the target."""
    rng = np.random.default_rng([25, seed])
    X = rng.random((n_rows, N_COLUMNS))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=n_rows)


def make(folder: Path, gigabytes: float) -> None:
    """Write the files, a row group at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([(name, pa.float64()) for name in (*NAMES, "y")])
    n_groups = max(1, round(gigabytes * 1e9 / BYTES_OF_A_ROW / ROWS_OF_A_GROUP))
    of_a_file = max(1, int(1e9 / BYTES_OF_A_ROW / ROWS_OF_A_GROUP))
    for first in range(0, n_groups, of_a_file):
        own = {"compression": "snappy", "use_dictionary": False}
        with pq.ParquetWriter(folder / f"part-{first // of_a_file:04d}.parquet", schema, **own) as file:
            for group in range(first, min(first + of_a_file, n_groups)):
                X, y = rows_of(group, ROWS_OF_A_GROUP)
                file.write_table(pa.table([*X.T, y], schema=schema), row_group_size=ROWS_OF_A_GROUP)
    print(f"{n_groups * ROWS_OF_A_GROUP:,} rows in {-(-n_groups // of_a_file)} files")


def own_processes() -> list[psutil.Process]:
    """This process and its children."""
    own = psutil.Process(os.getpid())
    return [own, *own.children(recursive=True)]


def seconds_of_processors() -> float:
    """That they have used: on a machine that is shared they say more than the clock."""
    return sum(sum(process.cpu_times()[:2]) for process in own_processes())


class Memory(threading.Thread):
    """The largest sum of the memory of this process and its children."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.sizes: list[int] = []
        self.is_over = threading.Event()

    def run(self) -> None:
        """Look, until it is over."""
        while not self.is_over.wait(SECONDS_BETWEEN_LOOKS):
            sizes = []
            for process in own_processes():
                try:
                    sizes.append(process.memory_full_info().pss)
                except (psutil.NoSuchProcess, psutil.AccessDenied):
                    continue
            if sum(sizes) > sum(self.sizes):
                self.sizes = sizes


def timed_passes() -> list[dict[str, Any]]:
    """Note every pass over all rows with its seconds, from now on."""
    passes: list[dict[str, Any]] = []
    of_blocks, of_engine = Blocks.map, DaskRows.ask

    def note(what: str, start: float, used: float) -> None:
        seconds = time.perf_counter() - start, seconds_of_processors() - used
        passes.append({"pass": what, "seconds": round(seconds[0], 1), "of_processors": round(seconds[1], 1)})
        print(passes[-1], flush=True)

    def noting(self: Blocks, function: Any, *arguments: Any, **more: Any) -> Any:
        start, used = time.perf_counter(), seconds_of_processors()
        yield from of_blocks(self, function, *arguments, **more)
        what = [function.__name__.strip("_"), *(a.__name__.strip("_") for a in arguments[:2] if hasattr(a, "__name__"))]
        note(" ".join(what), start, used)

    def asking(self: DaskRows, question: str = "", *arguments: Any) -> Any:
        start, used = time.perf_counter(), seconds_of_processors()
        found = of_engine(self, question, *arguments)
        if question not in ("", FORGET):
            note(question, start, used)
        return found

    Blocks.map = noting  # type: ignore[method-assign]
    DaskRows.ask = asking  # type: ignore[method-assign, assignment]
    return passes


def parts_of(model: Any) -> dict[str, Any]:
    """What a model is made of."""
    if not isinstance(model.model_, Stack):
        return {"members": len(model.ensemble_), "oob_r2": round(model.oob_score_, 4)}
    weights = {name: round(weight, 3) for name, weight in model.stacking_weights_.items()}
    return {"weights": weights, "terms": int(model.model_.heaviest.programs.size)}


def fit(folder: Path, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Fit a method, and judge it on rows that no file has."""
    files = open_parquet(str(folder))
    memory, passes = Memory(), timed_passes()
    memory.start()
    start = time.perf_counter()
    model = METHODS[method](random_state=0, **parameters).fit(files.columns(NAMES), files.columns(["y"]))
    seconds = time.perf_counter() - start
    memory.is_over.set()
    memory.join()
    X, y = rows_of(10**6, 100_000)
    return {
        "method": method,
        "rows": files.n_rows,
        "gigabytes": round(files.n_bytes / 1e9, 2),
        "parameters": {name: value for name, value in parameters.items() if name != "verbose"},
        "seconds": round(seconds, 1),
        "processors": os.cpu_count(),
        "passes": passes,
        "peak_gigabytes": round(sum(memory.sizes) / 1e9, 2),
        "of_each_process": [round(size / 1e9, 2) for size in memory.sizes],
        "generations": model.n_generations_,
        **parts_of(model),
        "r2": round(float(model.score(pd.DataFrame(X, columns=NAMES), y)), 4),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "fit"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--method", choices=[*METHODS], default="Grove")
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory-budget", type=int)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.command == "make":
        make(given.folder, given.gigabytes)
        return
    own = {"n_jobs": given.jobs, "memory_budget": given.memory_budget, "generations": given.generations, "verbose": 1}
    found = fit(given.folder, given.method, {**own, "dtype": given.dtype})
    print(json.dumps(found, indent=1))
    if given.write is not None:
        with given.write.open("a") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
