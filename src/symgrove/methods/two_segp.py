"""2SEGP: simple simultaneous ensemble genetic programming (Virgolin 2021).

    draw the bootstrap samples, once
    population = ramped half-and-half; score it on every sample; note the elite of every sample
    repeat:
        offspring = one child of every parent, by subtree crossover or mutation
        score the offspring on every sample
        a child that is better on a sample than its elite becomes the elite
        population = for every sample, the best population_size / n_samples of parents and offspring
    the ensemble is the elites, each with its own linear scaling

With one sample, the training set itself, and tournaments in place of truncation, this is classic GP. Differences from
the paper and its code are in docs/paper-map.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.scoring import row_errors
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.base import ForestState, check_array
from symgrove.methods.elites import best_of_each_sample, improve
from symgrove.methods.gp import GP, GPState, first_occurrences, look_up
from symgrove.rng import stream
from symgrove.selection.named import Candidates, Selection, sees_candidates


@dataclass(frozen=True, kw_only=True)
class TwoSEGPState(GPState):
    """A run between two generations; `ages` count generations since a program's oldest ancestor was made."""

    ages: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TwoSEGP(GP):
    """The method on one target.

    Attributes
    ----------
    samples : Samples
        What programs are scored on.
    select : Selection
        Who survives.
    whole : Samples or None
        All training rows as one sample, for selections that look at single rows.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import PrimitiveSet, TwoSEGPRegressor, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> estimator = TwoSEGPRegressor(population_size=20, n_estimators=4)
    >>> with ex.evolutions_of(problem, evaluation, estimator.make_part) as method:
    ...     (state,) = method.step(method.init())
    >>> isinstance(method.parts[0], ex.TwoSEGP), state.elites.root.shape
    (True, (4,))
    """

    samples: Samples
    select: Selection
    whole: Samples | None = None
    state_type: ClassVar[type[ForestState]] = TwoSEGPState

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        super().check_arrays(arrays, n_nodes)
        check_array("ages", arrays["ages"], arrays["population"].shape, "i")

    def init(self) -> TwoSEGPState:
        state: TwoSEGPState = self.first_state(ages=np.zeros(self.population_size, dtype=np.int64))
        return state

    def advance(self, state: TwoSEGPState) -> TwoSEGPState:
        forest = state.forest
        offspring, is_new = self.breed(forest, state.population, stream(self.seed, "variation", state.generation))
        new = first_occurrences(offspring[~np.isin(offspring, state.population)])
        scores = self.score(forest, new, self.samples)
        elites = improve(state.elites, best_of_each_sample(new, scores)) if new.size else state.elites
        programs = np.concatenate([state.population, offspring])
        ages = np.concatenate([state.ages + 1, np.where(is_new, 0, state.ages + 1)])
        if getattr(self.select, "distinct", False):
            first = np.sort(np.unique(programs, return_index=True)[1])
            programs, ages = programs[first], ages[first]
        errors = look_up(programs, state.population, state.errors, new, scores.errors)
        candidates = Candidates(errors, forest.size(programs), ages, state.generation)
        survivors = self._select(forest, programs, candidates)
        new_state: TwoSEGPState = self.next_state(
            state, population=programs[survivors], errors=errors[survivors], elites=elites, ages=ages[survivors]
        )
        return new_state

    @cached_property
    def _sees_candidates(self) -> bool:
        return sees_candidates(self.select)

    def _select(self, forest: Forest, programs: Ids, candidates: Candidates) -> Ids:
        rng = stream(self.seed, "selection", candidates.generation)
        seen = candidates if self._sees_candidates else candidates.errors
        n_cases = getattr(self.select, "n_cases", 0)
        if n_cases:
            assert self.whole is not None
            n_rows = self.engine.n_rows
            rows = rng.choice(n_rows, size=min(n_cases, n_rows), replace=False)
            cases = row_errors(self.engine, forest, programs, self.whole, self.loss, rows)
            survivors = self.select(seen, self.population_size, rng, cases)
        else:
            survivors = self.select(seen, self.population_size, rng)
        return check_survivors(survivors, self.population_size, programs.size)


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
