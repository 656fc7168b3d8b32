"""SS+BE: spatial structure with bootstrapped elitism (Dick, Owen and Whigham 2018).

cells of a torus, each with a program and tied to one bootstrap sample for good
repeat, for every cell at once:
    mother = the better of two neighbours, judged on the cell's own sample
    child = mutated mother, or crossover with a father chosen in the same way
    the child moves in if it is better on the cell's sample, or as good and smaller
the member of a sample is the program with the lowest out-of-bag error that ever moved into one of its cells
the prediction is the median of the members
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_whole
from symgrove.engines.scoring import Scores
from symgrove.fitness.losses import RowLoss
from symgrove.fitness.moments import Samples
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Ids
from symgrove.methods.base import ForestState, nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import GP, GPState, Matrix, first_occurrences, look_up
from symgrove.rng import stream

TOURNAMENT_SIZE = 2
SMALLEST_SIDE = 3  # of the torus, so that the nine cells of a neighbourhood are different
# Of the memory budget, for outputs on rows that samples left out, of which a few copies are alive at the same time.
OUTPUT_SHARE = 0.2
N_COPIES = 5


@dataclass(frozen=True, kw_only=True)
class SpatialState(GPState):
    """A run between two generations.

    The population is in the order of the cells; errors and scaling are (n_cells, n_samples). `criterion` is what the
    elites were chosen by.
    """

    slope: Matrix
    intercept: Matrix
    criterion: Matrix


@dataclass(frozen=True, kw_only=True)
class SpatialGP(GP):
    """The method on one target.

    Attributes
    ----------
    samples : Samples
        What programs are scored on.
    sample_of : (n_cells,)
        The sample that each cell is tied to.
    neighbours : (n_cells, 9)
        Each cell and those around it.
    weight : (n_rows,) or None
    uses_out_of_bag : bool
        Whether members are chosen by their out-of-bag error.
    left_out : Samples or None
        Rows that samples left out, as samples, where rows are elsewhere.
    """

    samples: Samples
    sample_of: NDArray[np.int64]
    neighbours: NDArray[np.int64]
    weight: Matrix | None
    uses_out_of_bag: bool
    left_out: Samples | None = None
    state_type: ClassVar[type[ForestState]] = SpatialState

    def init(self) -> SpatialState:
        forest = self.new_forest()
        population = stream(self.seed, "placement").permutation(self.random_population(forest))
        errors, scaling = self.score(forest, population, self.samples)
        n_samples = self.samples.total.size
        # A cell of each sample stands in until programs are offered.
        first = np.unique(self.sample_of, return_index=True)[1]
        elites = Elites(population[first], np.full(n_samples, np.inf), *np.zeros((2, n_samples)))
        state = SpatialState(
            generation=0,
            n_evaluations=population.size,
            nodes=nodes_of(forest),
            population=population,
            errors=errors,
            elites=elites,
            slope=scaling.slope,
            intercept=scaling.intercept,
            criterion=elites.error,
        )
        return self.settle(self._offer(state, np.arange(population.size)))

    def advance(self, state: SpatialState) -> SpatialState:
        population = state.population
        rng = stream(self.seed, "selection", state.generation)
        mothers = self._tournaments(state, rng)
        fathers = self._tournaments(state, rng, excluded=mothers)
        rng = stream(self.seed, "variation", state.generation)
        children, _ = self.breed(state.forest, population[mothers], rng, population[fathers], population)
        scores = self._score_children(state, children)
        cells = self._improved(state, children, scores.errors)
        moved_in: SpatialState = self.next_state(
            state,
            population=_replaced(population, cells, children[cells]),
            errors=_replaced(state.errors, cells, scores.errors[cells]),
            slope=_replaced(state.slope, cells, scores.scaling.slope[cells]),
            intercept=_replaced(state.intercept, cells, scores.scaling.intercept[cells]),
        )
        return self._offer(moved_in, cells)

    def _tournaments(
        self, state: SpatialState, rng: np.random.Generator, excluded: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """For every cell, of two different neighbours that are drawn, the one with the lower error on its sample."""
        keys = rng.random(self.neighbours.shape)
        if excluded is not None:
            keys[self.neighbours == excluded[:, None]] = 2.0
        drawn = np.take_along_axis(self.neighbours, np.argsort(keys, axis=1)[:, :TOURNAMENT_SIZE], axis=1)
        best = np.argmin(state.errors[drawn, self.sample_of[:, None]], axis=1)
        return drawn[np.arange(drawn.shape[0]), best]

    def _score_children(self, state: SpatialState, children: Ids) -> Scores:
        """Scores on all samples; programs that live in some cell are known."""
        new = first_occurrences(children[~np.isin(children, state.population)])
        found = self.score(state.forest, new, self.samples)
        errors, slope, intercept = (
            look_up(children, state.population, known, new, scored)
            for known, scored in (
                (state.errors, found.errors),
                (state.slope, found.scaling.slope),
                (state.intercept, found.scaling.intercept),
            )
        )
        return Scores(errors, found.scaling._replace(slope=slope, intercept=intercept))

    def _improved(self, state: SpatialState, children: Ids, errors: Matrix) -> NDArray[np.intp]:
        """Cells whose child is better on their sample, or as good and smaller."""
        cells = np.arange(self.population_size)
        old, new = state.errors[cells, self.sample_of], errors[cells, self.sample_of]
        is_smaller = state.forest.size(children) < state.forest.size(state.population)
        return np.flatnonzero((new < old) | ((new == old) & is_smaller))

    # The members

    def _offer(self, state: SpatialState, cells: NDArray[np.intp]) -> SpatialState:
        """Offer the programs of cells to the cells' samples: lower criterion wins, then fewer nodes."""
        if cells.size == 0:
            return state
        samples = self.sample_of[cells]
        offered = Elites(
            state.population[cells],
            state.errors[cells, samples],
            state.slope[cells, samples],
            state.intercept[cells, samples],
        )
        criterion = self._out_of_bag(state, offered, samples) if self.uses_out_of_bag else offered.error
        sizes = state.forest.size(offered.root)
        order = np.lexsort((sizes, criterion, samples))  # stable: of equals, the lowest cell
        challenged, first = np.unique(samples[order], return_index=True)
        best = order[first]
        old, old_size = state.criterion[challenged], state.forest.size(state.elites.root[challenged])
        is_better = (criterion[best] < old) | ((criterion[best] == old) & (sizes[best] < old_size))
        won, by = challenged[is_better], best[is_better]
        return replace(
            state,
            elites=Elites(*(_replaced(a, won, b[by]) for a, b in zip(state.elites, offered, strict=True))),
            criterion=_replaced(state.criterion, won, criterion[by]),
        )

    def _out_of_bag(self, state: SpatialState, offered: Elites, samples: NDArray[np.int64]) -> Matrix:
        """Mean loss on the rows that each program's sample left out; in-bag if it left out none."""
        roots, position = np.unique(offered.root, return_inverse=True)
        if self.left_out is not None:
            return self._summed_out_of_bag(state, offered, roots, (position.ravel(), samples), self.left_out)
        n_rows = self.engine.n_rows
        n_at_once = max(1, int(OUTPUT_SHARE * self.engine.memory_budget / (N_COPIES * 8 * offered.root.size)))
        total, weight = np.zeros((2, offered.root.size))
        for start in range(0, n_rows, n_at_once):
            rows = slice(start, min(start + n_at_once, n_rows))
            outputs = self.engine.outputs(state.forest, roots, rows)[position.ravel()]
            with np.errstate(all="ignore"):
                scaled = offered.slope[:, None] * outputs
                del outputs
                scaled += offered.intercept[:, None]
                w = (self.samples.of_rows(rows, samples) == 0) * (1.0 if self.weight is None else self.weight[rows])
                if self.loss.row_loss is RowLoss.SQUARED:
                    residual = np.subtract(scaled, self.engine.target[rows], out=scaled)
                    total += np.einsum("ij,ij,ij->i", w, residual, residual)
                else:
                    total += np.einsum("ij,ij->i", w, self.loss.of_rows(self.engine.target[rows], scaled))
            weight += w.sum(axis=1)
        with np.errstate(all="ignore"):
            error = np.where(weight > 0, total / weight, offered.error)
        return np.where(np.isfinite(error) & np.isfinite(offered.error), error, np.inf)

    def _summed_out_of_bag(
        self, state: SpatialState, offered: Elites, roots: Ids, pairs: tuple[NDArray[np.intp], ...], left_out: Samples
    ) -> Matrix:
        """The same from sums over rows that are elsewhere; `pairs` are the program and the sample of each."""
        slope, intercept = np.zeros((2, roots.size, left_out.total.size))
        slope[pairs], intercept[pairs] = offered.slope, offered.intercept
        scaling = Scaling(np.nan_to_num(slope), np.nan_to_num(intercept))
        loss = self.loss.row_loss, self.loss.threshold
        sums = self.engine.errors(state.forest, roots, scaling, left_out, *loss)
        error = (sums / left_out.total)[pairs]
        return np.where(np.isfinite(error) & np.isfinite(offered.error), error, np.inf)

    def describe(self, state: SpatialState) -> dict[str, Any]:  # type: ignore[override]
        """Named values for the history, with what the members were chosen by."""
        return {**super().describe(state), "criterion": state.criterion}


