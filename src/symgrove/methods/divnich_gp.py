"""DivNichGP: diversity by changing samples and niching (Wang, Mei and Zhang 2019; Virgolin's version of 2021).

    population = ramped half-and-half, scored on a bootstrap sample
    repeat:
        clearing: of programs that predict the same, only the best keeps its fitness
        parents = winners of tournaments
        population = one child of every parent, by crossover, mutation or copying
        draw a new bootstrap sample and score everyone on it
    the ensemble is chosen greedily on the rows that the last sample left out

There is no elitism, so errors can rise from one generation to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.base import ForestState, nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import GP, GPState, Matrix
from symgrove.methods.resampled_rows import ResampledRows, n_affordable
from symgrove.rng import stream
from symgrove.selection.clearing import clearing, has_later_twin
from symgrove.selection.tournament import tournament


@dataclass(frozen=True, kw_only=True)
class DivNichState(GPState):
    """A run between two generations; scaling is that of the current sample, `elites` the best program on it."""

    slope: Matrix
    intercept: Matrix


@dataclass(frozen=True, kw_only=True)
class DivNichGP(GP):
    """The method on one target.

    Attributes
    ----------
    rows : ResampledRows
        What programs are scored on, and looked at.
    radius, niche_size : float, int
        See `clearing`.
    greedy_order : str
        "population" or "best": the order in which programs are tried for the ensemble.
    """

    rows: ResampledRows
    tournament_size: int
    radius: float
    niche_size: int
    greedy_order: str
    state_type: ClassVar[type[ForestState]] = DivNichState

    def init(self) -> DivNichState:
        forest = self.new_forest()
        return self.settle(self._score_all(forest, 0, 0, self.random_population(forest)))

    def advance(self, state: DivNichState) -> DivNichState:
        errors = self._clear(state)
        chosen = tournament(
            errors, self.population_size, self.tournament_size, stream(self.seed, "selection", state.generation)
        )
        forest = state.forest
        offspring, _ = self.breed(forest, state.population[chosen], stream(self.seed, "variation", state.generation))
        return self._score_all(forest, state.generation + 1, state.n_evaluations, offspring)

    def _score_all(self, forest: Forest, generation: int, n_evaluations: int, population: Ids) -> DivNichState:
        """The state in which this is the population, scored on the generation's own sample."""
        errors, scaling = self.score(forest, population, self.rows.sample(generation), expect_more=True)
        slope, intercept = scaling.slope[:, 0], scaling.intercept[:, 0]
        best = np.argmin(errors[:, 0])
        return DivNichState(
            generation=generation,
            n_evaluations=n_evaluations + population.size,
            nodes=nodes_of(forest),
            population=population,
            errors=errors,
            elites=Elites(population[[best]], errors[best], slope[[best]], intercept[[best]]),
            slope=slope,
            intercept=intercept,
        )

    # Niches

    def _clear(self, state: DivNichState) -> Matrix:
        """Errors of the population after clearing."""
        vectors, row_of = self._vectors(state, np.arange(state.population.size))
        return clearing(state.errors[:, 0], vectors, self.radius, self.niche_size, row_of)

    def _vectors(self, state: DivNichState, positions: NDArray[np.intp]) -> tuple[Matrix, NDArray[np.intp]]:
        """Distinct predictions on rows of the current sample, as often as they were drawn; and whose are whose."""
        roots, first, row_of = np.unique(state.population[positions], return_index=True, return_inverse=True)
        members = positions[first]
        rows, counts = self.rows.drawn(state.generation, roots.size)
        vectors = np.empty((roots.size, rows.size))
        for part, outputs in self.rows.outputs(state.forest, roots, rows):
            vectors[:, part] = self._predict(state, members, outputs)
        vectors *= np.sqrt(counts)
        return vectors, row_of.ravel()

    def _predict(self, state: DivNichState, members: NDArray[np.intp], outputs: NDArray[Any]) -> Matrix:
        """Scaled outputs, or the class that they say."""
        with np.errstate(all="ignore"):
            scaled = state.intercept[members, None] + state.slope[members, None] * outputs.astype(np.float64)
        if self.loss.row_loss is RowLoss.MISCLASSIFIED:
            return (scaled > self.loss.threshold).astype(np.float64)
        return scaled

    # The ensemble

    def members(self, state: DivNichState) -> Elites:
        """Greedily, in order: a program is taken if it lowers the ensemble's error on the rows left out."""
        candidates = self._candidates(state)
        if candidates.size == 0:  # not one usable program
            return state.elites
        rows, y, weight = self.rows.left_out(state.generation)
        taken: list[int] = []
        total, best = np.zeros(rows.size), np.inf
        for i, prediction in self._predictions(state, candidates, rows):
            mean = (total + prediction) / (len(taken) + 1)
            if self.loss.row_loss is RowLoss.MISCLASSIFIED:
                error = product(weight, (mean > THRESHOLD) != y)
            else:
                error = product(weight, self.loss.of_rows(y, mean))
            if error < best or not taken:
                total, best = total + prediction, error
                taken.append(i)
        chosen = np.array(taken)
        return Elites(state.population[chosen], state.errors[chosen, 0], state.slope[chosen], state.intercept[chosen])

    def _candidates(self, state: DivNichState) -> NDArray[np.intp]:
        """Positions in the population, one for each different prediction, in the order of the greedy choice."""
        usable = np.flatnonzero(np.isfinite(state.errors[:, 0]))
        if self.greedy_order == "best":
            # Backwards, so that of equal predictions the best stays.
            usable = usable[np.argsort(state.errors[usable, 0], kind="stable")][::-1]
        distinct = usable[~has_later_twin(*self._vectors(state, usable))]
        return distinct[::-1] if self.greedy_order == "best" else distinct

    def _predictions(
        self, state: DivNichState, candidates: NDArray[np.intp], rows: NDArray[np.intp]
    ) -> Iterator[tuple[int, Matrix]]:
        """Candidates with their predictions on some rows, a few at a time."""
        n_at_once = n_affordable(self.engine, self.rows.n_looked_at)
        for start in range(0, candidates.size, n_at_once):
            batch = candidates[start : start + n_at_once]
            roots, position = np.unique(state.population[batch], return_inverse=True)
            predictions = np.empty((batch.size, rows.size))
            for part, outputs in self.rows.outputs(state.forest, roots, rows):
                predictions[:, part] = self._predict(state, batch, outputs[position.ravel()])
            yield from zip(batch.tolist(), predictions, strict=True)

    def training_samples(self, state: DivNichState, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        return self.rows.sample(state.generation), np.zeros(n_members, dtype=np.intp)
