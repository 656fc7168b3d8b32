"""Estimator of GPTIPS; the algorithm is methods/gptips.py."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from symgrove._checks import LARGEST_PROGRAM, LARGEST_TOURNAMENT, check_number, check_pair, check_whole
from symgrove.engines.linear_heads import LinearHeads, n_bytes_of_heads, n_vectors_of_heads
from symgrove.estimators.classic_gp import SINGLE_MODEL
from symgrove.estimators.documentation import document
from symgrove.estimators.parameters import check_early_stopping, check_evolution, check_rates, with_parameters
from symgrove.estimators.regressor import Regressor
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.gptips import GPTIPS
from symgrove.methods.memory import Footprint, Needs, program_needs
from symgrove.methods.problem import Problem
from symgrove.methods.programs import TargetSetup
from symgrove.variation.genes import UNLIMITED, Genes
from symgrove.variation.genes_kernels import GeneRates

LARGEST_DEPTH = 10  # of a gene; with three operands it has up to 39,365 nodes
MOST_GENES = 1000
# mGPTIPS of the paper's comparison has settings similar to those of EFS, which are not published. With the functions of
# EFS and all else as it is, results are close to the published ones; with the shape of its models too, much better.
MGPTIPS: dict[str, Any] = {
    "functions": ("mul", "pdiv", "add", "sub", "log", "exp", "sqrt", "square", "cube", "sin", "cos"),
    "with_three": (),
}
SMALL_GENES: dict[str, Any] = {**MGPTIPS, "genes_per_feature": 4, "max_depth": 5, "max_size": 5}


@document(
    "A weighted sum of a few small formulas, for regression.",
    "An individual has several genes, which are small programs; least squares gives each its coefficient, and an "
    "intercept. Genes are crossed, exchanged and mutated (GPTIPS 2, Searson 2015). With default parameters it has the "
    "defaults of that toolbox. `mgptips()` has the functions of EFS, as the paper's mGPTIPS, whose other settings are "
    "not known. `small_genes()` has the shape of EFS's models as well, many genes of at most five nodes, and is "
    "usually much better.",
    parameters={
        "population_size": ("int", "Individuals."),
        "functions": (
            "sequence of str or Primitive",
            "Built-in primitives by name and your own, made with `symgrove.primitive`. Weighted sums are made with add "
            "and mul, whether these are among them or not.",
        ),
        "with_three": (
            "sequence of str, optional",
            "Which of add and mul are drawn with three operands as well. In formulas they are two, nested. None: those "
            "that are among `functions`.",
        ),
        "max_genes": ("int", "Genes of an individual, at most. Not used with `genes_per_feature`."),
        "genes_per_feature": ("int, optional", "Genes of an individual for each feature of the data, at most."),
        "max_depth": ("int", "Largest depth of a gene, from 1 to 10; a lone leaf has depth 1."),
        "max_mutation_depth": ("int", "Largest depth of new branches, from 1 to 10."),
        "max_size": ("int or None", "Largest number of nodes of a gene. None: no limit."),
        "constant_range": (
            "(float, float) or None",
            "Constants are drawn uniformly from it, with four decimals; None for genes without constants.",
        ),
        "p_constant": ("float", "Share of new leaves that are constants."),
        "standardize": (
            "bool",
            "Z-score the features inside; formulas are shown in your units either way. False in the published method.",
        ),
        "tournament_size": (
            "int",
            "Individuals drawn for each tournament, with replacement; the best wins, of equal errors the least complex "
            "(the sum of the sizes of all branches).",
        ),
        "elite_fraction": ("float", "Share of the population that is copied as it is, from 0 to below 1."),
        "p_crossover": ("float", "Chance of crossover, which makes two children."),
        "p_mutation": ("float", "Chance of mutation of one gene; what is left to 1 are copies."),
        "p_whole_genes": (
            "float",
            "Share of crossovers that exchange whole genes; the others exchange branches of one gene of each parent.",
        ),
        "p_gene": ("float", "Chance of each gene to be exchanged in such a crossover; at least one is."),
        "p_feature_mutation": ("float", "Share of mutations that put a random feature in the place of another."),
        "p_constant_mutation": ("float", "Share of mutations that nudge a constant; the others make a new branch."),
        "constant_step": ("float", "Standard deviation of these nudges, above 5e-5: constants have four decimals."),
    },
    attributes={
        **SINGLE_MODEL,
        "ensemble_": ("list of Member", "The one model as a member; its genes are terms of its formula."),
        "history_": (
            "dict of ndarray",
            "One entry a generation: generation, errors (mean squared error of the best individual so far), mean_size "
            "and max_size (nodes of all genes of an individual), mean_genes, n_distinct, n_evaluations, seconds.",
        ),
    },
)
@with_parameters
class GPTIPSRegressor(Regressor):
    has_out_of_bag = False
    population_size: int = 100
    generations: int = 150
    functions: Any = ("mul", "sub", "add")
    with_three: Any = None
    max_genes: int = 4
    genes_per_feature: int | None = None
    max_depth: int = 4
    max_mutation_depth: int = 4
    max_size: int | None = None
    constant_range: tuple[float, float] | None = (-10.0, 10.0)
    p_constant: float = 0.1
    standardize: bool = False
    tournament_size: int = 10
    elite_fraction: float = 0.15
    p_crossover: float = 0.84
    p_mutation: float = 0.14
    p_whole_genes: float = 0.2
    p_gene: float = 0.5
    p_feature_mutation: float = 0.05
    p_constant_mutation: float = 0.05
    constant_step: float = 0.1
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20

    @classmethod
    def mgptips(cls, **parameters: Any) -> Self:
        """With the functions of EFS; `parameters` are added to the settings or replace them."""
        return cls(**{**MGPTIPS, **parameters})

    @classmethod
    def small_genes(cls, **parameters: Any) -> Self:
        """Four genes a feature, of at most five nodes, with the functions of EFS; `parameters` as in `mgptips`."""
        return cls(**{**SMALL_GENES, **parameters})

    def check_parameters(self) -> None:
        check_evolution(self)
        check_early_stopping(self)
        check_rates(self)
        self._with_three()
        check_whole("max_genes", self.max_genes, 1, MOST_GENES)
        check_whole("genes_per_feature", self.genes_per_feature, 1, MOST_GENES, is_optional=True)
        check_whole("max_depth", self.max_depth, 1, LARGEST_DEPTH)
        check_whole("max_mutation_depth", self.max_mutation_depth, 1, LARGEST_DEPTH)
        check_whole("max_size", self.max_size, 1, LARGEST_PROGRAM, is_optional=True)
        if self.constant_range is not None:
            check_pair("constant_range", self.constant_range)
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_number("elite_fraction", self.elite_fraction, -1e-12, 1)
        for name in ("p_constant", "p_whole_genes", "p_gene", "p_feature_mutation", "p_constant_mutation"):
            check_number(name, getattr(self, name), -1e-12, 1 + 1e-12)
        if self.p_feature_mutation + self.p_constant_mutation > 1 + 1e-12:
            raise ValueError(
                "p_feature_mutation and p_constant_mutation must sum to at most 1, "
                f"got {self.p_feature_mutation} and {self.p_constant_mutation}."
            )
        check_number("constant_step", self.constant_step, 5e-5, np.inf)

    def _n_genes(self, n_features: int) -> int:
        return int(self.max_genes) if self.genes_per_feature is None else int(self.genes_per_feature) * n_features

    def _footprint(self) -> Footprint:
        return Footprint(1, 1, 1, advice="max_genes")

    def _needs(self, problem: Problem) -> Needs:
        n_rows, n_features = problem.training.X.shape
        n_genes = self._n_genes(n_features)
        n_own, fixed = n_vectors_of_heads(n_genes, n_rows), n_bytes_of_heads(int(self.population_size), n_genes)
        own = self._footprint()._replace(own_share=None, n_own=n_own, fixed=fixed)
        return program_needs(problem, self.dtype, self._memory_budget(), own)

    def _with_three(self) -> tuple[str, ...]:
        return functions_of_three(self.with_three, PrimitiveSet(self.functions, self.epsilon))

    def make_part(self, target: TargetSetup) -> GPTIPS:
        rates = GeneRates(
            float(self.p_crossover),
            float(self.p_mutation),
            float(self.p_whole_genes),
            float(self.p_gene),
            float(self.p_feature_mutation),
            float(self.p_constant_mutation),
            float(self.constant_step),
            int(self.max_depth),
            int(self.max_mutation_depth),
            UNLIMITED if self.max_size is None else int(self.max_size),
        )
        n_genes = self._n_genes(target.engine.n_features)
        genes = Genes(target.forest, rates, n_genes, self._with_three(), self.constant_range, float(self.p_constant))
        return GPTIPS(
            engine=target.engine,
            loss=target.task.loss(linear_scaling=False),
            population_size=int(self.population_size),
            seed=target.seed,
            samples=target.whole_sample(),
            genes=genes,
            heads=LinearHeads.of(target.engine, target.weight),
            tournament_size=int(self.tournament_size),
            elite_fraction=float(self.elite_fraction),
        )


def functions_of_three(names: Any, primitives: PrimitiveSet) -> tuple[str, ...]:
    """Those of add and mul that are drawn with three operands too, or a clear error."""
    accepted = tuple(p.name for p in primitives.functions if p.name in ("add", "mul"))
    if names is None:
        return accepted
    if not isinstance(names, (list, tuple)) or any(name not in accepted for name in names):
        shown = ", ".join(map(repr, accepted)) or "nothing"
        raise ValueError(
            "with_three must be None, or a list or tuple of those of 'add' and 'mul' that are among functions, here of "
            f"{shown}, got {names!r}."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"with_three must name a function once, got {names!r}.")
    return tuple(names)
