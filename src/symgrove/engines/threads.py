"""Threads of the host. Results do not depend on how many there are."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice, pairwise
from typing import Any

Check = Callable[[], None]
Work = Callable[[list[Any], Check], None]  # of tasks, and a function to call now and then


class Threads:
    """A pool that is made when it is first needed."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def close(self) -> None:
        """End the threads; they come again if they are needed."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None

    def _running(self) -> ThreadPoolExecutor:
        """The pool, made anew in a forked process, where the parent's threads do not exist."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="symgrove")
            self._process = os.getpid()
        return self._pool

    def in_order(self, function: Callable[[Any], Any], arguments: Sequence[Any], n_at_once: int) -> Iterator[Any]:
        """Results in the order of the arguments; no more calls are under way than `n_at_once`."""
        window = min(2 * self.n_threads, n_at_once)
        if self.n_threads == 1 or window < 2 or len(arguments) < 2:
            yield from map(function, arguments)
            return
        pool = self._running()
        waiting = iter(arguments)
        running = deque(pool.submit(function, argument) for argument in islice(waiting, window))
        try:
            while running:
                result = running[0].result()  # still in `running` if an interrupt comes now
                running.popleft()
                running.extend(pool.submit(function, argument) for argument in islice(waiting, 1))
                yield result
        finally:
            # Also after an exception: a call that went on would write to vectors that the next plan may use.
            for future in running:
                future.cancel()
            wait(running)

    def share_out(self, work: Work, tasks: list[Any], n_parts: int, check: Check | None) -> None:
        """Have threads do parts of the tasks; this one does the first, and checks now and then."""
        n_parts = min(n_parts, self.n_threads, len(tasks))
        if n_parts < 2:
            if tasks:
                work(tasks, check or _nothing)
            return
        cuts = [len(tasks) * i // n_parts for i in range(n_parts + 1)]
        own, *others = (tasks[a:b] for a, b in pairwise(cuts))
        running = [self._running().submit(work, part, _nothing) for part in others]
        try:
            work(own, check or _nothing)
        finally:
            wait(running)
        for future in running:
            future.result()


def _nothing() -> None:
    """Nobody watches."""


ONE_THREAD = Threads(1)
