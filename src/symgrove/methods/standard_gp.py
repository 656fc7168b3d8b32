"""Standard GP for classification, a proxy for the system behind the paper's classification column.

That column came from another group (Rodrigues et al. 2020). Which code made it is not known: the defaults are those of
a later version of that group's public code (Python-StdGP, May 2021), `december_2019` has those of the time.

    population = grown programs; features as they are
    repeat:
        rank by accuracy, then by size; the best ever is the model
        the next population is the best program and, until it is full:
            with chance p_crossover the two children of a swap of branches, else a mutated program,
            each parent the best of a tournament, children over the depth limit dropped
    stop at once when the training accuracy is 1

A program says class 1 where its output is above the threshold.

Differences from the version of December 2019: there, an output of exactly one half is class 1, constants are not
rounded, and the last of the 100 generations is made but not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.base import nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import GP, GPState, Matrix
from symgrove.rng import stream


@dataclass(frozen=True, kw_only=True)
class StandardGP(GP):
    """The method on one target."""

    samples: Samples
    tournament_size: int
    p_function: float | None
    prefers_small: bool

    def init(self) -> GPState:
        rng = stream(self.seed, "init")
        low, high = self.heights
        forest = self.new_forest()
        drawn = [self.source.grow(forest, high, rng, low, self.p_function) for _ in range(self.population_size)]
        population = np.array(drawn, dtype=np.int64)
        nothing = Elites(population[:1], np.full(1, np.inf), np.ones(1), np.zeros(1))
        errors = self.score(forest, population, self.samples).errors
        return self.settle(self._ranked(forest, 0, population.size, population, errors, nothing))

    def advance(self, state: GPState) -> GPState:
        population = self._next_population(state)
        errors = self.score(state.forest, population, self.samples).errors
        n_evaluations = state.n_evaluations + self.population_size
        return self._ranked(state.forest, state.generation + 1, n_evaluations, population, errors, state.elites)

    def _ranked(
        self, forest: Forest, generation: int, n_evaluations: int, population: Ids, errors: Matrix, elites: Elites
    ) -> GPState:
        """The state in which programs stand in order of error, then size if small ones are preferred."""
        sizes = forest.size(population) * self.prefers_small
        order = np.lexsort((sizes, errors[:, 0]))
        best = order[0]
        size = forest.size(elites.root)[0] * self.prefers_small
        rank, known = (errors[best, 0], sizes[best]), (elites.error[0], size)
        if rank < known or not np.isfinite(known[0]):
            elites = elites._replace(root=population[[best]], error=errors[best])
        return GPState(
            generation=generation,
            n_evaluations=n_evaluations,
            nodes=nodes_of(forest),
            population=population[order],
            errors=errors[order],
            elites=elites,
        )

    def _next_population(self, state: GPState) -> Ids:
        """The best program and children of tournament winners: of programs in order, the first of those drawn."""
        rng = stream(self.seed, "variation", state.generation)
        found = [state.population[:1]]
        n_missing = self.population_size - 1
        while n_missing > 0:
            drawn = rng.integers(self.population_size, size=(2, n_missing, self.tournament_size))
            mothers, fathers = state.population[drawn.min(axis=2)]
            children: Ids = self.vary(state.forest, mothers, fathers, rng)[:n_missing]
            found.append(children)
            n_missing -= children.size
        return np.concatenate(found)
