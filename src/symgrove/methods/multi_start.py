"""The interleaved multi-start scheme: populations of growing size take turns, so that no size must be chosen.

the smallest population has a turn in every step
after so many turns of a population, the next one, twice as large, has one; it is made when it has its first
a population ends when it has converged, or when it was not the best in its turn and a larger one is better
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

GROWTH = 2


class Starts(NamedTuple):
    """What is known of the populations, smallest first.

    Attributes
    ----------
    size : (n_starts,)
        Individuals; 0 once a population has ended.
    n_turns : (n_starts,)
        Since the next larger one had its turn.
    best : (n_starts,)
        Lowest error so far.
    n_idle : (n_starts,)
        Turns since that fell.
    """

    size: NDArray[np.int64]
    n_turns: NDArray[np.int64]
    best: NDArray[np.float64]
    n_idle: NDArray[np.int64]


def first_start(size: int, best: float) -> Starts:
    """One population that has had no turn."""
    nothing = np.zeros(1, dtype=np.int64)
    return Starts(np.array([size]), nothing, np.array([best]), nothing)


def most_individuals(first_size: int, n_subgenerations: int | None, n_steps: int) -> int:
    """Of populations that live at the same time, if none ends early; `step` keeps within it."""
    n_starts, n_turns = 1, 1
    while n_subgenerations is not None and n_turns * n_subgenerations <= n_steps:
        n_starts, n_turns = n_starts + 1, n_turns * n_subgenerations
    return first_size * (GROWTH**n_starts - 1)


class Turn(NamedTuple):
    """A population after its turn: its lowest error, and whether it has converged."""

    population: Any
    best: float
    has_converged: bool


def step(
    populations: list[Any],
    starts: Starts,
    first_size: int,
    n_most: int,
    n_subgenerations: int,
    make: Callable[[int, int], Any],
    advance: Callable[[int, Any], Turn],
) -> tuple[list[Any], Starts]:
    """Give every population whose turn it is its turn, after `n_subgenerations` (at least 2) of the one before.

    `make` makes a population from its number and size, `advance` is a turn of one. What has ended is None. There are
    never more than `n_most` individuals: what would make them more is smaller, or not made at all.
    """
    populations, n_before = list(populations), starts.size.size
    size, n_turns, best, n_idle = starts.size.copy(), starts.n_turns.copy(), starts.best.copy(), starts.n_idle.copy()
    i = 0
    while True:
        before = next((j for j in range(i - 1, -1, -1) if size[j]), None)
        is_due = before is None or n_turns[before] == n_subgenerations ** (i - before)
        if i == size.size:
            own_size = int(min(first_size * GROWTH**i, n_most - size.sum()))
            if not is_due or own_size < first_size:
                return populations, Starts(size, n_turns, best, n_idle)
            populations.append(make(i, own_size))
            size, best = np.append(size, own_size), np.append(best, np.inf)
            n_turns, n_idle = np.append(n_turns, 0), np.append(n_idle, 0)
        if size[i] and is_due:
            if before is not None:
                n_turns[before] = 0
            lowest = best.min()
            turn = advance(i, populations[i])
            n_idle[i] = 0 if turn.best < best[i] else n_idle[i] + 1
            populations[i], best[i] = turn.population, min(best[i], turn.best)
            n_turns[i] += 1
            is_beaten = best[i] >= lowest and any(size[j] and best[j] < best[i] for j in range(i + 1, size.size))
            if i < n_before and (turn.has_converged or is_beaten):  # a new one lives until its next turn at least
                size[i], populations[i] = 0, None
        i += 1
