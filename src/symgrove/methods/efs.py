"""EFS, evolutionary feature synthesis (Arnaldo, O'Reilly and Veeramachaneni 2015): features of a linear model evolve.

    features = the original ones
    for each iteration
        new = functions of winners of tournaments among features, without those that are refused
        scores = how long each of features and new stays in a LASSO path
        features = the original ones and the best-scoring others, at most `archive_size`
        model = weights at a penalty of the LASSO path of features; the best of all iterations is the result

Paths are made of correlations only. Those of new features with all others come from the engine and join what is known,
so an iteration costs the products of the new ones.

Differences from the authors' code: a feature that is refused leaves its place empty, where theirs becomes a column of
zeros, which can be a parent; the archive starts empty, where theirs has copies of original features; sums are in
float64, where theirs are in float32, whose range limits features here too. Training errors are those of the sums,
before predictions are clipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine, Handle
from symgrove.engines.row_weights import RowWeights
from symgrove.fitness.lasso import N_PENALTIES, LassoModel, LassoPath, lasso_path, path_scores
from symgrove.fitness.terms import VectorSummary
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.linear import WeightedSum, add_plain_sum
from symgrove.forest.primitive_table import EXP_CAP, FEATURE, Primitive
from symgrove.methods.base import ForestState, check_array, check_ids, nodes_of
from symgrove.methods.elites import Elites
from symgrove.methods.gp import ProgramMethod
from symgrove.rng import stream
from symgrove.selection.tournament import tournament

Matrix = NDArray[np.float64]

# A spread below this share of the largest value: what is left of a function is rounding. An original feature must only
# differ by more than a few units in the last place of the dtype.
NEARLY_CONSTANT = float(np.sqrt(np.finfo(np.float64).eps))
UNITS_LOST = 16
LARGEST_OUTPUT = float(np.finfo(np.float32).max)
# Operands, from low to high, on which a function is not protected; others never are, or show it by their outputs.
DOMAINS = {"log": (np.finfo(np.float64).tiny, np.inf), "sqrt": (0.0, np.inf), "exp": (-np.inf, EXP_CAP)}


class FeatureColumns(NamedTuple):
    """What is known of features: a number each, and `correlation`, (n_features, n_features).

    Attributes
    ----------
    low, high
        Range on the training rows.
    mean, spread
        Weighted mean and standard deviation.
    with_target, correlation
        Correlations with the target and with each other.
    """

    low: Matrix
    high: Matrix
    mean: Matrix
    spread: Matrix
    with_target: Matrix
    correlation: Matrix


def some_columns(columns: FeatureColumns, index: NDArray[np.intp]) -> FeatureColumns:
    """What is known of some features."""
    low, high, mean, spread, with_target = (own[index] for own in columns[:5])
    return FeatureColumns(low, high, mean, spread, with_target, columns.correlation[np.ix_(index, index)])


def no_columns() -> FeatureColumns:
    """Of no features."""
    nothing = np.zeros(0)
    return FeatureColumns(nothing, nothing, nothing, nothing, nothing, np.zeros((0, 0)))


class StandardTarget(NamedTuple):
    """The target of an engine: standardised, as a vector there, with what is known of it; and the weights of rows."""

    vector: Handle
    low: float
    high: float
    mean: float
    variance: float
    weight: RowWeights

    @classmethod
    def of(cls, engine: Engine, weight: Matrix | None) -> StandardTarget:
        """With equal weights if there are none."""
        own = RowWeights.of(engine, weight)
        vector = engine.put(engine.target[None])
        summary = engine.summaries(vector, own.values, np.zeros(engine.n_rows))
        mean, spread = summary.mean[0], summary.spread[0]
        is_constant = summary.low[0] == summary.high[0] or not np.isfinite(spread)  # squares overflow
        scale = 1.0 if is_constant or spread == 0 else spread
        variance = 0.0 if is_constant else float(spread) ** 2
        standardized = vector.standardized(np.array([mean]), np.array([scale]))
        return cls(standardized, float(summary.low[0]), float(summary.high[0]), float(mean), variance, own)


@dataclass(frozen=True, kw_only=True)
class EFSState(ForestState):
    """A run between two iterations.

    Attributes
    ----------
    features, scores : (n_features,)
        Original features that are not constant, then the archive.
    columns : FeatureColumns
    elites : Elites
        The best model so far, as one program.
    criterion, last_improvement : (1,)
        What it is the best by, and the iteration that found it.
    """

    features: Ids
    scores: Matrix
    columns: FeatureColumns
    elites: Elites
    criterion: Matrix
    last_improvement: NDArray[np.int64]
    ids: ClassVar[tuple[str, ...]] = ("features", "elites.root")


class Newcomers(NamedTuple):
    """Roots of new features, and the places of their parents among the features, (n_new, n_parents)."""

    roots: Ids
    parents: NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class EFS(ProgramMethod):
    """The method on one target; `population_size` is the number of features that an iteration tries to make.

    Attributes
    ----------
    target : StandardTarget
    archive_size : int
        Features besides the original ones, at most.
    max_size : int
        Of a feature, in nodes.
    p_binary : float
        Chance of a function of two operands, where there are functions of one and of two.
    tournament_size : int
    max_correlation : float
        With a parent: a new feature must stay below.
    clips : bool
        Whether predictions stay within the range of the target.
    choose
        The model of a path, from the path and the number of rows.
    """

    target: StandardTarget
    archive_size: int
    max_size: int
    p_binary: float
    tournament_size: int
    max_correlation: float
    clips: bool
    choose: Callable[[LassoPath, int], LassoModel]
    state_type: ClassVar[type[ForestState]] = EFSState

    def init(self) -> EFSState:
        """Original features, and what a model of them explains."""
        forest = self.new_forest()
        originals = np.array([forest.feature(i) for i in range(self.engine.n_features)], dtype=np.int64)
        without_parents = Newcomers(originals, np.zeros((originals.size, 0), dtype=np.intp))
        originals, columns = self._join(forest, originals[:0], no_columns(), without_parents)
        path = self._path(columns)
        model = self.choose(path, self.engine.n_rows)
        state = EFSState(
            generation=0,
            n_evaluations=0,
            nodes=nodes_of(forest),
            features=originals,
            scores=path_scores(path),
            columns=columns,
            elites=self._elites(forest, originals, columns, model),
            criterion=np.array([model.criterion]),
            last_improvement=np.zeros(1, dtype=np.int64),
        )
        return self.settle(state)

    def advance(self, state: EFSState) -> EFSState:
        """Make features, score all, keep the best, and look whether their model is better."""
        forest = state.forest
        made = self._make(state)
        features, columns = self._join(forest, state.features, state.columns, made)
        scores = path_scores(self._path(columns))
        stay = self._survivors(forest, features, scores)
        features, scores, columns = features[stay], scores[stay], some_columns(columns, stay)
        model = self.choose(self._path(columns), self.engine.n_rows)
        changes: dict[str, Any] = {}
        if model.criterion < state.criterion[0]:
            changes = {
                "elites": self._elites(forest, features, columns, model),
                "criterion": np.array([model.criterion]),
                "last_improvement": np.array([state.generation + 1]),
            }
        return replace(
            state,
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + made.roots.size,
            nodes=nodes_of(forest),
            features=features,
            scores=scores,
            columns=columns,
            **changes,
        )

    def _path(self, columns: FeatureColumns) -> LassoPath:
        return lasso_path(columns.correlation, columns.with_target, self.engine.n_rows)

    # New features

    def _make(self, state: EFSState) -> Newcomers:
        """Features that are small enough, new, and of operands for which their function is not protected."""
        forest, n = state.forest, self.population_size
        if state.features.size == 0:
            return Newcomers(np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.intp))
        rng = stream(self.seed, "variation", state.generation)
        parents = np.stack([tournament(-state.scores, n, self.tournament_size, rng) for _ in range(2)], axis=1)
        functions = self._draw_functions(rng, n)
        sizes = forest.size(state.features)
        known = set(state.features.tolist())
        roots: list[int] = []
        kept: list[tuple[int, int]] = []
        for (first, second), function in zip(parents.tolist(), functions, strict=True):
            operands = (first, second)[: function.arity]
            if 1 + sum(sizes[list(operands)]) > self.max_size or not _is_defined(function, state.columns, first):
                continue
            root = forest.apply(function, *state.features[list(operands)].tolist())
            if root not in known:
                known.add(root)
                roots.append(root)
                kept.append((first, operands[-1]))
        return Newcomers(np.array(roots, dtype=np.int64), np.array(kept, dtype=np.intp).reshape(-1, 2))

    def _draw_functions(self, rng: np.random.Generator, n: int) -> list[Primitive]:
        """First how many operands, then which function of so many."""
        functions = self.engine.primitives.functions
        by_arity = [[own for own in functions if own.arity == arity] for arity in (1, 2)]
        is_binary = rng.random(n) < self.p_binary
        drawn = [rng.integers(max(len(own), 1), size=n) for own in by_arity]
        if not all(by_arity):
            is_binary[:] = bool(by_arity[1])
        return [by_arity[int(two)][drawn[int(two)][i]] for i, two in enumerate(is_binary)]

    def _join(
        self, forest: Forest, features: Ids, columns: FeatureColumns, made: Newcomers
    ) -> tuple[Ids, FeatureColumns]:
        """Features with those of the new ones that are finite, not constant, and not too close to a parent."""
        if made.roots.size == 0:
            return features, columns
        n = features.size
        vectors = self.engine.evaluate(forest, np.concatenate([features, made.roots]), keep=True)
        rounding = UNITS_LOST * float(np.finfo(self.engine.dtype).eps)
        nearly_constant = rounding if n == 0 else max(NEARLY_CONSTANT, rounding)  # at first, the original features
        usable, summary = self._summarize(vectors[np.arange(n, len(vectors))], nearly_constant)
        old = vectors[np.arange(n)].standardized(columns.mean, columns.spread)
        new = vectors[n + usable].standardized(summary.mean, summary.spread)
        found = self._correlations(new, old + new + self.target.vector)
        with_parents = np.take_along_axis(found, made.parents[usable], axis=1)
        kept = np.flatnonzero(with_parents.max(axis=1, initial=-1.0) < self.max_correlation)
        own = found[kept]
        with_old, inside = own[:, :n], own[:, n + kept]
        np.fill_diagonal(inside, 1.0)
        joined = FeatureColumns(
            low=np.append(columns.low, summary.low[kept]),
            high=np.append(columns.high, summary.high[kept]),
            mean=np.append(columns.mean, summary.mean[kept]),
            spread=np.append(columns.spread, summary.spread[kept]),
            with_target=np.append(columns.with_target, own[:, -1]),
            correlation=np.block([[columns.correlation, with_old.T], [with_old, inside]]),
        )
        return np.append(features, made.roots[usable[kept]]), joined

    def _summarize(self, vectors: Handle, nearly_constant: float) -> tuple[NDArray[np.intp], VectorSummary]:
        """Which vectors are finite as 32-bit floats and not constant, and what is known of these."""
        summary = self.engine.summaries(vectors, self.target.weight.values, np.zeros(self.engine.n_rows))
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(summary.low), np.abs(summary.high))
            is_varied = summary.spread > nearly_constant * size
        usable = np.flatnonzero((size <= LARGEST_OUTPUT) & is_varied)
        return usable, VectorSummary(*(own[usable] for own in summary))

    def _correlations(self, left: Handle, right: Handle) -> Matrix:
        """Of standardised vectors with others."""
        products = self.engine.products(left, right, self.target.weight.vector)[0]
        return np.clip(products / self.target.weight.total, -1.0, 1.0)

    def _survivors(self, forest: Forest, features: Ids, scores: Matrix) -> NDArray[np.intp]:
        """Places of the original features and of the best-scoring others; of equal ones the older."""
        is_original = forest.columns.code[features] == FEATURE
        others = np.flatnonzero(~is_original)
        best = others[np.argsort(-scores[others], kind="stable")[: self.archive_size]]
        return np.concatenate([np.flatnonzero(is_original), np.sort(best)])

    # The model

    def _elites(self, forest: Forest, features: Ids, columns: FeatureColumns, model: LassoModel) -> Elites:
        """The model as one program, and its training error."""
        spread_of_target = np.sqrt(self.target.variance)
        used = np.flatnonzero(model.weights)
        weights = spread_of_target * model.weights[used] / columns.spread[used]
        constant = self.target.mean - float((weights * columns.mean[used]).sum())
        root = add_plain_sum(forest, WeightedSum(features[used], weights, constant))
        if self.clips:
            low, high = (forest.constant(edge) for edge in (self.target.low, self.target.high))
            root = forest.apply("min", forest.apply("max", root, low), high)
        error = self.target.variance * max(1.0 - model.r_squared, 0.0)
        return Elites(np.array([root]), np.array([error]), np.ones(1), np.zeros(1))

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        n = len(arrays["features"])
        check_ids("features", arrays["features"], (n,), n_nodes)
        check_array("scores", arrays["scores"], (n,), "f")
        for name in FeatureColumns._fields[:-1]:
            check_array(f"columns.{name}", arrays[f"columns.{name}"], (n,), "f")
        check_array("columns.correlation", arrays["columns.correlation"], (n, n), "f")
        check_ids("elites", arrays["elites.root"], (1,), n_nodes)
        for name in ("elites.error", "elites.slope", "elites.intercept", "criterion"):
            check_array(name, arrays[name], (1,), "f")
        check_array("last_improvement", arrays["last_improvement"], (1,), "i")

    def describe(self, state: EFSState) -> dict[str, Any]:  # type: ignore[override]
        """Named values for the history."""
        return {
            "generation": state.generation,
            "n_evaluations": state.n_evaluations,
            "errors": state.elites.error,
            "criterion": float(state.criterion[0]),
            "n_features": state.features.size,
            "mean_size": float(state.forest.size(state.features).mean()) if state.features.size else 0.0,
            "n_generations_no_change": state.generation - int(state.last_improvement[0]),
        }


def _is_defined(function: Primitive, columns: FeatureColumns, operand: int) -> bool:
    """Whether a function is not protected on the training rows; divisions by zero show in outputs."""
    lowest, highest = DOMAINS.get(function.name, (-np.inf, np.inf))
    return bool(lowest <= columns.low[operand] and columns.high[operand] <= highest)


def own_memory(n_features: int, archive_size: int, n_new: int) -> tuple[int, int]:
    """Vectors over all rows that a run has at the same time, at most, and bytes of what is known of features."""
    n_vectors = archive_size + n_new + 4  # and the target, its weights, and a direction
    n_columns = n_features + archive_size + n_new
    return n_vectors, 8 * (4 * n_columns**2 + 2 * N_PENALTIES * n_columns)
