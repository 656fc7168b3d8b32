"""What a run records besides errors and time: the numbers behind each figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.base import Estimator
from symgrove.evolution.stopping import Progress
from symgrove.experiments.mapie_forest import COVERAGES
from symgrove.methods.gp import first_occurrences, look_up
from symgrove.methods.problem import Problem, Rows
from symgrove.models.task import Regression
from symgrove.rng import stream

Matrix = NDArray[np.float64]
EVERY = 5  # generations between two records of diversity, after the first ones
BETTER = 1 - 1e-9  # a child is better by more than rounding
FIRST_GENERATIONS = 10  # of the figures about the beginning of a run


def rounded(values: Any, digits: int = 5) -> Any:
    """Numbers to so many significant digits, as plain lists."""
    array = np.asarray(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(array))))
        result = np.where((array == 0) | ~np.isfinite(scale), array, np.round(array * scale) / scale)
    return result.tolist()


def diversity_probe(progress: Progress) -> dict[str, float]:
    """Share of the most frequent program among the elites and in the population."""
    (state,) = progress.state
    return {
        "frequent_elite": _largest_share(state.elites.root),
        "frequent_program": _largest_share(state.population),
    }


def _largest_share(roots: NDArray[np.int64]) -> float:
    counts = np.unique(roots, return_counts=True)[1]
    return float(counts.max() / counts.sum())


def diversity(model: Estimator, X: Matrix, y: Matrix, X_test: Matrix, y_test: Matrix) -> dict[str, Any]:
    """Distinct elites and programs, and the share of the most frequent one, as shares, every few generations."""
    history = model.history_
    n_members = history["errors"].shape[1]
    columns = {
        "generation": history["generation"],
        "distinct_elites": history["n_elites"] / n_members,
        "distinct_programs": history["n_distinct"] / model.population_size,
        "frequent_elite": history["frequent_elite"],
        "frequent_program": history["frequent_program"],
    }
    generation = history["generation"]
    wanted = (generation <= FIRST_GENERATIONS) | (generation % EVERY == 0)
    return {name: rounded(values[wanted], 4) for name, values in columns.items()}


def prefixes(model: Estimator, X: Matrix, y: Matrix, X_test: Matrix, y_test: Matrix) -> dict[str, Any]:
    """Test error of the ensembles of the first 1, 2, ... members."""
    (members,) = model.model_.predict_members(X_test)
    means = np.cumsum(members, axis=0) / np.arange(1, len(members) + 1)[:, None]
    return {"prefix_test": rounded(np.sqrt(((means - y_test) ** 2).mean(axis=1)))}


def elites(model: Estimator, X: Matrix, y: Matrix, X_test: Matrix, y_test: Matrix) -> dict[str, Any]:
    """Root mean squared error of every sample's elite in the first generations."""
    return {"elite_errors": rounded(np.sqrt(model.history_["errors"][: FIRST_GENERATIONS + 1]), 4)}


def _first_part(model: Estimator, X: Matrix, y: Matrix) -> Any:
    """The method of a regressor, as its fit makes it."""
    problem = Problem(Rows(X, y[None], None, np.arange(len(X))), Regression(), model.random_state)
    return model.make_method(problem).parts[0]


def evolvability(model: Estimator, X: Matrix, y: Matrix, X_test: Matrix, y_test: Matrix) -> dict[str, Any]:
    """How often a child is better than its parent on a sample; and if it is not, how often on some other sample."""
    same, other = [], []
    with _first_part(model, X, y) as method:
        state = method.init()
        for generation in range(FIRST_GENERATIONS):
            offspring = method.vary(state.forest, state.population, stream(method.seed, "variation", generation))
            new = first_occurrences(offspring[~np.isin(offspring, state.population)])
            scores = method.score(state.forest, new, method.samples)
            errors = look_up(offspring, state.population, state.errors, new, scores.errors)
            is_better = errors < BETTER * state.errors
            same.append(is_better.mean(axis=0))
            other.append((~is_better & is_better.any(axis=1, keepdims=True)).mean(axis=0))
            state = method.rollback(state)
            state = method.step(state)
    return {"same": rounded(same, 4), "other": rounded(other, 4)}


def cost(model: Estimator, X: Matrix, y: Matrix, X_test: Matrix, y_test: Matrix) -> dict[str, Any]:
    """Mean size of programs, and nodes that were computed for each new program, in every generation."""
    sizes, computed = [], []
    with _first_part(model, X, y) as method:
        state = method.init()
        for generation in range(model.generations):
            offspring = method.vary(state.forest, state.population, stream(method.seed, "variation", generation))
            new = np.setdiff1d(offspring, state.population)
            sizes.append(float(state.forest.size(new).mean()) if new.size else 0.0)
            state = method.rollback(state)
            before = method.engine.n_computed
            state = method.step(state)
            computed.append((method.engine.n_computed - before) / max(new.size, 1))
    return {"sizes": rounded(sizes, 4), "computed": rounded(computed, 4)}


class PredictsIntervals(Protocol):
    """A regressor of any library that says how sure it is."""

    def predict_interval(self, X: Matrix, coverage: float, /) -> Matrix:
        """Lower and upper ends, (n_rows, 2)."""


def intervals(model: PredictsIntervals, X: Matrix, y: Matrix, X_test: Matrix, y_test: Matrix) -> dict[str, Any]:
    """Share of the test rows inside intervals, and mean width, for each coverage."""
    inside, width = [], []
    for coverage in COVERAGES:
        low, high = model.predict_interval(X_test, coverage).T
        inside.append(float(np.mean((low <= y_test) & (y_test <= high))))
        width.append(float(np.mean(high - low)))
    return {"inside": inside, "width": width}


RECORDS: dict[str, Callable[..., dict[str, Any]]] = {
    "diversity": diversity,
    "prefixes": prefixes,
    "elites": elites,
    "evolvability": evolvability,
    "cost": cost,
    "intervals": intervals,
}
PROBES = {"diversity": diversity_probe}
