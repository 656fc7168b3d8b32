"""Estimator of SS+BE; the algorithm is methods/spatial_gp.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove._checks import check_whole
from symgrove.estimators.documentation import document
from symgrove.estimators.gp_arguments import gp_arguments
from symgrove.estimators.parameters import (
    ProgramParameters,
    check_aggregation,
    check_choice,
    check_samples,
    with_parameters,
)
from symgrove.estimators.regressor import Regressor
from symgrove.methods.memory import Footprint
from symgrove.methods.programs import TargetSetup
from symgrove.methods.spatial_gp import N_COPIES, OUTPUT_SHARE, SpatialGP, neighbours_on, torus_of
from symgrove.rng import stream


@document(
    "Ensemble from a population on a torus, for regression.",
    "Programs live in the cells of a torus and breed with their neighbours; each cell is tied to a bootstrap sample, "
    "and a child moves in only if it is better there. The member of a sample is the program with the lowest out-of-bag "
    "error that ever lived in one of its cells, and predictions are medians (spatial structure with bootstrapped "
    "elitism, SS+BE, Dick, Owen and Whigham 2018).",
    parameters={
        "population_size": ("int", "Programs, one for each cell; they must fill the torus."),
        "torus": (
            "(int, int), optional",
            "Rows and columns. By default there are as many rows as the whole part of the square root of "
            "`population_size`.",
        ),
        "init_depth": ("(int, int)", "Heights of initial programs."),
        "max_size": (
            "int",
            "A child with more nodes is dropped and the cell keeps its program. Initial programs are limited by "
            "`init_depth` only.",
        ),
        "mutation_depth": ("int", "Largest height of new branches; at most the second of `init_depth`."),
        "member_error": (
            '"out_of_bag" or "in_bag"',
            "Error on its sample's rows, or on those the sample left out, by which a program becomes a member.",
        ),
    },
    attributes={
        "oob_score_": (
            "float",
            "R² on the training rows, from members whose sample did not draw a row. Optimistic: the samples share one "
            "population, and members may have been chosen by their out-of-bag error.",
        ),
        "history_": (
            "dict of ndarray",
            "One entry a generation: generation, errors (of the member of every sample, on its sample), criterion "
            "(what members were chosen by), mean_size, max_size, n_distinct, n_elites, n_evaluations, seconds.",
        ),
    },
)
@with_parameters
class SpatialGPRegressor(ProgramParameters, Regressor):
    takes_rows_elsewhere = True
    population_size: int = 196
    generations: int = 250
    n_estimators: int = 50
    prune: bool = True
    torus: tuple[int, int] | None = None
    mutation_depth: int = 4
    member_error: str = "out_of_bag"
    aggregation: str = "median"
    loss: Any = "squared"
    quantile: float = 0.5
    huber_delta: float | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        check_samples(self.n_estimators, self.prune, self.population_size)
        torus_of(self.population_size, self.torus)
        check_whole("mutation_depth", self.mutation_depth, 0)
        if self.mutation_depth > self.init_depth[1]:
            raise ValueError(
                f"mutation_depth={self.mutation_depth} is more than init_depth[1]={self.init_depth[1]}; raise that too."
            )
        check_choice("member_error", self.member_error, ("out_of_bag", "in_bag"))
        check_aggregation(self)

    def _footprint(self) -> Footprint:
        own = OUTPUT_SHARE, N_COPIES * int(self.population_size)
        return Footprint(self.n_estimators, self.n_estimators, self.n_estimators, *own)

    def make_part(self, target: TargetSetup) -> SpatialGP:
        cells, uses_out_of_bag = np.arange(self.population_size), self.member_error == "out_of_bag"
        return SpatialGP(
            samples=target.bootstrap_samples(self.n_estimators),
            sample_of=stream(target.seed, "cells").permutation(cells % self.n_estimators),
            neighbours=neighbours_on(*torus_of(self.population_size, self.torus)),
            weight=target.weight,
            uses_out_of_bag=uses_out_of_bag,
            left_out=target.left_out_samples(self.n_estimators) if uses_out_of_bag else None,
            **gp_arguments(self, target, self.mutation_depth),
        )
