"""Vectors that live on the workers of a cluster, as the client knows them: by number, with how each was made.

What is lost with a worker is made again from that: numbers of the host are brought again, programs evaluated again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.engines.dask_messages import DROP, ChosenVectors, Command
from symgrove.engines.resident import places_of
from symgrove.fitness.moments import Matrix

# Of some rows, what a worker gets of what is brought from the host.
RowsOf = Callable[[slice], Any]


@dataclass(frozen=True, eq=False)
class Origin:
    """How something is made, in the words of a worker.

    Attributes
    ----------
    command : Command
    inputs : tuple of Origin
        What the command reads.
    rows_of : callable or None
        What it brings from the host.
    again : Command or None
        What makes the same later, if it is not the command.
    """

    command: Command
    inputs: tuple[Origin, ...] = ()
    rows_of: RowsOf | None = None
    again: Command | None = None

    @property
    def number(self) -> int:
        """Of what is made; larger than those of the inputs."""
        return self.command.number


class Made:
    """Stands for what was made: as long as somebody has it, the workers do. `size` is the number of vectors."""

    def __init__(self, origin: Origin, size: int, dropped: list[int]) -> None:
        self.origin = origin
        self.number = origin.number
        self.size = size
        weakref.finalize(self, dropped.append, origin.number)


def to_make_again(wanted: Iterable[Origin]) -> tuple[Command, ...]:
    """Commands that make these on a block that has nothing; what is made on the way goes after its last use."""
    all_of_them: dict[int, Origin] = {}
    waiting = list(wanted)
    kept = {origin.number for origin in waiting}
    while waiting:
        origin = waiting.pop()
        if origin.number not in all_of_them:
            all_of_them[origin.number] = origin
            waiting += origin.inputs
    ordered = [all_of_them[number] for number in sorted(all_of_them)]
    last_use = {own.number: origin.number for origin in ordered for own in origin.inputs}
    dead: dict[int, list[int]] = {}
    for number, user in last_use.items():
        if number not in kept:
            dead.setdefault(user, []).append(number)
    commands = []
    for origin in ordered:
        commands.append(origin.again or origin.command)
        if origin.number in dead:
            commands.append(Command(-1, DROP, tuple(dead[origin.number])))
    return tuple(commands)


@dataclass(frozen=True)
class DaskVectors:
    """Of what was made, part by part, some vectors; read as (x - centre) / spread.

    Attributes
    ----------
    home : Any
        The rows that they are of.
    n_rows : int
    parts : tuple of Made
    part, row : (n_vectors,)
        Which vector of which part each is.
    centre, spread : (n_vectors,) or None
    """

    home: Any
    n_rows: int
    parts: tuple[Made, ...]
    part: NDArray[np.int32]
    row: NDArray[np.int32]
    centre: Matrix | None = None
    spread: Matrix | None = None

    @classmethod
    def of(cls, home: Any, n_rows: int, made: Made) -> Self:
        """All that was made."""
        row = np.arange(made.size, dtype=np.int32)
        return cls(home, n_rows, (made,), np.zeros_like(row), row)

    def __len__(self) -> int:
        return self.row.size

    def __getitem__(self, index: ArrayLike) -> Self:
        chosen = places_of(index, len(self))
        used, part = np.unique(self.part[chosen], return_inverse=True)
        parts = tuple(self.parts[i] for i in used) or self.parts[:1]
        centre, spread = (None if own is None else own[chosen] for own in (self.centre, self.spread))
        own_part = part.ravel().astype(np.int32)
        return replace(self, parts=parts, part=own_part, row=self.row[chosen], centre=centre, spread=spread)

    def __add__(self, other: Self) -> Self:
        self.home.check_same(other)
        parts = self.parts + tuple(own for own in other.parts if own not in self.parts)
        place = np.array([parts.index(own) for own in other.parts], dtype=np.int32)
        centre, spread = self.centre, self.spread
        if centre is not None or other.centre is not None:
            centre = np.concatenate([_or(self.centre, 0.0, len(self)), _or(other.centre, 0.0, len(other))])
            spread = np.concatenate([_or(self.spread, 1.0, len(self)), _or(other.spread, 1.0, len(other))])
        return replace(
            self,
            parts=parts,
            part=np.concatenate([self.part, place[other.part]]),
            row=np.concatenate([self.row, other.row]),
            centre=centre,
            spread=spread,
        )

    def standardized(self, centre: Matrix, spread: Matrix) -> Self:
        """The same vectors, read as (x - centre) / spread."""
        if self.centre is None or self.spread is None:
            return replace(self, centre=np.array(centre, dtype=np.float64), spread=np.array(spread, dtype=np.float64))
        with np.errstate(all="ignore"):
            return replace(self, centre=self.centre + centre * self.spread, spread=self.spread * spread)

    @property
    def chosen(self) -> ChosenVectors:
        """As workers understand it."""
        numbers = tuple(own.origin.number for own in self.parts)
        sizes = [own.size for own in self.parts]
        index = np.cumsum([0, *sizes])[:-1][self.part] + self.row
        is_all = np.array_equal(index, np.arange(sum(sizes)))
        return ChosenVectors(numbers, None if is_all else index.astype(np.int32), self.centre, self.spread)


def _or(values: Matrix | None, otherwise: float, n: int) -> Matrix:
    return np.full(n, otherwise) if values is None else values
