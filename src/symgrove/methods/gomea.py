"""GP-GOMEA: the gene-pool optimal mixing evolutionary algorithm for programs (Virgolin et al. 2017, 2021).

    population = individuals in a fixed template, half of them full; score them
    repeat:
        linkage tree = positions merged by the mutual information of their genes, bias-corrected
        every individual, for every set of positions of the tree, in random order:
            takes the genes of a random donor there; keeps them if its error does not rise
    the model is the best program ever scored, with its linear scaling

There is no selection: individuals never get worse. If all have become equal, the population is drawn anew. With several
samples (ours), individual i is tied to sample i mod n_samples and judges by its error there; donors are everyone, and
every program that is scored is offered to the elites of all samples.

Options: forced improvement (an individual that did not change, or all after some generations in which the population
did not get better, tries the genes of the elite until it is strictly better, and else becomes the elite), and the
interleaved multi-start scheme (multi_start.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.scoring import score
from symgrove.fitness.losses import Loss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest
from symgrove.methods import multi_start
from symgrove.methods.base import ForestState, check_array, nodes_of
from symgrove.methods.gp import GPState, ProgramMethod
from symgrove.methods.mixing import N_AT_ONCE, Best, Mixing, ScoredGenes, draw
from symgrove.methods.multi_start import Starts, Turn
from symgrove.rng import stream
from symgrove.variation.linkage import as_symbols, entropies, linkage_sets, mutual_information
from symgrove.variation.template import Genes, Matrix, Template

# Of an individual in a state, one under way and the draws of a generation; in the forest; of a trial, with its nodes.
BYTES_OF_A_GENE = 64
BYTES_OF_AN_ERROR = 32
BYTES_OF_A_TRIED_GENE = 128


class Population(NamedTuple):
    """Individuals, and the entropies of positions that they had when they were drawn."""

    scored: ScoredGenes
    entropies: Matrix


@dataclass(frozen=True, kw_only=True)
class GOMEAState(GPState):
    """A run between two generations; with several populations, individuals of one follow those of another.

    Attributes
    ----------
    genes : (n_individuals, n_positions)
    constants : (n_constants,)
        That genes may stand for.
    entropies : (n_populations, n_positions, n_positions)
        Of positions and pairs of them, in the populations as they were drawn.
    starts : Starts
        The populations.
    elite_genes : (n_samples, n_positions)
    """

    genes: Genes
    constants: Matrix
    entropies: Matrix
    starts: Starts
    elite_genes: Genes

    def populations(self) -> list[Population | None]:
        """Those that have not ended; None for the others."""
        ends = np.cumsum(self.starts.size)
        parts = [slice(end - n, end) for n, end in zip(self.starts.size, ends, strict=True)]
        return [
            Population(ScoredGenes(self.genes[own], self.errors[own]), first) if n else None
            for own, first, n in zip(parts, self.entropies, self.starts.size, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class GOMEA(ProgramMethod):
    """The method on one target.

    Attributes
    ----------
    loss, samples
        What programs are scored by and on.
    template : Template
    population_size : int
        Of the one population, or of the first.
    forces_improvement : bool
    n_subgenerations : int or None
        Of a population for one of the next larger; None: there is one population.
    """

    loss: Loss
    samples: Samples
    template: Template
    population_size: int
    forces_improvement: bool
    n_subgenerations: int | None
    state_type: ClassVar[type[ForestState]] = GOMEAState

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        super().check_arrays(arrays, n_nodes)
        n_positions, n_samples = self.template.n_positions, self.samples.total.size
        n_populations, n_constants = arrays["starts.size"].size, arrays["constants"].size
        check_array("starts.size", arrays["starts.size"], (n_populations,), "i")
        check_array("starts.n_turns", arrays["starts.n_turns"], (n_populations,), "i")
        check_array("starts.best", arrays["starts.best"], (n_populations,), "f")
        check_array("starts.n_idle", arrays["starts.n_idle"], (n_populations,), "i")
        n_individuals = int(arrays["starts.size"].sum())
        check_array("errors", arrays["errors"], (n_individuals, n_samples), "f")
        check_array("constants", arrays["constants"], (n_constants,), "f")
        check_array("entropies", arrays["entropies"], (n_populations, n_positions, n_positions), "f")
        for name, n in (("genes", n_individuals), ("elite_genes", n_samples)):
            check_array(name, arrays[name], (n, n_positions), "i")
            self.template.check_genes(name, arrays[name], n_constants)

    def init(self) -> GOMEAState:
        genes, constants = self.template.draw(self.population_size, np.zeros(0), stream(self.seed, "init"))
        mixing = self._mixing(constants, None)
        population = self._scored(mixing, genes)
        starts = multi_start.first_start(self.population_size, _lowest(population))
        forest = self.new_forest()
        own = self._individuals(forest, mixing, [population])
        return self.settle(GOMEAState(generation=0, n_evaluations=mixing.n_evaluations, starts=starts, **own))

    def advance(self, state: GOMEAState) -> GOMEAState:
        mixing = self._mixing(state.constants, Best(state.elites, state.elite_genes))
        make = partial(self._make, mixing, state.generation)
        turn = partial(self._turn, mixing, state)
        populations: list[Population | None]
        if self.n_subgenerations is None:
            (own,), starts = state.populations(), state.starts
            assert own is not None
            if _has_converged(own):
                own = own._replace(scored=make(0, self.population_size).scored)
                starts = multi_start.first_start(self.population_size, np.inf)
            done = turn(0, own)
            n_idle = np.where(done.best < starts.best, 0, starts.n_idle + 1)
            populations, starts = [done.population], starts._replace(best=np.array([done.best]), n_idle=n_idle)
        else:
            first, every = self.population_size, self.n_subgenerations
            n_most = multi_start.most_individuals(first, every, state.generation + 1)
            populations, starts = multi_start.step(state.populations(), state.starts, first, n_most, every, make, turn)
        return replace(
            state,
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + mixing.n_evaluations,
            starts=starts,
            **self._individuals(state.forest, mixing, populations),
        )

    def _mixing(self, constants: Matrix, best: Best | None) -> Mixing:
        scored = partial(score, self.engine, samples=self.samples, loss=self.loss)
        return Mixing(self.template, scored, self.engine.collected, self.new_forest(), constants, best)

    def _individuals(self, forest: Forest, mixing: Mixing, populations: list[Population | None]) -> dict[str, Any]:
        """Fields of a state: programs are in its forest, which is told of those that are there, and of no trial."""
        living = [own.scored for own in populations if own is not None]
        genes, errors = (np.concatenate(parts) for parts in zip(*living, strict=True))
        n_positions = self.template.n_positions
        ended = np.zeros((n_positions, n_positions))
        elites, elite_genes = mixing.best
        return {
            "population": self.template.express(forest, genes, mixing.constants)[0],
            "elites": elites._replace(root=self.template.express(forest, elite_genes, mixing.constants)[0]),
            "nodes": nodes_of(forest),
            "errors": errors,
            "genes": genes,
            "elite_genes": elite_genes,
            "constants": mixing.constants,
            "entropies": np.stack([ended if own is None else own.entropies for own in populations]),
        }

    # One population

    def _make(self, mixing: Mixing, generation: int, i: int, size: int) -> Population:
        rng = stream(self.seed, "init", generation + 1, i)
        genes, mixing.constants = self.template.draw(size, mixing.constants, rng)
        return self._scored(mixing, genes)

    def _scored(self, mixing: Mixing, genes: Genes) -> Population:
        return Population(mixing.score_all(genes), self._entropies(genes, mixing.constants))

    def _entropies(self, genes: Genes, constants: Matrix) -> Matrix:
        return entropies(as_symbols(genes, constants, self.template.first_constant))

    def _turn(self, mixing: Mixing, state: GOMEAState, i: int, population: Population) -> Turn:
        """A generation of one population."""
        parents = population.scored
        rng = stream(self.seed, "mixing", state.generation, i)
        now = self._entropies(parents.genes, mixing.constants)
        sets = linkage_sets(mutual_information(now, population.entropies), rng)
        n = len(parents.genes)
        draws = draw(n, sets, rng)
        sample_of = np.arange(n) % self.samples.total.size
        is_idle = i < state.starts.size.size and state.starts.n_idle[i] > 1 + np.log10(n)
        genes, errors = np.empty_like(parents.genes), np.empty_like(parents.errors)
        for start in range(0, n, N_AT_ONCE):
            own = np.arange(start, min(start + N_AT_ONCE, n))
            part = mixing.mix(parents, own, sample_of[own], sets, draws)
            if self.forces_improvement:
                part.improve_by_force(np.flatnonzero(~part.has_changed | is_idle), sets, draws.sets[own])
            genes[own], errors[own] = part.individuals.genes, part.errors
        new = population._replace(scored=ScoredGenes(genes, errors))
        return Turn(new, _lowest(new), _has_converged(new))


def n_bytes_of(n_individuals: int, template_height: int, n_samples: int) -> int:
    """Memory of individuals, however many rows there are."""
    n_positions = 2 ** (template_height + 1) - 1
    of_individuals = n_individuals * (n_positions * BYTES_OF_A_GENE + n_samples * BYTES_OF_AN_ERROR)
    return of_individuals + min(N_AT_ONCE, n_individuals) * n_positions * BYTES_OF_A_TRIED_GENE


def _lowest(population: Population) -> float:
    """Mean over the samples of the lowest errors."""
    return float(population.scored.errors.min(axis=0).mean())


def _has_converged(population: Population) -> bool:
    genes = population.scored.genes
    return bool((genes == genes[0]).all())
