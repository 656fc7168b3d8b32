"""GSGP-Red: geometric semantic GP with exact reduction (Martins, Oliveira, Miranda, Casadei and Pappa 2018).

    population = ramped half-and-half; its semantics are the vectors of its outputs
    repeat:
        parents = winners of tournaments
        child = a linear combination of two parents, or of a parent and two random programs; so are its semantics
        population = the best parent and the children
    the model is the best program, written as a sum in which every term stands once

Old programs are never evaluated again: what a child costs are its random programs and one linear combination. In the
forest a child is a few nodes on top of its parents, so that a program of astronomic size is a small part of the graph.

With several bootstrap samples (not in the publication): every individual is a mother once, and the population becomes,
for every sample, the best of parents and children, as in 2SEGP; the members are the elites of the samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Handle
from symgrove.engines.scoring import Scores
from symgrove.engines.vector_scoring import SampleVectors, n_vectors_of, score_vectors
from symgrove.forest.forest import Forest
from symgrove.forest.linear import reduced
from symgrove.methods.base import ForestState, check_array, nodes_of
from symgrove.methods.elites import Elites, best_of_each_sample, improve
from symgrove.methods.gp import GP, GPState, Matrix
from symgrove.rng import stream
from symgrove.selection.tournament import tournament
from symgrove.selection.truncation import partitioned_truncation
from symgrove.variation.semantic import Combinations, SemanticVariation, of_trees

CHILDREN_AT_A_TIME = 32  # whose random programs are evaluated together
MOST_REDRAWS = 16  # of a father that is equal to the mother


@dataclass(frozen=True, kw_only=True)
class GSGPState(GPState):
    """A run between two generations; `semantics` are the outputs of the population on all rows."""

    semantics: Handle
    vectors: ClassVar[tuple[str, ...]] = ("semantics",)


@dataclass(frozen=True, kw_only=True)
class GSGP(GP):
    """The method on one target.

    Attributes
    ----------
    scored : SampleVectors
        What individuals are scored on; one sample: the published method, several: the bagged one.
    tournament_size : int
        With one sample.
    """

    vary: SemanticVariation
    scored: SampleVectors
    tournament_size: int
    state_type: ClassVar[type[ForestState]] = GSGPState

    @property
    def _is_bagged(self) -> bool:
        return len(self.scored) > 1

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        super().check_arrays(arrays, n_nodes)
        check_array("semantics", arrays["semantics"], (len(arrays["population"]), self.engine.n_rows), "f")

    def init(self) -> GSGPState:
        forest = self.new_forest()
        population = self.random_population(forest)
        semantics = self._semantics(forest, of_trees(population))
        scores = self._score(semantics)
        state = GSGPState(
            generation=0,
            n_evaluations=population.size,
            nodes=nodes_of(forest),
            population=population,
            errors=scores.errors,
            elites=best_of_each_sample(population, scores),
            semantics=semantics,
        )
        return self.settle(state)

    def advance(self, state: GSGPState) -> GSGPState:
        children = self._breed(state)
        semantics = self._semantics(state.forest, children, state.semantics)
        scores = self._score(semantics)
        errors = np.concatenate([state.errors, scores.errors])
        survivors, semantics = self._survive(state, errors, semantics)
        new_state: GSGPState = self.next_state(
            state,
            population=np.concatenate([state.population, children.roots])[survivors],
            errors=errors[survivors],
            elites=improve(state.elites, best_of_each_sample(children.roots, scores)),
            semantics=semantics,
        )
        return new_state

    def _breed(self, state: GSGPState) -> Combinations:
        """Children of parents that differ, if different ones are soon found."""
        rng = stream(self.seed, "variation", state.generation)
        mothers = np.arange(self.population_size)
        if not self._is_bagged:
            mothers = self._choose(state, self.population_size - 1, rng)
        fathers = self._choose(state, mothers.size, rng)
        for _ in range(MOST_REDRAWS):
            equal = np.flatnonzero(state.population[fathers] == state.population[mothers])
            if equal.size == 0:
                break
            fathers[equal] = self._choose(state, equal.size, rng)
        return self.vary(state.forest, state.population, mothers, fathers, rng)

    def _choose(self, state: GSGPState, n_chosen: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Winners of tournaments; with several samples, anyone."""
        if self._is_bagged:
            return rng.integers(self.population_size, size=n_chosen)
        return tournament(state.errors[:, 0], n_chosen, self.tournament_size, rng)

    def _semantics(self, forest: Forest, made: Combinations, parents: Handle = None) -> Handle:
        """Outputs of children, of which only the random programs are evaluated."""
        found = None
        for start in range(0, made.roots.size, CHILDREN_AT_A_TIME):
            some = slice(start, start + CHILDREN_AT_A_TIME)
            own = made.trees[some]
            trees = np.unique(own[own >= 0])
            vectors, index = parents, made.parents[some]
            n_parents = 0 if parents is None else len(parents)
            if trees.size:
                evaluated = self.engine.evaluate(forest, trees)
                vectors = evaluated if parents is None else parents + evaluated
            positions = np.where(own >= 0, n_parents + np.searchsorted(trees, own), -1)
            index = np.concatenate([index, positions], axis=1)
            combined = self.engine.combine(made.coefficients[some], vectors, index)
            found = combined if found is None else found + combined
        return found

    def _score(self, semantics: Handle) -> Scores:
        return score_vectors(self.engine, semantics, self.scored, self.loss)

    def _survive(self, state: GSGPState, errors: Matrix, children: Handle) -> tuple[NDArray[np.int64], Handle]:
        """Who survives of parents and children, with their semantics."""
        n_parents = len(state.population)
        if self._is_bagged:
            rng = stream(self.seed, "selection", state.generation)
            survivors = partitioned_truncation(errors, self.population_size, rng)
            return survivors, self._copied(state.semantics + children, survivors)
        best = np.argmin(errors[:n_parents, :1], axis=0)
        return np.append(best, np.arange(n_parents, len(errors))), self._copied(state.semantics, best) + children

    def _copied(self, vectors: Handle, index: NDArray[np.int64]) -> Handle:
        """Some vectors in memory of their own: a handle keeps all that it was taken from."""
        return self.engine.combine(np.ones((index.size, 1)), vectors, index[:, None])

    def members(self, state: GSGPState) -> Elites:
        """The elites, each as a sum in which every term stands once."""
        roots, elite_of = np.unique(state.elites.root, return_inverse=True)
        sums = np.array([reduced(state.forest, root) for root in roots.tolist()], dtype=np.int64)
        return state.elites._replace(root=sums[elite_of.ravel()])

    def finish(self, state: GSGPState) -> Elites:
        """The members; their scaling is from sums in float64, of outputs that are not made again."""
        return self.members(state)

    def describe(self, state: GSGPState) -> dict[str, Any]:  # type: ignore[override]
        """Named values for the history."""
        return {
            "generation": state.generation,
            "n_evaluations": state.n_evaluations,
            "errors": state.elites.error,
            "n_nodes": len(state.forest),
            "n_distinct": int(np.unique(state.population).size),
            "n_elites": int(np.unique(state.elites.root).size),
        }


def n_own_vectors(population_size: int, n_samples: int, n_saved: int) -> int:
    """Vectors over all rows that a run has at the same time, at most: semantics, random programs, those of scoring.

    `n_saved` are populations that were saved, to go back to.
    """
    n_populations = n_saved + (2 if n_samples == 1 else 3)  # parents, children, and copies of those that survive
    n_trees = 2 * min(CHILDREN_AT_A_TIME, population_size)
    return n_populations * population_size + 1 + n_trees + n_vectors_of(n_samples)
