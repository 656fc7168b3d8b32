"""2SEGP: simple simultaneous ensemble genetic programming (Virgolin 2021).

    draw the bootstrap samples, once
    population = ramped half-and-half; score it on every sample; note the elite of every sample
    repeat:
        offspring = one child of every parent, by subtree crossover or mutation
        score the offspring on every sample
        a child that is better on a sample than its elite becomes the elite
        population = for every sample, the best population_size / n_samples of parents and offspring
    the ensemble is the elites, each with its own linear scaling

Differences from the paper and its code are in docs/paper-map.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.cpu import CpuEngine
from symgrove.engines.scoring import Scores, fit_pairs, score
from symgrove.fitness.losses import Loss
from symgrove.fitness.moments import Samples
from symgrove.fitness.scaling import identity_scaling
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitives import PAPER_FUNCTIONS, PROTECTION_EPSILON
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods._elites import Elites, best_of_each_sample, improve
from symgrove.methods._estimator import Material
from symgrove.methods._faces import EnsembleClassifier, EnsembleRegressor
from symgrove.rng import stream
from symgrove.selection.truncation import partitioned_truncation
from symgrove.variation.subtree import SubtreeVariation

Matrix = NDArray[np.float64]
Selection = Callable[[Matrix, int, np.random.Generator], Ids]


@dataclass(frozen=True)
class TwoSEGPState:
    """A run between two generations; `n_nodes` is the length of the forest then."""

    generation: int
    n_evaluations: int
    forest: Forest
    n_nodes: int
    population: Ids
    errors: Matrix
    elites: Elites


@dataclass(frozen=True)
class TwoSEGP:
    """The method on one problem.

    Attributes
    ----------
    engine, samples, loss
        What programs are scored on, and how.
    source, vary, select
        Where random programs come from, how children are made, who survives.
    """

    engine: CpuEngine
    samples: Samples
    loss: Loss
    source: RandomPrograms
    vary: SubtreeVariation
    select: Selection
    population_size: int
    heights: tuple[int, int]
    min_height: int
    seed: int

    def init(self) -> TwoSEGPState:
        forest = self.source.forest
        rng = stream(self.seed, "init")
        population = self.source.ramped_half_and_half(self.population_size, rng, self.heights, self.min_height)
        scores = self._score(population)
        elites = best_of_each_sample(population, scores)
        return self.settle(TwoSEGPState(0, population.size, forest, len(forest), population, scores.errors, elites))

    def step(self, state: TwoSEGPState) -> TwoSEGPState:
        return self.settle(self.advance(state))

    def advance(self, state: TwoSEGPState) -> TwoSEGPState:
        """One generation; nodes are only appended, so that `rollback` can undo it."""
        offspring = self.vary(state.population, stream(self.seed, "variation", state.generation))
        new = first_occurrences(offspring[~np.isin(offspring, state.population)])
        scores = self._score(new)
        elites = improve(state.elites, best_of_each_sample(new, scores)) if new.size else state.elites
        programs = np.concatenate([state.population, offspring])
        errors = look_up(programs, state.population, state.errors, new, scores.errors)
        survivors = self.select(errors, self.population_size, stream(self.seed, "selection", state.generation))
        survivors = check_survivors(survivors, self.population_size, programs.size)
        return TwoSEGPState(
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + self.population_size,
            forest=state.forest,
            n_nodes=len(state.forest),
            population=programs[survivors],
            errors=errors[survivors],
            elites=elites,
        )

    def settle(self, state: TwoSEGPState) -> TwoSEGPState:
        """Forget what neither population nor elites refer to."""
        ids = state.forest.collect(np.concatenate([state.population, state.elites.root]))
        self.engine.collected(state.forest, ids)
        elites = state.elites._replace(root=ids[state.elites.root])
        return replace(state, n_nodes=len(state.forest), population=ids[state.population], elites=elites)

    def _score(self, roots: Ids) -> Scores:
        return score(self.engine, self.source.forest, roots, self.samples, self.loss)

    def rollback(self, state: TwoSEGPState) -> None:
        self.engine.collected(state.forest, state.forest.truncate(state.n_nodes))

    def watch(self, check: Callable[[], None] | None) -> None:
        self.engine.between_panels = check

    def describe(self, state: TwoSEGPState) -> dict[str, Any]:
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

    def finish(self, state: TwoSEGPState) -> Elites:
        """The elites with their scaling computed once more, by the two-pass formula."""
        roots, member = np.unique(state.elites.root, return_inverse=True)
        n_samples = state.elites.root.size
        wanted = np.zeros((roots.size, n_samples), dtype=np.bool_)
        wanted[member.ravel(), np.arange(n_samples)] = True
        if self.loss.linear_scaling:
            scaling = fit_pairs(self.engine, state.forest, roots, self.samples, wanted)
        else:
            scaling = identity_scaling(wanted.shape)
        slope, intercept = (values[member.ravel(), np.arange(n_samples)] for values in scaling)
        is_exact = np.isfinite(slope) & np.isfinite(intercept)
        return state.elites._replace(
            slope=np.where(is_exact, slope, state.elites.slope),
            intercept=np.where(is_exact, intercept, state.elites.intercept),
        )

    def to_arrays(self, state: TwoSEGPState) -> dict[str, NDArray[Any]]:
        """A state as plain arrays, for a checkpoint."""
        arrays: dict[str, NDArray[Any]] = {f"forest.{name}": a for name, a in state.forest.to_arrays().items()}
        arrays |= {f"elites.{name}": a for name, a in state.elites._asdict().items()}
        counters = np.array([state.generation, state.n_evaluations])
        return {**arrays, "population": state.population, "errors": state.errors, "counters": counters}

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> TwoSEGPState:
        """The state that `to_arrays` saved; its forest becomes that of the source."""
        own = self.source.forest
        columns = {name: arrays[f"forest.{name}"] for name in ("code", "left", "right", "value")}
        forest = Forest.from_arrays(columns, own.n_features, own.primitives)
        self.source.forest = forest
        elites = Elites(*(arrays[f"elites.{name}"] for name in Elites._fields))
        generation, n_evaluations = map(int, arrays["counters"])
        population, errors = arrays["population"], arrays["errors"]
        return TwoSEGPState(generation, n_evaluations, forest, len(forest), population, errors, elites)


def first_occurrences(roots: Ids) -> Ids:
    """Distinct roots in the order in which they first occur: of equal errors, the earliest program wins."""
    _, first = np.unique(roots, return_index=True)
    return roots[np.sort(first)]


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


def look_up(programs: Ids, known: Ids, known_errors: Matrix, new: Ids, new_errors: Matrix) -> Matrix:
    """Errors of programs that are all either known or new."""
    roots = np.concatenate([known, new])
    errors = np.concatenate([known_errors, new_errors])
    order = np.argsort(roots, kind="stable")
    return errors[order[np.searchsorted(roots[order], programs)]]


class _TwoSEGPParameters:
    """What the regressor and the classifier share: the parameters and the method."""

    def __init__(
        self,
        *,
        population_size: int = 500,
        n_estimators: int = 50,
        generations: int = 100,
        functions: Any = PAPER_FUNCTIONS,
        epsilon: Any = PROTECTION_EPSILON,
        constant_range: tuple[float, float] | None = (-5.0, 5.0),
        init_depth: tuple[int, int] = (2, 6),
        min_grow_depth: int = 0,
        max_size: int = 500,
        p_crossover: float = 0.5,
        p_mutation: float = 0.5,
        linear_scaling: bool = True,
        selection: Any = "partition",
        standardize: bool = True,
        max_time: float | None = None,
        max_evaluations: int | None = None,
        target_error: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_generations_no_change: int = 20,
        prune: bool = True,
        dtype: str = "float64",
        memory_budget: int | None = None,
        checkpoint: Any = None,
        warm_start: bool = False,
        callbacks: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.population_size = population_size
        self.n_estimators = n_estimators
        self.generations = generations
        self.functions = functions
        self.epsilon = epsilon
        self.constant_range = constant_range
        self.init_depth = init_depth
        self.min_grow_depth = min_grow_depth
        self.max_size = max_size
        self.p_crossover = p_crossover
        self.p_mutation = p_mutation
        self.linear_scaling = linear_scaling
        self.selection = selection
        self.standardize = standardize
        self.max_time = max_time
        self.max_evaluations = max_evaluations
        self.target_error = target_error
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_generations_no_change = n_generations_no_change
        self.prune = prune
        self.dtype = dtype
        self.memory_budget = memory_budget
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _make_part(self, material: Material) -> TwoSEGP:
        return TwoSEGP(
            engine=material.engine,
            samples=material.samples,
            loss=material.loss,
            source=material.source,
            vary=SubtreeVariation(
                material.source, self.p_crossover, self.p_mutation, self.max_size, self.min_grow_depth
            ),
            select=partitioned_truncation if isinstance(self.selection, str) else self.selection,
            population_size=int(self.population_size),
            heights=(int(self.init_depth[0]), int(self.init_depth[1])),
            min_height=int(self.min_grow_depth),
            seed=material.seed,
        )


_DOC = """{summary}

    One population is evolved; every program has an error on each of `n_estimators` bootstrap samples, and the best
    program ever found on each sample is a member of the ensemble (2SEGP, Virgolin 2021). With default parameters this
    is the paper's method with the paper's settings.

    Parameters
    ----------
    population_size : int, default=500
        Programs in the population.
    n_estimators : int, default=50
        Bootstrap samples, and so members (β in the paper); at most `population_size`.
    generations : int, default=100
        Generations in total, also with `warm_start`.
    functions : sequence of str or Primitive
        Built-in primitives by name (add, sub, mul, div, aq, min, max, step, sqrt, log, log1p, exp, sin, cos, tanh,
        square, cube, neg, abs) and your own, made with `symgrove.primitive`.
    epsilon : float or dict, default=1e-10
        Protection constant of div and log; a dict gives each its own.
    constant_range : (float, float) or None, default=(-5.0, 5.0)
        Constants are drawn uniformly from it; None for programs without constants.
    init_depth : (int, int), default=(2, 6)
        Heights of initial programs; new branches of mutation are at most the second high.
    min_grow_depth : int, default=0
        Minimum height of grown programs: half of the initial ones, and the new branches of mutation. 0 reproduces the
        paper's numbers; newer versions of the author's library have 2, which fits the training data more closely.
    max_size : int, default=500
        A child with more nodes is dropped and its parent stays. Initial programs are limited by `init_depth` only.
    p_crossover, p_mutation : float, default=0.5
        Chances of subtree crossover and subtree mutation; what is left to 1 are copies.
    linear_scaling : bool, default=True
        Give every program the best slope and intercept on each sample.
    selection : "partition" or callable, default="partition"
        Who survives: the best of each sample, or a function (errors, n_selected, rng) -> indices, where errors has a
        row for each parent and child and a column for each sample.
    standardize : bool, default=True
        Z-score the features inside. Formulas are shown in your units either way.
    max_time : float, optional
        Seconds for the evolution; compiling is not counted. The initial population is always scored.
    max_evaluations : int, optional
        Stop once so many programs have been made and scored.
    target_error : float, optional
        Stop once the mean error of the elites on their samples is this low.
    early_stopping : bool, default=False
        Hold `validation_fraction` of the rows out of the whole evolution, stop after `n_generations_no_change`
        generations without improvement on them, and return the ensemble that was best there.
    validation_fraction : float, default=0.1
    n_generations_no_change : int, default=20
    prune : bool, default=True
        Show members with equal programs as one, with averaged coefficients. Predictions are the same.
    dtype : "float64" or "float32", default="float64"
        What programs are evaluated in; float32 is about 1.5 times faster.
    memory_budget : int, optional
        Bytes for intermediate results, 2 GiB by default; the data are not included.
    checkpoint : path, optional
        File that the run is saved to every few seconds and at the end. If it exists and belongs to the same data and
        parameters, the run goes on from it; if it belongs to others, that is an error and the file stays as it is. Not
        for searches and cross-validation, whose fits would share the file.
    warm_start : bool, default=False
        Keep the population, and let the next `fit` with the same data go on to a larger `generations`.
    callbacks : callable or list of callables, optional
        Called at the start and after each generation with a progress object (`state`, `values`, `seconds`). Returning
        True stops;
        returning a dict adds its values to `history_`.
        scikit-learn's own callbacks are set with `set_callbacks` (scikit-learn 1.9 and newer).
    n_jobs : int, optional
        Threads over rows; the model does not depend on it. Small data use one.
    random_state : int, RandomState or None
        Same seed, same model, to the last bit.
    verbose : int, default=0
        1 shows progress on stderr.

    Attributes
    ----------
    ensemble_ : list of Member
        Members with formula, intercept, slope, weight, samples, errors and size, heaviest first (within each class, if
        there are more than two).
    oob_score_ : float
        {oob}, from members whose sample did not draw a row. Optimistic: the samples share one population.
    oob_prediction_ : ndarray
        The predictions behind it, a row for each row of X; NaN where every sample drew the row, and where the row was
        held out or had weight 0. For classifiers as `predict_proba`.
    history_ : dict of ndarray
        One entry a generation: generation, errors (of the elite of every sample), mean_size, max_size, n_distinct,
        n_elites, n_evaluations, seconds.
    n_generations_ : int
        Generations that were completed.
    stop_reason_ : str
        Why the evolution ended: generations, max_time, max_evaluations, target_error, early_stopping, callback,
        interrupted.
    feature_importances_ : ndarray of shape (n_features,)
        How often and how strongly each feature acts: how much of the members' outputs is lost when it is shuffled,
        averaged over all members. Sums to one.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had column names.
{more}
    Notes
    -----
    Ctrl-C stops after the current generation and leaves a fitted model; a second one gives up. On new rows, members
    whose output is not finite do not count.
    """


class TwoSEGPRegressor(_TwoSEGPParameters, EnsembleRegressor):
    __doc__ = _DOC.format(
        summary="Bagging ensemble of formulas for regression.", oob="R² on the training rows", more=""
    )


class TwoSEGPClassifier(_TwoSEGPParameters, EnsembleClassifier):
    __doc__ = _DOC.format(
        summary="Bagging ensemble of formulas for classification.",
        oob="Accuracy on the training rows",
        more="""    classes_ : ndarray
        Labels, sorted.

    Two classes: as in the paper, a member votes for the second class where its scaled output is above one half, and
    the majority decides; a tie goes to the first class. More classes: one ensemble for each class against the others,
    evolved side by side; a class's score is the mean of its members' scaled outputs, each clipped to [0, 1].
""",
    )
