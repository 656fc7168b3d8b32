"""Rows that live on the workers of a cluster, and the one thing that is done with them: a function of each block.

What is asked is the same wherever blocks are, and results come in the order of the blocks. A block that was lost with
its worker is made again on another, and nobody notices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from threading import RLock
from typing import Any, Protocol, Self
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from symgrove.shards import holding
from symgrove.shards.blocks import PANEL_ROWS, RowBlock, cut
from symgrove.shards.cluster import Check, Cluster, Lost
from symgrove.shards.holding import Context, Derivation, Failed, Missing

MOST_LOSSES = 4  # of one block with its worker, before it is taken for the cause


class Source(Protocol):
    """Where rows come from.

    Attributes
    ----------
    n_rows : int
    """

    @property
    def n_rows(self) -> int: ...

    def make(self, cluster: Cluster, worker: str, rows: slice) -> tuple[Any, ...]:
        """A function and its arguments, some of them futures of Dask perhaps: the worker calls it for these rows.

        Asked again when a block was lost. `Lost` as an argument says that the worker is gone.
        """
        ...


@dataclass(frozen=True)
class HostRows:
    """Arrays in the memory of this process, rows on the last axis; a block is a dict of their slices."""

    arrays: Mapping[str, NDArray[Any]]

    @property
    def n_rows(self) -> int:
        return int(next(iter(self.arrays.values())).shape[-1])

    def make(self, cluster: Cluster, worker: str, rows: slice) -> tuple[Any, ...]:
        own = {name: np.ascontiguousarray(array[..., rows]) for name, array in self.arrays.items()}
        return _owned, cluster.send(worker, own)


def _owned(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Arrays that were sent, in memory that kernels may be given: what comes over a network is read-only."""
    return {name: array if array.flags.carray else np.array(array) for name, array in arrays.items()}


class Each(tuple[Any, ...]):
    """An argument for every block, in the order of the blocks: each gets its own."""


class _Home:
    """Where the blocks of a source are; all tables that were derived from it share it."""

    def __init__(self, cluster: Cluster, source: Source, block_rows: int) -> None:
        self.cluster = cluster
        self.source = source
        self.blocks = cut(source.n_rows, block_rows)
        self.name = uuid4().hex
        self.dropped: dict[str, list[str]] = {}  # of each worker: names that it can forget
        self.worker_of: dict[int, str] = {}
        self.leases: dict[int, Any] = {}
        self.losses: Counter[int] = Counter()
        self.step_names = (f"step {i}" for i in count())
        self.lock = RLock()

    def settle(self, numbers: Sequence[int], check: Check | None) -> None:
        """Bring blocks that are nowhere to workers: of each as many as it has threads for, neighbours together."""
        while missing := [i for i in numbers if i not in self.worker_of]:
            threads = self.cluster.workers(check)
            started: dict[str, list[Any]] = {}
            for i, worker in zip(missing, self._places(missing, threads), strict=True):
                started.setdefault(worker, []).append(self._start(i, worker))
            lost = self.cluster.finish(started, check)
            self.forget_workers(lost)

    def _places(self, missing: list[int], threads: Mapping[str, int]) -> list[str]:
        """A worker for each block: neighbours' sums are added there, so that less comes back."""
        load = dict.fromkeys(threads, 0.0)
        for i, worker in self.worker_of.items():
            if worker in load:
                load[worker] += self._n_rows(i) / threads[worker]
        counts = dict.fromkeys(threads, 0)
        for i in missing:
            worker = min(load, key=lambda name: load[name])
            load[worker] += self._n_rows(i) / threads[worker]
            counts[worker] += 1
        return [worker for worker, n in counts.items() for _ in range(n)]

    def _n_rows(self, number: int) -> int:
        rows = self.blocks[number]
        return int(rows.stop - rows.start)

    def _start(self, number: int, worker: str) -> Any:
        rows = self.blocks[number]
        made = self.source.make(self.cluster, worker, rows)
        where = self.name, number, rows.start, rows.stop
        self.worker_of[number] = worker
        self.leases[number] = self.cluster.start(worker, holding.hold, *where, *made)
        return self.leases[number]

    def forget_workers(self, workers: Sequence[str]) -> None:
        """Take note that workers are gone, and their blocks with them."""
        self.forget_blocks([i for i, worker in self.worker_of.items() if worker in workers])

    def forget_blocks(self, numbers: Sequence[int]) -> None:
        """Take note that blocks are gone."""
        for i in numbers:
            self.losses[i] += 1
            del self.worker_of[i]
            del self.leases[i]
            if self.losses[i] >= MOST_LOSSES:
                rows = self.blocks[i]
                raise MemoryError(
                    f"block {i} (rows {rows.start} to {rows.stop}) was lost with its worker {MOST_LOSSES} times in a "
                    "row. Its worker probably has too little memory: give workers more, use more workers, or a "
                    "smaller memory_budget."
                )

    def close(self) -> None:
        """Let the workers forget everything."""
        self.leases.clear()
        self.worker_of.clear()


