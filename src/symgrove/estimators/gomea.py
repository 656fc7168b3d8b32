"""Estimators of GP-GOMEA; the algorithm is methods/gomea.py."""

from __future__ import annotations

from typing import Any, Self

from symgrove._checks import check_flag, check_whole
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import ATTRIBUTES, document
from symgrove.estimators.gp_arguments import loss_of
from symgrove.estimators.parameters import (
    check_aggregation,
    check_loss,
    check_samples,
    check_scaled,
    with_parameters,
)
from symgrove.estimators.regressor import Regressor
from symgrove.methods.gomea import GOMEA, n_bytes_of
from symgrove.methods.memory import Footprint
from symgrove.methods.multi_start import most_individuals
from symgrove.methods.programs import TargetSetup
from symgrove.variation.template import Template

LARGEST_TEMPLATE = 9  # height; with binary functions it has 1023 positions
# As in the authors' example (params_gomea.txt), without its check that initial programs differ: small formulas, and no
# population size to choose.
SMALL_TEMPLATE: dict[str, Any] = {
    "functions": ("add", "sub", "mul", "aq"),
    "template_height": 4,
    "population_size": 500,
    "n_subgenerations": 5,
    "generations": 20,
}
_TEXT = (
    "Every program lies in a fixed template, a complete tree in which what a program does not use is kept as introns. "
    "In a generation each individual tries the genes of random donors in sets of positions that depend on each other, "
    "by mutual information over the population, and keeps what does not raise its error (GP-GOMEA, Virgolin, "
    "Alderliesten, Witteveen and Bosman 2021). With default parameters it has the settings of the comparison with "
    "2SEGP (Virgolin 2021): a few generations, each of hundreds of small changes of each individual. "
    "`small_template()` has the authors' usual settings, for formulas of at most 31 nodes. With `n_estimators` above 1 "
    "it is an ensemble, which is not in the publications: each individual is tied to a bootstrap sample."
)
_BAGGED = "Only with `n_estimators` above 1."
_OWN = {
    "population_size": ("int", "Individuals; of the first population if there are several."),
    "n_estimators": (
        "int",
        "1: the best program on all rows. More: bootstrap samples, and so members; individual i accepts changes by its "
        "error on sample i modulo `n_estimators`.",
    ),
    "template_height": (
        "int",
        "Height of the template, from 1 to 9; with functions of two operands, 7 has 255 positions.",
    ),
    "forced_improvement": (
        "bool",
        "An individual that did not change in a generation tries the genes of the best until it is strictly better, "
        "and else becomes the best; all do after 1 + log10(population) generations in which their population did not "
        "get better.",
    ),
    "n_subgenerations": (
        "int, optional",
        "Interleaved multi-start scheme: after so many generations of a population, one twice as large has one; "
        "populations that converge, or that a larger one has overtaken, end. There are never more individuals than if "
        "none ended. None: there is one population, which is drawn anew if it converges.",
    ),
    "max_time": (
        "float, optional",
        "Seconds for the evolution; compiling is not counted. The initial population is always scored; a generation "
        "that is not done by then is dropped, and with the default population it takes many seconds.",
    ),
    "max_evaluations": (
        "int, optional",
        "Stop after this many evaluated changes; looked at after each generation, which makes up to two for every "
        "individual and position of the template.",
    ),
}
_ATTRIBUTES = {
    "oob_score_": ("float", f"{_BAGGED} {ATTRIBUTES['oob_score_'][1]}"),
    "oob_prediction_": ("ndarray", f"{_BAGGED} {ATTRIBUTES['oob_prediction_'][1]}"),
}


def _check(p: _GOMEA) -> None:
    check_scaled(p)
    check_samples(p.n_estimators, p.prune, p.population_size)
    check_whole("template_height", p.template_height, 1, LARGEST_TEMPLATE)
    check_whole("n_subgenerations", p.n_subgenerations, 2, 1000, is_optional=True)
    check_flag("forced_improvement", p.forced_improvement)
    check_loss(p)
    check_aggregation(p)


def _footprint(p: _GOMEA) -> Footprint:
    n_individuals = most_individuals(int(p.population_size), p.n_subgenerations, int(p.generations))
    n_bytes = n_bytes_of(n_individuals, int(p.template_height), int(p.n_estimators))
    return Footprint(p.n_estimators, p.n_estimators, p.n_estimators, fixed=n_bytes, advice="population_size")


def _has_out_of_bag(p: _GOMEA) -> bool:
    return bool(p.n_estimators > 1)


def _make(p: _GOMEA, target: TargetSetup) -> GOMEA:
    is_bagged = p.n_estimators > 1
    samples = target.bootstrap_samples(p.n_estimators) if is_bagged else target.whole_sample()
    return GOMEA(
        engine=target.engine,
        loss=loss_of(p, target),
        samples=samples,
        template=Template(target.forest, int(p.template_height), p.constant_range),
        population_size=int(p.population_size),
        forces_improvement=bool(p.forced_improvement),
        n_subgenerations=None if p.n_subgenerations is None else int(p.n_subgenerations),
        seed=target.seed,
    )


@document(
    "Formulas by gene-pool optimal mixing, for regression.",
    _TEXT,
    parameters=_OWN,
    attributes=_ATTRIBUTES,
    example={"generations": "1", "template_height": "3"},
)
@with_parameters
class GOMEARegressor(Regressor):
    takes_rows_elsewhere = True
    population_size: int = 5000
    generations: int = 10
    n_estimators: int = 1
    prune: bool = True
    aggregation: str = "mean"
    template_height: int = 7
    constant_range: tuple[float, float] | None = (-5.0, 5.0)
    forced_improvement: bool = False
    n_subgenerations: int | None = None
    linear_scaling: bool = True
    loss: Any = "squared"
    quantile: float = 0.5
    huber_delta: float | None = None
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20

    @classmethod
    def small_template(cls, **parameters: Any) -> Self:
        """The authors' usual settings, for small formulas; `parameters` are added to them or replace them."""
        return cls(**{**SMALL_TEMPLATE, **parameters})

    check_parameters = _check
    has_out_of_bag = property(_has_out_of_bag)
    make_part = _make
    _footprint = _footprint


@document(
    "Formulas by gene-pool optimal mixing, for classification.",
    _TEXT,
    parameters=_OWN,
    attributes=_ATTRIBUTES,
    example={"generations": "1", "template_height": "3"},
)
@with_parameters
class GOMEAClassifier(Classifier):
    takes_rows_elsewhere = True
    population_size: int = 5000
    generations: int = 10
    n_estimators: int = 1
    prune: bool = True
    template_height: int = 7
    constant_range: tuple[float, float] | None = (-5.0, 5.0)
    forced_improvement: bool = False
    n_subgenerations: int | None = None
    linear_scaling: bool = True
    loss: Any = None
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20

    @classmethod
    def small_template(cls, **parameters: Any) -> Self:
        """The authors' usual settings, for small formulas; `parameters` are added to them or replace them."""
        return cls(**{**SMALL_TEMPLATE, **parameters})

    check_parameters = _check
    has_out_of_bag = property(_has_out_of_bag)
    make_part = _make
    _footprint = _footprint


_GOMEA = GOMEARegressor | GOMEAClassifier
