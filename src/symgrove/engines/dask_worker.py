"""What a worker of a cluster does for `dask.py`: an engine for each block of rows, all of which share a forest.

A message says what to do, in order: follow the forest, make vectors, answer one question. Whoever lacks what it needs
says so and does nothing; the same message then comes with what was missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from symgrove.engines.block_sums import BlockSum, add_up
from symgrove.engines.dask_blocks import COMMANDS, QUESTIONS, SUMS, BlockWorker, HeldBlock, adding
from symgrove.engines.dask_messages import DROP, Command, ForBlock, Lacking, Message, Reply
from symgrove.shards.blocks import RowBlock
from symgrove.shards.holding import Context, Failed


def perform(blocks: list[RowBlock], context: Context, message: Message, own: list[ForBlock]) -> Any:
    """Do what a message says with all blocks of this worker; a reply of each, or `Lacking`."""
    worker: BlockWorker | None = context.shared.get("worker")
    if worker is None and message.missed.setup is not None:
        worker = context.shared["worker"] = BlockWorker(message.missed.setup)
    held: list[HeldBlock] = [block.value for block in blocks]
    missing = frozenset(_missing(held, message))
    if worker is None or not worker.follow(message, held) or missing:
        is_behind = worker is None or not worker.follow(message, held)
        return [Lacking(worker is None, is_behind, missing)] * len(blocks)
    with worker.engines.turn:
        return _perform_in_turn(worker, blocks, context, message.widened(), own)


def _perform_in_turn(
    worker: BlockWorker, blocks: list[RowBlock], context: Context, message: Message, own: list[ForBlock]
) -> list[Reply] | Failed:
    worker.centre = None
    if message.question == "moments":
        forest_roots = message.arguments[0]
        worker.centre = worker.panel.centres(worker.forest, forest_roots)

    def work(pair: tuple[RowBlock, ForBlock]) -> Any:
        block, brought = pair
        try:
            return _perform_on(worker, block.value, message, brought)
        except Exception as error:
            return Failed(block.number, worker.engines.as_told(error))

    pairs = list(zip(blocks, own, strict=True))
    if worker.engines.is_serial or context.n_threads == 1 or len(blocks) == 1:
        return _replies(blocks, message, map(work, pairs), worker.setup.n_blocks)
    with ThreadPoolExecutor(min(context.n_threads, len(blocks))) as pool:
        return _replies(blocks, message, pool.map(work, pairs), worker.setup.n_blocks)


def _missing(held: list[HeldBlock], message: Message) -> set[int]:
    """Numbers that some block needs and does not have."""
    needed = message.needs()
    restored = {command.number for command in message.missed.commands}
    return {n for block in held if block.rows.n_rows for n in needed - restored if n not in block.made}


def _replies(blocks: list[RowBlock], message: Message, results: Iterator[Any], n_blocks: int) -> list[Reply] | Failed:
    """A reply of each block, sums added as far as this worker can."""
    n_computed: dict[int, int] = {}
    values: dict[int, Any] = {}

    def succeeded() -> Iterator[BlockSum]:
        for block, result in zip(blocks, results, strict=True):
            if isinstance(result, Failed):
                raise _BlockError(result)
            value, n_computed[block.number] = result
            yield BlockSum(block.number, 0, value)

    try:
        if message.question in SUMS:
            values = {part.first: part for part in add_up(succeeded(), n_blocks, adding(message.question))}
        else:
            values = {part.first: part.value for part in succeeded()}
    except _BlockError as failure:
        return failure.failed
    return [Reply(values.get(block.number), n_computed[block.number]) for block in blocks]


class _BlockError(Exception):
    def __init__(self, failed: Failed) -> None:
        super().__init__()
        self.failed = failed


def _perform_on(worker: BlockWorker, block: HeldBlock, message: Message, own: ForBlock) -> tuple[Any, int]:
    if not block.rows.n_rows:  # all of them are left out
        return None, 0
    if block.held_engine is None:
        block.held_engine = worker.engines.make(block.rows)
    before = block.engine.n_computed
    for command in message.missed.commands:
        if command.kind == DROP or command.number not in block.made:
            _make(worker, block, command, own)
    for command in message.commands:
        _make(worker, block, command, own)
    answer = None
    if message.question:
        arguments = map(block.resolved, message.arguments)
        answer = QUESTIONS[message.question](worker, block, own.argument, *arguments)
    for number in message.dropped:
        block.made.pop(number, None)
    return answer, block.engine.n_computed - before


def _make(worker: BlockWorker, block: HeldBlock, command: Command, own: ForBlock) -> None:
    number, kind, arguments = command
    if kind == DROP:
        for dead in arguments:
            block.made.pop(dead, None)
    else:
        block.made[number] = COMMANDS[kind](worker, block, own.brought.get(number), *arguments)
