"""Estimator of standard GP; the algorithm is methods/standard_gp.py."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_number, check_pair, check_whole
from symgrove.estimators.classic_gp import SINGLE_MODEL
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import document
from symgrove.estimators.parameters import with_parameters
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.programs import TargetSetup
from symgrove.methods.standard_gp import StandardGP
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
@with_parameters
class StandardGPClassifier(Classifier):
    has_out_of_bag = False
    takes_rows_elsewhere = True
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

    @classmethod
    def december_2019(cls, **parameters: Any) -> Self:
        """The settings of Python-StdGP in December 2019; `parameters` are added to them or replace them."""
        return cls(**{**DECEMBER_2019, **parameters})

    def check_parameters(self) -> None:
        super().check_parameters()
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

    def make_part(self, target: TargetSetup) -> StandardGP:
        low, high = self.min_init_depth - 1, self.init_depth - 1
        limit, p_function = self.max_depth - 1, None if self.p_function == UNIFORM else float(self.p_function)
        source = RandomPrograms(target.forest, self.constant_range, high)
        return StandardGP(
            engine=target.engine,
            loss=target.task.loss(linear_scaling=False, threshold=float(self.threshold)),
            source=source,
            vary=SwapVariation(source, self.p_crossover, limit, p_function, self.p_mutation),
            population_size=int(self.population_size),
            heights=(low, high),
            min_height=low,
            seed=target.seed,
            samples=target.whole_sample(),
            tournament_size=int(self.tournament_size),
            p_function=p_function,
            prefers_small=bool(self.prefer_small),
        )
