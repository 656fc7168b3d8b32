"""Estimators of 2SEGP; the algorithm is methods/two_segp.py."""

from __future__ import annotations

from typing import Any

from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import document
from symgrove.estimators.gp_arguments import gp_arguments
from symgrove.estimators.parameters import (
    ProgramParameters,
    check_aggregation,
    check_programs,
    check_samples,
    with_parameters,
)
from symgrove.estimators.regressor import Regressor
from symgrove.methods.programs import TargetSetup
from symgrove.methods.two_segp import TwoSEGP
from symgrove.selection.named import check_selection, make_selection

_TEXT = (
    "One population is evolved; every program has an error on each of `n_estimators` bootstrap samples, and the best "
    "program ever found on each sample is a member of the ensemble (2SEGP, Virgolin 2021). With default parameters "
    "this is the paper's method with the paper's settings."
)
_OWN = {
    "selection": (
        "str, selection or callable",
        "Who survives of parents and offspring. By default, and in the paper, the best of each sample. Other names, "
        "and selections with parameters, are in `symgrove.selection`: truncation-best, truncation-worst, "
        "tournament4-best, tournament4-worst, tournament8-best, tournament8-worst (the paper's ablations), "
        "partition-tournament, partition-lexicase, partition-10. A function (errors, n_selected, rng) -> indices is "
        "called with a row of errors for each parent and child and a column for each sample; one whose first parameter "
        "is called candidates is given sizes, ages and the generation too (`symgrove.selection.Candidates`).",
    )
}


def _check(p: _TwoSEGP) -> None:
    check_programs(p)
    check_samples(p.n_estimators, p.prune, p.population_size)
    check_selection(p.selection)
    check_aggregation(p)


def _make(p: _TwoSEGP, target: TargetSetup) -> TwoSEGP:
    select = make_selection(p.selection)
    return TwoSEGP(
        samples=target.bootstrap_samples(p.n_estimators),
        whole=target.whole_sample() if getattr(select, "n_cases", 0) else None,
        select=select,
        **gp_arguments(p, target),
    )


@document("Bagging ensemble of formulas for regression.", _TEXT, parameters=_OWN)
@with_parameters
class TwoSEGPRegressor(ProgramParameters, Regressor):
    takes_rows_elsewhere = True
    n_estimators: int = 50
    prune: bool = True
    selection: Any = "partition"
    aggregation: str = "mean"
    loss: Any = "squared"
    quantile: float = 0.5
    huber_delta: float | None = None

    check_parameters = _check
    make_part = _make


@document("Bagging ensemble of formulas for classification.", _TEXT, parameters=_OWN)
@with_parameters
class TwoSEGPClassifier(ProgramParameters, Classifier):
    takes_rows_elsewhere = True
    n_estimators: int = 50
    prune: bool = True
    selection: Any = "partition"

    check_parameters = _check
    make_part = _make


_TwoSEGP = TwoSEGPRegressor | TwoSEGPClassifier