class Table:
    """Rows on workers. Close it, or use it as a context: workers then forget what they hold of it.

    Parameters
    ----------
    cluster : Cluster
    source : Source
        Makes the value of each block, and makes it again if it was lost.
    block_rows : int
        About how many rows a block has at most, unless there would be more than 64 blocks.
    """

    def __init__(self, cluster: Cluster, source: Source, block_rows: int = PANEL_ROWS) -> None:
        self._home = _Home(cluster, source, block_rows)
        self._steps: tuple[Derivation, ...] = ()
        self._check: Check | None = None

    @property
    def cluster(self) -> Cluster:
        return self._home.cluster

    @property
    def n_rows(self) -> int:
        return self._home.source.n_rows

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Rows of each block."""
        return self._home.blocks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget what was derived here; of a table that was not derived, everything."""
        if not self._steps:
            self._home.close()
            return
        for worker in set(self._home.worker_of.values()):
            self._home.dropped.setdefault(worker, []).append(self._steps[-1].name)

    def watch(self, check: Check | None) -> None:
        """Call `check` often while waiting; it may raise to give up."""
        self._check = check

    def release(self, numbers: Sequence[int]) -> None:
        """Let workers forget some blocks; they are made again when they are next asked for."""
        with self._home.lock:
            for i in numbers:
                self._home.worker_of.pop(i, None)
                self._home.leases.pop(i, None)

    def derive(self, function: Callable[..., Any], *arguments: Any, gives_up: bool = False) -> Table:
        """A table whose blocks hold `function(block, *arguments)` of these, made when first needed.

        With `gives_up`, workers then forget what these blocks hold; it is made again should somebody ask for it.
        """
        derived = Table.__new__(Table)
        derived._home, derived._check = self._home, self._check
        derived._steps = (*self._steps, Derivation(next(self._home.step_names), function, arguments, gives_up))
        return derived

    def map_blocks(self, function: Callable[..., Any], *arguments: Any, only: Sequence[int] | None = None) -> list[Any]:
        """`function(block, *arguments)` of every block, or of some; results in their order.

        Of an argument that is an `Each`, a block gets the entry of its own.
        """
        return self.map_workers(partial(_each, function), *arguments, only=only)

    def map_workers(
        self, function: Callable[..., list[Any]], *arguments: Any, only: Sequence[int] | None = None
    ) -> list[Any]:
        """`function(blocks, context, *arguments)` once on every worker, of all the blocks it has, a result for each.

        For what blocks of a worker share. Of an `Each`, it gets the list of its blocks' entries.
        """
        wanted = list(range(len(self.blocks)) if only is None else only)
        found: dict[int, Any] = {}
        with self._home.lock:
            while waiting := [i for i in wanted if i not in found]:
                self._home.settle(waiting, self._check)
                found |= self._ask(waiting, function, arguments)
        for i in wanted:
            self._home.losses[i] = 0
        return [found[i] for i in wanted]

    def _ask(self, waiting: list[int], function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[int, Any]:
        """Results of the blocks that are still where they were."""
        home = self._home
        own: dict[str, list[int]] = {}
        for i in waiting:
            own.setdefault(home.worker_of[i], []).append(i)
        calls = {
            worker: (home.name, numbers, self._steps, home.dropped.pop(worker, []), function, _of(numbers, arguments))
            for worker, numbers in own.items()
        }
        found: dict[int, Any] = {}
        for worker, reply in home.cluster.call(holding.run, calls, self._check, _n_bytes).items():
            if isinstance(reply, Lost):
                home.forget_workers([worker])
            elif isinstance(reply, Missing):
                home.forget_blocks(reply.numbers)
            elif isinstance(reply, Failed):
                self._raise(reply, worker)
            else:
                found |= dict(zip(own[worker], reply, strict=True))
        return found

    def _raise(self, failed: Failed, worker: str) -> None:
        if isinstance(failed.error, MemoryError):
            rows = self.blocks[failed.number]
            raise MemoryError(
                f"block {failed.number} (rows {rows.start} to {rows.stop}) does not fit into the memory of worker "
                f"{worker}. Give workers more memory, use more workers, or a smaller memory_budget."
            ) from failed.error
        raise failed.error


def _each(function: Callable[..., Any], blocks: list[RowBlock], context: Context, *arguments: Any) -> Any:
    own = zip(*(a if isinstance(a, Each) else [a] * len(blocks) for a in arguments), strict=True)
    return holding.each(blocks, context, function, (), list(own) or [()] * len(blocks))


def _of(numbers: list[int], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments for some blocks."""
    return tuple(Each(a[i] for i in numbers) if isinstance(a, Each) else a for a in arguments)


def _n_bytes(given: tuple[Any, ...]) -> int:
    """About how many bytes arguments take."""
    return sum(_size(argument) for argument in given[-1])


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, (tuple, list)):
        return sum(map(_size, value))
    return sum(map(_size, value.values())) if isinstance(value, dict) else 0
