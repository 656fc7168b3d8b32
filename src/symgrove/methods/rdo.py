"""RDO with linear scaling: semantic backpropagation with the random desired operator (Virgolin et al. 2019).

    population = ramped half-and-half; score it
    repeat:
        library = subtrees of the population, with their outputs
        parents = winners of tournaments
        child of a parent (or, if wanted, now and then one by subtree crossover or mutation):
            choose a node by uniform random depth
            wanted at the root = (target - intercept) / slope, with the parent's own scaling
            wanted at the node = that, pushed down by inverting each function on the way
            the node becomes a + b * entry, for the entry of the library that comes closest, or a constant
            (the parent itself, if no value of the node could do)
        one random child becomes the best parent
        population = children
    the model is the best program ever scored

With several bootstrap samples, place i of the population belongs to sample i mod n_samples: its tournament, the
parent's scaling and the weights of cases are those of the sample, each sample keeps its best parent in one of its
places, and every program is offered to the elites of all samples. The ensemble is the elites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine
from symgrove.fitness.moments import Samples
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.base import ForestState, check_array, nodes_of
from symgrove.methods.elites import best_of_each_sample, improve
from symgrove.methods.gp import GP, GPState, Matrix, first_occurrences, look_up
from symgrove.rng import stream
from symgrove.variation.desired_operator import RandomDesiredOperator
from symgrove.variation.library import N_AT_A_TIME, Library, make_library

# Of the memory budget: for the library, of which a few copies are alive at the same time, and for as much again of what
# children are computed from.
OWN_SHARE = 0.3
N_LIBRARIES = 3


@dataclass(frozen=True, kw_only=True)
class RDOState(GPState):
    """A run between two generations; errors, slopes and intercepts are (population_size, n_samples)."""

    slope: Matrix
    intercept: Matrix


@dataclass(frozen=True, kw_only=True)
class RDO(GP):
    """The method on one target.

    Attributes
    ----------
    samples : Samples
        What programs are scored on.
    operator : RandomDesiredOperator
        Makes children; `vary` makes a share `p_vary` of them.
    library_size, library_depth : int
        The most entries of the library, and the largest height of one.
    in_random_order : bool
        Whether the library is made of subtrees in random order, or of those of the first programs.
    """

    samples: Samples
    operator: RandomDesiredOperator
    p_vary: float
    tournament_size: int
    library_size: int
    library_depth: int
    in_random_order: bool
    state_type: ClassVar[type[ForestState]] = RDOState

    @cached_property
    def sample_of(self) -> NDArray[np.intp]:
        """The sample that each place of the population belongs to."""
        return np.arange(self.population_size) % self.samples.total.size

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        super().check_arrays(arrays, n_nodes)
        for name in ("slope", "intercept"):
            check_array(name, arrays[name], arrays["errors"].shape, "f")

    def init(self) -> RDOState:
        forest = self.new_forest()
        population = self.random_population(forest)
        errors, scaling = scores = self.score(forest, population, self.samples)
        state = RDOState(
            generation=0,
            n_evaluations=population.size,
            nodes=nodes_of(forest),
            population=population,
            errors=errors,
            elites=best_of_each_sample(population, scores),
            slope=scaling.slope,
            intercept=scaling.intercept,
        )
        return self.settle(state)

    def advance(self, state: RDOState) -> RDOState:
        rng = stream(self.seed, "selection", state.generation)
        parents = self._tournaments(state, rng)
        children = self._children(state, parents)
        return self._scored(state, self._with_best_parents(state, children, rng))

    def _tournaments(self, state: RDOState, rng: np.random.Generator) -> NDArray[np.int64]:
        """For each place, the best on its sample of a few programs drawn with replacement; of equals the first."""
        drawn = rng.integers(self.population_size, size=(self.population_size, self.tournament_size))
        best = np.argmin(state.errors[drawn, self.sample_of[:, None]], axis=1)
        return drawn[np.arange(drawn.shape[0]), best]

    def _children(self, state: RDOState, parents: NDArray[np.int64]) -> Ids:
        """A child for each place, by the operator or, for a share of them, by ordinary variation."""
        forest, rng = state.forest, stream(self.seed, "variation", state.generation)
        roots = state.population[parents]
        is_varied = rng.random(roots.size) < self.p_vary
        children = roots.copy()
        if is_varied.any():
            children[is_varied] = self._varied(forest, roots[is_varied], rng)
        if not is_varied.all():
            own = np.flatnonzero(~is_varied)
            sample_of = self.sample_of[own]
            scaling = Scaling(state.slope[parents[own], sample_of], state.intercept[parents[own], sample_of])
            children[own] = self.operator(forest, roots[own], rng, self._library(state), scaling, sample_of)
        return children

    def _varied(self, forest: Forest, parents: Ids, rng: np.random.Generator) -> Ids:
        children, _ = self.breed(forest, parents, rng)
        return np.where(forest.height(children) <= self.operator.max_height, children, parents)

    def _library(self, state: RDOState) -> Library:
        rng = stream(self.seed, "library", state.generation) if self.in_random_order else None
        outputs_of = partial(self.operator.outputs, state.forest)
        return make_library(state.forest, state.population, outputs_of, self.library_size, self.library_depth, rng)

    def _with_best_parents(self, state: RDOState, children: Ids, rng: np.random.Generator) -> Ids:
        """Children, one of each sample's replaced by the best program of its places."""
        for sample in range(self.samples.total.size):
            own = np.flatnonzero(self.sample_of == sample)
            best = own[np.argmin(state.errors[own, sample])]
            children[own[rng.integers(own.size)]] = state.population[best]
        return children

    def _scored(self, state: RDOState, children: Ids) -> RDOState:
        new = first_occurrences(children[~np.isin(children, state.population)])
        scores = self.score(state.forest, new, self.samples)
        known = state.errors, state.slope, state.intercept
        found = (
            look_up(children, state.population, old, new, scored)
            for old, scored in zip(known, (scores.errors, *scores.scaling), strict=True)
        )
        fields = dict(zip(("errors", "slope", "intercept"), found, strict=True))
        elites = improve(state.elites, best_of_each_sample(new, scores)) if new.size else state.elites
        scored: RDOState = self.next_state(state, population=children, elites=elites, **fields)
        return scored


def choose_cases(
    engine: Engine, n_samples: int, max_rows: int, library_size: int, seed: int
) -> NDArray[np.intp] | None:
    """Rows that wanted and library outputs are looked at on, or None for all: so many, if memory has room for them."""
    n_numbers = N_LIBRARIES * library_size + 2 * N_AT_A_TIME + n_samples
    n_cases = min(max_rows, max(1, own_memory(engine) // (8 * n_numbers)))
    if n_cases >= engine.n_rows:
        return None
    return np.sort(stream(seed, "cases").choice(engine.n_rows, size=n_cases, replace=False))


def case_weights(samples: Samples, cases: NDArray[np.intp] | None) -> Matrix:
    """Weights of the cases in each sample, (n_samples, n_cases)."""
    chosen = slice(None) if cases is None else cases
    return np.array([samples.of_rows(slice(None), j)[chosen] for j in range(samples.total.size)], dtype=np.float64)


def own_memory(engine: Engine) -> int:
    """Bytes for the library, and for what children are computed from."""
    return int(OWN_SHARE * engine.memory_budget / 2)
