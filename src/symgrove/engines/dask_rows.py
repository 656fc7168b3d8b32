"""Rows on the workers of a cluster, and how the client talks with them.

What makes vectors waits for the next question and goes with it. Workers that lack something say so; after a call that
failed or was given up nobody knows who followed it, so nothing of it is sent again: who missed it will say so too.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property, reduce
from itertools import count
from operator import or_
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import Dataset
from symgrove.engines.block_sums import BlockSum, add_up
from symgrove.engines.dask_blocks import SUMS, adding, hold_block
from symgrove.engines.dask_engines import BlockEngines
from symgrove.engines.dask_messages import Command, ForBlock, Lacking, Message, Missed, Reply, Setup
from symgrove.engines.dask_vectors import DaskVectors, Made, Origin, RowsOf, to_make_again
from symgrove.engines.dask_worker import perform
from symgrove.engines.forest_mirror import Event, Mirror, NewNodes, Replaced, nodes_from, renumbered
from symgrove.engines.program_engine import check_forest, robust_centre
from symgrove.engines.workspace import PANEL_ROWS
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitives import PrimitiveSet
from symgrove.shards.blocks import RowBlock
from symgrove.shards.cluster import Check, open_cluster
from symgrove.shards.table import Each, HostRows, Table

EVALUATE, WEIGHTED = "evaluate", "weighted"  # commands that name programs of the forest
FORGET = "forget"  # a question that has no answer


class TableRows(NamedTuple):
    """Data that lie on workers already.

    Attributes
    ----------
    table : Table
        Of each block a dict: "X" (n_features, n_rows) in the dtype, contiguous, and "y" in float64, (n_rows,) or
        (n_targets, n_rows); perhaps "weight", (n_rows,) in the dtype, the largest of all 1.
    n_features : int
    dtype : numpy.dtype
    centre, scale : float
        About where the target is, and how far it spreads.
    place : int or None
        Of the target among several.
    sizes : tuple of int or None
        Rows of each block, where some are left out.
    n_kept : int or None
        So many blocks, the first, stay on workers. The others are made again for every question; None: all stay.
    """

    table: Table
    n_features: int
    dtype: np.dtype[Any]
    centre: float
    scale: float
    place: int | None = None
    sizes: tuple[int, ...] | None = None
    n_kept: int | None = None

    @property
    def n_rows(self) -> int:
        return self.table.n_rows if self.sizes is None else sum(self.sizes)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Rows of each block."""
        if self.sizes is None:
            return self.table.blocks
        ends = np.cumsum(self.sizes).tolist()
        return tuple(slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True))


