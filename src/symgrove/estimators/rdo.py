"""Estimator of RDO with linear scaling; the algorithm is methods/rdo.py."""

from __future__ import annotations

import numpy as np

from symgrove._checks import LARGEST_PROGRAM, LARGEST_TOURNAMENT, MOST_PROGRAMS, check_flag, check_whole
from symgrove.estimators.documentation import document
from symgrove.estimators.gp_arguments import gp_arguments
from symgrove.estimators.parameters import ProgramParameters, check_choice, check_rates, check_samples, with_parameters
from symgrove.estimators.regressor import Regressor
from symgrove.fitness.bootstrap import bootstrap_counts
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.memory import Footprint
from symgrove.methods.programs import TargetSetup
from symgrove.methods.rdo import N_LIBRARIES, OWN_SHARE, RDO, case_weights, choose_cases, own_memory
from symgrove.variation.desired_operator import RandomDesiredOperator
from symgrove.variation.subtree import SubtreeVariation

LARGEST_LIBRARY = 100_000
N_VECTORS = 64  # of the outputs of siblings and nodes, for each child, at most


@document(
    "One formula by semantic backpropagation, for regression; or an ensemble of them.",
    "Children are made to measure: a node of the parent is chosen, the target is pushed down to it by inverting the "
    "functions on the way, and the subtree of the population whose outputs come closest to what is wanted there, with "
    "the best slope and intercept, takes the node's place (random desired operator with linear scaling, RDO×LS+LS, "
    "Virgolin, Alderliesten and Bosman 2019; semantic backpropagation: Pawlak, Wieloch and Krawiec 2015). Functions "
    "without an inversion (step, and your own) are replaced as a whole.",
    parameters={
        "n_estimators": (
            "int",
            "1: one formula, from all training rows, as published. More: so many bootstrap samples and members; place "
            "i of the population belongs to sample i modulo `n_estimators`, and every program is offered to all "
            "samples. At most `population_size`.",
        ),
        "max_size": (
            "int",
            "Most nodes of a child: what would make it larger is not put in. Initial programs are limited by "
            "`init_depth` only.",
        ),
        "max_height": (
            "int",
            "Children stay below this height: what would make one as high or higher is not put in, as in the authors' "
            "code. At least the second of `init_depth`.",
        ),
        "init_depth": ("(int, int)", "Heights of initial programs, and the largest of new branches of mutation."),
        "p_crossover": ("float", "Chance of subtree crossover in place of the desired operator."),
        "p_mutation": ("float", "Chance of subtree mutation in place of the desired operator."),
        "variation": (
            "callable, optional",
            "A function (forest, parents, donors, rng) that returns the ids of a child for each parent; it makes what "
            "subtree crossover and mutation would, a share `p_crossover + p_mutation` of the children.",
        ),
        "library_size": ("int", "Most subtrees in the library, which is made anew of each population."),
        "library_depth": ("int", "Largest height of a subtree in the library."),
        "library_order": (
            '"population" or "random"',
            "Which subtrees fill the library: those of the first programs, as published, or any of the population.",
        ),
        "library_scaling": (
            "bool",
            "Give each subtree from the library the best slope and intercept where it is put in. With False the "
            "subtree whose outputs are closest to acceptable values is put in as it is, or the closest constant; much "
            "slower.",
        ),
        "impossible_cases": (
            '"abandon" or "drop"',
            "If no value of the chosen node gives the target on a row: give up and copy the parent, as published, or "
            "leave the row out.",
        ),
        "dont_care_cases": (
            '"drop" or "constant"',
            "If any value of the chosen node gives the target on a row: leave the row out, or put in a constant, as "
            "published.",
        ),
        "inversions": (
            '"exact" or "public_code"',
            "How functions are inverted. The authors' public code, as we read it, takes the left operand for the other "
            "one in any case, inverts a - b for a as t - b, and accepts negative square roots. (It has no inversion of "
            "the protected division: here it is exact.)",
        ),
        "max_rows": (
            "int",
            "Rows that wanted outputs and the library are looked at on, drawn once if there are more; fewer if "
            "`memory_budget` has no room. Programs are always scored on all rows.",
        ),
    },
    attributes={
        "oob_score_": (
            "float",
            "R² on the training rows, from members whose sample did not draw a row. Only with `n_estimators` > 1. "
            "Optimistic: the samples share one population.",
        ),
        "oob_prediction_": (
            "ndarray",
            "The predictions behind it, a row for each row of X; NaN where every sample drew the row, and where the "
            "row was held out or had weight 0. Only with `n_estimators` > 1.",
        ),
    },
)
@with_parameters
class RDORegressor(ProgramParameters, Regressor):
    n_estimators: int = 1
    prune: bool = True
    p_crossover: float = 0.0
    p_mutation: float = 0.0
    tournament_size: int = 4
    max_height: int = 12
    library_size: int = 500
    library_depth: int = 12
    library_order: str = "population"
    library_scaling: bool = True
    impossible_cases: str = "abandon"
    dont_care_cases: str = "drop"
    inversions: str = "exact"
    max_rows: int = 2000

    @property
    def has_out_of_bag(self) -> bool:
        return self.n_estimators > 1

    def check_parameters(self) -> None:
        super().check_parameters()
        check_samples(self.n_estimators, self.prune, self.population_size)
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_whole("max_height", self.max_height, 0, LARGEST_PROGRAM)
        if self.max_height < self.init_depth[1]:
            raise ValueError(
                f"max_height={self.max_height} is less than init_depth[1]={self.init_depth[1]}; lower that too."
            )
        check_whole("library_size", self.library_size, 1, LARGEST_LIBRARY)
        check_whole("library_depth", self.library_depth, 0, LARGEST_PROGRAM)
        check_whole("max_rows", self.max_rows, 1, MOST_PROGRAMS)
        check_choice("library_order", self.library_order, ("population", "random"))
        check_flag("library_scaling", self.library_scaling)
        check_choice("impossible_cases", self.impossible_cases, ("abandon", "drop"))
        check_choice("dont_care_cases", self.dont_care_cases, ("drop", "constant"))
        check_choice("inversions", self.inversions, ("exact", "public_code"))
        check_rates(self)
        self._check_functions()

    def _check_functions(self) -> None:
        names = [row.name for row in PrimitiveSet(self.functions, self.epsilon).functions]
        missing = [name for name in ("add", "mul") if name not in names]
        if self.library_scaling and missing:
            raise ValueError(
                f"functions has no {' and no '.join(map(repr, missing))}, which library_scaling puts in as intercept + "
                "slope * subtree. Add what is missing, or set library_scaling=False."
            )
        if self.variation is not None and not self.p_crossover + self.p_mutation > 0:
            raise ValueError(
                "variation is given but never used: p_crossover + p_mutation is the share of children that it makes, "
                "and is 0. Set one of them."
            )

    def _footprint(self) -> Footprint:
        n_members = int(self.n_estimators)
        n_own = n_members + (N_LIBRARIES + 1) * int(self.library_size) + N_VECTORS * int(self.population_size)
        return Footprint(n_members + 1, n_members, n_members, OWN_SHARE, n_own)

    def make_part(self, target: TargetSetup) -> RDO:
        engine = target.engine
        if self.has_out_of_bag:
            counts = bootstrap_counts(engine.n_rows, self.n_estimators, target.sample_seed, np.uint8)
            samples = engine.prepare(counts, target.weight)
        else:
            samples = target.whole_sample()
        rows = choose_cases(engine, samples.total.size, int(self.max_rows), int(self.library_size), target.seed)
        arguments = gp_arguments(self, target)
        p_vary = float(self.p_crossover + self.p_mutation)
        if self.variation is None:
            share = self.p_crossover / p_vary if p_vary else 0.0
            rates = share, 1 - share, self.max_size, self.min_grow_depth
            arguments["vary"] = SubtreeVariation(arguments["source"], *rates)
        operator = RandomDesiredOperator(
            engine=engine,
            rows=rows,
            weight=case_weights(samples, rows),
            max_size=int(self.max_size),
            max_height=int(self.max_height),
            scales=bool(self.library_scaling),
            drops_impossible=self.impossible_cases == "drop",
            drops_any=self.dont_care_cases == "drop",
            is_public=self.inversions == "public_code",
            memory=own_memory(engine),
        )
        return RDO(
            samples=samples,
            operator=operator,
            p_vary=p_vary,
            tournament_size=int(self.tournament_size),
            library_size=int(self.library_size),
            library_depth=int(self.library_depth),
            in_random_order=self.library_order == "random",
            **arguments,
        )
