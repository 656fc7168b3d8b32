"""Gene-pool optimal mixing: every individual tries the genes of others, set by set, and keeps what is not worse.

Donors are the population as it was, so individuals do not see each other's changes, and the i-th trials of many are
evaluated at once: only the ancestors of changed active genes are new in the shared graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.scoring import Scores
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.elites import Elites, best_of_each_sample, improve
from symgrove.variation.template import Genes, Matrix, Sets, Template, accept, renumber

# Individuals whose trials are evaluated together: their vectors have room in a usual memory budget.
N_AT_ONCE = 2500
# The forest drops what is not used after so many rounds: then vectors that are used again are kept.
ROUNDS_BETWEEN_COLLECTIONS = 16
Index = NDArray[np.int64]


class Best(NamedTuple):
    """The best ever found on every sample: programs with their scaling, and their genes."""

    elites: Elites
    genes: Genes


class ScoredGenes(NamedTuple):
    """Genes of individuals, and their errors on every sample."""

    genes: Genes
    errors: Matrix


class Draws(NamedTuple):
    """In which order each individual tries the sets, and whose genes; both (n_individuals, n_sets)."""

    sets: NDArray[np.int16]
    donors: NDArray[np.int32]


def draw(n_individuals: int, sets: Sets, rng: np.random.Generator) -> Draws:
    """Sets in random order, each with a random donor."""
    n_sets = sets.offsets.size - 1
    order = np.broadcast_to(np.arange(n_sets, dtype=np.int16), (n_individuals, n_sets))
    return Draws(rng.permuted(order, axis=1), rng.integers(n_individuals, size=order.shape, dtype=np.int32))


def first_of_each(roots: Ids) -> tuple[Ids, Index]:
    """Distinct roots in the order in which they first occur, and where: of equal errors, the earliest wins."""
    first = np.sort(np.unique(roots, return_index=True)[1])
    return roots[first], first


class Mixing:
    """A generation under way: the best ever found, and individuals whose turn it is, in a forest of their own.

    Parameters
    ----------
    template : Template
    score : callable
        Scores of distinct programs: (forest, roots) -> Scores.
    collected : callable
        Is told when the forest drops nodes: (forest, ids).
    forest : Forest
        An empty one.
    constants : (n_constants,)
    best : Best or None
        Of earlier generations.
    """

    def __init__(
        self,
        template: Template,
        score: Callable[[Forest, Ids], Scores],
        collected: Callable[[Forest, Ids], None],
        forest: Forest,
        constants: Matrix,
        best: Best | None = None,
    ) -> None:
        self.template = template
        self.score = score
        self.tell_collected = collected
        self.forest = forest
        self.constants = constants
        self._best: Best | None = None
        self.n_evaluations = 0
        self.n_rounds = 0
        if best is not None:
            roots, _ = template.express(forest, best.genes, constants)
            self._best = best._replace(elites=best.elites._replace(root=roots))

    @property
    def best(self) -> Best:
        """The best ever found, by now."""
        assert self._best is not None, "nothing has been scored"
        return self._best

    def score_all(self, genes: Genes) -> ScoredGenes:
        """Individuals that are new, scored."""
        roots, _ = self.template.express(self.forest, genes, self.constants)
        own, first = first_of_each(roots)
        scores = self.score(self.forest, own)
        self.offer(own, scores, genes[first])
        self.n_evaluations += len(genes)
        row_of = np.empty(len(self.forest), dtype=np.int64)
        row_of[own] = np.arange(own.size)
        return ScoredGenes(genes, scores.errors[row_of[roots]])

    def mix(self, parents: ScoredGenes, own: Index, sample_of: Index, sets: Sets, draws: Draws) -> Part:
        """Individuals `own` of the parents after a trial with every set; `sample_of` says by which error they judge."""
        part = Part(self, parents.genes[own], parents.errors[own], sample_of)
        everybody = np.arange(own.size)
        for i in range(draws.sets.shape[1]):
            part.try_round(everybody, parents.genes, draws.donors[own, i], sets, draws.sets[own, i])
        return part

    def renumber_best(self, new_of: Ids) -> None:
        """Take note of a collection of the forest."""
        elites, genes = self.best
        self._best = Best(elites._replace(root=new_of[elites.root]), genes)

    def offer(self, roots: Ids, scores: Scores, genes: Genes) -> None:
        """Take note of scored programs, with their genes, that are better on a sample than the best so far."""
        found = best_of_each_sample(roots, scores)
        own = genes[np.argmin(scores.errors, axis=0)]
        if self._best is None:
            self._best = Best(found, own)
            return
        is_better = found.error < self.best.elites.error
        if is_better.any():
            genes = np.where(is_better[:, None], own, self.best.genes)
            self._best = Best(improve(self.best.elites, found), genes)


class Part:
    """Individuals whose trials are evaluated together."""

    def __init__(self, mixing: Mixing, genes: Genes, errors: Matrix, sample_of: Index) -> None:
        self.mixing = mixing
        self.roots, self.individuals = mixing.template.express(mixing.forest, genes.copy(), mixing.constants)
        self.errors = errors.copy()
        self.sample_of = sample_of
        self.has_changed = np.zeros(len(genes), dtype=np.bool_)
        self._known: Matrix
        self._row_of: NDArray[np.int32]
        self._forget_errors()

    def try_round(
        self,
        chosen: Index,
        donors: Genes,
        donor_of: NDArray[np.integer],
        sets: Sets,
        set_of: NDArray[np.integer],
        *,
        only_better: bool = False,
    ) -> NDArray[np.bool_]:
        """One trial of each chosen individual; which of them were judged and accepted."""
        mixing = self.mixing
        roots, trials = mixing.template.try_sets(
            mixing.forest,
            mixing.constants,
            self.individuals,
            chosen,
            donors,
            donor_of.astype(np.int64),
            sets,
            set_of.astype(np.int64),
        )
        is_accepted = np.zeros(chosen.size, dtype=np.bool_)
        judged = np.flatnonzero(roots >= 0)
        if judged.size:
            own, errors = chosen[judged], self._errors_of(roots[judged], trials.genes, judged)
            sample = self.sample_of[own]
            new, old = errors[np.arange(judged.size), sample], self.errors[own, sample]
            is_kept = new < old if only_better else new <= old
            is_accepted[judged] = is_kept
            accept(self.individuals, chosen, trials, is_accepted)
            kept = own[is_kept]
            self.roots[kept], self.errors[kept] = roots[judged[is_kept]], errors[is_kept]
            self.has_changed[kept] = True
            mixing.n_evaluations += judged.size
        mixing.n_rounds += 1
        if mixing.n_rounds % ROUNDS_BETWEEN_COLLECTIONS == 0:
            self._collect()
        return is_accepted

    def improve_by_force(self, chosen: Index, sets: Sets, order: NDArray[np.int16]) -> None:
        """Let chosen individuals try genes of the best until they are better; they become the best if they cannot."""
        best = self.mixing.best
        waiting = chosen
        for i in range(order.shape[1]):
            if waiting.size == 0:
                return
            is_better = self.try_round(
                waiting, best.genes, self.sample_of[waiting], sets, order[waiting, i], only_better=True
            )
            waiting = waiting[~is_better]
        if waiting.size:
            genes = best.genes[self.sample_of[waiting]]
            roots, same = self.mixing.template.express(self.mixing.forest, genes, self.mixing.constants)
            errors = self._errors_of(roots, genes, np.arange(waiting.size))
            accept(self.individuals, waiting, same, np.ones(waiting.size, dtype=np.bool_))
            self.roots[waiting], self.errors[waiting] = roots, errors

    def _errors_of(self, roots: Ids, genes: Genes, rows: Index) -> Matrix:
        """Errors of programs with these rows of the genes, each evaluated once."""
        if self._row_of.size < len(self.mixing.forest):
            grown = np.full(2 * len(self.mixing.forest), -1, dtype=np.int32)
            grown[: self._row_of.size] = self._row_of
            self._row_of = grown
        is_new = self._row_of[roots] < 0
        if is_new.any():
            new, first = first_of_each(roots[is_new])
            scores = self.mixing.score(self.mixing.forest, new)
            self.mixing.offer(new, scores, genes[rows[is_new][first]])
            self._row_of[new] = len(self._known) + np.arange(new.size)
            self._known = np.concatenate([self._known, scores.errors])
        return self._known[self._row_of[roots]]

    def _forget_errors(self) -> None:
        """Know errors of the individuals' programs and of no others."""
        self._known = self.errors.copy()
        self._row_of = np.full(2 * len(self.mixing.forest), -1, dtype=np.int32)
        self._row_of[self.roots] = np.arange(self.roots.size)

    def _collect(self) -> None:
        """Drop programs that nobody has, and what is known of them."""
        mixing = self.mixing
        elites = mixing.best.elites
        new_of = mixing.forest.collect(np.concatenate([self.roots, elites.root]))
        mixing.tell_collected(mixing.forest, new_of)
        mixing.renumber_best(new_of)
        self.roots = new_of[self.roots]
        renumber(self.individuals, new_of)
        self._forget_errors()
