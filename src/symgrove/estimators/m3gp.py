"""Estimators of M3GP; the algorithm is methods/m3gp.py."""

from __future__ import annotations

from typing import Any

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_number, check_pair, check_whole
from symgrove.engines.class_distances import ClassDistances
from symgrove.engines.linear_heads import LinearHeads
from symgrove.estimators.classic_gp import SINGLE_MODEL
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import document
from symgrove.estimators.parameters import (
    EvolutionParameters,
    check_choice,
    check_early_stopping,
    check_evolution,
    with_parameters,
)
from symgrove.estimators.regressor import Regressor
from symgrove.fitness.losses import THRESHOLD
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.m3gp import M3GP, OWN_SHARE, DimensionHead, DistanceHead, LinearHead, VectorRoom, own_vectors
from symgrove.methods.memory import NUMBER, Footprint, Needs, check_needs, program_needs
from symgrove.methods.problem import Problem
from symgrove.methods.programs import Fitted, TargetSetup, evolutions_of
from symgrove.methods.side_by_side import SideBySide, States
from symgrove.models.checked_rows import class_places
from symgrove.models.program_model import ProgramModel
from symgrove.variation.dimensions import DimensionVariation

FUNCTIONS = ("add", "sub", "mul", "pdiv")
P_FUNCTION = 0.5  # that a grown tree goes on
ADVICE = "max_dimensions"  # what to lower where there is no room
COVARIANCES = ("centred", "uncentred")
_TEXT = (
    "Individuals are sets of formulas, which map rows to new dimensions. They begin with one dimension; variation "
    "changes a formula, or adds, removes or exchanges a whole dimension. "
)
_PARAMETERS = {
    "standardize": (
        "bool",
        "Z-score the features inside; formulas are shown in your units either way. False in the published method.",
    ),
    "population_size": ("int", "Individuals in the population."),
    "target_error": ("float, optional", "Stop once the training error of the best individual is this low."),
    "init_depth": ("int", "Largest depth of initial formulas and of new branches; a lone leaf has depth 1."),
    "max_depth": ("int", "Children with a formula of greater depth are dropped."),
    "p_crossover": (
        "float",
        "Chance of a crossover: branches of one formula each are swapped, or a dimension is exchanged; else a "
        "mutation: a new branch, a new dimension, or a dimension less. Kinds of each are equally likely.",
    ),
    "max_dimensions": ("int", "An individual with so many dimensions gets no more."),
    "prune_best": (
        "bool",
        "Drop from each new best individual the dimensions whose removal does not raise its error; of regressors these "
        "are only constant and repeated ones.",
    ),
}
_ATTRIBUTES = {
    **SINGLE_MODEL,
    "history_": (
        "dict of ndarray",
        "One entry a generation: generation, errors (of the best individual), mean_size, max_size, mean_dimensions, "
        "n_dimensions (of the best), n_distinct, n_evaluations, seconds.",
    ),
}


@with_parameters
class M3GPParameters(EvolutionParameters):
    """What both estimators have."""

    functions: Any = FUNCTIONS
    standardize: bool = False
    tournament_size: int = 5
    init_depth: int = 6
    max_depth: int = 17
    max_dimensions: int = 50
    p_crossover: float = 0.5
    constant_range: tuple[float, float] | None = None
    prune_best: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20


def _check(p: M3GPParameters) -> None:
    check_evolution(p)
    check_whole("tournament_size", p.tournament_size, 1, LARGEST_TOURNAMENT)
    check_whole("init_depth", p.init_depth, 2)
    check_whole("max_depth", p.max_depth, p.init_depth, 10_000)
    check_whole("max_dimensions", p.max_dimensions, 1, 10_000)
    check_number("p_crossover", p.p_crossover, -1e-12, 1 + 1e-12)
    if p.constant_range is not None:
        check_pair("constant_range", p.constant_range)
    check_flag("prune_best", p.prune_best)
    check_early_stopping(p)


def _vectors(p: M3GPParameters, budget: int, n_rows: int, n_classes: int = 1) -> VectorRoom:
    n_dimensions = min(int(p.max_dimensions), int(p.generations) + 1)  # a generation adds at most one
    return own_vectors(n_rows, n_dimensions, n_classes, budget)


def _needs(p: M3GPParameters, budget: int, problem: Problem, n_classes: int) -> Needs:
    """What a fit needs, of one evolution however many targets there are."""
    n_rows, n_targets = len(problem.training.X), len(problem.training.targets)
    vectors = _vectors(p, budget, n_rows, n_classes)
    fixed = NUMBER * n_rows * vectors.n_fewest // n_targets
    own = Footprint(1, 1, 1, OWN_SHARE * n_targets, vectors.n_more, fixed)
    return program_needs(problem, p.dtype, budget, own)


