"""Fits on a cluster whose workers are on two simulated hosts: network namespaces of this machine, joined by a bridge.

    sudo .venv/bin/python tools/two_hosts.py                two methods, on both hosts
    sudo .venv/bin/python tools/two_hosts.py --cut 4        the second host's cable is pulled after four seconds

Needs Linux, root and `ip` (Debian's iproute2). Prints whether models are those of a cluster of one process here, bit
for bit, and the bytes that crossed the cables. Namespaces and bridge are gone afterwards.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_friedman1

import symgrove as sg

BRIDGE, HOSTS = "symgrove-bridge", ("symgrove-host-1", "symgrove-host-2")
HERE, THERE = "10.177.0.1", ("10.177.0.2", "10.177.0.3")
SOON = "15s"  # after which a host that says nothing is taken for lost


def ip(*words: str, host: str | None = None) -> None:
    """Run `ip`, on one of the hosts if that is named."""
    subprocess.run(["ip", *(["-n", host] if host else []), *words], check=True)


def cable(k: int) -> str:
    """The end of a host's cable that is here."""
    return f"symgrove-cable{k}"


@contextmanager
def network() -> Iterator[None]:
    """Two hosts without anything but a cable to a bridge that this machine is on too."""
    with ExitStack() as undo:
        ip("link", "add", BRIDGE, "type", "bridge")
        undo.callback(ip, "link", "del", BRIDGE)
        ip("address", "add", f"{HERE}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for k, (host, address) in enumerate(zip(HOSTS, THERE, strict=True)):
            ip("netns", "add", host)
            undo.callback(ip, "netns", "del", host)
            ip("link", "add", cable(k), "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("link", "set", cable(k), "master", BRIDGE, "up")
            ip("address", "add", f"{address}/24", "dev", "eth0", host=host)
            for device in ("lo", "eth0"):
                ip("link", "set", device, "up", host=host)
        yield


@contextmanager
def workers(scheduler: str) -> Iterator[None]:
    """One of one thread on each host."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--nthreads", "1", "--no-nanny"]
    started = [
        subprocess.Popen(["ip", "netns", "exec", host, *command, "--no-dashboard"], stderr=subprocess.DEVNULL)
        for host in HOSTS
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def crossed(k: int) -> int:
    """Bytes so far, both ways."""
    folder = Path("/sys/class/net") / cable(k) / "statistics"
    return sum(int((folder / f"{way}_bytes").read_text()) for way in ("rx", "tx"))


def models(n_rows: int) -> dict[str, Any]:
    """What is fitted."""
    X, y = make_friedman1(n_rows, 20, random_state=0)
    shared: dict[str, Any] = {"engine": "dask", "random_state": 0}
    two_segp = sg.TwoSEGPRegressor(generations=6, n_estimators=20, population_size=200, **shared)
    classic = sg.ClassicGPRegressor(generations=6, population_size=200, **shared)
    return {type(model).__name__: model.fit(X, y).predict(X[:1000]) for model in (two_segp, classic)}


def main() -> None:
    """Fit on two hosts, then on one process, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--cut", type=float, help="seconds after which the second host's cable is pulled")
    given = parser.parse_args()
    dask.config.set({"distributed.scheduler.worker-ttl": SOON, "distributed.comm.timeouts.tcp": SOON})
    with (
        network(),
        LocalCluster(n_workers=0, host=HERE, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
        workers(cluster.scheduler_address),
    ):
        client.wait_for_workers(2, timeout=60)
        print("workers:", *sorted(client.scheduler_info()["workers"]))
        if given.cut is not None:
            threading.Timer(given.cut, ip, ("link", "set", cable(1), "down")).start()
        start = time.perf_counter()
        found = models(given.rows)
        print(f"two hosts: {time.perf_counter() - start:.1f} s, bytes {[crossed(k) for k in range(2)]}")
        print("workers that are left:", len(client.scheduler_info()["workers"]))
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as one, Client(one):
        alone = models(given.rows)
    for name, predictions in found.items():
        print(name, "the same bits" if np.array_equal(predictions, alone[name]) else "DIFFERS")


if __name__ == "__main__":
    main()
