"""eGP: trees and forests that evolve together (Rodrigues, Batista and Silva 2020). A reconstruction.

Of the publication only the outline is known to us; what follows fills the gaps.

    draw subsets of rows and of features, once; an equal part of the trees belongs to each
    trees = grown programs of the features of their subset, scored by accuracy on its rows
    forests = lists of trees, scored by accuracy of the vote on all rows
    repeat:
        trees of a subset = its best tree, and children of winners of tournaments among its trees
        forests = the best forest, and children of winners of tournaments:
            with chance p_crossover a child has trees of two parents, else a tree is added, removed or replaced
        a new best forest loses trees, one by one, that its accuracy does not need
    the ensemble is the best forest

Parents of trees are compared with trees of the same subset only: in tournaments among all of them the easiest rows
would win. So a tree never has features of another subset. Trees that join forests win tournaments among all.

A forest is scored as one program, the sum of its votes, added from left to right as the model adds them. Trees that
have left the population live on in forests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.fitness.losses import THRESHOLD
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.linear import add_sums_in_order
from symgrove.methods.base import ForestState, check_array, check_ids, nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import Matrix, ProgramMethod
from symgrove.models.ensemble import shares_of
from symgrove.rng import stream
from symgrove.selection.tournament import tournament
from symgrove.variation.swap import SwapVariation
from symgrove.variation.tree_lists import TreeLists, cross, joined, mutate, without_each

WEIGHTINGS = ("accuracy", "none", "margin")
P_FUNCTION = 0.5  # that a grown program goes on where it may end


@dataclass(frozen=True, kw_only=True)
class EGPState(ForestState):
    """A run between two generations.

    Attributes
    ----------
    population : (n_trees,)
        Trees in the order of their subsets, in each from best to worst.
    errors : (n_trees,)
        On the rows of their subsets.
    lists : TreeLists
        Forests, the best ever first.
    list_errors : (n_forests,)
        On all rows.
    """

    population: Ids
    errors: Matrix
    lists: TreeLists
    list_errors: Matrix
    ids: ClassVar[tuple[str, ...]] = ("population", "lists.root")


@dataclass(frozen=True, kw_only=True)
class EGP(ProgramMethod):
    """The method on one target.

    Attributes
    ----------
    samples : Samples
        Rows of the subsets.
    whole : Samples
        All rows.
    vary : sequence of SwapVariation
        For each subset, children of its features.
    min_height, p_crossover, tournament_size
        Least height of initial trees; chance of crossover of forests; contestants.
    most_trees : int
        Of a forest.
    weighting : str
        One of `WEIGHTINGS`: what the votes of a forest's trees count.
    """

    samples: Samples
    whole: Samples
    vary: Sequence[SwapVariation]
    min_height: int
    p_crossover: float
    tournament_size: int
    most_trees: int
    weighting: str
    state_type: ClassVar[type[ForestState]] = EGPState

    @property
    def sample_of(self) -> NDArray[np.int64]:
        """The subset of every tree."""
        return np.sort(np.arange(self.population_size) % len(self.vary))

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        n, shape = self.population_size, (self.population_size, self.most_trees)
        check_ids("population", arrays["population"], (n,), n_nodes)
        check_ids("lists.root", arrays["lists.root"], shape, n_nodes, lowest=-1)
        check_ids("lists.sample", arrays["lists.sample"], shape, len(self.vary), lowest=-1)
        check_array("lists.error", arrays["lists.error"], shape, "f")
        for name in ("errors", "list_errors"):
            check_array(name, arrays[name], (n,), "f")

    def init(self) -> EGPState:
        forest = self.new_forest()
        rng = stream(self.seed, "init")
        sources = [self.vary[j].source for j in self.sample_of]
        drawn = [s.grow(forest, s.max_height, rng, self.min_height, P_FUNCTION) for s in sources]
        trees = self._ranked(forest, np.array(drawn, dtype=np.int64))
        lists = self._first_lists(*trees)
        state = EGPState(
            generation=0,
            n_evaluations=self.population_size,
            nodes=nodes_of(forest),
            population=trees[0],
            errors=trees[1],
            lists=lists,
            list_errors=self._list_errors(forest, lists),
        )
        best = int(np.argmin(state.list_errors))
        return self.settle(self._led_by(state, lists.rows(slice(best, best + 1)), state.list_errors[best]))

    def advance(self, state: EGPState) -> EGPState:
        forest = state.forest
        population, errors = self._ranked(forest, self._next_trees(state))
        children = self._next_lists(state, population, errors)
        list_errors = np.append(state.list_errors[0], self._list_errors(forest, children))
        after = replace(
            state,
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + self.population_size,
            population=population,
            errors=errors,
            lists=joined(state.lists.rows(slice(0, 1)), children),
            list_errors=list_errors,
        )
        best = int(np.argmin(list_errors))
        if best > 0:
            after = self._led_by(after, after.lists.rows(slice(best, best + 1)), list_errors[best])
        return replace(after, nodes=nodes_of(forest))

    # Trees

    def _ranked(self, forest: Forest, population: Ids) -> tuple[Ids, Matrix]:
        """Trees and errors, those of each subset in order of error, then of size."""
        sample_of = self.sample_of
        errors = self.score(forest, population, self.samples).errors[np.arange(population.size), sample_of]
        order = np.lexsort((forest.size(population), errors, sample_of))
        return population[order], errors[order]

    def _next_trees(self, state: EGPState) -> Ids:
        """Of each subset the best tree, and children of tournament winners: of trees in order, the first drawn."""
        rng = stream(self.seed, "variation", state.generation)
        found: list[Ids] = []
        for j, n_trees in enumerate(np.bincount(self.sample_of).tolist()):
            start = sum(part.size for part in found)
            own = state.population[start : start + n_trees]
            part = own[:1]
            while part.size < n_trees:
                n_missing = n_trees - part.size
                drawn = rng.integers(n_trees, size=(2, n_missing, self.tournament_size))
                mothers, fathers = own[drawn.min(axis=2)]
                children = self.vary[j](state.forest, mothers, fathers, rng)
                part = np.concatenate([part, children[:n_missing]])
            found.append(part)
        return np.concatenate(found)

    # Forests

    def _first_lists(self, population: Ids, errors: Matrix) -> TreeLists:
        """Of 1 to `most_trees` winners of tournaments among all trees."""
        rng = stream(self.seed, "first lists")
        shape = self.population_size, self.most_trees
        length = 1 + rng.integers(self.most_trees, size=self.population_size)
        winners = tournament(errors, self.population_size * self.most_trees, self.tournament_size, rng).reshape(shape)
        lists = self._trees(population, errors, winners)
        return lists.chosen(np.arange(self.most_trees) < length[:, None], self.most_trees)

    def _trees(self, population: Ids, errors: Matrix, places: NDArray[np.int64]) -> TreeLists:
        """Trees at these places of the population, as lists."""
        return TreeLists(population[places], self.sample_of[places], errors[places])

    def _next_lists(self, state: EGPState, population: Ids, errors: Matrix) -> TreeLists:
        """Children of tournament winners, with new trees of the population."""
        rng, n = stream(self.seed, "lists", state.generation), self.population_size - 1
        chosen = tournament(state.list_errors, 2 * n, self.tournament_size, rng)
        mothers, fathers = state.lists.rows(chosen[:n]), state.lists.rows(chosen[n:])
        donors = tournament(errors, n, self.tournament_size, rng)[:, None]
        is_crossed = rng.random(n) < self.p_crossover
        coins = rng.random((n, 2 * self.most_trees)) < 0.5
        kind, place = rng.integers(3, size=n), rng.random(n)
        crossed = cross(mothers, fathers, coins)
        mutated = mutate(mothers, self._trees(population, errors, donors), kind, place)
        pairs = zip(crossed, mutated, strict=True)
        return TreeLists(*(np.where(is_crossed[:, None], a, b) for a, b in pairs))

    def _led_by(self, state: EGPState, best: TreeLists, error: float) -> EGPState:
        """The state in which a new best forest, without needless trees, comes first."""
        best, error = self._pruned(state.nodes.forest, best, error)
        lists = joined(best, state.lists.rows(slice(1, None)))
        return replace(state, lists=lists, list_errors=np.append(error, state.list_errors[1:]))

    def _pruned(self, forest: Forest, best: TreeLists, error: float) -> tuple[TreeLists, float]:
        """The forest without trees whose removal does not raise its error: again and again the one that helps most."""
        while best.length[0] > 1:
            shorter = without_each(best)
            errors = self._list_errors(forest, shorter)
            first = int(np.argmin(errors))
            if not errors[first] <= error:
                break
            best, error = shorter.rows(slice(first, first + 1)), float(errors[first])
        return best, error

    def _list_errors(self, forest: Forest, lists: TreeLists) -> Matrix:
        """Errors on all rows; +inf where a tree is unusable."""
        errors = self.score(forest, self._sums(forest, lists), self.whole).errors[:, 0]
        is_usable = (np.isfinite(lists.error) | (lists.root < 0)).all(axis=1)
        return np.where(is_usable, errors, np.inf)

    def _sums(self, forest: Forest, lists: TreeLists) -> Ids:
        """Forests as programs that say class 1 above one half, as the model does."""
        length = lists.length
        if self.weighting == "none":  # halves are exact, so that a tie is a tie
            ones = np.ones(lists.root.shape)
            return add_sums_in_order(forest, lists.root, ones, 0.5 - 0.5 * length.astype(np.float64), THRESHOLD)
        nothing = np.zeros(len(length))
        if self.weighting == "margin":
            shares = np.repeat(1.0 / length[:, None], self.most_trees, axis=1)
            return add_sums_in_order(forest, lists.root, shares, nothing)
        shares = shares_of(weights_of_trees(lists.error, lists.root >= 0))
        return add_sums_in_order(forest, lists.root, shares, nothing, THRESHOLD)

    # The ensemble

    def members(self, state: EGPState) -> Elites:
        """The trees of the best forest; votes weighed by margins are those of one tree, their mean."""
        best = state.lists.rows(slice(0, 1))
        n_trees = int(best.length[0])
        root, error = best.root[0, :n_trees], best.error[0, :n_trees]
        if self.weighting == "margin":
            root, error = self._sums(state.forest, best), state.list_errors[:1]
        return Elites(root, error, np.ones(root.size), np.zeros(root.size))

    def weights(self, aggregation: str, members: Elites) -> Matrix | None:
        """Accuracies of the trees on their own rows."""
        if aggregation != "weighted":
            return None
        return weights_of_trees(members.error, np.ones(members.error.size, dtype=np.bool_))

    def training_samples(self, state: EGPState, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        if self.weighting == "margin":
            return self.whole, np.zeros(n_members, dtype=np.intp)
        return self.samples, state.lists.sample[0, :n_members]

    def describe(self, state: EGPState) -> dict[str, Any]:  # type: ignore[override]
        """Named values for the history."""
        sizes = state.forest.size(state.population)
        return {
            "generation": state.generation,
            "n_evaluations": state.n_evaluations,
            "errors": state.list_errors[:1],
            "mean_size": float(sizes.mean()),
            "max_size": int(sizes.max()),
            "n_distinct": int(np.unique(state.population).size),
            "n_elites": int(state.lists.length[0]),
            "mean_trees": float(state.lists.length.mean()),
        }


def weights_of_trees(errors: Matrix, is_there: NDArray[np.bool_]) -> Matrix:
    """Accuracies over the largest of a list, (..., n_trees); where all are 0, each tree counts the same."""
    accuracy = np.where(is_there & np.isfinite(errors), 1.0 - np.where(np.isfinite(errors), errors, 0.0), 0.0)
    largest = accuracy.max(axis=-1, keepdims=True)
    return np.where(largest > 0, accuracy / np.where(largest > 0, largest, 1.0), is_there.astype(np.float64))
