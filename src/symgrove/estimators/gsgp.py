"""Estimator of GSGP-Red; the algorithm is methods/gsgp.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import LARGEST_TOURNAMENT, check_number, check_whole
from symgrove.engines.vector_scoring import SampleVectors
from symgrove.estimators.documentation import ATTRIBUTES, document
from symgrove.estimators.parameters import check_population, check_rates, check_samples, with_parameters
from symgrove.estimators.regressor import Regressor
from symgrove.fitness.bootstrap import bootstrap_counts
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.gsgp import GSGP, n_own_vectors
from symgrove.methods.memory import Footprint
from symgrove.methods.programs import TargetSetup
from symgrove.variation.semantic import SemanticVariation

FUNCTIONS = ("add", "sub", "mul", "aq")
_BAGGED = "Only with `n_estimators` above 1."


@document(
    "Sums of programs by geometric semantic operators, for regression.",
    "A child is a linear combination of its parents, or of a parent and two random programs; so are its outputs, which "
    "are never computed again. The model is the best one, written as a sum in which every term stands once (GSGP-Red, "
    "Martins, Oliveira, Miranda, Casadei and Pappa 2018). With default parameters this is the published method, in a "
    "smaller run; features and outputs are not scaled, and a target whose mean is far from zero is reached slowly. "
    "`linear_scaling=True` is usually much better. With `n_estimators` above 1 it is an ensemble, which is not in the "
    "publication: errors, scaling and elites for each bootstrap sample, and survival as in 2SEGP.",
    parameters={
        "population_size": ("int", "Individuals. Their outputs on all rows stay in memory, at least two times."),
        "n_estimators": (
            "int",
            "1: the best individual on all rows. More: bootstrap samples, and so members; at most `population_size`.",
        ),
        "functions": (
            "sequence of str or Primitive",
            "What random programs are made of: built-in primitives by name and your own, made with "
            "`symgrove.primitive`. Children are made with add, sub and mul, whether these are among them or not.",
        ),
        "standardize": (
            "bool",
            "Z-score the features inside; formulas are shown in your units either way. False in the published method.",
        ),
        "init_depth": ("(int, int)", "Heights of initial programs; those of mutation are at most the second high."),
        "min_grow_depth": ("int", "Minimum height of grown programs: half of the initial ones, and those of mutation."),
        "p_crossover": ("float", "Chance of crossover: r * mother + (1 - r) * father, r uniform."),
        "p_mutation": (
            "float",
            "Chance of mutation: the mother plus a step times the difference of two random programs; what is left to 1 "
            "are copies.",
        ),
        "mutation_step": ("float", "Step of mutation, above 0, in standard deviations of the target."),
        "tournament_size": (
            "int",
            "Individuals drawn for each tournament, with replacement; the best is a parent. Not used with "
            "`n_estimators` above 1: then each is a mother once.",
        ),
        "linear_scaling": (
            "bool",
            "Give every individual the best slope and intercept on each sample. False in the published method.",
        ),
    },
    attributes={
        "oob_score_": ("float", f"{_BAGGED} {ATTRIBUTES['oob_score_'][1]}"),
        "oob_prediction_": ("ndarray", f"{_BAGGED} {ATTRIBUTES['oob_prediction_'][1]}"),
        "history_": (
            "dict of ndarray",
            "One entry a generation: generation, errors (of the elite of every sample), n_nodes (of the graph that "
            "all individuals share), n_distinct, n_elites, n_evaluations, seconds.",
        ),
    },
    example={"linear_scaling": "True"},
)
@with_parameters
class GSGPRegressor(Regressor):
    functions: Any = FUNCTIONS
    standardize: bool = False
    n_estimators: int = 1
    prune: bool = True
    constant_range: tuple[float, float] | None = (-1.0, 1.0)
    init_depth: tuple[int, int] = (2, 6)
    min_grow_depth: int = 0
    p_crossover: float = 0.5
    p_mutation: float = 0.5
    mutation_step: float = 0.1
    tournament_size: int = 10
    linear_scaling: bool = False
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20

    @property
    def has_out_of_bag(self) -> bool:
        return bool(self.n_estimators > 1)

    def check_parameters(self) -> None:
        check_population(self)
        check_samples(self.n_estimators, self.prune, self.population_size)
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_rates(self)
        check_number("mutation_step", self.mutation_step, 0, np.inf)

    def _footprint(self) -> Footprint:
        n = int(self.n_estimators)
        n_saved = 2 * int(self.early_stopping) + int(self.checkpoint is not None or self.warm_start)
        n_own = n_own_vectors(int(self.population_size), n, n_saved)
        return Footprint(n, n, n, None, n_own, advice="population_size")

    def make_part(self, target: TargetSetup) -> GSGP:
        samples = target.whole_sample()
        if self.n_estimators > 1:
            counts = bootstrap_counts(target.engine.n_rows, self.n_estimators, target.sample_seed, np.uint8)
            samples = target.engine.prepare(counts, target.weight)
        source = RandomPrograms(target.forest, self.constant_range, self.init_depth[1])
        step = self.mutation_step * _spread_of(target.engine.target, target.weight)
        return GSGP(
            engine=target.engine,
            loss=target.task.loss(linear_scaling=bool(self.linear_scaling)),
            source=source,
            vary=SemanticVariation(source, self.p_crossover, self.p_mutation, step, self.min_grow_depth),
            population_size=int(self.population_size),
            heights=(int(self.init_depth[0]), int(self.init_depth[1])),
            min_height=int(self.min_grow_depth),
            seed=target.seed,
            samples=samples,
            scored=SampleVectors.of(target.engine, samples),
            tournament_size=int(self.tournament_size),
        )


def _spread_of(y: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """Standard deviation, of numbers of any size."""
    largest = float(np.abs(y).max())
    if largest == 0.0:
        return 0.0
    scaled = y / largest
    mean = np.average(scaled, weights=weight)
    return largest * float(np.sqrt(np.average((scaled - mean) ** 2, weights=weight)))
