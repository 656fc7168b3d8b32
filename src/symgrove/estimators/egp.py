"""Estimator of eGP; the algorithm is methods/egp.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove._checks import LARGEST_TOURNAMENT, MOST_SAMPLES, check_number, check_whole
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import document
from symgrove.estimators.parameters import check_choice, check_early_stopping, check_evolution, with_parameters
from symgrove.estimators.standard_gp import FUNCTIONS
from symgrove.fitness.bootstrap import subsample_counts
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.egp import EGP, P_FUNCTION, WEIGHTINGS
from symgrove.methods.memory import Footprint
from symgrove.methods.programs import TargetSetup
from symgrove.rng import stream
from symgrove.variation.swap import SwapVariation

MOST_TREES = 1000
BYTES_OF_PLACE = 384  # of a tree in a forest, its votes and its children, while forests are made


@document(
    "A forest of formulas that vote, evolved together with its trees, for classification: a reconstruction.",
    "Trees evolve on random subsets of rows and features, and forests, lists of trees, evolve beside them: a forest is "
    "scored by the accuracy of its vote on all rows, and the best one is the model (eGP, Rodrigues, Batista and Silva "
    '2020: eGPw with `weighting="accuracy"`, eGPn with "none"). Only the outline of the publication was at hand; '
    "numbers of subsets and trees, how forests change, and that parents of trees are compared within their subset "
    "only, are ours. Features and outputs are not scaled.",
    parameters={
        "standardize": (
            "bool",
            "Z-score the features inside; formulas are shown in your units either way. False in the published method.",
        ),
        "population_size": ("int", "Trees, and as many forests."),
        "n_subsets": (
            "int",
            "Random subsets of rows and features. Each has an equal part of the trees, at least two, which use its "
            "features and are scored on its rows.",
        ),
        "row_fraction": ("float", "Share of the rows in a subset, drawn without replacement."),
        "feature_fraction": ("float", "Share of the features in a subset, at least one."),
        "max_trees": ("int", "Most trees of a forest."),
        "init_depth": ("int", "Largest depth of initial trees and of new branches; a lone leaf has depth 1."),
        "max_depth": ("int", "Children of greater depth are dropped."),
        "p_crossover": (
            "float",
            "Chance of crossover: two trees swap branches, a forest gets trees of two. Else a tree gets a new branch; "
            "a forest gets, loses or replaces a tree.",
        ),
        "tournament_size": (
            "int",
            "Trees or forests drawn for each tournament, with replacement; the best wins.",
        ),
        "weighting": (
            '"accuracy", "none" or "margin"',
            "What votes count: the tree's accuracy on its own rows; the same; or how far its output is from one half "
            "on the row. The last is one formula, the mean of the trees.",
        ),
        "target_error": ("float, optional", "Stop once the training error of the best forest is this low."),
    },
    attributes={
        "oob_score_": (
            "float",
            "Accuracy on the training rows, from trees whose subset did not have a row. Optimistic: the forest was "
            "chosen on all rows. Not with margins.",
        ),
        "oob_prediction_": (
            "ndarray",
            "The shares behind it, as `predict_proba`, a row for each row of X; NaN where every subset had the row, "
            "and where the row was held out or had weight 0. Not with margins.",
        ),
        "history_": (
            "dict of ndarray",
            "One entry a generation: generation, errors (of the best forest on all rows), n_elites (its trees), "
            "mean_trees (of all forests), mean_size and max_size (nodes of trees), n_distinct (trees), n_evaluations "
            "(of trees), seconds.",
        ),
    },
    classes=(
        "Two classes: a tree votes for the second class where its output is above one half, and the class with more "
        "weight wins; a tie goes to the first class, and a tree whose output is not finite on a new row says what "
        "share of the training rows was of the second class. More classes: one forest for each class against the "
        "others, evolved side by side; a class's score is the weighted mean of its trees' outputs, each clipped to "
        "[0, 1]."
    ),
)
@with_parameters
class EGPClassifier(Classifier):
    functions: Any = FUNCTIONS
    standardize: bool = False
    n_subsets: int = 20
    row_fraction: float = 0.6
    feature_fraction: float = 0.6
    max_trees: int = 10
    tournament_size: int = 5
    init_depth: int = 6
    max_depth: int = 17
    p_crossover: float = 0.5
    weighting: str = "accuracy"
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_generations_no_change: int = 20

    @property
    def has_out_of_bag(self) -> bool:
        return bool(self.weighting != "margin")

    def check_parameters(self) -> None:
        check_evolution(self)
        check_whole("n_subsets", self.n_subsets, 1, MOST_SAMPLES)
        if 2 * self.n_subsets > self.population_size:
            raise ValueError(
                f"n_subsets={self.n_subsets} is more than half of population_size={self.population_size}: each needs "
                "two trees. Lower n_subsets or raise population_size."
            )
        for name in ("row_fraction", "feature_fraction"):
            check_number(name, getattr(self, name), 0, 1 + 1e-12)
        check_whole("max_trees", self.max_trees, 1, MOST_TREES)
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_whole("init_depth", self.init_depth, 2)
        check_whole("max_depth", self.max_depth, self.init_depth, 10_000)
        check_number("p_crossover", self.p_crossover, -1e-12, 1 + 1e-12)
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_early_stopping(self)

    def _aggregation(self) -> str:
        return "weighted" if self.weighting == "accuracy" else "mean"

    def _footprint(self) -> Footprint:
        n_trees = int(self.max_trees)
        own = {"fixed": BYTES_OF_PLACE * n_trees * int(self.population_size), "n_scratch": n_trees}
        return Footprint(int(self.n_subsets) + 1, n_trees, n_trees, advice="n_subsets or max_trees", **own)

    def make_part(self, target: TargetSetup) -> EGP:
        n_rows, n_subsets = target.engine.n_rows, int(self.n_subsets)
        counts = subsample_counts(n_rows, n_subsets, target.sample_seed, self.row_fraction, np.uint8)
        sources = [self._source(target, j) for j in range(n_subsets)]
        return EGP(
            engine=target.engine,
            loss=target.task.loss(linear_scaling=False),
            population_size=int(self.population_size),
            seed=target.seed,
            samples=target.engine.prepare(counts, target.weight),
            whole=target.whole_sample(),
            vary=[SwapVariation(source, self.p_crossover, self.max_depth - 1, P_FUNCTION) for source in sources],
            min_height=1,
            p_crossover=float(self.p_crossover),
            tournament_size=int(self.tournament_size),
            most_trees=int(self.max_trees),
            weighting=self.weighting,
        )

    def _source(self, target: TargetSetup, j: int) -> RandomPrograms:
        """Random programs of the features of a subset."""
        n_features = target.engine.n_features
        n_chosen = max(1, round(self.feature_fraction * n_features))
        chosen = stream(target.sample_seed, "features", j).permutation(n_features)[:n_chosen]
        return RandomPrograms(target.forest, None, self.init_depth - 1, np.sort(chosen))
