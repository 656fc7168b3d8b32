"""What independent evolutions may cost, so that all together cost as much as one of 2SEGP."""

from __future__ import annotations

from typing import NamedTuple

# The paper's example of equation 3 assumes programs of so many nodes, and populations of at least so many programs.
TYPICAL_SIZE = 100
SMALLEST_POPULATION = 100


class Budget(NamedTuple):
    """Population and generations of one evolution."""

    population_size: int
    generations: int


def matched_budget(n_estimators: int, population_size: int, generations: int) -> Budget:
    """What each evolution may cost, so that all together cost as much as one of 2SEGP (equation 3 of the paper).

    In 2SEGP a program costs its size plus one for each sample, instead of its size once for each sample.
    """
    share = (TYPICAL_SIZE + n_estimators) / (n_estimators * TYPICAL_SIZE)
    n_programs = int(population_size * generations * share)
    fewer = max(1, min(generations, n_programs // min(SMALLEST_POPULATION, population_size)))
    return Budget(max(2, n_programs // fewer), fewer)