def _replaced(old: NDArray[Any], where: NDArray[np.integer], new: NDArray[Any]) -> NDArray[Any]:
    """A copy with some rows replaced."""
    copy = old.copy()
    copy[where] = new
    return copy


def torus_of(population_size: int, torus: tuple[int, int] | None = None) -> tuple[int, int]:
    """Rows and columns of the torus, or a clear error if the population does not fill it.

    By default as in the author's code: as many rows as the whole part of the square root of the population.
    """
    if torus is None:
        rows = int(np.sqrt(population_size))
        columns = population_size // max(rows, 1)
    else:
        try:
            rows, columns = torus
        except (TypeError, ValueError):
            raise ValueError(f"torus must be a pair (rows, columns) or None, got {torus!r}.") from None
        check_whole("torus[0]", rows, 1)
        check_whole("torus[1]", columns, 1)
    if min(rows, columns) < SMALLEST_SIDE:
        larger = "a population_size of at least 9, such as 196" if torus is None else "another torus"
        raise ValueError(
            f"the torus has {rows} x {columns} cells; each side must have at least {SMALLEST_SIDE}, so that a cell has "
            f"eight neighbours. Take {larger}."
        )
    if rows * columns != population_size:
        lower, higher = rows * columns, rows * (columns + 1)
        sizes = f"population_size={lower} or {higher}, or give torus=(rows, columns)"
        advice = sizes if torus is None else "another one"
        raise ValueError(
            f"population_size={population_size} does not fill a torus of {rows} x {columns} cells ({lower}). "
            f"Take {advice}."
        )
    return int(rows), int(columns)


def neighbours_on(rows: int, columns: int) -> NDArray[np.int64]:
    """For each cell of a torus, itself and the eight around it, (rows * columns, 9)."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return np.stack([(row + i) % rows * columns + (column + j) % columns for i, j in shifts], axis=1)
