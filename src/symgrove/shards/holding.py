"""What a worker holds of tables: runs there, knows no client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from symgrove.shards.blocks import RowBlock
from symgrove.shards.quick_calls import this_worker

SOURCE = ""  # the name of what a source made


class Derivation(NamedTuple):
    """How a value is derived from another: `function(block, *arguments)`, under a name of its own.

    `gives_up`: the value that it came from goes, and is made again should it be needed.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    gives_up: bool


class Missing(NamedTuple):
    """Instead of a result: blocks that this worker does not hold."""

    numbers: list[int]


class Failed(NamedTuple):
    """Instead of a result: what went wrong, with which block."""

    number: int
    error: BaseException


class Context(NamedTuple):
    """What a function of a whole worker gets besides blocks: room for what its blocks share, and threads."""

    shared: dict[str, Any]
    n_threads: int


class Holding:
    """Blocks of one source on one worker: of each, values by name."""

    def __init__(self) -> None:
        self.values: dict[int, dict[str, Any]] = {}
        self.rows: dict[int, tuple[int, int]] = {}
        self.shared: dict[str, dict[str, Any]] = {}
        self.lock = RLock()  # a call that was given up may still run

    def value(self, number: int, steps: Sequence[Derivation]) -> Any:
        """What the steps make of a block; KeyError if what they start from is gone."""
        values = self.values[number]
        name = steps[-1].name if steps else SOURCE
        if name not in values:
            if not steps:
                raise KeyError(name)
            step, before = steps[-1], steps[:-1]
            values[name] = step.function(self.block(number, before), *step.arguments)
            if step.gives_up:
                values.pop(before[-1].name if before else SOURCE, None)
        return values[name]

    def block(self, number: int, steps: Sequence[Derivation]) -> RowBlock:
        """A block with what the steps make of it."""
        return RowBlock(number, *self.rows[number], self.value(number, steps))

    def drop(self, names: Sequence[str]) -> None:
        """Forget values by their names."""
        for name in names:
            self.shared.pop(name, None)
            for values in [*self.values.values()]:  # leases may end meanwhile
                values.pop(name, None)


_holdings: WeakKeyDictionary[Any, dict[str, Holding]] = WeakKeyDictionary()  # of each worker, by source
_lock = RLock()


class Lease:
    """Keeps a block on its worker: a result of Dask, which goes when nobody has its future any more."""

    def __init__(self, holding: Holding, number: int) -> None:
        finalize(self, _end_lease, holding, number, holding.values[number])

    def __reduce__(self) -> Any:
        raise TypeError("a lease stays where it is")  # also when Dask writes results to disk to save memory


def _end_lease(holding: Holding, number: int, values: dict[str, Any]) -> None:
    if holding.values.get(number) is values:  # no later lease has it
        del holding.values[number]
    values.clear()
    if not holding.values:
        holding.shared.clear()


def hold(source: str, number: int, start: int, stop: int, make: Callable[..., Any], *arguments: Any) -> Lease:
    """Make a block on this worker, and keep it."""
    try:
        value = make(*arguments)
    except MemoryError as error:
        raise MemoryError(f"block {number} (rows {start} to {stop}) does not fit into a worker's memory") from error
    holding = _holding(source)
    with holding.lock:
        holding.rows[number] = start, stop
        holding.values[number] = {SOURCE: value}
        return Lease(holding, number)


def run(
    source: str,
    numbers: list[int],
    steps: Sequence[Derivation],
    dropped: Sequence[str],
    function: Callable[..., list[Any]],
    arguments: tuple[Any, ...],
) -> list[Any] | Missing | Failed:
    """Call `function(blocks, context, *arguments)` of blocks that this worker holds; a result for each."""
    holding, n_threads = _holding(source), _n_threads()
    with holding.lock:
        holding.drop(dropped)
        blocks, missing = [], []
        for number in numbers:
            try:
                blocks.append(holding.block(number, steps))
            except KeyError as error:
                if number in holding.values and error.args != (SOURCE,):
                    return Failed(number, error)
                missing.append(number)
            except Exception as error:
                return Failed(number, error)
        if missing:
            return Missing(missing)
        shared = holding.shared.setdefault(steps[-1].name if steps else SOURCE, {})
        return function(blocks, Context(shared, n_threads), *arguments)


def each(
    blocks: list[RowBlock], context: Context, function: Callable[..., Any], arguments: tuple[Any, ...], own: list[Any]
) -> list[Any] | Failed:
    """A call for each block, with arguments of its own after those of all."""

    def call(block: RowBlock, more: tuple[Any, ...]) -> Any:
        try:
            return function(block, *arguments, *more)
        except Exception as error:
            return Failed(block.number, error)

    if context.n_threads == 1 or len(blocks) == 1:
        found = list(map(call, blocks, own))
    else:
        with ThreadPoolExecutor(context.n_threads) as pool:
            found = list(pool.map(call, blocks, own))
    return next((result for result in found if isinstance(result, Failed)), found)


def _holding(source: str) -> Holding:
    with _lock:
        return _holdings.setdefault(this_worker(), {}).setdefault(source, Holding())


def _n_threads() -> int:
    return int(this_worker().state.nthreads)
