"""Independent runs: a classic evolution on each bootstrap sample, averaged or voted (the paper's SIEL-App).

    for each of n_estimators bootstrap samples, in parallel:
        the best program of a classic GP that sees only this sample
    the ensemble is these programs

Member j depends on the seed and on j alone, so the first members of a larger ensemble are the smaller one.
"""

from __future__ import annotations

from typing import Any

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_whole
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import PARAMETERS, document
from symgrove.estimators.gp_arguments import gp_arguments
from symgrove.estimators.independent_runs import evolve_members, load_members
from symgrove.estimators.parameters import (
    ProgramParameters,
    check_aggregation,
    check_programs,
    check_samples,
    with_parameters,
)
from symgrove.estimators.regressor import Regressor
from symgrove.estimators.runs import Finished, Limits
from symgrove.evolution.checkpoint import Checkpoint, Saved
from symgrove.evolution.interrupt import Interrupt
from symgrove.methods.matched_budget import Budget, matched_budget
from symgrove.methods.memory import Footprint
from symgrove.methods.problem import Problem, TrainingRows
from symgrove.methods.programs import TargetSetup
from symgrove.methods.two_segp import TwoSEGP
from symgrove.selection.named import Tournament

_TEXT = (
    "`n_estimators` separate evolutions of classic GP, each on its own bootstrap sample, run in parallel through "
    "joblib with whatever backend is set; their best programs are the ensemble. This is what 2SEGP does in one "
    "evolution, at `n_estimators` times the cost."
)
_OWN = {
    "n_estimators": ("int", "Evolutions, and so members."),
    "population_size": ("int", "Programs in each population."),
    "generations": ("int", "Generations of each evolution in total, also with `warm_start`."),
    "match_budget": (
        "bool",
        "Shrink each evolution so that all together cost about as much as one of 2SEGP with this population, these "
        "generations and this many members (equation 3 of the paper, programs of 100 nodes): 50 members of 500 x 100 "
        "get 100 x 15 each, 5 members 105 x 100.",
    ),
    "max_time": (
        "float, optional",
        "Seconds for all evolutions; each gets its share. Compiling is not counted, and initial populations are always "
        "scored.",
    ),
    "max_evaluations": ("int, optional", "Programs to make and score, divided among the evolutions."),
    "target_error": ("float, optional", "An evolution stops once the error of its best program is this low."),
    "early_stopping": (
        "bool",
        "Hold `validation_fraction` of the rows out of all evolutions; each stops after `n_generations_no_change` "
        "generations without improvement on them, and gives the program that was best there.",
    ),
    "memory_budget": (
        "int, optional",
        f"{PARAMETERS['memory_budget'][1]} Of each process: `n_jobs` evolutions at the same time take as many times "
        "as much.",
    ),
    "checkpoint": (
        "path, optional",
        "File that all runs are saved to at the end; until then each member has a file of this name with its number "
        "added. Otherwise as for 2SEGP: a fit with the same data and parameters goes on where they stopped.",
    ),
    "callbacks": (
        "callable or list of callables, optional",
        "Called at the start and after each generation of each evolution, in the process where it runs. Returning True "
        "stops that evolution; returning a dict adds its values to `history_`, with a last axis for the members.",
    ),
    "n_jobs": ("int, optional", "Evolutions at the same time, through joblib; the model does not depend on it."),
    "verbose": ("int", "1 shows which evolutions are done, on stderr."),
}
_ATTRIBUTES = {
    "oob_score_": (
        "float",
        "R² (regression) or accuracy (classification) on the training rows, from members whose sample did not draw a "
        "row.",
    ),
    "history_": (
        "dict of ndarray",
        "One entry a generation: generation, errors (of the best program of every member), mean_size, max_size, "
        "n_distinct, n_elites, n_evaluations, seconds; the last four are sums over members.",
    ),
    "n_generations_": ("int", "Generations of the evolution that came furthest."),
    "population_size_": ("int", "Programs in each population."),
    "generations_": ("int", "Generations that each evolution was given."),
}


def _check(p: _Independent) -> None:
    check_programs(p)
    check_samples(p.n_estimators, p.prune)
    check_whole("tournament_size", p.tournament_size, 1, LARGEST_TOURNAMENT)
    check_flag("match_budget", p.match_budget)
    check_aggregation(p)


def _footprint(p: _Independent) -> Footprint:
    # Masks come from every evolution, and are joined: there are two of each for a while.
    return Footprint(1, 2 * p.n_estimators, p.n_estimators)


def _make(p: _Independent, target: TargetSetup) -> TwoSEGP:
    own = target.bootstrap_samples(1, target.member)
    return TwoSEGP(samples=own, select=Tournament(p.tournament_size), **gp_arguments(p, target))


def _budget(p: _Independent) -> Budget:
    """What each evolution gets."""
    budget = Budget(p.population_size, p.generations)
    return matched_budget(p.n_estimators, *budget) if p.match_budget else budget


def _evolve(
    p: _Independent,
    problem: Problem,
    limits: Limits,
    checkpoint: Checkpoint,
    interrupt: Interrupt,
    given: tuple[Any, Any] | None = None,
) -> Finished:
    return evolve_members(p, p.n_estimators, _budget(p), problem, limits, checkpoint, interrupt, given)


def _load(p: _Independent, mark: str) -> Saved | None:
    return load_members(p.checkpoint, p.n_estimators, mark)


def _identity(p: _Independent, rows: TrainingRows) -> dict[str, Any]:
    # With a matched budget, other generations mean another population: another run.
    return {**Estimator._identity(p, rows), "budget": list(_budget(p)) if p.match_budget else []}


@document("Ensemble of independent evolutions, for regression.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES)
@with_parameters
class IndependentGPRegressor(ProgramParameters, Regressor):
    takes_rows_elsewhere = True
    n_estimators: int = 10
    prune: bool = True
    tournament_size: int = 8
    match_budget: bool = False
    aggregation: str = "mean"
    loss: Any = "squared"
    quantile: float = 0.5
    huber_delta: float | None = None

    check_parameters = _check
    make_part = _make
    _footprint = _footprint
    _evolve = _evolve
    _load_checkpoint = _load
    _identity = _identity


@document("Ensemble of independent evolutions, for classification.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES)
@with_parameters
class IndependentGPClassifier(ProgramParameters, Classifier):
    takes_rows_elsewhere = True
    n_estimators: int = 10
    prune: bool = True
    tournament_size: int = 8
    match_budget: bool = False

    check_parameters = _check
    make_part = _make
    _footprint = _footprint
    _evolve = _evolve
    _load_checkpoint = _load
    _identity = _identity


_Independent = IndependentGPRegressor | IndependentGPClassifier
