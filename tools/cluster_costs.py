"""What a cluster costs: bytes that travel in a generation, and seconds of fits on the CPU engine, one worker and two.

    python tools/cluster_costs.py docs/results/cluster.jsonl                        # all of it: an hour on two cores
    python tools/cluster_costs.py rows.jsonl --parts traffic --rows 100000 1000000

Bytes are those of what is sent to workers and of what they answer, pickled as Dask pickles them. Seconds are the least
of some fits in turns, because other programs may run beside them.
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
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from distributed.protocol.pickle import dumps
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.methods.grove.configuration import FOR_REGRESSION
from symgrove.shards.cluster import Cluster

N_FEATURES = 20
METHODS: dict[str, Callable[..., Any]] = {
    "2SEGP": lambda **more: sg.TwoSEGPRegressor(random_state=0, **more),
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


def traffic(method: str, n_rows: int, n_workers: int, generations: int) -> dict[str, Any]:
    """Bytes of a generation, after the first two."""
    X, y = make_friedman1(n_rows, N_FEATURES, random_state=0)
    meter, seen = Meter(), []

    def note(progress: Any) -> None:
        seen.append((meter.sent, meter.received, meter.n_calls))

    with workers(n_workers), meter.reading():
        METHODS[method](generations=generations, engine="dask", callbacks=[note]).fit(X, y)
    sent, received, n_calls = ((np.array(seen[-1]) - seen[2]) / (len(seen) - 3)).tolist()
    return {"sent": round(sent), "received": round(received), "calls": n_calls}


def seconds(method: str, n_rows: int, generations: int, repeats: int) -> dict[str, float]:
    """Of fits on the CPU engine with one thread, one worker, and two, in turns."""
    X, y = make_friedman1(n_rows, N_FEATURES, random_state=0)
    found: dict[str, list[float]] = {"cpu": [], "1 worker": [], "2 workers": [], "warm-up": []}

    def fit(name: str, engine: str, n_rows: int) -> None:
        start = time.perf_counter()
        METHODS[method](generations=generations, engine=engine).fit(X[:n_rows], y[:n_rows])
        found[name].append(time.perf_counter() - start)

    for _ in range(repeats):
        fit("cpu", "cpu", n_rows)
        for n_workers, name in ((1, "1 worker"), (2, "2 workers")):
            with workers(n_workers):
                fit("warm-up", "dask", 5000)  # compiled code is loaded
                fit(name, "dask", n_rows)
    del found["warm-up"]
    return {name: round(min(own), 2) for name, own in found.items()}


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
    given = parser.parse_args()
    with given.file.open("a") as out:
        for part in given.parts:
            for method in given.methods:
                for n_rows in given.rows:
                    for n in given.workers if part == "traffic" else [0]:
                        own = {"part": part, "method": method, "n_rows": n_rows, "generations": given.generations}
                        if part == "traffic":
                            own |= {"n_workers": n, **traffic(method, n_rows, n, given.generations)}
                        else:
                            own |= {
                                "n_cpus": os.cpu_count(),
                                **seconds(method, n_rows, given.generations, given.repeats),
                            }
                        out.write(json.dumps(own) + "\n")
                        out.flush()


if __name__ == "__main__":
    main()
