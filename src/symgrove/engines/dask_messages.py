"""What is said between the Dask engine and the workers of its cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Matrix
from symgrove.engines.forest_mirror import Event, NewNodes
from symgrove.forest.primitives import PrimitiveSet


class ChosenVectors(NamedTuple):
    """Vectors of a block: of those with these numbers, one after the other, all or some, as (x - centre) / spread."""

    numbers: tuple[int, ...]
    which: NDArray[np.integer] | None
    centre: Matrix | None
    spread: Matrix | None


class Command(NamedTuple):
    """Makes what has a number from then on: `kind` is a function below, with these arguments."""

    number: int
    kind: str
    arguments: tuple[Any, ...]


DROP = "drop"  # a command that forgets the numbers that are its arguments


class Setup(NamedTuple):
    """What the engines of all blocks share.

    Attributes
    ----------
    engines : callable
        From this to what makes them on a worker, `BlockEngines`.
    primitives : PrimitiveSet
    n_blocks, n_rows : int
        Of the table.
    memory_budget, reserved : int
    target : tuple of float
        Centre and scale of the target.
    panel : (n_features, at most 2048)
        Features of the first rows.
    """

    engines: Callable[[Setup], Any]
    primitives: PrimitiveSet
    n_blocks: int
    n_rows: int
    memory_budget: int
    reserved: int
    target: tuple[float, float]
    panel: NDArray[np.floating]


class Lacking(NamedTuple):
    """Instead of a reply: what a worker needs first."""

    setup: bool
    forest: bool
    numbers: frozenset[int]

    def __or__(self, other: Lacking) -> Lacking:
        return Lacking(self.setup or other.setup, self.forest or other.forest, self.numbers | other.numbers)


class Missed(NamedTuple):
    """What a worker lacks: the setup; the forest as it is after the message's events; commands."""

    setup: Setup | None = None
    forest: tuple[NewNodes, int] | None = None
    commands: tuple[Command, ...] = ()


class Message(NamedTuple):
    """What to do.

    Attributes
    ----------
    version : int
        Of the forest before the events.
    events : tuple of Event
    commands : tuple of Command
    question, arguments : str, tuple
        A function below; none if empty.
    dropped : tuple of int
        What nobody needs any more, afterwards.
    missed : Missed
    """

    version: int
    events: tuple[Event, ...]
    commands: tuple[Command, ...]
    question: str
    arguments: tuple[Any, ...]
    dropped: tuple[int, ...]
    missed: Missed = Missed()

    def widened(self) -> Message:
        """The same with positions as kernels take them."""
        commands = tuple(own._replace(arguments=widened(own.arguments)) for own in self.commands)
        return self._replace(commands=commands, arguments=widened(self.arguments))

    def needs(self) -> set[int]:
        """What must be there before."""
        made = {command.number for command in self.commands}
        read = {n for command in self.commands for n in numbers_in(command.arguments)}
        return (read | set(numbers_in(self.arguments))) - made


class Pickled(NamedTuple):
    """A function or a loss as bytes."""

    text: bytes

    def read(self) -> Any:
        """The function: the same object for the same bytes, so that it is compiled once."""
        return _read(self.text)


def pickled(function: Any) -> Pickled:
    """A function as it is now."""
    from distributed.protocol.pickle import dumps  # noqa: PLC0415 - optional

    return Pickled(dumps(function))


@lru_cache(maxsize=64)
def _read(text: bytes) -> Any:
    return pickle.loads(text)


class Numbered(NamedTuple):
    """The number of what a question is about: samples, or numbers of rows."""

    number: int


def widened(argument: Any) -> Any:
    """An argument with positions of the type that kernels take: once for all blocks of a worker."""
    if isinstance(argument, ChosenVectors):
        return argument._replace(which=widened(argument.which))
    if type(argument) is tuple:
        return tuple(map(widened, argument))
    is_index = isinstance(argument, np.ndarray) and argument.dtype in (np.int16, np.int32)
    return argument.astype(np.intp) if is_index else argument


def numbers_in(arguments: Any) -> Iterator[int]:
    """Numbers that arguments refer to."""
    for argument in arguments:
        if isinstance(argument, ChosenVectors):
            yield from argument.numbers
        elif isinstance(argument, Numbered):
            yield argument.number
        elif type(argument) is tuple:
            yield from numbers_in(argument)


class ForBlock(NamedTuple):
    """What a message has for one block: its rows of what commands bring, and of what is asked."""

    brought: Mapping[int, Any]
    argument: Any = None


class Reply(NamedTuple):
    """Of a block: the answer, or its sum with others, or None if it is in the sum of one before; node evaluations."""

    value: Any
    n_computed: int
