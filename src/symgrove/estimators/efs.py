"""Estimator of EFS; the algorithm is methods/efs.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove._checks import LARGEST_PROGRAM, LARGEST_TOURNAMENT, MOST_PROGRAMS, check_flag, check_number, check_whole
from symgrove.estimators.documentation import document
from symgrove.estimators.parameters import check_choice, check_early_stopping, check_evolution, with_parameters
from symgrove.estimators.regressor import Regressor
from symgrove.estimators.runs import Limits
from symgrove.evolution.stopping import NoChange, Stop
from symgrove.fitness.lasso import SELECTION_RULES
from symgrove.methods.efs import EFS, StandardTarget, own_memory
from symgrove.methods.memory import Footprint, Needs, program_needs
from symgrove.methods.problem import Problem
from symgrove.methods.programs import TargetSetup

FUNCTIONS = ("mul", "div", "add", "sub", "log", "exp", "sqrt", "square", "cube", "cos", "sin")
ARCHIVE = 3  # features of the archive for each feature of X


@document(
    "A linear model of features that evolve, for regression.",
    "New features are functions of old ones. What stays is decided by a LASSO path: a feature scores by how many of "
    "its models it is in, and how good these are. The model is a weighted sum of features on the path, the best of all "
    "iterations, within the range of the target: one formula of many small terms (EFS, Arnaldo, O'Reilly and "
    'Veeramachaneni 2015). With `selection_rule="published"` this is the published method, with iterations counted '
    "where the authors' program has a clock; a run takes seconds. Features are computed as published, without "
    "protection: on training rows one that has no value, such as the logarithm of a negative number, is refused. On "
    "new rows log and sqrt take the size of their operand, exp ends at exp(80), and a prediction that is not finite, "
    "after a division by zero, is the mean of the training target. Rows are counted, not their weights, where a rule "
    "asks how many there are. `max_time` and Ctrl-C are looked at between iterations, which take seconds with hundreds "
    "of features.",
    parameters={
        "population_size": (
            "int, optional",
            "New features that an iteration tries to make; those that are too large, not finite, constant, there "
            "already or close to a parent are dropped. None: as many as X has features, as published.",
        ),
        "generations": ("int", "Iterations in total, also with `warm_start`."),
        "functions": (
            "sequence",
            "What features are made with: built-in primitives by name and your own, made with `symgrove.primitive`.",
        ),
        "epsilon": (
            "float or dict",
            "Protection constant of div and log; a dict gives each its own. With 0, a feature that divides by zero on "
            "a training row is refused.",
        ),
        "standardize": (
            "bool",
            "Z-score the features of X inside; formulas are shown in your units either way. False in the published "
            "method: half of the z-scored numbers have no logarithm. Columns of the linear model are always "
            "standardised.",
        ),
        "archive_size": (
            "int, optional",
            "Most features that stay besides those of X. None: three for each feature of X, as published.",
        ),
        "max_size": ("int", "Most nodes of a feature."),
        "p_binary": ("float", "Chance that a new feature has a function of two operands, if there are both kinds."),
        "tournament_size": ("int", "Features drawn for each parent, with replacement; the one of the best score wins."),
        "max_correlation": (
            "float, optional",
            "A new feature whose correlation with a parent is this high or higher is refused; strong negative "
            "correlation passes, as published. None: no limit.",
        ),
        "selection_rule": (
            '"bic" or "published"',
            "Which model of the path, and which iteration's, is the result: that of the lowest Bayesian information "
            "criterion, or, as published, in effect that of the smallest penalty and the lowest training error, which "
            "overfits small noisy data.",
        ),
        "clip": (
            "bool",
            "Keep predictions within the range of the training target, as the authors' program does.",
        ),
        "max_evaluations": ("int, optional", "Stop once so many new features have been computed."),
        "target_error": ("float, optional", "Stop once the training error of the model is this low."),
        "early_stopping": (
            "bool",
            "Hold `validation_fraction` of the rows out of the whole evolution, stop after `n_generations_no_change` "
            "iterations without improvement on them, and return the model that was best there.",
        ),
        "n_generations_no_change": (
            "int",
            "Stop after so many iterations without a better model: on the training rows, or with `early_stopping` on "
            "those held out.",
        ),
        "warm_start": (
            "bool",
            "Keep the features, and let the next `fit` with the same data go on to a larger `generations`.",
        ),
    },
    attributes={
        "oob_score_": None,
        "oob_prediction_": None,
        "history_": (
            "dict of ndarray",
            "One entry an iteration: generation, errors (of the best model), criterion (what it is the best by), "
            "n_features (of X and of the archive), mean_size, n_generations_no_change, n_evaluations, seconds.",
        ),
        "stop_reason_": (
            "str",
            "Why the evolution ended: generations, n_generations_no_change, max_time, max_evaluations, target_error, "
            "early_stopping, callback, interrupted.",
        ),
    },
)
@with_parameters
class EFSRegressor(Regressor):
    population_size: int | None = None  # type: ignore[assignment]
    generations: int = 1000
    functions: Any = FUNCTIONS
    epsilon: Any = 0.0
    standardize: bool = False
    archive_size: int | None = None
    max_size: int = 5
    p_binary: float = 0.5
    tournament_size: int = 2
    max_correlation: float | None = 0.95
    selection_rule: str = "bic"
    clip: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 200

    has_out_of_bag = False

    def check_parameters(self) -> None:
        check_evolution(self)
        check_whole("archive_size", self.archive_size, 0, MOST_PROGRAMS, is_optional=True)
        check_whole("max_size", self.max_size, 1, LARGEST_PROGRAM)
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_number("p_binary", self.p_binary, 0, 1)
        check_number("max_correlation", self.max_correlation, 0, 1, is_optional=True)
        check_choice("selection_rule", self.selection_rule, tuple(SELECTION_RULES))
        check_flag("clip", self.clip)
        check_early_stopping(self)

    def _stops(self, limits: Limits) -> list[Stop]:
        stops = super()._stops(limits)
        return stops if self.early_stopping else [*stops, NoChange(self.n_generations_no_change)]

    def _footprint(self) -> Footprint:
        return Footprint(1, 1, 1, None, advice="archive_size and population_size")

    def _needs(self, problem: Problem) -> Needs:
        n_features = problem.training.X.shape[1]
        n_own, fixed = own_memory(n_features, self._archive_size(n_features), self._n_new(n_features))
        footprint = self._footprint()._replace(n_own=n_own, fixed=fixed)
        return program_needs(problem, self.dtype, self._memory_budget(), footprint)

    def _archive_size(self, n_features: int) -> int:
        return ARCHIVE * n_features if self.archive_size is None else int(self.archive_size)

    def _n_new(self, n_features: int) -> int:
        return n_features if self.population_size is None else int(self.population_size)

    def make_part(self, target: TargetSetup) -> EFS:
        n_features = target.engine.n_features
        return EFS(
            engine=target.engine,
            loss=target.task.loss(linear_scaling=False),
            population_size=self._n_new(n_features),
            seed=target.seed,
            samples=target.whole_sample(),
            target=StandardTarget.of(target.engine, target.weight),
            archive_size=self._archive_size(n_features),
            max_size=int(self.max_size),
            p_binary=float(self.p_binary),
            tournament_size=int(self.tournament_size),
            max_correlation=np.inf if self.max_correlation is None else float(self.max_correlation),
            clips=bool(self.clip),
            choose=SELECTION_RULES[self.selection_rule],
        )
