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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_number, check_pair, check_whole
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

FUNCTIONS = ("add", "sub", "mul", "pdiv")
UNIFORM = "uniform"
# Python-StdGP, commit e177c04 of 17 December 2019.
DECEMBER_2019: dict[str, Any] = {
    "population_size": 200,
    "tournament_size": 10,
    "max_depth": 15,
    "p_crossover": 0.9,
    "p_mutation": 0.1,
    "threshold": 0.5,
    "constant_range": (0.0, 1.0),
    "p_function": UNIFORM,
    "min_init_depth": 1,
    "prefer_small": False,
}


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
        drawn = [self.source.grow(high, rng, low, self.p_function) for _ in range(self.population_size)]
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
        """The state in which programs stand in order of error, then size if small ones are preferred."""
        forest = self.source.forest
        sizes = forest.size(population) * self.prefers_small
        order = np.lexsort((sizes, errors[:, 0]))
        best = order[0]
        size = forest.size(elites.root)[0] * self.prefers_small
        rank, known = (errors[best, 0], sizes[best]), (elites.error[0], size)
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
    p_mutation: float | None = None
    threshold: float = 0.0
    constant_range: tuple[float, float] | None = None
    p_function: float | str = 0.5
    min_init_depth: int = 2
    prefer_small: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_whole("init_depth", self.init_depth, 2)
        check_whole("max_depth", self.max_depth, self.init_depth, 10_000)
        check_whole("min_init_depth", self.min_init_depth, 1)
        if self.min_init_depth > self.init_depth:
            raise ValueError(f"min_init_depth must be at most init_depth={self.init_depth}, got {self.min_init_depth}.")
        check_number("p_crossover", self.p_crossover, -1e-12, 1 + 1e-12)
        check_number("p_mutation", self.p_mutation, -1e-12, 1 + 1e-12, is_optional=True)
        if self.p_function != UNIFORM:
            check_number("p_function", self.p_function, -1e-12, 1 + 1e-12)
        check_number("threshold", self.threshold, -np.inf, np.inf)
        if self.constant_range is not None:
            check_pair("constant_range", self.constant_range)
        check_flag("prefer_small", self.prefer_small)

    def _loss(self) -> Loss:
        return ClassificationError(linear_scaling=False, threshold=float(self.threshold))

    def _make_source(self, forest: Forest) -> RandomPrograms:
        return RandomPrograms(forest, self.constant_range, self.init_depth - 1)

    def _make_part(self, material: Material) -> StandardGP:
        low, high = self.min_init_depth - 1, self.init_depth - 1
        limit, p_function = self.max_depth - 1, None if self.p_function == UNIFORM else float(self.p_function)
        return StandardGP(
            engine=material.engine,
            loss=material.loss,
            source=material.source,
            vary=SwapVariation(material.source, self.p_crossover, limit, p_function, self.p_mutation),
            population_size=int(self.population_size),
            heights=(low, high),
            min_height=low,
            seed=material.seed,
            samples=whole_sample(material),
            tournament_size=int(self.tournament_size),
            p_function=p_function,
            prefers_small=bool(self.prefer_small),
        )

    def _has_out_of_bag(self) -> bool:
        return False


@document(
    "One formula by standard genetic programming, for classification: a proxy for a published system.",
    "The classic GP of the paper's classification table came from another group, and which code made it is not known. "
    "The defaults are those of a later version of that group's public code: generational, + - * /, no constants, no "
    "scaling of features or outputs, accuracy as fitness. `StandardGPClassifier.december_2019()` has the settings of "
    "the version of December 2019. Neither explains the column. `ClassicGPClassifier` is the like-for-like comparison "
    "with 2SEGP.",
    parameters={
        "target_error": ("float, optional", "Stop once the training error of the best program is this low."),
        "init_depth": ("int", "Largest depth of initial programs and of new branches; a lone leaf has depth 1."),
        "min_init_depth": ("int", "Least depth of initial programs."),
        "max_depth": ("int", "Children of greater depth are dropped."),
        "p_crossover": ("float", "Chance of a swap of branches."),
        "p_mutation": (
            "float, optional",
            "Chance that what comes of a pair is mutated: both children of a swap, or else a copy of one parent. None: "
            "what is not swapped is mutated.",
        ),
        "p_function": (
            'float or "uniform"',
            "Chance that a grown program goes on where it may end; uniform: every function and terminal has the same.",
        ),
        "threshold": ("float", "Outputs above it are class 1."),
        "prefer_small": ("bool", "Of programs with equal errors the smaller is better; else the one that came first."),
    },
    attributes=SINGLE_MODEL,
    classes=(
        "Two classes: the second where the formula is above `threshold`. More classes: one formula for each class "
        "against the others; a class's score is its formula less `threshold` plus one half, clipped to [0, 1]."
    ),
)
class StandardGPClassifier(_StandardGPParameters, EnsembleClassifier):
    @classmethod
    def december_2019(cls, **parameters: Any) -> Self:
        """The settings of Python-StdGP in December 2019; `parameters` are added to them or replace them."""
        return cls(**{**DECEMBER_2019, **parameters})
