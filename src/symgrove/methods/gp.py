"""What methods of programs share: how programs are scored and become an ensemble, and how they are drawn and varied.

A method adds `init` and `advance`, and fields to its state if it has more to remember.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.scoring import Scores, fit_pairs, score
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.losses import Loss
from symgrove.fitness.moments import Samples
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.reweighting import Line, best_line
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.base import ForestMethod, ForestState, check_array, check_ids, nodes_of
from symgrove.methods.elites import Elites, best_of_each_sample
from symgrove.models.ensemble import weights_for
from symgrove.rng import stream
from symgrove.variation.own import Offspring

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GPState(ForestState):
    """A run between two generations; `errors` are those of the population, `elites` the best ever found.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import ClassicGPRegressor, PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> estimator = ClassicGPRegressor(population_size=20)
    >>> with ex.evolutions_of(problem, evaluation, estimator.make_part) as method:
    ...     state = method.step(method.init())
    >>> (own,) = state
    >>> own.generation, own.population.shape, own.errors.shape
    (1, (20,), (20, 1))
    """

    population: Ids
    errors: Matrix
    elites: Elites
    ids: ClassVar[tuple[str, ...]] = ("population", "elites.root")


@dataclass(frozen=True, kw_only=True)
class ProgramMethod(ForestMethod):
    """A method on one target whose elites are programs.

    Attributes
    ----------
    loss
        What programs are scored by.
    population_size : int
    samples : Samples or None
        What programs are scored on, if it is the same in all generations; then a member is the elite of a sample.
    """

    loss: Loss
    population_size: int
    samples: Samples | None = None
    state_type: ClassVar[type[ForestState]] = GPState

    def training_samples(self, state: Any, n_members: int) -> tuple[Samples, NDArray[np.intp]]:
        """Samples, and which of them each member of the ensemble was fitted on: by default, each on one."""
        assert self.samples is not None, "a method without samples defines training_samples"
        return self.samples, np.arange(self.samples.total.size)

    def of_targets(self) -> Sequence[ProgramMethod]:
        """For each target that this evolution predicts, a method whose members are of that target: by default, one."""
        return (self,)

    def members(self, state: Any) -> Elites:
        """The ensemble of a state."""
        elites: Elites = state.elites
        return elites

    def weights(self, aggregation: str, members: Elites) -> Matrix | None:
        """Weights of members, from 0 to 1, which the largest is; None where they count the same."""
        return weights_for(aggregation, members.error)

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        n_members, n_programs = arrays["elites.error"].size, len(arrays["population"])
        check_ids("elites", arrays["elites.root"], (n_members,), n_nodes)
        for name in ("error", "slope", "intercept"):
            check_array(f"elites.{name}", arrays[f"elites.{name}"], (n_members,), "f")
        check_ids("population", arrays["population"], (n_programs,), n_nodes)
        check_array("errors", arrays["errors"], (n_programs, *arrays["errors"].shape[1:]), "f")

    def score(self, forest: Forest, roots: Ids, samples: Samples, *, expect_more: bool = False) -> Scores:
        """Errors and scaling of programs; `expect_more` hints that their outputs will be asked for again."""
        return score(self.engine, forest, roots, samples, self.loss, expect_more=expect_more)

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
        """The members with their scaling computed once more: by the two-pass formula, then as the loss asks for."""
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
        members = members._replace(
            slope=np.where(is_exact, slope, members.slope), intercept=np.where(is_exact, intercept, members.intercept)
        )
        row_loss = self.loss.row_loss
        return self._reweighted(state, members, row_loss) if isinstance(row_loss, Deviation) else members

    def _reweighted(self, state: Any, members: Elites, loss: Deviation) -> Elites:
        """Members with slopes and intercepts that suit the loss, not squares."""
        samples, sample_of = self.training_samples(state, members.root.size)
        y = self.engine.target
        found = Elites(members.root, *(values.copy() for values in members[1:]))
        for root in np.unique(members.root):
            outputs = self.engine.outputs(state.forest, np.array([root]))[0].astype(np.float64)
            for i in np.flatnonzero(members.root == root):
                start = Line(float(members.slope[i]), float(members.intercept[i]), float(members.error[i]))
                weight = np.asarray(samples.of_rows(slice(None), sample_of[i]), dtype=np.float64)
                line = best_line(outputs, y, weight, loss, start)
                found.slope[i], found.intercept[i], found.error[i] = line
        return found

    def outside(self, state: Any, members: Elites) -> Any:
        """Which rows each member was not fitted on, (n_members, n_rows); of rows elsewhere `SpreadCounts`, 0 there."""
        samples, sample_of = self.training_samples(state, members.root.size)
        if isinstance(samples.counts, SpreadCounts):
            return samples.counts.take(sample_of)
        rows = slice(None)
        if (sample_of == sample_of[0]).all():  # one mask for all members
            return np.broadcast_to(samples.of_rows(rows, sample_of[0]) == 0, (sample_of.size, samples.counts.shape[1]))
        found = np.empty((sample_of.size, samples.counts.shape[1]), dtype=np.bool_)
        for i, j in enumerate(sample_of):
            np.equal(samples.of_rows(rows, j), 0, out=found[i])
        return found


@dataclass(frozen=True, kw_only=True)
class GP(ProgramMethod):
    """A method with one population of programs that are drawn and varied as trees.

    Attributes
    ----------
    source, vary
        Where random programs come from, how children are made.
    heights, min_height
        Of the initial programs.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import extending as ex
    >>> class RandomSearch(ex.GP):
    ...     def init(self):
    ...         return self.first_state()
    ...     def advance(self, state):
    ...         rng = ex.stream(self.seed, "programs", state.generation)
    ...         new = self.source.ramped_half_and_half(state.forest, self.population_size, rng)
    ...         scores = self.score(state.forest, new, self.samples)
    ...         elites = ex.improve(state.elites, ex.best_of_each_sample(new, scores))
    ...         return self.next_state(state, population=new, errors=scores.errors, elites=elites)
    >>> @ex.with_parameters
    ... class RandomSearchRegressor(ex.ProgramParameters, ex.Regressor):
    ...     has_out_of_bag = False
    ...     def make_part(self, target):
    ...         return RandomSearch(samples=target.whole_sample(), **ex.gp_arguments(self, target))
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = RandomSearchRegressor(population_size=50, generations=3, random_state=0).fit(X, y)
    >>> model.n_generations_, len(model.ensemble_)
    (3, 1)
    """

    source: RandomPrograms
    vary: Callable[..., Any]
    heights: tuple[int, int]
    min_height: int

    def first_state(self, **more: Any) -> Any:
        """A ramped half-and-half population, scored; `more` are fields of the method's own state."""
        assert self.samples is not None
        forest = self.new_forest()
        population = self.random_population(forest)
        scores = self.score(forest, population, self.samples)
        own = {"population": population, "errors": scores.errors, "elites": best_of_each_sample(population, scores)}
        counters = {"generation": 0, "n_evaluations": population.size, "nodes": nodes_of(forest)}
        make: Callable[..., Any] = self.state_type
        return self.settle(make(**counters, **own, **more))

    def next_state(self, state: Any, **changes: Any) -> Any:
        """The state one generation later, after as many new programs as the population has."""
        return replace(
            state,
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + self.population_size,
            nodes=nodes_of(state.forest),
            **changes,
        )

    def random_population(self, forest: Forest) -> Ids:
        """Ramped half-and-half."""
        rng = stream(self.seed, "init")
        return self.source.ramped_half_and_half(forest, self.population_size, rng, self.heights, self.min_height)

    def breed(
        self, forest: Forest, parents: Ids, rng: np.random.Generator, *rest: Any
    ) -> tuple[Ids, NDArray[np.bool_]]:
        """A child of every parent, and which of them were made from scratch."""
        made = self.vary(forest, parents, rng, *rest)
        return made if isinstance(made, Offspring) else (made, np.zeros(made.size, dtype=np.bool_))


def first_occurrences(roots: Ids) -> Ids:
    """Distinct roots in the order in which they first occur: of equal errors, the earliest program wins.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import first_occurrences
    >>> first_occurrences(np.array([7, 3, 7, 5, 3])).tolist()
    [7, 3, 5]
    """
    _, first = np.unique(roots, return_index=True)
    return roots[np.sort(first)]


def look_up(programs: Ids, known: Ids, known_rows: Matrix, new: Ids, new_rows: Matrix) -> Matrix:
    """Rows (such as errors) of programs that are all either known or new.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import look_up
    >>> known, new = np.array([3, 5]), np.array([8])
    >>> look_up(np.array([8, 3]), known, np.array([[0.3], [0.5]]), new, np.array([[0.8]])).tolist()
    [[0.8], [0.3]]
    """
    roots = np.concatenate([known, new])
    rows = np.concatenate([known_rows, new_rows])
    order = np.argsort(roots, kind="stable")
    return rows[order[np.searchsorted(roots[order], programs)]]
