"""M3GP: multidimensional multiclass GP with multidimensional populations (Muñoz, Silva and Trujillo 2015).

    population = individuals of one tree each; features as they are
    repeat:
        rank by error, then by fewer dimensions, then by fewer nodes
        a new best is pruned: each dimension is dropped whose removal does not raise the error
        the next population is the best and, until it is full, children of winners of tournaments, which vary
        a tree, or gain, lose or exchange a dimension
    stop at once when the training error is low enough

An individual maps rows to as many dimensions as it has trees. What it says then is a head's: the class with the nearest
centroid (`engines/class_distances.py`), all classes in one evolution; or a linear regression on the dimensions
(`engines/linear_heads.py`; Muñoz, Trujillo, Silva, Castelli and Vanneschi 2019).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.class_distances import ClassDistances, batches_of
from symgrove.engines.linear_heads import LinearHeads
from symgrove.fitness.moments import Samples
from symgrove.forest.distance import add_distance
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.linear import WeightedSum, add_weighted_sum
from symgrove.forest.simplify import simplify
from symgrove.methods.base import ForestState, check_array, check_ids, nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import Matrix, ProgramMethod
from symgrove.models.ensemble import NamedNode
from symgrove.rng import stream
from symgrove.variation.dimensions import DimensionVariation, without_empty_columns

# Numbers in the vectors of individuals that are looked at together; results do not depend on it.
VALUES_AT_A_TIME = 1 << 22
MOST_AT_A_TIME = 1024
OWN_SHARE = 0.125  # of the memory budget, for more than one individual at a time


@dataclass(frozen=True, kw_only=True)
class M3GPState(ForestState):
    """A run between two generations: individuals in order, the best first; a row of ids each, padded with -1."""

    population: Ids
    errors: Matrix
    ids: ClassVar[tuple[str, ...]] = ("population",)


class Said(NamedTuple):
    """What an individual says: a program for each target, and the nodes of these that have a name."""

    roots: list[int]
    named: tuple[NamedNode, ...] = ()


class DimensionHead(ABC):
    """What individuals make of their dimensions.

    Attributes
    ----------
    rounding : float
        Relative difference of errors that says nothing.
    """

    rounding: ClassVar[float] = 0.0

    @property
    def n_targets(self) -> int:
        """Programs of an individual."""
        return 1

    @abstractmethod
    def errors(self, forest: Forest, individuals: Ids) -> Matrix:
        """Of every individual; +inf if a dimension is not finite on some row."""

    @abstractmethod
    def programs(self, forest: Forest, trees: Ids) -> Said:
        """What an individual of these trees says; nodes are added to the forest."""


@dataclass(frozen=True)
class LinearHead(DimensionHead):
    """A linear regression on the dimensions."""

    heads: LinearHeads
    n_at_a_time: int
    rounding: ClassVar[float] = 1e-12

    def errors(self, forest: Forest, individuals: Ids) -> Matrix:
        found = np.empty(len(individuals))
        for some in batches_of((individuals >= 0).sum(axis=1), self.n_at_a_time):
            found[some] = self.heads.fit(forest, without_empty_columns(individuals[some])).error
        return found

    def programs(self, forest: Forest, trees: Ids) -> Said:
        found = self.heads.fit(forest, trees[None])
        weights, constant = found.coefficients[0], float(found.intercept[0])
        return Said([add_weighted_sum(forest, WeightedSum(trees, weights, constant))])


@dataclass(frozen=True)
class DistanceHead(DimensionHead):
    """The class with the nearest centroid.

    Of two classes: the distance from the first less that from the second, which is above 0 where the second is nearer.
    Of more: 1 / sqrt(1 + distance²) for each, in units of the rows' distances from the nearest centroid (root mean
    square), so that it tells distances apart however small or large they are.
    """

    distances: ClassDistances

    @property
    def n_targets(self) -> int:
        n_classes = self.distances.n_classes
        return 1 if n_classes <= 2 else n_classes

    def errors(self, forest: Forest, individuals: Ids) -> Matrix:
        return self.distances.errors(forest, individuals)

    def programs(self, forest: Forest, trees: Ids) -> Said:
        shape = self.distances.geometry(forest, trees)
        own = [add_distance(forest, trees, *each) for each in zip(shape.centroids, shape.factors, strict=True)]
        formulas = trees[forest.size(trees) > 1]  # a feature has its own name
        named = [NamedNode("dimension", i + 1, int(tree)) for i, tree in enumerate(formulas)]
        named += [NamedNode("distance", c, root) for c, root in enumerate(own)]
        if len(own) == 2:
            return Said([forest.apply("sub", *own)], tuple(named))
        scaled = [forest.apply("mul", forest.constant(1.0 / shape.unit), root) for root in own]
        return Said([forest.apply("aq", forest.constant(1.0), root) for root in scaled], tuple(named))


@dataclass(frozen=True, kw_only=True)
class M3GP(ProgramMethod):
    """The method on one set of rows, for all targets."""

    samples: Samples
    head: DimensionHead
    vary: DimensionVariation
    tournament_size: int
    prunes: bool
    state_type: ClassVar[type[ForestState]] = M3GPState

    def init(self) -> M3GPState:
        forest, rng = self.new_forest(), stream(self.seed, "init")
        drawn = [self.vary.new_tree(forest, rng) for _ in range(self.population_size)]
        population = np.array(drawn, dtype=np.int64)[:, None]
        errors = self._errors(forest, population)
        return self.settle(self._ranked(forest, 0, population.size, population, errors))

    def advance(self, state: M3GPState) -> M3GPState:
        population = self._next_population(state)
        errors = np.append(state.errors[:1], self._errors(state.forest, population[1:]))
        n_evaluations = state.n_evaluations + self.population_size
        new_state = self._ranked(state.forest, state.generation + 1, n_evaluations, population, errors)
        is_better = self._rank(new_state) < self._rank(state)
        return self._with_pruned_best(new_state) if self.prunes and is_better else new_state

    def _errors(self, forest: Forest, population: Ids) -> Matrix:
        """Errors of all individuals; of the same dimensions, one is looked at."""
        _, first, own = np.unique(np.sort(population, axis=1), axis=0, return_index=True, return_inverse=True)
        found: Matrix = self.head.errors(forest, population[first])[own.ravel()]
        return found

    def _next_population(self, state: M3GPState) -> Ids:
        """The best and children of tournament winners: of individuals in order, the first of those drawn."""
        rng = stream(self.seed, "variation", state.generation)
        found = [np.concatenate([state.population[:1], np.full((1, 1), -1)], axis=1)]
        n_missing = self.population_size - 1
        while n_missing > 0:
            drawn = rng.integers(self.population_size, size=(2, n_missing, self.tournament_size))
            mothers, fathers = state.population[drawn.min(axis=2)]
            children = self.vary(state.forest, mothers, fathers, rng)[:n_missing]
            found.append(children)
            n_missing -= len(children)
        return without_empty_columns(np.concatenate(found))

    def _ranked(
        self, forest: Forest, generation: int, n_evaluations: int, population: Ids, errors: Matrix
    ) -> M3GPState:
        """The state in which individuals stand in order of error, dimensions, nodes."""
        order = np.lexsort((_n_nodes(forest, population), (population >= 0).sum(axis=1), errors))
        return M3GPState(
            generation=generation,
            n_evaluations=n_evaluations,
            nodes=nodes_of(forest),
            population=population[order],
            errors=errors[order],
        )

    def _rank(self, state: M3GPState) -> tuple[float, int, int]:
        """Of the best: error, dimensions, nodes."""
        best = state.population[:1]
        return float(state.errors[0]), int((best >= 0).sum()), int(_n_nodes(state.forest, best)[0])

    def _with_pruned_best(self, state: M3GPState) -> M3GPState:
        """The state whose best has no dimension that can be removed without harm, looked at one after the other."""
        error, kept = float(state.errors[0]), state.population[0][state.population[0] >= 0]
        n_tried, place = 0, 0
        while place < kept.size and kept.size > 1:
            fewer = np.delete(kept, place)
            found = float(self.head.errors(state.forest, fewer[None])[0])
            n_tried += 1
            if found <= error * (1 + self.head.rounding):
                error, kept = found, fewer
            else:
                place += 1
        population, errors = state.population.copy(), state.errors.copy()
        population[0] = -1
        population[0, : kept.size], errors[0] = kept, error
        n_evaluations = state.n_evaluations + n_tried
        return replace(state, population=without_empty_columns(population), errors=errors, n_evaluations=n_evaluations)

    def said(self, state: M3GPState) -> tuple[list[Elites], tuple[NamedNode, ...]]:
        """The best individual, its trees simplified: its program for each target, and named nodes."""
        forest, error = state.forest, state.errors[:1]
        trees = np.sort(state.population[0][state.population[0] >= 0])  # as when it was scored
        own = Said([forest.constant(0.0)] * self.head.n_targets)
        if np.isfinite(error[0]):
            own = self.head.programs(forest, np.array([simplify(forest, int(t)) for t in trees], dtype=np.int64))
        roots = [np.array([root], dtype=np.int64) for root in own.roots]
        return [Elites(root, error, np.ones(1), np.zeros(1)) for root in roots], own.named

    def members(self, state: M3GPState) -> Elites:
        return self.said(state)[0][0]

    def of_targets(self) -> Sequence[ProgramMethod]:
        own = {field.name: getattr(self, field.name) for field in fields(M3GP)}
        return [M3GPTarget(**own, place=place) for place in range(self.head.n_targets)]

    def describe(self, state: M3GPState) -> dict[str, Any]:  # type: ignore[override]
        """Named values for the history."""
        n_dimensions, n_nodes = (state.population >= 0).sum(axis=1), _n_nodes(state.forest, state.population)
        return {
            "generation": state.generation,
            "n_evaluations": state.n_evaluations,
            "errors": state.errors[:1],
            "mean_size": float(n_nodes.mean()),
            "max_size": int(n_nodes.max()),
            "mean_dimensions": float(n_dimensions.mean()),
            "n_dimensions": int(n_dimensions[0]),
            "n_distinct": len(np.unique(np.sort(state.population, axis=1), axis=0)),
        }

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        n, n_columns = self.population_size, arrays["population"].shape[-1]
        check_ids("population", arrays["population"], (n, n_columns), n_nodes, lowest=-1)
        check_array("errors", arrays["errors"], (n,), "f")
        is_tree = arrays["population"] >= 0
        if not is_tree[:, :1].all() or (is_tree[:, 1:] & ~is_tree[:, :-1]).any():
            raise ValueError("'population' must have individuals of at least one tree, padded with -1 at the end.")


@dataclass(frozen=True, kw_only=True)
class M3GPTarget(M3GP):
    """What one of several targets sees of the method: its own program."""

    place: int

    def members(self, state: M3GPState) -> Elites:
        return self.said(state)[0][self.place]


def _n_nodes(forest: Forest, population: Ids) -> NDArray[np.int64]:
    """Nodes of all trees of each individual."""
    is_tree = population >= 0
    sizes = forest.size(np.where(is_tree, population, 0)).astype(np.int64)
    return np.where(is_tree, sizes, 0).sum(axis=1)


class VectorRoom(NamedTuple):
    """How many vectors over all rows a head has at the same time.

    Attributes
    ----------
    n_fewest : int
        In any case, those of one individual.
    n_more : int
        If there is room, at most.
    n_at_a_time : int
        Dimensions of all individuals that are looked at together, and as many vectors made of them.
    """

    n_fewest: int
    n_more: int
    n_at_a_time: int


def own_vectors(n_rows: int, max_dimensions: int, n_classes: int, budget: int) -> VectorRoom:
    """Of a run on so many rows; `budget` is the number of bytes for a whole fit."""
    n_one = max(max_dimensions, n_classes)
    n_most = max(min(VALUES_AT_A_TIME // n_rows, MOST_AT_A_TIME), n_one)
    n_more = min(n_most - n_one, int(OWN_SHARE * budget) // (16 * n_rows))
    return VectorRoom(2 * n_one + 2 * n_classes + 6, 2 * (n_most - n_one), n_one + n_more)
