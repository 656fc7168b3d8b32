"""2SEGP: simple simultaneous ensemble genetic programming (Virgolin 2021).

    draw the bootstrap samples, once
    population = ramped half-and-half; score it on every sample; note the elite of every sample
    repeat:
        offspring = one child of every parent, by subtree crossover or mutation
        score the offspring on every sample
        a child that is better on a sample than its elite becomes the elite
        population = for every sample, the best population_size / n_samples of parents and offspring
    the ensemble is the elites, each with its own linear scaling

Differences from the paper and its code are in docs/paper-map.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.scoring import row_errors
from symgrove.fitness.bootstrap import bootstrap_counts
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Ids
from symgrove.methods._documentation import document
from symgrove.methods._elites import best_of_each_sample, improve
from symgrove.methods._faces import EnsembleClassifier, EnsembleRegressor
from symgrove.methods._gp import GP, GPState, Material, Matrix, first_occurrences, gp_arguments, look_up, whole_sample
from symgrove.methods._parameters import EnsembleParameters, check_one_program_a_sample
from symgrove.rng import stream
from symgrove.selection.named import Selection, check_selection, make_selection


@dataclass(frozen=True, kw_only=True)
class TwoSEGP(GP):
    """The method on one target.

    Attributes
    ----------
    samples : Samples
        What programs are scored on.
    select : Selection
        Who survives.
    whole : Samples
        All training rows as one sample, for selections that look at single rows.
    """

    samples: Samples
    select: Selection
    whole: Samples

    def init(self) -> GPState:
        population = self.random_population()
        scores = self.score(population, self.samples)
        elites = best_of_each_sample(population, scores)
        forest = self.source.forest
        return self.settle(GPState(0, population.size, forest, len(forest), population, scores.errors, elites))

    def advance(self, state: GPState) -> GPState:
        offspring = self.vary(state.population, stream(self.seed, "variation", state.generation))
        new = first_occurrences(offspring[~np.isin(offspring, state.population)])
        scores = self.score(new, self.samples)
        elites = improve(state.elites, best_of_each_sample(new, scores)) if new.size else state.elites
        programs = np.concatenate([state.population, offspring])
        if getattr(self.select, "distinct", False):
            programs = first_occurrences(programs)
        errors = look_up(programs, state.population, state.errors, new, scores.errors)
        survivors = self._select(programs, errors, state.generation)
        return GPState(
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + self.population_size,
            forest=state.forest,
            n_nodes=len(state.forest),
            population=programs[survivors],
            errors=errors[survivors],
            elites=elites,
        )

    def _select(self, programs: Ids, errors: Matrix, generation: int) -> Ids:
        rng = stream(self.seed, "selection", generation)
        n_cases = getattr(self.select, "n_cases", 0)
        if n_cases:
            n_rows = self.engine.data.n_rows
            rows = rng.choice(n_rows, size=min(n_cases, n_rows), replace=False)
            cases = row_errors(self.engine, self.source.forest, programs, self.whole, self.loss, rows)
            survivors = self.select(errors, self.population_size, rng, cases)
        else:
            survivors = self.select(errors, self.population_size, rng)
        return check_survivors(survivors, self.population_size, programs.size)

    def training_samples(self, state: GPState, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        return self.samples, np.arange(self.samples.total.size)


def check_survivors(survivors: Any, n_selected: int, n_programs: int) -> Ids:
    """Indices from a selection, which may be a user's, or a clear error."""
    indices = np.asarray(survivors)
    is_valid = indices.shape == (n_selected,) and indices.dtype.kind in "iu"
    if not is_valid or (n_selected and not (indices.min() >= 0 and indices.max() < n_programs)):
        raise ValueError(
            f"selection must return {n_selected} indices from 0 to {n_programs - 1}, got {type(survivors).__name__} of "
            f"shape {indices.shape} and dtype {indices.dtype}."
        )
    return indices.astype(np.int64)


@dataclass(kw_only=True, eq=False, repr=False)
class _TwoSEGPParameters(EnsembleParameters):
    """What the regressor and the classifier share: the parameters and the method."""

    selection: Any = "partition"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_program_a_sample(self.n_estimators, self.population_size)
        check_selection(self.selection)

    def _make_part(self, material: Material) -> TwoSEGP:
        engine = material.engine
        counts = bootstrap_counts(engine.data.n_rows, self.n_estimators, material.sample_seed)
        return TwoSEGP(
            samples=engine.prepare(counts, material.weight),
            whole=whole_sample(material),
            select=make_selection(self.selection),
            **gp_arguments(self, material),
        )


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
        "called with a row of errors for each parent and child and a column for each sample.",
    )
}


@document("Bagging ensemble of formulas for regression.", _TEXT, parameters=_OWN)
class TwoSEGPRegressor(_TwoSEGPParameters, EnsembleRegressor):
    pass


@document("Bagging ensemble of formulas for classification.", _TEXT, parameters=_OWN)
class TwoSEGPClassifier(_TwoSEGPParameters, EnsembleClassifier):
    pass
