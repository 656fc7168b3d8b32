"""Calls on workers past the scheduler's queue of tasks, in a millisecond or two instead of a dozen.

A method may ask many small questions in a second. Workers are given a handler of their own for that. Whatever goes
wrong here is left to a call that is a task, which also knows which workers were lost. Some calls are tasks always:
a cluster where nothing else happens is closed or made smaller by those that look after it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextvars import ContextVar
from functools import partial
from typing import Any

SECONDS_BETWEEN_TASKS = 1.0
SECONDS_BETWEEN_CHECKS = 0.2  # of whoever watches
SECONDS_BETWEEN_LOOKS = 0.5  # whether workers are still there
HANDLER = "symgrove"

_worker: ContextVar[Any] = ContextVar("worker")


def this_worker() -> Any:
    """The worker whose thread this is; ValueError if it is none."""
    from distributed import get_worker

    return _worker.get(None) or get_worker()


class QuickCalls:
    """Calls on workers of a client, and when they may be made."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._listening: set[str] = set()
        self._until = 0.0

    def allow(self) -> None:
        """Take note that a call has just been a task: for a while others need not be."""
        self._until = time.monotonic() + SECONDS_BETWEEN_TASKS

    def ask(
        self, function: Callable[..., Any], arguments: Mapping[str, tuple[Any, ...]], check: Callable[[], None] | None
    ) -> dict[str, Any]:
        """Results of workers, without those of whom none came; what the function raises is raised."""
        if time.monotonic() > self._until or not arguments:
            return {}
        new = arguments.keys() - self._listening
        if new:  # of those that are there: Dask would try for long to reach the others
            answers = self.client.run(_listen, workers=sorted(new & self.client.nthreads().keys()), on_error="ignore")
            self._listening |= answers.keys()
        running = {
            worker: asyncio.run_coroutine_threadsafe(self._ask_one(worker, function, given), self._loop)
            for worker, given in arguments.items()
            if worker in self._listening
        }
        try:
            return self._collect(running, check)
        finally:
            for future in running.values():
                future.cancel()

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        found: asyncio.AbstractEventLoop = self.client.loop.asyncio_loop
        return found

    def _collect(self, running: Mapping[str, Future[Any]], check: Callable[[], None] | None) -> dict[str, Any]:
        waiting, looked = dict(running), time.monotonic()
        while waiting:
            wait(waiting.values(), timeout=SECONDS_BETWEEN_CHECKS)
            waiting = {worker: future for worker, future in waiting.items() if not future.done()}
            if check is not None:
                check()
            if waiting and time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
                alive, looked = self.client.nthreads(), time.monotonic()
                waiting = {worker: future for worker, future in waiting.items() if worker in alive}
        found = {worker: future.result() for worker, future in running.items() if future.done()}
        for answer in found.values():
            if isinstance(answer, Exception):
                raise answer
        return {worker: answer[0] for worker, answer in found.items() if answer is not None}

    async def _ask_one(self, worker: str, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        """A tuple with the result, an exception of the function, or None: something else went wrong."""
        from distributed.core import clean_exception
        from distributed.protocol.pickle import dumps

        message = {"op": HANDLER, "call": dumps((function, given))}
        try:
            answers = await self.client.scheduler.broadcast(msg=message, workers=[worker], on_error="return_pickle")
        except OSError:
            return None
        answer = answers.get(worker)
        if not isinstance(answer, dict) or "status" not in answer:
            return None  # bytes are an error of the connection; a worker without the handler says None
        if answer["status"] == "OK":
            return (answer["result"],)
        _, error, traceback = clean_exception(**answer)
        return None if error is None else error.with_traceback(traceback)


def _listen(dask_worker: Any) -> None:
    """Have a worker answer such calls."""
    dask_worker.handlers[HANDLER] = _Handler(dask_worker)


class _Handler:
    """Answers calls on a thread for tasks."""

    __name__ = HANDLER  # which Dask writes to its log

    def __init__(self, worker: Any) -> None:
        self._own = worker

    async def __call__(self, call: bytes) -> Any:
        from distributed.core import error_message
        from distributed.protocol.serialize import to_serialize

        threads = self._own.executors["default"]
        try:
            result = await asyncio.get_running_loop().run_in_executor(threads, partial(_run, self._own, call))
        except Exception as error:
            return error_message(error)
        return {"status": "OK", "result": to_serialize(result)}


def _run(worker: Any, call: bytes) -> Any:
    from distributed.protocol.pickle import loads

    token = _worker.set(worker)
    try:
        function, given = loads(call)
        return function(*given)
    finally:
        _worker.reset(token)
