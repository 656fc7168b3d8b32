"""Estimators of DivNichGP; the algorithm is methods/divnich_gp.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_number, check_whole
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import PARAMETERS, document
from symgrove.estimators.gp_arguments import gp_arguments
from symgrove.estimators.parameters import (
    ProgramParameters,
    check_aggregation,
    check_choice,
    check_programs,
    with_parameters,
)
from symgrove.estimators.regressor import Regressor
from symgrove.methods.divnich_gp import DivNichGP
from symgrove.methods.memory import Footprint
from symgrove.methods.programs import TargetSetup
from symgrove.methods.resampled_rows import OUTPUT_SHARE, VECTOR_SHARE, resampled_rows, vectors_looked_at

_TEXT = (
    "A generational GP whose programs are scored on a new bootstrap sample in every generation, with niching, so that "
    "the population stays diverse; the ensemble is chosen greedily from the last population, on the rows that its "
    "sample left out (Wang, Mei and Zhang 2019, as reimplemented for the comparison with 2SEGP)."
)
_OWN = {
    "p_crossover": ("float", "Chance of subtree crossover."),
    "linear_scaling": ("bool", "Give every program the best slope and intercept on the current sample."),
    "radius": (
        "float",
        "Programs share a niche if their predictions on the current sample are closer than this (Euclidean distance); "
        "0 means the same predictions. Small radii cost almost nothing, large ones a comparison of all pairs.",
    ),
    "niche_size": ("int", "Programs of a niche that keep their fitness."),
    "greedy_order": (
        '"population" or "best"',
        "Order in which programs are tried for the ensemble: as they stand in the population (as in the "
        "reimplementation), or from best to worst.",
    ),
    "aggregation": (PARAMETERS["aggregation"][0], f"{PARAMETERS['aggregation'][1]} Members are chosen by their mean."),
    "memory_budget": (
        "int, optional",
        f"{PARAMETERS['memory_budget'][1]} Where the predictions of the population take more than a quarter of it, "
        "niches are told by randomly drawn rows.",
    ),
    "target_error": ("float, optional", "Stop once the best error of a generation, on its sample, is this low."),
}
_ATTRIBUTES = {
    "oob_score_": (
        "float",
        "R² (regression) or accuracy (classification) on the rows that the last sample left out. Optimistic: the "
        "members were chosen on them.",
    ),
    "oob_prediction_": (
        "ndarray",
        "The predictions behind it, a row for each row of X; NaN where the last sample drew the row. For classifiers "
        "as `predict_proba`.",
    ),
    "history_": (
        "dict of ndarray",
        "One entry a generation: generation, errors (the best of the population, on the generation's sample), "
        "mean_size, max_size, n_distinct, n_elites, n_evaluations, seconds.",
    ),
}


def _check(p: _DivNichGP) -> None:
    check_programs(p)
    check_whole("tournament_size", p.tournament_size, 1, LARGEST_TOURNAMENT)
    check_number("radius", p.radius, -1e-300, np.inf)
    check_whole("niche_size", p.niche_size, 1)
    check_choice("greedy_order", p.greedy_order, ("population", "best"))
    check_flag("prune", p.prune)
    check_aggregation(p)


def _footprint(p: _DivNichGP) -> Footprint:
    # A sample in each generation, and one more while the next is drawn; all members left out the same rows.
    n_vectors = vectors_looked_at(int(p.population_size))
    return Footprint(2, 1, int(p.population_size), OUTPUT_SHARE + VECTOR_SHARE, n_vectors, n_looked_at=n_vectors)


def _make(p: _DivNichGP, target: TargetSetup) -> DivNichGP:
    return DivNichGP(
        rows=resampled_rows(target, int(p.population_size)),
        tournament_size=int(p.tournament_size),
        radius=float(p.radius),
        niche_size=int(p.niche_size),
        greedy_order=p.greedy_order,
        **gp_arguments(p, target),
    )


@document("Ensemble by niching and new samples, for regression.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES)
@with_parameters
class DivNichGPRegressor(ProgramParameters, Regressor):
    takes_rows_elsewhere = True
    p_crossover: float = 0.475
    p_mutation: float = 0.475
    tournament_size: int = 8
    radius: float = 0.0
    niche_size: int = 1
    greedy_order: str = "population"
    prune: bool = True
    aggregation: str = "mean"
    loss: Any = "squared"
    quantile: float = 0.5
    huber_delta: float | None = None

    check_parameters = _check
    make_part = _make
    _footprint = _footprint


@document(
    "Ensemble by niching and changing samples, for classification.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES
)
@with_parameters
class DivNichGPClassifier(ProgramParameters, Classifier):
    takes_rows_elsewhere = True
    p_crossover: float = 0.475
    p_mutation: float = 0.475
    tournament_size: int = 8
    radius: float = 0.0
    niche_size: int = 1
    greedy_order: str = "population"
    prune: bool = True

    check_parameters = _check
    make_part = _make
    _footprint = _footprint


_DivNichGP = DivNichGPRegressor | DivNichGPClassifier
