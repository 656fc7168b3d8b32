"""A cluster of Dask: the user's, or one made for them; and calls on its workers that tell which were lost."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from symgrove.shards.quick_calls import SECONDS_BETWEEN_CHECKS, SECONDS_BETWEEN_LOOKS, QuickCalls

SECONDS_FOR_WORKERS = 60  # that new ones may take to come
SECONDS_TO_COLLECT = 5  # results, before looking whether their workers are still there
LARGE_BYTES = 1 << 20  # of arguments: they are sent first, and not with the task

Check = Callable[[], None]


class Lost(NamedTuple):
    """Instead of a result: the worker is gone."""

    worker: str


def missing_for_dask() -> str:
    """What is missing for `engine="dask"`; empty if nothing is."""
    if find_spec("distributed") is not None:
        return ""
    return "the package distributed is not installed; pip install 'symgrove[dask]'"


def described() -> str:
    """Where it would run now."""
    missing = missing_for_dask()
    if missing:
        return missing
    client = _current_client()
    if client is None:
        return "processes on this machine, one for each of n_jobs; or your cluster, once there is a Client"
    threads = client.nthreads()
    return f"{client.scheduler.address}: {len(threads)} workers, {sum(threads.values())} threads"


class Cluster:
    """Workers of a client."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._quick = QuickCalls(client)
        self._names = (f"symgrove-{uuid4().hex}-{i}" for i in count())

    def workers(self, check: Check | None = None) -> dict[str, int]:
        """Addresses, with the number of threads of each; waits until there is one."""
        end = time.monotonic() + SECONDS_FOR_WORKERS
        while not (found := self.client.nthreads()):
            if time.monotonic() > end:
                raise RuntimeError(
                    f"the cluster at {self.client.scheduler.address} has no workers, and none came in "
                    f"{SECONDS_FOR_WORKERS} s. Start some, and fit again."
                )
            if check is not None:
                check()
            time.sleep(SECONDS_BETWEEN_CHECKS)
        return dict(sorted(found.items()))

    def memory(self) -> int | None:
        """Bytes that all workers may use together; None: nobody has set a limit."""
        try:
            told = self.client.scheduler_info(n_workers=-1)
        except TypeError:  # of older versions, which tell of all
            told = self.client.scheduler_info()
        limits = [own.get("memory_limit") for own in told["workers"].values()]
        return sum(limits) if limits and all(limits) else None

    def call(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, tuple[Any, ...]],
        check: Check | None = None,
        n_bytes: Callable[[tuple[Any, ...]], int] = lambda given: 0,
    ) -> dict[str, Any]:
        """Call a function once on each of these workers, with arguments of its own; a result, or `Lost`, of each.

        `check` is called often; if it raises, the calls are given up.
        """
        large = {worker for worker, given in arguments.items() if n_bytes(given) > LARGE_BYTES}
        small = {worker: given for worker, given in arguments.items() if worker not in large}
        results: dict[str, Any] = self._quick.ask(function, small, check)
        left = {worker: given for worker, given in arguments.items() if worker not in results}
        if left:
            results |= self._call_as_tasks(function, left, check, large)
            self._quick.allow()
        return {worker: results[worker] for worker in arguments}

    def _call_as_tasks(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, tuple[Any, ...]],
        check: Check | None,
        large: set[str],
    ) -> dict[str, Any]:
        results: dict[str, Any] = {}
        futures: dict[str, Any] = {}
        try:
            for worker, given in arguments.items():
                sent = self.send(worker, given) if worker in large else given
                if isinstance(sent, Lost):
                    results[worker] = sent
                    continue
                how = {"workers": [worker], "pure": False, "key": next(self._names)}
                packed = sent if sent is not given else list(given)
                futures[worker] = self.client.submit(_apply, function, packed, **how)
            return results | self._wait(futures, check)
        except BaseException:
            self.client.cancel(list(futures.values()))
            raise

    def send(self, worker: str, value: Any) -> Any:
        """Bring something large to a worker; a future of it, or `Lost`."""
        try:
            return self.client.scatter([value], workers=[worker], hash=False)[0]
        except (OSError, TimeoutError, ValueError, KeyError):
            if worker in self.client.nthreads():
                raise
            return Lost(worker)

    def start(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future of a call on a worker; its result stays there, as long as somebody has the future."""
        how = {"workers": [worker], "pure": False, "key": next(self._names)}
        return self.client.submit(function, *arguments, **how)

    def finish(self, futures: Mapping[str, list[Any]], check: Check | None = None) -> list[str]:
        """Wait for what was started on each worker; which workers were lost."""
        flat = {(worker, i): future for worker, own in futures.items() for i, future in enumerate(own)}
        lost = self._until_done({key: (key[0], future) for key, future in flat.items()}, check)
        for key, future in flat.items():
            if key not in lost and future.status == "error":
                raise future.exception()
        return sorted({worker for worker, _ in lost})

    def _wait(self, futures: dict[str, Any], check: Check | None) -> dict[str, Any]:
        lost = self._until_done({worker: (worker, future) for worker, future in futures.items()}, check)
        left = {worker: future for worker, future in futures.items() if worker not in lost}
        results: dict[str, Any] = {worker: Lost(worker) for worker in lost}
        seconds = SECONDS_TO_COLLECT
        while left:
            try:
                found = self.client.sync(_gather, self.client, list(left.values()), callback_timeout=seconds)
            except TimeoutError:
                seconds *= 2
                alive = self.client.nthreads()
                gone = [worker for worker in left if worker not in alive]
                results |= {worker: Lost(worker) for worker in gone}
                left = {worker: future for worker, future in left.items() if worker in alive}
                continue
            return results | dict(zip(left, found, strict=True))
        return results

    def _until_done(self, futures: Mapping[Any, tuple[str, Any]], check: Check | None) -> set[Any]:
        """Wait until all are done whose worker is there; the keys of the others."""
        from distributed import wait

        waiting = dict(futures)
        lost: set[Any] = set()
        looked = time.monotonic()
        while waiting:
            try:
                with self.client.as_current():
                    wait([future for _, future in waiting.values()], timeout=SECONDS_BETWEEN_CHECKS)
            except TimeoutError:
                waiting = {key: own for key, own in waiting.items() if not own[1].done()}
            except BaseException as error:
                if not _is_loss(error):
                    raise
            else:
                waiting = {}
            if check is not None:
                check()
            failed = {key for key, (_, future) in futures.items() if _is_lost(future)} - lost
            if waiting and time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
                looked = time.monotonic()
                alive = self.client.nthreads()
                failed |= {key for key, (worker, _) in waiting.items() if worker not in alive}
            lost |= failed
            waiting = {key: own for key, own in waiting.items() if key not in lost}
        return lost


def _apply(function: Callable[..., Any], arguments: Any) -> Any:
    return function(*arguments)


async def _gather(client: Any, futures: list[Any]) -> Any:
    return await client.gather(futures, asynchronous=True)


def _is_lost(future: Any) -> bool:
    """Whether a call ended because its worker did."""
    if future.status in ("cancelled", "lost"):
        return True
    return future.status == "error" and _is_loss(future.exception())


def _is_loss(error: BaseException | None) -> bool:
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    return isinstance(error, (KilledWorker, CancelledError))


def current_cluster() -> Cluster | None:
    """The user's, if there is one."""
    client = _current_client()
    return None if client is None else Cluster(client)


def _current_client() -> Any:
    """The user's client, or None."""
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


class _Local:
    """The cluster that is made where there is none; one for all who need it at the same time."""

    lock = Lock()
    n_users = 0
    client: Any = None
    cluster: Any = None


@contextmanager
def open_cluster(n_workers: int) -> Iterator[Cluster]:
    """The user's cluster, or else so many processes on this machine, which end with the last who uses them."""
    missing = missing_for_dask()
    if missing:
        raise RuntimeError(f"engine='dask' cannot run here: {missing}.")
    _refuse_within_a_task()
    with _Local.lock:
        client = None if _Local.n_users else _current_client()
        if client is None:
            _start_local(n_workers)
            _Local.n_users += 1
    if client is not None:
        yield Cluster(client)
        return
    try:
        yield Cluster(_Local.client)
    finally:
        with _Local.lock:
            _Local.n_users -= 1
            if _Local.n_users == 0:
                _Local.client.close()
                _Local.cluster.close()
                _Local.client = _Local.cluster = None


def _start_local(n_workers: int) -> None:
    from distributed import Client, LocalCluster

    if _Local.n_users > 0:
        return
    try:
        with _no_interrupts_in_children():
            _Local.cluster = LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
            )
    except RuntimeError as error:
        raise RuntimeError(
            "processes for engine='dask' did not start. A program that makes processes is imported by them: "
            'put what it does under `if __name__ == "__main__":`.'
        ) from error
    try:
        _Local.client = Client(_Local.cluster, set_as_default=False)
    except BaseException:
        _Local.cluster.close()
        _Local.cluster = None
        raise


@contextmanager
def _no_interrupts_in_children() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal: workers are to go on, and the client ends the fit.

    Threads inherit what is blocked, and processes inherit it of the thread that starts them: that of the cluster.
    """
    if sys.platform == "win32":  # which has no such signals
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _refuse_within_a_task() -> None:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return
    raise RuntimeError(
        "a fit within a task of Dask cannot use engine='dask': its thread would wait for itself. "
        "Use engine='cpu' there: the cluster already shares out the fits."
    )
