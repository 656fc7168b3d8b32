"""What all methods with one population of programs share: how a run is kept, undone, saved and described.

A method adds `init` and `advance`. Its state is a value; methods with more to remember extend it by arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.cpu import CpuEngine
from symgrove.engines.scoring import Scores, fit_pairs, score
from symgrove.fitness.losses import Loss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods._elites import Elites
from symgrove.methods._parameters import ProgramParameters
from symgrove.rng import stream
from symgrove.variation.subtree import SubtreeVariation

Matrix = NDArray[np.float64]


class Material(NamedTuple):
    """What a method is made from for one target.

    Attributes
    ----------
    engine, loss, source
        Evaluates programs, what they are scored by, where random ones come from.
    weight : (n_rows,) or None
        Sample weights.
    sample_seed, seed : int
        Of the bootstrap samples, which all targets share, and of everything else.
    member : int
        Which of several independent runs this is.
    """

    engine: CpuEngine
    loss: Loss
    source: RandomPrograms
    weight: Matrix | None
    sample_seed: int
    seed: int
    member: int


@dataclass(frozen=True)
class GPState:
    """A run between two generations; `n_nodes` is the length of the forest then, `elites` the best ever found."""

    generation: int
    n_evaluations: int
    forest: Forest
    n_nodes: int
    population: Ids
    errors: Matrix
    elites: Elites


State = TypeVar("State", bound=GPState)


@dataclass(frozen=True, kw_only=True)
class GP(ABC):
    """A method on one target.

    Attributes
    ----------
    engine, loss
        What programs are scored with.
    source, vary
        Where random programs come from, how children are made.
    heights, min_height
        Of the initial programs.
    """

    engine: CpuEngine
    loss: Loss
    source: RandomPrograms
    vary: Callable[..., Ids]
    population_size: int
    heights: tuple[int, int]
    min_height: int
    seed: int
    state_type: ClassVar[type[GPState]] = GPState

    @abstractmethod
    def init(self) -> Any:
        """The state before the first generation."""

    @abstractmethod
    def advance(self, state: Any) -> Any:
        """One generation; nodes are only appended, so that `rollback` can undo it."""

    @abstractmethod
    def training_samples(self, state: Any, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        """Samples, and which of them each member of the ensemble was fitted on."""

    def members(self, state: Any) -> Elites:
        """The ensemble of a state."""
        elites: Elites = state.elites
        return elites

    def step(self, state: State) -> State:
        """One generation."""
        return self.settle(self.advance(state))

    def settle(self, state: State) -> State:
        """Forget what neither population nor elites refer to."""
        ids = state.forest.collect(np.concatenate([state.population, state.elites.root]))
        self.engine.collected(state.forest, ids)
        elites = state.elites._replace(root=ids[state.elites.root])
        return replace(state, n_nodes=len(state.forest), population=ids[state.population], elites=elites)

    def rollback(self, state: GPState) -> None:
        """Make `state` usable again after `advance` from it was cut short."""
        self.engine.collected(state.forest, state.forest.truncate(state.n_nodes))

    def watch(self, check: Callable[[], None] | None) -> None:
        """Have the engine call `check` within evaluations."""
        self.engine.between_panels = check

    def random_population(self) -> Ids:
        """Ramped half-and-half."""
        rng = stream(self.seed, "init")
        return self.source.ramped_half_and_half(self.population_size, rng, self.heights, self.min_height)

    def score(self, roots: Ids, samples: Samples, *, expect_more: bool = False) -> Scores:
        """Errors and scaling of programs; `expect_more` hints that their outputs will be asked for again."""
        return score(self.engine, self.source.forest, roots, samples, self.loss, expect_more=expect_more)

    def describe(self, state: GPState) -> dict[str, Any]:
        """Named values for the history."""
        sizes = state.forest.size(state.population)
        return {
            "generation": state.generation,
            "n_evaluations": state.n_evaluations,
            "errors": state.elites.error,
            "mean_size": float(sizes.mean()),
            "max_size": int(sizes.max()),
            "n_distinct": int(np.unique(state.population).size),
            "n_elites": int(np.unique(state.elites.root).size),
        }

    def finish(self, state: Any) -> Elites:
        """The members with their scaling computed once more, by the two-pass formula."""
        members = self.members(state)
        if not self.loss.linear_scaling:
            return members
        samples, sample_of = self.training_samples(state, members.root.size)
        roots, program_of = np.unique(members.root, return_inverse=True)
        pairs = program_of.ravel(), sample_of
        wanted = np.zeros((roots.size, samples.total.size), dtype=np.bool_)
        wanted[pairs] = True
        slope, intercept = (values[pairs] for values in fit_pairs(self.engine, state.forest, roots, samples, wanted))
        is_exact = np.isfinite(slope) & np.isfinite(intercept)
        return members._replace(
            slope=np.where(is_exact, slope, members.slope), intercept=np.where(is_exact, intercept, members.intercept)
        )

    def outside(self, state: Any, members: Elites) -> NDArray[np.bool_]:
        """Which rows each member was not fitted on, (n_members, n_rows)."""
        samples, sample_of = self.training_samples(state, members.root.size)
        return (samples.weights == 0)[sample_of]

    def to_arrays(self, state: GPState) -> dict[str, NDArray[Any]]:
        """A state as plain arrays, for a checkpoint."""
        arrays: dict[str, NDArray[Any]] = {f"forest.{name}": a for name, a in state.forest.to_arrays().items()}
        arrays |= {f"elites.{name}": a for name, a in state.elites._asdict().items()}
        arrays |= {name: getattr(state, name) for name in _array_names(type(state))}
        return {**arrays, "counters": np.array([state.generation, state.n_evaluations])}

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The state that `to_arrays` saved; its forest becomes that of the source."""
        own = self.source.forest
        columns = {name: arrays[f"forest.{name}"] for name in ("code", "left", "right", "value")}
        forest = Forest.from_arrays(columns, own.n_features, own.primitives)
        self.source.forest = forest
        generation, n_evaluations = map(int, arrays["counters"])
        elites = Elites(*(arrays[f"elites.{name}"] for name in Elites._fields))
        check_ids("elites", elites.root, (elites.error.size,), len(forest))
        check_ids("population", arrays["population"], (len(arrays["errors"]),), len(forest))
        return self.state_type(
            generation=generation,
            n_evaluations=n_evaluations,
            forest=forest,
            n_nodes=len(forest),
            elites=elites,
            **{name: arrays[name] for name in _array_names(self.state_type)},
        )