class DaskRows:
    """Blocks on workers, and what they know.

    Attributes
    ----------
    n_computed : int
        Node evaluations so far, of those that were asked for.
    target : tuple of float
        About where the target is, and how far it spreads.
    """

    def __init__(
        self,
        data: Dataset | TableRows,
        primitives: PrimitiveSet,
        n_workers: int,
        memory_budget: int,
        reserved: int,
        engines: type[BlockEngines],
    ) -> None:
        self.data = data
        self.primitives = primitives
        self.n_rows = data.n_rows
        self.n_computed = 0
        self._n_workers = n_workers
        self._budget = memory_budget, reserved
        self._engines = engines
        self._table: Table | None = None
        self._is_new = True
        self._stack = ExitStack()
        self._end = weakref.finalize(self, self._stack.close)
        self.lock = RLock()
        self._check: Check | None = None
        self._numbers = count()
        self._origins: weakref.WeakValueDictionary[int, Origin] = weakref.WeakValueDictionary()
        self._queue: list[Origin] = []
        self._dropped: list[int] = []
        self._forest: Forest | None = None
        self._epoch = 0
        self._mirror = Mirror(data.n_features, primitives)
        self._events: list[Event] = []
        if isinstance(data, TableRows):
            self.target = data.centre, data.scale
        else:
            self.target = robust_centre(data.y)

    # The cluster

    @property
    def table(self) -> Table:
        """The blocks; they come to workers when they are first needed."""
        if self._table is None:
            if isinstance(self.data, TableRows):
                base = self.data.table
                self._engines.check(base.cluster, self._check)
            else:
                cluster = self._stack.enter_context(open_cluster(self._n_workers))
                self._engines.check(cluster, self._check)
                rows = HostRows({"X": self.data.columns, "y": self.data.y})
                base = Table(cluster, rows, self._engines.block_rows)
                self._stack.callback(base.close)
            self._table, self._is_new = base.derive(hold_block, self._place), True
            self._stack.callback(self._table.close)
            self._table.watch(self._check)
        return self._table

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Rows of each block."""
        return self.data.blocks if isinstance(self.data, TableRows) else self.table.blocks

    @property
    def _place(self) -> int | None:
        return self.data.place if isinstance(self.data, TableRows) else None

    @property
    def _n_kept(self) -> int:
        """Blocks that stay on workers."""
        own = self.data.n_kept if isinstance(self.data, TableRows) else None
        return len(self.blocks) if own is None else min(own, len(self.blocks))

    def close(self) -> None:
        """Leave the cluster; what is asked later is made again on one."""
        self._give_up()
        self._table = None
        self._stack.close()

    def watch(self, check: Check | None) -> None:
        """Call `check` often while waiting for workers."""
        self._check = check
        if self._table is not None:
            self._table.watch(check)

    # The forest

    def follow(self, forest: Forest) -> None:
        """Have workers know the forest as it is now."""
        if self._forest is not forest or self._epoch != forest.epoch:
            check_forest(forest, self.data.n_features, self.primitives)
            self._add_event(Replaced(nodes_from(forest, 0)))
            self._forest, self._epoch = forest, forest.epoch
        elif len(forest) > len(self._mirror):
            self._add_event(nodes_from(forest, len(self._mirror)))

    def collected(self, forest: Forest, ids: Ids) -> None:
        """Take note that nodes were dropped."""
        if forest is self._forest and forest.epoch == self._epoch + 1:
            self._add_event(renumbered(ids[: len(self._mirror)]))  # others were never sent
            self._epoch += 1

    def _add_event(self, event: Event) -> None:
        if not isinstance(event, NewNodes) and any(own.command.kind in (EVALUATE, WEIGHTED) for own in self._queue):
            self.ask()  # while ids mean what they meant
        self._mirror.apply_event(event)
        self._events.append(event)

    # What is made, and asked

    def make(
        self,
        kind: str,
        arguments: tuple[Any, ...],
        size: int,
        inputs: Sequence[DaskVectors] = (),
        rows_of: RowsOf | None = None,
        again: tuple[str, tuple[Any, ...]] | None = None,
    ) -> Made:
        """Have workers make something before the next question is answered."""
        number = next(self._numbers)
        read = {own.origin.number: own.origin for vectors in inputs for own in vectors.parts}
        later = None if again is None else Command(number, *again)
        origin = Origin(Command(number, kind, arguments), tuple(read.values()), rows_of, later)
        self._origins[number] = origin
        self._queue.append(origin)
        return Made(origin, size, self._dropped)

    def forget(self) -> None:
        """Have workers free what they know of programs."""
        if self._table is not None:
            self.ask(FORGET)

    def flush(self) -> None:
        """Have workers do what waits."""
        if self._queue or self._events:
            self.ask()

    def ask(self, question: str = "", arguments: tuple[Any, ...] = (), own: Sequence[Any] | None = None) -> Any:
        """The sum of what the blocks answer, or a list of it; `own` is an argument for each block."""
        with self.lock:
            return self._ask(question, arguments, own)

    def _ask(self, question: str, arguments: tuple[Any, ...], own: Sequence[Any] | None) -> Any:
        queue, events, dropped = tuple(self._queue), tuple(self._events), tuple(self._dropped)
        version = self._mirror.version - len(events)
        commands = tuple(origin.command for origin in queue)
        message = Message(version, events, commands, question, arguments, dropped)
        brought = {origin.number: origin for origin in queue if origin.rows_of is not None}
        try:
            replies = [reply for some in self._turns(question) for reply in self._replies(message, brought, own, some)]
        finally:
            self._give_up()
        del self._dropped[: len(dropped)]
        self.n_computed += next((reply.n_computed for reply in replies if reply.n_computed), 0)
        values = [reply.value for reply in replies]
        if question not in SUMS:
            return values
        parts: list[BlockSum] = [value for value in values if value is not None]
        (total,) = add_up(parts, len(values), adding(question))
        return total.value

    def _give_up(self) -> None:
        """Nothing waits any more: it was done, or those who missed it will say so."""
        self._queue.clear()
        self._events.clear()

    def _turns(self, question: str) -> Iterator[Sequence[int]]:
        """Blocks that are asked together: those that stay, then the others, one for each thread of the workers."""
        n_kept, n_blocks = self._n_kept, len(self.blocks)
        if n_kept:
            yield range(n_kept)
        if n_kept == n_blocks or question in ("", FORGET):  # of which the others have nothing
            return
        n_at_once = max(1, sum(self.table.cluster.workers(self._check).values()))
        for first in range(n_kept, n_blocks, n_at_once):
            numbers = range(first, min(first + n_at_once, n_blocks))
            try:
                yield numbers
            finally:
                self.table.release(numbers)

    def _replies(
        self, message: Message, brought: dict[int, Origin], own: Sequence[Any] | None, only: Sequence[int]
    ) -> list[Reply]:
        """Of some blocks, in their order."""
        table = self.table
        if self._is_new:  # nobody there knows anything yet
            self._is_new = False
            forest = nodes_from(self._mirror, 0), self._mirror.version
            message = message._replace(missed=Missed(self._setup(), forest))
        found: list[Any] = table.map_workers(perform, message, self._own(brought, own), only=only)
        lacking: list[Lacking] = []
        while waiting := [i for i, reply in enumerate(found) if isinstance(reply, Lacking)]:
            lacking += [found[i] for i in waiting]
            missed, again = self._missed(reduce(or_, lacking))
            more = message._replace(missed=missed)
            rest = [only[i] for i in waiting]
            replies = table.map_workers(perform, more, self._own(brought | again, own), only=rest)
            for i, reply in zip(waiting, replies, strict=True):
                found[i] = reply
        return found

    def _missed(self, lacking: Lacking) -> tuple[Missed, dict[int, Origin]]:
        """What is missing, and what of it is brought from the host."""
        commands = to_make_again(self._origins[number] for number in lacking.numbers)
        made = [self._origins[command.number] for command in commands if command.number in self._origins]
        again = {origin.number: origin for origin in made if origin.rows_of is not None}
        forest = (nodes_from(self._mirror, 0), self._mirror.version) if lacking.forest else None
        return Missed(self._setup() if lacking.setup else None, forest, commands), again

    def _setup(self) -> Setup:
        n_blocks = len(self.blocks)
        own = self.primitives, n_blocks, self.n_rows, *self._budget, self.target, self._panel
        return Setup(self._engines, *own)

    @cached_property
    def _panel(self) -> NDArray[np.floating]:
        """Features of the first rows."""
        if not isinstance(self.data, TableRows):
            return np.ascontiguousarray(self.data.columns[:, :PANEL_ROWS])
        first = next(i for i, rows in enumerate(self.blocks) if rows.stop > rows.start)
        found: NDArray[np.floating] = self.table.map_blocks(_first_panel, only=[first])[0]
        return found

    def _own(self, brought: dict[int, Origin], own: Sequence[Any] | None) -> Each:
        return Each(
            ForBlock(
                {number: origin.rows_of(rows) for number, origin in brought.items() if origin.rows_of is not None},
                argument,
            )
            for rows, argument in zip(self.blocks, own or [None] * len(self.blocks), strict=True)
        )

    def check_same(self, *sets: DaskVectors | None) -> None:
        """Refuse vectors of another engine."""
        for vectors in sets:
            if vectors is not None and vectors.home is not self:
                same = "other" if vectors.n_rows == self.n_rows else "different"
                raise ValueError(f"vectors of engines with {same} rows cannot be used together.")


def _first_panel(block: RowBlock) -> NDArray[np.floating]:
    return np.ascontiguousarray(block.value.rows.columns[:, :PANEL_ROWS])
