"""Evolutions on more rows than they can hold: every population has rows of its own, drawn anew for each turn.

A turn is some generations. A term that was good only on the rows of one turn is of little use in the next, and leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from symgrove.methods.base import Arrays
from symgrove.methods.grove.teams import TeamEvolution
from symgrove.methods.problem import Places, Rows, TrainingRows
from symgrove.methods.side_by_side import SideBySide, States
from symgrove.models.standardization import Standardization
from symgrove.rng import stream

Populations = SideBySide[TeamEvolution]
TURNS_AT_A_TIME = 16  # whose rows are fetched together, where each time takes a pass over all rows


class Others(NamedTuple):
    """All of so many rows but for those hidden, without a list of them: there may be very many."""

    n_rows: int
    hidden: Places | None

    @property
    def size(self) -> int:
        return self.n_rows - (0 if self.hidden is None else self.hidden.size)

    def places(self, ranks: Places) -> Places:
        """Of the first, the second, and so on."""
        if self.hidden is None:
            return ranks
        return ranks + np.searchsorted(self.hidden - np.arange(self.hidden.size), ranks, side="right")

    def spread(self, most: int) -> Places:
        """So many of them at most, evenly spread."""
        return self.places(np.arange(0, self.size, -(-self.size // most)))


@dataclass(frozen=True)
class RowsOfTurns:
    """Rows that populations have in their turns, drawn with streams for each of both.

    Attributes
    ----------
    seen : Others
        That they are drawn from.
    n_rows : int
        Of a population in a turn.
    """

    training: TrainingRows
    seen: Others
    seed: int
    n_populations: int
    n_rows: int
    n_turns: int = 1

    def of(self, population: int, turn: int) -> Rows:
        """Rows of a population in a turn."""
        first = turn // TURNS_AT_A_TIME * TURNS_AT_A_TIME
        turns = range(first, max(min(first + TURNS_AT_A_TIME, self.n_turns), turn + 1))
        self.training.announce("turns", (self.seed, turns), lambda: self._of_all(turns))
        return self.training.take(self._places(population, turn))

    def _of_all(self, turns: range) -> Places:
        return np.concatenate([self._places(i, turn) for turn in turns for i in range(self.n_populations)])

    def _places(self, population: int, turn: int) -> Places:
        drawn = stream(self.seed, "turn", population, turn).choice(self.seen.size, size=self.n_rows, replace=False)
        return self.seen.places(np.sort(drawn))


class InTurns:
    """A method that goes on with the same teams on other rows.

    Parameters
    ----------
    make : callable
        Of the number of a turn: its evolutions, side by side.
    n_generations : int
        Of a turn.
    """

    def __init__(self, make: Callable[[int], Populations], n_generations: int) -> None:
        self.make = make
        self.n_generations = n_generations
        self._turn = 0
        self._own = make(0)
        self._check: Callable[[], None] | None = None

    @property
    def parts(self) -> Sequence[TeamEvolution]:
        """Evolutions of the turn."""
        return self._own.parts

    @property
    def standardization(self) -> Standardization:
        """Of the features, whatever the turn."""
        return self._own.standardization

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._own.__exit__(*exception)

    def _go_to(self, generation: int) -> bool:
        """Have the rows of a generation; whether they are others than before."""
        turn = generation // self.n_generations
        if turn == self._turn:
            return False
        self._own.__exit__(None, None, None)  # before there are others, so that there are never both
        self._own = self.make(turn)
        self._own.watch(self._check)
        self._turn = turn
        return True

    def init(self) -> States:
        self._go_to(0)
        return self._own.init()

    def step(self, state: States) -> States:
        generation = state[0].generation + 1
        if generation // self.n_generations != self._turn:
            arrays = self._own.to_arrays(state)
            self._go_to(generation)
            state = tuple(p.usable(s) for p, s in zip(self.parts, self._own.from_arrays(arrays), strict=True))
        return self._own.step(state)

    def rollback(self, state: States) -> States:
        self._go_to(state[0].generation)
        return self._own.rollback(state)

    def watch(self, check: Callable[[], None] | None) -> None:
        self._check = check
        self._own.watch(check)

    def describe(self, state: States) -> dict[str, Any]:
        return self._own.describe(state)

    def to_arrays(self, state: States) -> Arrays:
        return self._own.to_arrays(state)

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> States:
        generation, _ = map(int, np.asarray(arrays["0.counters"]).ravel()[:2])
        self._go_to(max(generation, 0))
        return self._own.from_arrays(arrays)