def check_ids(name: str, ids: NDArray[Any], shape: tuple[int, ...], n_nodes: int, lowest: int = 0) -> None:
    """See that an array from a checkpoint holds ids of a forest."""
    if ids.dtype.kind != "i" or ids.shape != shape or (ids < lowest).any() or (ids >= n_nodes).any():
        raise ValueError(f"{name!r} must be {shape} ids of {n_nodes} nodes, got {ids.dtype} of shape {ids.shape}")


def _array_names(state_type: type[GPState]) -> list[str]:
    """Fields of a state that are arrays and nothing else."""
    special = {"generation", "n_evaluations", "forest", "n_nodes", "elites"}
    return [field.name for field in fields(state_type) if field.name not in special]


def gp_arguments(
    parameters: ProgramParameters, material: Material, mutation_depth: int | None = None
) -> dict[str, Any]:
    """Arguments of a `GP` with the paper's programs and variation."""
    p = parameters
    rates = p.p_crossover, p.p_mutation, p.max_size, p.min_grow_depth, mutation_depth
    return {
        "engine": material.engine,
        "loss": material.loss,
        "source": material.source,
        "vary": SubtreeVariation(material.source, *rates),
        "population_size": int(p.population_size),
        "heights": (int(p.init_depth[0]), int(p.init_depth[1])),
        "min_height": int(p.min_grow_depth),
        "seed": material.seed,
    }


def whole_sample(material: Material) -> Samples:
    """All training rows as one sample."""
    return material.engine.prepare(np.ones((1, material.engine.data.n_rows)), material.weight)


def first_occurrences(roots: Ids) -> Ids:
    """Distinct roots in the order in which they first occur: of equal errors, the earliest program wins."""
    _, first = np.unique(roots, return_index=True)
    return roots[np.sort(first)]


def look_up(programs: Ids, known: Ids, known_rows: Matrix, new: Ids, new_rows: Matrix) -> Matrix:
    """Rows (such as errors) of programs that are all either known or new."""
    roots = np.concatenate([known, new])
    rows = np.concatenate([known_rows, new_rows])
    order = np.argsort(roots, kind="stable")
    return rows[order[np.searchsorted(roots[order], programs)]]
