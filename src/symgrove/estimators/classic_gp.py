"""Classic GP, as the paper's own: one model, tournaments among parents and offspring.

    population = ramped half-and-half; score it on the training set
    repeat:
        offspring = one child of every parent, by subtree crossover or mutation
        the best program ever scored is kept aside
        population = winners of tournaments of 8 among parents and offspring
    the model is the best program, with linear scaling on the whole training set

This is 2SEGP with one sample, the training set itself, and tournaments in place of truncation.
"""

from __future__ import annotations

from typing import Any

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_whole
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import document
from symgrove.estimators.gp_arguments import gp_arguments
from symgrove.estimators.parameters import ProgramParameters, check_programs, with_parameters
from symgrove.estimators.regressor import Regressor
from symgrove.methods.programs import TargetSetup
from symgrove.methods.two_segp import TwoSEGP
from symgrove.selection.named import Tournament

_TEXT = (
    "One population, one error for each program, survival by tournaments among parents and offspring, and the best "
    "program ever found: the classic GP that 2SEGP is compared with (Virgolin 2021). All other settings are those of "
    "2SEGP."
)
SINGLE_MODEL = {
    "ensemble_": ("list of Member", "The one model as a member; with more than two classes, one for each."),
    "oob_score_": None,
    "oob_prediction_": None,
    "history_": (
        "dict of ndarray",
        "One entry a generation: generation, errors (of the best program so far), mean_size, max_size, n_distinct, "
        "n_elites, n_evaluations, seconds.",
    ),
}
_OWN = {
    "allow_duplicates": (
        "bool",
        "Whether the population may hold a program several times, as in the paper. Small programs (`max_size` of 15, "
        "say) are soon copies of one; with False, equal programs survive once. `history_` has the number of distinct "
        "ones, `n_distinct`.",
    ),
    "linear_scaling": ("bool", "Give every program the best slope and intercept on the training set."),
    "target_error": ("float, optional", "Stop once the error of the best program is this low."),
}


def _check(p: _ClassicGP) -> None:
    check_programs(p)
    check_whole("tournament_size", p.tournament_size, 1, LARGEST_TOURNAMENT)
    check_flag("allow_duplicates", p.allow_duplicates)


def _make(p: _ClassicGP, target: TargetSetup) -> TwoSEGP:
    whole = target.whole_sample()
    select = Tournament(p.tournament_size, distinct=not p.allow_duplicates)
    return TwoSEGP(samples=whole, whole=whole, select=select, **gp_arguments(p, target))


@document("One formula by classic GP, for regression.", _TEXT, parameters=_OWN, attributes=SINGLE_MODEL)
@with_parameters
class ClassicGPRegressor(ProgramParameters, Regressor):
    takes_rows_elsewhere = True
    has_out_of_bag = False
    tournament_size: int = 8
    allow_duplicates: bool = True
    loss: Any = "squared"
    quantile: float = 0.5
    huber_delta: float | None = None

    check_parameters = _check
    make_part = _make


@document("One formula by classic GP, for classification.", _TEXT, parameters=_OWN, attributes=SINGLE_MODEL)
@with_parameters
class ClassicGPClassifier(ProgramParameters, Classifier):
    takes_rows_elsewhere = True
    has_out_of_bag = False
    tournament_size: int = 8
    allow_duplicates: bool = True

    check_parameters = _check
    make_part = _make


_ClassicGP = ClassicGPRegressor | ClassicGPClassifier
