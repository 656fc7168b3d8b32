"""What a cluster costs: bytes that travel in a generation, and seconds of fits on the CPU engine, one worker and two.

    python tools/cluster_costs.py docs/results/cluster.jsonl                        # all of it: an hour on two cores
    python tools/cluster_costs.py rows.jsonl --parts traffic --rows 100000 1000000 10000000 --methods 2SEGP
    python tools/cluster_costs.py rows.jsonl --parts seconds --rows 2000000 --generations 12 --repeats 3

Bytes are those of what is sent to workers and of what they answer, pickled as Dask pickles them. Fits are made in
turns, because other programs may run beside them: of seconds the least and the median are given, by the clock and of
the processors of all processes. Rows are of float64 and programs of the type that is the
method's default, unless `--dtype` says otherwise: ten million rows of float64 take about 12 GB, of float32 half.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
from distributed import Client, LocalCluster, get_client
from distributed.protocol.pickle import dumps
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.methods.grove.configuration import FOR_REGRESSION
from symgrove.shards.cluster import Cluster

N_FEATURES = 20
METHODS: dict[str, Callable[..., Any]] = {
    "2SEGP": lambda **more: sg.TwoSEGPRegressor(random_state=0, memory_budget=8 << 30, **more),
    "Grove": lambda **more: AllRows(
        random_state=0, strength="fixed", population_size=200, n_estimators=10, memory_budget=8 << 30, **more
    ),
}


class AllRows(sg.GroveRegressor):
    """Grove, every generation of it on all rows, however many."""

    configuration = replace(FOR_REGRESSION, many=replace(FOR_REGRESSION.many, fewest_rows=sys.maxsize))


class Meter:
    """Bytes so far, to workers and back."""

    def __init__(self) -> None:
        self.sent = self.received = self.n_calls = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count what `Cluster.call` sends and gets."""
        plain = Cluster.call

        def call(own: Cluster, function: Any, arguments: Any, *rest: Any) -> Any:
            results = plain(own, function, arguments, *rest)
            self.sent += sum(len(dumps(given)) for given in arguments.values())
            self.received += sum(len(pickle.dumps(result)) for result in results.values())
            self.n_calls += 1
            return results

        Cluster.call = call  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Cluster.call = plain  # type: ignore[method-assign]


@contextmanager
def workers(n: int) -> Iterator[None]:
    """So many processes of one thread each."""
    with (
        LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield


def data(n_rows: int, dtype: str | None) -> tuple[Any, Any]:
    """The rows of Friedman's first function, made a million at a time: one array of them is all the memory it takes."""
    X, y = np.empty((n_rows, N_FEATURES), dtype=dtype or "float64"), np.empty(n_rows)
    for i, start in enumerate(range(0, n_rows, 1_000_000)):
        some = slice(start, min(start + 1_000_000, n_rows))
        X[some], y[some] = make_friedman1(some.stop - some.start, N_FEATURES, random_state=i)
    return X, y


def traffic(method: str, n_rows: int, n_workers: int, generations: int, dtype: str | None) -> dict[str, Any]:
    """Bytes of a generation, after the first two."""
    X, y = data(n_rows, dtype)
    own = {} if dtype is None else {"dtype": dtype}
    meter, seen = Meter(), []

    def note(progress: Any) -> None:
        seen.append((meter.sent, meter.received, meter.n_calls))

    with workers(n_workers), meter.reading():
        METHODS[method](generations=generations, engine="dask", callbacks=[note], **own).fit(X, y)
    sent, received, n_calls = ((np.array(seen[-1]) - seen[2]) / (len(seen) - 3)).tolist()
    return {"sent": round(sent), "received": round(received), "calls": n_calls}


class Clock:
    """Seconds since it was made, by the clock and of the processors of some processes; marks of generations."""

    def __init__(self, pids: list[int]) -> None:
        self._processes = [psutil.Process(pid) for pid in pids]
        self._start = self._now()
        self.marks: list[tuple[float, float]] = []

    def _now(self) -> tuple[float, float]:
        times = [process.cpu_times() for process in self._processes]
        return time.perf_counter(), sum(own.user + own.system for own in times)

    def mark(self, progress: Any = None) -> None:
        """Take note of the time; a callback that returns something would end the fit."""
        now = self._now()
        self.marks.append((now[0] - self._start[0], now[1] - self._start[1]))


def seconds(method: str, n_rows: int, generations: int, repeats: int, dtype: str | None) -> dict[str, Any]:
    """Of fits on the CPU engine with one thread, one worker, and two, in turns."""
    X, y = data(n_rows, dtype)
    own = {} if dtype is None else {"dtype": dtype}
    found: dict[str, list[dict[str, float]]] = {"cpu": [], "1 worker": [], "2 workers": []}

    def fit(name: str, engine: str, pids: list[int]) -> None:
        METHODS[method](generations=2, engine=engine, **own).fit(X[:5000], y[:5000])  # compiled code is loaded
        clock = Clock([os.getpid(), *pids])
        METHODS[method](generations=generations, engine=engine, callbacks=[clock.mark], **own).fit(X, y)
        clock.mark()
        _, _, first, *_, last, whole = clock.marks
        each = [(last[i] - first[i]) / (len(clock.marks) - 4) for i in range(2)]
        found[name].append(
            {
                "clock": whole[0],
                "processors": whole[1],
                "clock a generation": each[0],
                "processors a generation": each[1],
            }
        )

    for _ in range(repeats):
        fit("cpu", "cpu", [])
        for n_workers, name in ((1, "1 worker"), (2, "2 workers")):
            with workers(n_workers):
                fit(name, "dask", list(get_client().run(os.getpid).values()))
    least = {name: {key: round(min(own[key] for own in fits), 2) for key in fits[0]} for name, fits in found.items()}
    middle = {
        name: {key: round(median(own[key] for own in fits), 2) for key in fits[0]} for name, fits in found.items()
    }
    keys = ("clock", "processors", "clock a generation", "processors a generation")
    return {
        "least": least,
        "median": middle,
        "one worker to cpu": {key: round(least["1 worker"][key] / least["cpu"][key], 3) for key in keys},
        "one worker to two": {key: round(least["1 worker"][key] / least["2 workers"][key], 3) for key in keys},
    }


def main() -> None:
    """Write a row for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--parts", nargs="+", default=["traffic", "seconds"], choices=["traffic", "seconds"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--workers", nargs="+", type=int, default=[2], help="of traffic")
    parser.add_argument("--generations", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", choices=["float32", "float64"], help="of rows and programs")
    given = parser.parse_args()
    with given.file.open("a") as out:
        for part in given.parts:
            for method in given.methods:
                for n_rows in given.rows:
                    for n in given.workers if part == "traffic" else [0]:
                        own = {"part": part, "method": method, "n_rows": n_rows, "generations": given.generations}
                        if part == "traffic":
                            own |= {"n_workers": n, **traffic(method, n_rows, n, given.generations, given.dtype)}
                        else:
                            some = given.generations, given.repeats, given.dtype
                            own |= {"n_cpus": os.cpu_count(), **seconds(method, n_rows, *some)}
                        out.write(json.dumps(own) + "\n")
                        out.flush()


if __name__ == "__main__":
    main()
