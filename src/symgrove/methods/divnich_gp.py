"""DivNichGP: diversity by changing samples and niching (Wang, Mei and Zhang 2019; Virgolin's version of 2021).

    population = ramped half-and-half, scored on a bootstrap sample
    repeat:
        clearing: of programs that predict the same, only the best keeps its fitness
        parents = winners of tournaments
        population = one child of every parent, by crossover, mutation or copying
        draw a new bootstrap sample and score everyone on it
    the ensemble is chosen greedily on the rows that the last sample left out

There is no elitism, so errors can rise from one generation to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_number, check_whole
from symgrove.blas import product
from symgrove.fitness.bootstrap import bootstrap_sample
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Ids
from symgrove.methods._documentation import document
from symgrove.methods._elites import Elites
from symgrove.methods._faces import EnsembleClassifier, EnsembleRegressor
from symgrove.methods._gp import GP, GPState, Material, Matrix, gp_arguments
from symgrove.methods._parameters import ProgramParameters, check_choice
from symgrove.rng import stream
from symgrove.selection.clearing import clearing, has_later_twin
from symgrove.selection.tournament import tournament

# Of the memory budget, which is mostly the engine's: for the vectors that niches are told by, and for predictions on
# the way there, of which a few copies are alive at the same time.
VECTOR_SHARE = 0.25
OUTPUT_SHARE = 0.1
N_COPIES = 4


@dataclass(frozen=True)
class DivNichState(GPState):
    """A run between two generations; scaling is that of the current sample, `elites` the best program on it."""

    slope: Matrix
    intercept: Matrix


@dataclass(frozen=True, kw_only=True)
class DivNichGP(GP):
    """The method on one target."""

    weight: Matrix | None
    sample_seed: int
    tournament_size: int
    radius: float
    niche_size: int
    greedy_order: str
    state_type = DivNichState

    def init(self) -> DivNichState:
        return self.settle(self._score_all(0, 0, self.random_population()))

    def advance(self, state: DivNichState) -> DivNichState:
        errors = self._clear(state)
        chosen = tournament(
            errors, self.population_size, self.tournament_size, stream(self.seed, "selection", state.generation)
        )
        offspring = self.vary(state.population[chosen], stream(self.seed, "variation", state.generation))
        return self._score_all(state.generation + 1, state.n_evaluations, offspring)

    def _score_all(self, generation: int, n_evaluations: int, population: Ids) -> DivNichState:
        """The state in which this is the population, scored on the generation's own sample."""
        errors, scaling = self.score(population, self._sample(generation), expect_more=True)
        slope, intercept = scaling.slope[:, 0], scaling.intercept[:, 0]
        best = np.argmin(errors[:, 0])
        forest = self.source.forest
        return DivNichState(
            generation=generation,
            n_evaluations=n_evaluations + population.size,
            forest=forest,
            n_nodes=len(forest),
            population=population,
            errors=errors,
            elites=Elites(population[[best]], errors[best], slope[[best]], intercept[[best]]),
            slope=slope,
            intercept=intercept,
        )

    def _counts(self, generation: int) -> NDArray[np.int32]:
        return bootstrap_sample(self.engine.data.n_rows, self.sample_seed, generation)

    def _sample(self, generation: int) -> Samples:
        return self.engine.prepare(self._counts(generation)[None, :], self.weight)

    # Niches

    def _clear(self, state: DivNichState) -> Matrix:
        """Errors of the population after clearing."""
        vectors, row_of = self._vectors(state, np.arange(state.population.size))
        return clearing(state.errors[:, 0], vectors, self.radius, self.niche_size, row_of)

    def _vectors(self, state: DivNichState, positions: NDArray[np.intp]) -> tuple[Matrix, NDArray[np.intp]]:
        """Distinct predictions on the rows of the current sample, as often as they were drawn; and whose are whose.

        If they do not fit the memory budget, those on some of the rows, drawn at random.
        """
        roots, first, row_of = np.unique(state.population[positions], return_index=True, return_inverse=True)
        members = positions[first]
        counts = self._counts(state.generation)
        rows = np.flatnonzero(counts)
        n_affordable = int(VECTOR_SHARE * self.engine.memory_budget / (8 * max(roots.size, 1)))
        if rows.size > n_affordable:
            rng = stream(self.seed, "niche rows", state.generation)
            rows = np.sort(rng.choice(rows, size=max(n_affordable, 1), replace=False))
        vectors = np.empty((roots.size, rows.size))
        for chunk, outputs in self._outputs(state, roots):
            inside = slice(*np.searchsorted(rows, [chunk.start, chunk.stop]))
            vectors[:, inside] = self._predict(state, members, outputs[:, rows[inside] - chunk.start])
        vectors *= np.sqrt(counts[rows])
        return vectors, row_of.ravel()

    def _outputs(self, state: DivNichState, roots: Ids) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Outputs of distinct programs, in ranges of rows that take little memory."""
        n_rows = self.engine.data.n_rows
        n_at_once = self._n_affordable(max(roots.size, 1))
        for start in range(0, n_rows, n_at_once):
            chunk = slice(start, min(start + n_at_once, n_rows))
            yield chunk, self.engine.outputs(state.forest, roots, chunk)

    def _n_affordable(self, length: int) -> int:
        """How many vectors of this length may be at hand, each in a few copies."""
        return max(1, int(OUTPUT_SHARE * self.engine.memory_budget / (N_COPIES * 8 * length)))

    def _predict(self, state: DivNichState, members: NDArray[np.intp], outputs: NDArray[Any]) -> Matrix:
        """Scaled outputs, or the class that they say."""
        with np.errstate(all="ignore"):
            scaled = state.intercept[members, None] + state.slope[members, None] * outputs.astype(np.float64)
        if self.loss.row_loss is RowLoss.MISCLASSIFIED:
            return (scaled > self.loss.threshold).astype(np.float64)
        return scaled

    # The ensemble

    def members(self, state: DivNichState) -> Elites:
        """Greedily, in order: a program is taken if it lowers the ensemble's error on the rows left out."""
        candidates = self._candidates(state)
        if candidates.size == 0:  # not one usable program
            return state.elites
        rows = np.flatnonzero(self._counts(state.generation) == 0)
        rows = rows if rows.size else np.arange(self.engine.data.n_rows)
        y = self.engine.data.y[rows]
        weight = np.ones(rows.size) if self.weight is None else self.weight[rows]
        taken: list[int] = []
        total, best = np.zeros(rows.size), np.inf
        for i, prediction in self._predictions(state, candidates, rows):
            mean = (total + prediction) / (len(taken) + 1)
            if self.loss.row_loss is RowLoss.MISCLASSIFIED:
                error = product(weight, (mean > THRESHOLD) != y)
            else:
                with np.errstate(over="ignore"):
                    error = product(weight, (mean - y) ** 2)
            if error < best or not taken:
                total, best = total + prediction, error
                taken.append(i)
        chosen = np.array(taken)
        return Elites(state.population[chosen], state.errors[chosen, 0], state.slope[chosen], state.intercept[chosen])

    def _candidates(self, state: DivNichState) -> NDArray[np.intp]:
        """Positions in the population, one for each different prediction, in the order of the greedy choice."""
        usable = np.flatnonzero(np.isfinite(state.errors[:, 0]))
        if self.greedy_order == "best":
            # Backwards, so that of equal predictions the best stays.
            usable = usable[np.argsort(state.errors[usable, 0], kind="stable")][::-1]
        distinct = usable[~has_later_twin(*self._vectors(state, usable))]
        return distinct[::-1] if self.greedy_order == "best" else distinct

    def _predictions(
        self, state: DivNichState, candidates: NDArray[np.intp], rows: NDArray[np.intp]
    ) -> Iterator[tuple[int, Matrix]]:
        """Candidates with their predictions on some rows, a few at a time."""
        n_at_once = self._n_affordable(self.engine.data.n_rows)
        for start in range(0, candidates.size, n_at_once):
            batch = candidates[start : start + n_at_once]
            roots, position = np.unique(state.population[batch], return_inverse=True)
            outputs = self.engine.outputs(state.forest, roots)[:, rows][position.ravel()]
            yield from zip(batch.tolist(), self._predict(state, batch, outputs), strict=True)

    def training_samples(self, state: DivNichState, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        return self._sample(state.generation), np.zeros(n_members, dtype=np.intp)


@dataclass(kw_only=True, eq=False, repr=False)
class _DivNichGPParameters(ProgramParameters):
    p_crossover: float = 0.475
    p_mutation: float = 0.475
    tournament_size: int = 8
    radius: float = 0.0
    niche_size: int = 1
    greedy_order: str = "population"
    prune: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_number("radius", self.radius, -1e-300, np.inf)
        check_whole("niche_size", self.niche_size, 1)
        check_choice("greedy_order", self.greedy_order, ("population", "best"))
        check_flag("prune", self.prune)

    def _make_part(self, material: Material) -> DivNichGP:
        return DivNichGP(
            weight=material.weight,
            sample_seed=material.sample_seed,
            tournament_size=int(self.tournament_size),
            radius=float(self.radius),
            niche_size=int(self.niche_size),
            greedy_order=self.greedy_order,
            **gp_arguments(self, material),
        )


_TEXT = (
    "A generational GP whose programs are scored on a new bootstrap sample in every generation, with niching, so that "
    "the population stays diverse; the ensemble is chosen greedily from the last population, on the rows that its "
    "sample left out (Wang, Mei and Zhang 2019, as reimplemented for the comparison with 2SEGP)."
)
_OWN = {
    "p_crossover": ("float", "Chance of subtree crossover."),
    "linear_scaling": ("bool", "Give every program the best slope and intercept on the current sample."),
    "radius": (
        "float",
        "Programs share a niche if their predictions on the current sample are closer than this (Euclidean distance); "
        "0 means the same predictions. Small radii cost almost nothing, large ones a comparison of all pairs.",
    ),
    "niche_size": ("int", "Programs of a niche that keep their fitness."),
    "greedy_order": (
        '"population" or "best"',
        "Order in which programs are tried for the ensemble: as they stand in the population (as in the "
        "reimplementation), or from best to worst.",
    ),
    "memory_budget": (
        "int, optional",
        "Bytes for intermediate results, 2 GiB by default; the data are not included. Where the predictions of the "
        "population take more than a quarter of it, niches are told by randomly drawn rows.",
    ),
    "target_error": ("float, optional", "Stop once the best error of a generation, on its sample, is this low."),
}
_ATTRIBUTES = {
    "oob_score_": (
        "float",
        "R² (regression) or accuracy (classification) on the rows that the last sample left out. Optimistic: the "
        "members were chosen on them.",
    ),
    "oob_prediction_": (
        "ndarray",
        "The predictions behind it, a row for each row of X; NaN where the last sample drew the row. For classifiers "
        "as `predict_proba`.",
    ),
    "history_": (
        "dict of ndarray",
        "One entry a generation: generation, errors (the best of the population, on the generation's sample), "
        "mean_size, max_size, n_distinct, n_elites, n_evaluations, seconds.",
    ),
}


@document("Ensemble by niching and new samples, for regression.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES)
class DivNichGPRegressor(_DivNichGPParameters, EnsembleRegressor):
    pass


@document(
    "Ensemble by niching and changing samples, for classification.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES
)
class DivNichGPClassifier(_DivNichGPParameters, EnsembleClassifier):
    pass
