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
from symgrove.fitness.bootstrap import bootstrap_sample
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.base import ForestState, nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import GP, GPState, Matrix
from symgrove.rng import stream
from symgrove.selection.clearing import clearing, has_later_twin
from symgrove.selection.tournament import tournament

# Of the memory budget, which is mostly the engine's: for the vectors that niches are told by, and for predictions on
# the way there, of which a few copies are alive at the same time.
VECTOR_SHARE = 0.25
OUTPUT_SHARE = 0.1
N_COPIES = 4


@dataclass(frozen=True, kw_only=True)
class DivNichState(GPState):
    """A run between two generations; scaling is that of the current sample, `elites` the best program on it."""

    slope: Matrix
    intercept: Matrix


@dataclass(frozen=True, kw_only=True)
class DivNichGP(GP):
    """The method on one target."""

    weight: Matrix | None
    sample_seed: int
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
        errors, scaling = self.score(forest, population, self._sample(generation), expect_more=True)
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

    def _counts(self, generation: int) -> NDArray[np.int32]:
        return bootstrap_sample(self.engine.n_rows, self.sample_seed, generation)

    def _sample(self, generation: int) -> Samples:
        return self.engine.prepare(self._counts(generation)[None, :], self.weight)

    # Niches

    def _clear(self, state: DivNichState) -> Matrix:
        """Errors of the population after clearing."""
        vectors, row_of = self._vectors(state, np.arange(state.population.size))
        return clearing(state.errors[:, 0], vectors, self.radius, self.niche_size, row_of)

    def _vectors(self, state: DivNichState, positions: NDArray[np.intp]) -> tuple[Matrix, NDArray[np.intp]]:
        """Distinct predictions on the rows of the current sample, as often as they were drawn; and whose are whose.

        If they do not fit the memory budget, those on some of the rows, drawn at random.
        """
        roots, first, row_of = np.unique(state.population[positions], return_index=True, return_inverse=True)
        members = positions[first]
        counts = self._counts(state.generation)
        rows = np.flatnonzero(counts)
        n_affordable = int(VECTOR_SHARE * self.engine.memory_budget / (8 * max(roots.size, 1)))
        if rows.size > n_affordable:
            rng = stream(self.seed, "niche rows", state.generation)
            rows = np.sort(rng.choice(rows, size=max(n_affordable, 1), replace=False))
        vectors = np.empty((roots.size, rows.size))
        for chunk, outputs in self._outputs(state, roots):
            inside = slice(*np.searchsorted(rows, [chunk.start, chunk.stop]))
            vectors[:, inside] = self._predict(state, members, outputs[:, rows[inside] - chunk.start])
        vectors *= np.sqrt(counts[rows])
        return vectors, row_of.ravel()

    def _outputs(self, state: DivNichState, roots: Ids) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Outputs of distinct programs, in ranges of rows that take little memory."""
        n_rows = self.engine.n_rows
        n_at_once = self._n_affordable(max(roots.size, 1))
        for start in range(0, n_rows, n_at_once):
            chunk = slice(start, min(start + n_at_once, n_rows))
            yield chunk, self.engine.outputs(state.forest, roots, chunk)

    def _n_affordable(self, length: int) -> int:
        """How many vectors of this length may be at hand, each in a few copies."""
        return max(1, int(OUTPUT_SHARE * self.engine.memory_budget / (N_COPIES * 8 * length)))

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
        rows = np.flatnonzero(self._counts(state.generation) == 0)
        rows = rows if rows.size else np.arange(self.engine.n_rows)
        y = self.engine.target[rows]
        weight = np.ones(rows.size) if self.weight is None else self.weight[rows]
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
        n_at_once = self._n_affordable(self.engine.n_rows)
        for start in range(0, candidates.size, n_at_once):
            batch = candidates[start : start + n_at_once]
            roots, position = np.unique(state.population[batch], return_inverse=True)
            outputs = self.engine.outputs(state.forest, roots)[:, rows][position.ravel()]
            yield from zip(batch.tolist(), self._predict(state, batch, outputs), strict=True)

    def training_samples(self, state: DivNichState, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        return self._sample(state.generation), np.zeros(n_members, dtype=np.intp)