def _make_part(p: M3GPParameters, target: TargetSetup, head: DimensionHead, threshold: float) -> M3GP:
    source = RandomPrograms(target.forest, p.constant_range, p.init_depth - 1)
    return M3GP(
        engine=target.engine,
        seed=target.seed,
        loss=target.task.loss(linear_scaling=False, threshold=threshold),
        population_size=int(p.population_size),
        samples=target.whole_sample(),
        head=head,
        vary=DimensionVariation(source, p.p_crossover, p.max_depth - 1, P_FUNCTION, int(p.max_dimensions)),
        tournament_size=int(p.tournament_size),
        prunes=bool(p.prune_best),
    )


@document(
    "Classes by distances in dimensions that are formulas.",
    _TEXT + "A row belongs to the class whose centroid is nearest by the Mahalanobis distance of that class, or by the "
    "Euclidean one where its covariance is singular; all classes in one evolution. Fitness is the training accuracy; "
    "of equal ones, fewer dimensions are better, then fewer nodes (M3GP, Muñoz, Silva and Trujillo 2015). Features are "
    "not scaled.",
    parameters={
        **_PARAMETERS,
        "covariance": (
            '"centred" or "uncentred"',
            "Covariances of a class about its centroid, as published; uncentred: second moments about zero, as in a "
            "public code of the authors' group.",
        ),
    },
    attributes=_ATTRIBUTES,
    classes=(
        "Two classes: the second where it is nearer. More classes: a class's score is 1 / sqrt(1 + distance²), in "
        "units of the training rows' distance from the nearest centroid (root mean square), and scores divided by "
        "their sum are the shares; the nearest class is predicted."
    ),
)
@with_parameters
class M3GPClassifier(M3GPParameters, Classifier):
    has_out_of_bag = False
    target_error: float | None = 0.0
    covariance: str = "centred"

    def check_parameters(self) -> None:
        _check(self)
        check_choice("covariance", self.covariance, COVARIANCES)

    def make_method(self, problem: Problem) -> SideBySide[Any]:
        """One evolution for all classes: its target is the place of each row's class."""
        training = problem.training
        places = class_places(training.targets).astype(float)[None]
        evaluation = self._evaluation()._replace(reserved=self._needs(problem).evolving)
        return evolutions_of(problem._replace(training=training._replace(targets=places)), evaluation, self.make_part)

    def make_part(self, target: TargetSetup) -> M3GP:
        is_centred, n_classes = self.covariance == "centred", int(target.engine.target.max()) + 1
        n_at_a_time = _vectors(self, self._memory_budget(), target.engine.n_rows, n_classes).n_at_a_time
        distances = ClassDistances.of(target.engine, target.weight, is_centred=is_centred, n_at_a_time=n_at_a_time)
        threshold = 0.0 if distances.n_classes == 2 else THRESHOLD
        return _make_part(self, target, DistanceHead(distances), threshold)

    def make_model(self, problem: Problem, method: SideBySide[Any], state: States) -> Fitted:
        fitted = super().make_model(problem, method, state)
        model, named = fitted.model, method.parts[0].said(state[0])[1]
        assert isinstance(model, ProgramModel)
        return fitted._replace(model=model.with_names(state[0].forest, named))

    def _within_memory(self, problem: Problem) -> Problem:
        check_needs(self._needs(problem), self._memory_budget(), len(problem.training.X), ADVICE)
        return problem

    def _needs(self, problem: Problem) -> Needs:
        return _needs(self, self._memory_budget(), problem, max(2, len(problem.training.targets)))


@document(
    "A linear regression on dimensions that are formulas.",
    _TEXT + "The prediction is the linear regression of the target on the dimensions; fitness is its mean squared "
    "error, then fewer dimensions and fewer nodes (M3GP for regression: Muñoz, Trujillo, Silva, Castelli and Vanneschi "
    "2019). Features are not scaled.",
    parameters=_PARAMETERS,
    attributes=_ATTRIBUTES,
)
@with_parameters
class M3GPRegressor(M3GPParameters, Regressor):
    has_out_of_bag = False

    def check_parameters(self) -> None:
        _check(self)

    def make_part(self, target: TargetSetup) -> M3GP:
        heads = LinearHeads.of(target.engine, target.weight)
        n_at_a_time = _vectors(self, self._memory_budget(), target.engine.n_rows).n_at_a_time
        return _make_part(self, target, LinearHead(heads, n_at_a_time), THRESHOLD)

    def _footprint(self) -> Footprint:
        return Footprint(1, 1, 1, advice=ADVICE)

    def _needs(self, problem: Problem) -> Needs:
        return _needs(self, self._memory_budget(), problem, 1)
