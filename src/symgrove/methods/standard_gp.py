"""Standard GP for classification, a proxy for the system behind the paper's classification column.

That column came from another group (Rodrigues et al. 2020). This follows the published description of their kind of
standard GP; whether it is the same in every detail is not known.

    population = grown programs whose root is a function; no constants; features as they are
    repeat:
        rank by accuracy, then by size; the best ever is the model
        the next population is the best program and, until it is full:
            with chance p_crossover the two children of a swap of branches, else a mutated program,
            each parent the best of a tournament, children over the depth limit dropped
    stop at once when the training accuracy is 1

A program says class 1 where its output is above 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_number, check_whole
from symgrove.fitness.losses import ClassificationError, Loss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods._documentation import document
from symgrove.methods._elites import Elites
from symgrove.methods._faces import EnsembleClassifier
from symgrove.methods._gp import GP, GPState, Material, Matrix, whole_sample
from symgrove.methods._parameters import EvolutionParameters
from symgrove.methods.classic_gp import SINGLE_MODEL
from symgrove.rng import stream
from symgrove.variation.swap import SwapVariation

P_FUNCTION = 0.5  # chance that a grown program goes on
FUNCTIONS = ("add", "sub", "mul", "pdiv")


@dataclass(frozen=True, kw_only=True)
class StandardGP(GP):
    """The method on one target."""

    samples: Samples
    tournament_size: int

    def init(self) -> GPState:
        rng = stream(self.seed, "init")
        height = self.heights[1]
        drawn = [self.source.grow(height, rng, 1, P_FUNCTION) for _ in range(self.population_size)]
        population = np.array(drawn, dtype=np.int64)
        nothing = Elites(population[:1], np.full(1, np.inf), np.ones(1), np.zeros(1))
        errors = self.score(population, self.samples).errors
        return self.settle(self._ranked(0, population.size, population, errors, nothing))

    def advance(self, state: GPState) -> GPState:
        population = self._next_population(state)
        errors = self.score(population, self.samples).errors
        n_evaluations = state.n_evaluations + self.population_size
        return self._ranked(state.generation + 1, n_evaluations, population, errors, state.elites)

    def _ranked(self, generation: int, n_evaluations: int, population: Ids, errors: Matrix, elites: Elites) -> GPState:
        """The state in which programs stand in order of error, then size."""
        forest = self.source.forest
        sizes = forest.size(population)
        order = np.lexsort((sizes, errors[:, 0]))
        best = order[0]
        rank, known = (errors[best, 0], sizes[best]), (elites.error[0], forest.size(elites.root)[0])
        if rank < known or not np.isfinite(known[0]):
            elites = elites._replace(root=population[[best]], error=errors[best])
        return GPState(generation, n_evaluations, forest, len(forest), population[order], errors[order], elites)

    def _next_population(self, state: GPState) -> Ids:
        """The best program and children of tournament winners: of programs in order, the first of those drawn."""
        rng = stream(self.seed, "variation", state.generation)
        found = [state.population[:1]]
        n_missing = self.population_size - 1
        while n_missing > 0:
            drawn = rng.integers(self.population_size, size=(2, n_missing, self.tournament_size))
            mothers, fathers = state.population[drawn.min(axis=2)]
            children = self.vary(mothers, fathers, rng)[:n_missing]
            found.append(children)
            n_missing -= children.size
        return np.concatenate(found)

    def training_samples(self, state: GPState, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        return self.samples, np.zeros(1, dtype=np.intp)


@dataclass(kw_only=True, eq=False, repr=False)
class _StandardGPParameters(EvolutionParameters):
    functions: Any = FUNCTIONS
    standardize: bool = False
    target_error: float | None = 0.0
    tournament_size: int = 5
    init_depth: int = 6
    max_depth: int = 17
    p_crossover: float = 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("tournament_size", self.tournament_size, 1)
        check_whole("init_depth", self.init_depth, 2)
        check_whole("max_depth", self.max_depth, self.init_depth)
        check_number("p_crossover", self.p_crossover, -1e-12, 1 + 1e-12)

    def _loss(self) -> Loss:
        return ClassificationError(linear_scaling=False, threshold=0.0)

    def _make_source(self, forest: Forest) -> RandomPrograms:
        return RandomPrograms(forest, None, self.init_depth - 1)

    def _make_part(self, material: Material) -> StandardGP:
        height = self.init_depth - 1
        return StandardGP(
            engine=material.engine,
            loss=material.loss,
            source=material.source,
            vary=SwapVariation(material.source, self.p_crossover, self.max_depth - 1, P_FUNCTION),
            population_size=int(self.population_size),
            heights=(1, height),
            min_height=1,
            seed=material.seed,
            samples=whole_sample(material),
            tournament_size=int(self.tournament_size),
        )

    def _has_out_of_bag(self) -> bool:
        return False


@document(
    "One formula by standard genetic programming, for classification: a proxy for a published system.",
    "The classic GP of the paper's classification table came from another group. This follows the description of their "
    "kind of system: generational, + - * /, no constants, no scaling of features or outputs, accuracy as fitness. "
    "`ClassicGPClassifier` is the like-for-like comparison with 2SEGP.",
    parameters={
        "target_error": ("float, optional", "Stop once the training error of the best program is this low."),
        "init_depth": ("int", "Largest depth of initial programs and of new branches; a lone leaf has depth 1."),
        "max_depth": ("int", "Children of greater depth are dropped."),
        "p_crossover": ("float", "Chance of a swap of branches; else a program is mutated."),
    },
    attributes=SINGLE_MODEL,
    classes=(
        "Two classes: the second where the formula is above 0. More classes: one formula for each class against the "
        "others; a class's score is its formula plus one half, clipped to [0, 1]."
    ),
)
class StandardGPClassifier(_StandardGPParameters, EnsembleClassifier):
    pass
