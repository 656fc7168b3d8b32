"""GPTIPS 2: multigene genetic programming for regression (Searson 2015).

An individual is a row of genes, which are small programs; it predicts their weighted sum, with an intercept and
coefficients by least squares. Its error is that of the sum on the training rows.

    population = individuals of a random number of random genes
    repeat:
        rank by error, then by expressional complexity
        children of tournament winners, until there are enough:
            crossover of whole genes, or of branches of one gene of each parent; mutation of one gene; a copy
        population = the children and the best of the population, the first of them the simplest with its error
    the model is the best individual ever seen

Differences from the publication: genes that are equal in an individual count once; the initial population is not one
of the generations; coefficients come from correlations of the genes, not from their products, which is the same but
for rounding; a sum nested in a sum (or a product in a product) counts as one function with three operands
(variation/genes.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.linear_heads import LinearHeads
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.base import ForestState, check_array, check_ids, nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import Matrix, ProgramMethod
from symgrove.rng import stream
from symgrove.variation.genes import Genes


@dataclass(frozen=True, kw_only=True)
class GPTIPSState(ForestState):
    """A run between two generations.

    Attributes
    ----------
    population : (n_individuals, max_genes)
        Genes of every individual, then -1.
    errors : (n_individuals,)
    best : (1, max_genes)
        Genes of the best individual ever.
    elites : Elites
        The same as one program.
    """

    population: Ids
    errors: Matrix
    best: Ids
    elites: Elites
    ids: ClassVar[tuple[str, ...]] = ("population", "best", "elites.root")


@dataclass(frozen=True, kw_only=True)
class GPTIPS(ProgramMethod):
    """The method on one target.

    Attributes
    ----------
    genes : Genes
        Where individuals and children come from.
    heads : LinearHeads
        Fits the coefficients of individuals.
    tournament_size : int
    elite_fraction : float
        Share of the population that is copied.
    """

    samples: Samples
    genes: Genes
    heads: LinearHeads
    tournament_size: int
    elite_fraction: float
    state_type: ClassVar[type[ForestState]] = GPTIPSState

    @property
    def _n_children(self) -> int:
        return int(np.floor((1.0 - self.elite_fraction) * self.population_size + 1e-9))

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        n, n_genes = self.population_size, self.genes.max_genes
        check_ids("population", arrays["population"], (n, n_genes), n_nodes, lowest=-1)
        check_ids("best", arrays["best"], (1, n_genes), n_nodes, lowest=-1)
        check_array("errors", arrays["errors"], (n,), "f")
        check_ids("elites", arrays["elites.root"], (1,), n_nodes)
        for name in ("error", "slope", "intercept"):
            check_array(f"elites.{name}", arrays[f"elites.{name}"], (1,), "f")

    def init(self) -> GPTIPSState:
        forest = self.new_forest()
        population = self.genes.draw(forest, self.population_size, stream(self.seed, "init"))
        state = GPTIPSState(
            generation=0,
            n_evaluations=self.population_size,
            nodes=nodes_of(forest),
            population=population,
            errors=self._fit(forest, population),
            best=population[:1],
            elites=Elites(np.array([forest.constant(0.0)]), np.full(1, np.inf), np.ones(1), np.zeros(1)),
        )
        return self.settle(self._with_best(state))

    def advance(self, state: GPTIPSState) -> GPTIPSState:
        forest, complexity = state.forest, self._complexity(state.forest, state.population)
        children = self._breed(state, complexity)
        copied = self._elite_indices(state.errors, complexity)
        new_state = replace(
            state,
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + self.population_size,  # copies count too, as in other methods
            population=np.concatenate([children, state.population[copied]]),
            errors=np.concatenate([self._errors_of(forest, children, state), state.errors[copied]]),
        )
        return self._with_best(new_state)

    def _breed(self, state: GPTIPSState, complexity: NDArray[np.int64]) -> Ids:
        """Children of winners of tournaments on error, then complexity; of equal contestants the first drawn wins."""
        rng = stream(self.seed, "variation", state.generation)
        n = self._n_children
        rank = _ranks(state.errors, complexity)
        drawn = rng.integers(self.population_size, size=(n, 2, self.tournament_size))
        winners = np.take_along_axis(drawn, np.argmin(rank[drawn], axis=2)[:, :, None], axis=2)[:, :, 0]
        return self.genes.breed(state.forest, state.population, winners, n, rng)

    def _elite_indices(self, errors: Matrix, complexity: NDArray[np.int64]) -> NDArray[np.int64]:
        """The best individuals; in the place of the first, the simplest with its error."""
        order = np.argsort(errors, kind="stable")[: self.population_size - self._n_children]
        if order.size:
            equal = np.flatnonzero(errors == errors[order[0]])
            order[0] = equal[np.argmin(complexity[equal])]
        return order

    def _errors_of(self, forest: Forest, children: Ids, state: GPTIPSState) -> Matrix:
        """Errors of children: those of the population where it has the same genes, else from a fit of each."""
        both = _in_order(np.concatenate([state.population, children]))
        distinct, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
        n_known = len(state.population)
        is_new = first >= n_known
        errors = np.empty(len(distinct))
        errors[~is_new] = state.errors[first[~is_new]]
        errors[is_new] = self._fit(forest, distinct[is_new])
        return errors[which.ravel()[n_known:]]

    def _fit(self, forest: Forest, individuals: Ids) -> Matrix:
        """Errors of individuals; the order of genes makes no difference."""
        heads = self.heads.fit(forest, _in_order(individuals))
        is_usable = np.isfinite(heads.coefficients).all(axis=1) & np.isfinite(heads.intercept)
        return np.where(is_usable & ~np.isnan(heads.error), heads.error, np.inf)

    def _with_best(self, state: GPTIPSState) -> GPTIPSState:
        """The state with the best individual of its population, if that has a lower error or is simpler."""
        forest = state.forest
        complexity = self._complexity(forest, state.population)
        best = np.lexsort((complexity, state.errors))[0]
        found = state.errors[best], complexity[best]
        known = state.elites.error[0], self._complexity(forest, state.best)[0]
        if np.isfinite(found[0]) and (found < known or not np.isfinite(known[0])):
            genes = state.population[[best]]
            root = self._as_program(forest, genes)
            elites = state.elites._replace(root=np.array([root]), error=state.errors[[best]])
            state = replace(state, best=genes, elites=elites)
        return replace(state, nodes=nodes_of(forest))

    def _as_program(self, forest: Forest, individual: Ids) -> int:
        """Root of the weighted sum of an individual, (1, max_genes), term after term, as it is read."""
        genes = _in_order(individual)
        coefficients, intercept, _ = (values[0] for values in self.heads.fit(forest, genes))
        root = forest.constant(float(intercept))
        for gene, coefficient in zip(genes[0].tolist(), coefficients.tolist(), strict=True):
            if coefficient != 0:
                root = forest.apply("add", root, forest.apply("mul", forest.constant(coefficient), gene))
        return root

    def _complexity(self, forest: Forest, individuals: Ids) -> NDArray[np.int64]:
        return self._measured(forest, individuals, "complexity")

    def _measured(self, forest: Forest, individuals: Ids, name: str) -> NDArray[np.int64]:
        """A measure of genes, summed over those of each individual."""
        is_gene = individuals >= 0
        distinct, which = np.unique(individuals[is_gene], return_inverse=True)
        values = np.zeros(individuals.shape, dtype=np.int64)
        values[is_gene] = getattr(self.genes.measure(forest, distinct), name)[which]
        return values.sum(axis=1)

    def describe(self, state: GPTIPSState) -> dict[str, Any]:  # type: ignore[override]
        """Named values for the history."""
        sizes = self._measured(state.forest, state.population, "size")
        return {
            "generation": state.generation,
            "n_evaluations": state.n_evaluations,
            "errors": state.elites.error,
            "mean_size": float(sizes.mean()),
            "max_size": int(sizes.max()),
            "mean_genes": float((state.population >= 0).sum(axis=1).mean()),
            "n_distinct": len(np.unique(_in_order(state.population), axis=0)),
        }


def _in_order(individuals: Ids) -> Ids:
    """Genes of each individual in descending order of their ids, so that those with the same genes are equal."""
    return -np.sort(-individuals, axis=1)


def _ranks(errors: Matrix, complexity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ranks by error, then complexity; equal individuals have equal ranks."""
    order = np.lexsort((complexity, errors))
    e, c = errors[order], complexity[order]
    is_other = (e[1:] != e[:-1]) | (c[1:] != c[:-1])
    ranks = np.empty(errors.size, dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(is_other)])
    return ranks
