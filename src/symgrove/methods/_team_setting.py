"""From training rows to evolutions of teams, and from their states to a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import make_dataset
from symgrove.engines.cpu import CpuEngine
from symgrove.fitness.bootstrap import bootstrap_counts, subsample_counts
from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods._held_out import Training
from symgrove.methods._teams import Rules, TeamEvolution, TeamState
from symgrove.models.standardization import Standardization, no_standardization, standardization_of
from symgrove.models.teams import Range, Teams
from symgrove.rng import stream
from symgrove.variation.mixture import Mixture

Matrix = NDArray[np.float64]
# Teams must have fewer terms than rows to fit them to.
ROWS_PER_TERM = 5
FEWEST_TERMS = 3
N_DATA_VALUES = 1024  # of each feature, that constants are drawn from
# So many candidates a team judges in full; more if there are few teams, because it costs little then.
N_CLOSE = 24
N_CLOSE_OF_ALL = 1200
SMALLEST_BUDGET = 1 << 20  # of a population, if there is as much


class Path(NamedTuple):
    """How strongly to fit: how many evolutions share the teams, their rules, and the generations to look at them."""

    name: str
    n_populations: int
    n_teams: int
    max_size: int
    rules: Rules
    snapshots: tuple[int, ...]


class Ground(NamedTuple):
    """What all evolutions of one fit share.

    Attributes
    ----------
    primitives, dtype
        Programs and what they are evaluated in.
    standardize, clip : bool
    sampling : "bootstrap" or float
        How each team's rows are drawn.
    aggregation : str
    is_logistic : bool
    n_threads, memory_budget : int
    """

    primitives: PrimitiveSet
    dtype: str
    standardize: bool
    clip: bool
    sampling: str | float
    aggregation: str
    is_logistic: bool
    n_threads: int
    memory_budget: int


def make_evolutions(ground: Ground, path: Path, training: Training, seed: int, stack: ExitStack) -> list[TeamEvolution]:
    """Evolutions of teams on training rows, a population each; the samples are divided among them."""
    n_rows = len(training.X)
    if ground.sampling == "bootstrap":
        counts = bootstrap_counts(n_rows, path.n_teams, seed)
    else:
        counts = subsample_counts(n_rows, path.n_teams, seed, float(ground.sampling))
    n_populations = min(path.n_populations, path.n_teams)
    n_close = max(N_CLOSE, N_CLOSE_OF_ALL // (path.n_teams * len(training.targets)))
    budget = max(ground.memory_budget // n_populations, min(ground.memory_budget, SMALLEST_BUDGET))
    share = ground._replace(memory_budget=budget)
    return [
        _make_evolution(share, path, training, own, n_close, seed if i == 0 else _seed_of_population(seed, i), stack)
        for i, own in enumerate(np.array_split(counts, n_populations))
    ]


def _seed_of_population(seed: int, i: int) -> int:
    return int(stream(seed, "population", i).integers(2**31))


def _make_evolution(
    ground: Ground, path: Path, training: Training, counts: NDArray[Any], n_close: int, seed: int, stack: ExitStack
) -> TeamEvolution:
    _, Z = _standardized(ground, training)
    n_rows = len(Z)
    row_weight = np.ones(n_rows) if training.weight is None else training.weight / training.weight.mean()
    n_targets = len(training.targets)
    centre, scale = _centre_and_scale(training, is_logistic=ground.is_logistic)
    engine = CpuEngine(
        make_dataset(Z, training.targets[0], ground.dtype), ground.primitives, ground.n_threads, ground.memory_budget
    )
    values = Z[stream(seed, "values").choice(n_rows, size=min(n_rows, N_DATA_VALUES), replace=False)].T
    max_terms = max(FEWEST_TERMS, min(path.rules.max_terms, n_rows // ROWS_PER_TERM))
    return TeamEvolution(
        engine=stack.enter_context(engine),
        vary=Mixture(Forest(Z.shape[1], ground.primitives), values, path.max_size),
        weights=np.tile(counts * row_weight, (n_targets, 1)),
        targets=(training.targets - centre) / scale,
        target_of=np.repeat(np.arange(n_targets), len(counts)),
        row_weight=row_weight / n_rows,
        # No more may join than stay: room for them is taken for every team.
        rules=path.rules._replace(max_terms=max_terms, n_joining=min(path.rules.n_joining, max_terms)),
        n_close=n_close,
        is_logistic=ground.is_logistic,
        seed=seed,
    )


def _standardized(ground: Ground, training: Training) -> tuple[Standardization, Matrix]:
    X = training.X
    found = standardization_of(X, training.weight) if ground.standardize else no_standardization(X.shape[1])
    return found, found.apply(X)


def _centre_and_scale(training: Training, *, is_logistic: bool) -> tuple[float, float]:
    """Of the target; labels stay as they are."""
    if is_logistic:
        return 0.0, 1.0
    y = training.targets[0]
    reach = float(np.abs(y).max()) or 1.0  # squares of what is divided by it do not overflow
    centre = reach * float(np.average(y / reach, weights=training.weight))
    scale = reach * float(np.sqrt(np.average((y / reach - centre / reach) ** 2, weights=training.weight)))
    return centre, scale if scale > 1e-12 * abs(centre) and np.isfinite(1.0 / scale) else 1.0


def to_model(
    ground: Ground, evolutions: Sequence[TeamEvolution], states: Sequence[TeamState], training: Training
) -> Teams:
    """The teams of the states as one model with a forest of its own, in the units of the target."""
    standardization, Z = _standardized(ground, training)
    centre, scale = _centre_and_scale(training, is_logistic=ground.is_logistic)
    forest = Forest(Z.shape[1], ground.primitives)
    parts = [_collect(forest, *each) for each in zip(evolutions, states, strict=True)]
    # Populations may have the same program, features above all.
    programs, first = np.unique(np.concatenate([part.programs for part in parts]), return_index=True)
    term_centre, spread, low, high = (
        np.concatenate(column)[first] for column in zip(*(part.about for part in parts), strict=True)
    )
    coefficients = np.concatenate([part.coefficients_of(programs) for part in parts])
    target_of = np.concatenate([evolution.target_of for evolution in evolutions])
    order = np.argsort(target_of, kind="stable")
    y = training.targets[0]
    return Teams(
        forest=forest,
        programs=programs,
        centre=term_centre,
        spread=spread,
        coefficients=scale * coefficients[order],
        intercept=(centre + scale * np.concatenate([state.coefficients[:, 0] for state in states]))[order],
        target_of=target_of[order],
        standardization=standardization,
        features=Range(Z.min(axis=0), Z.max(axis=0)) if ground.clip else None,
        terms=Range(low, high) if ground.clip else None,
        predictions=Range(y.min(), y.max()) if ground.clip and not ground.is_logistic else None,
        aggregation=ground.aggregation,
        is_logistic=ground.is_logistic,
        errors=(scale * (scale * np.concatenate([state.errors for state in states])))[order],
    )


class _Collected(NamedTuple):
    """The teams of one evolution: programs, what is known about each (centre, spread, low, high), coefficients."""

    programs: Ids
    about: tuple[Matrix, ...]
    coefficients: Matrix

    def coefficients_of(self, programs: Ids) -> Matrix:
        """Over a sorted list that has these programs among others."""
        found = np.zeros((len(self.coefficients), programs.size))
        found[:, np.searchsorted(programs, self.programs)] = self.coefficients
        return found


def _collect(forest: Forest, evolution: TeamEvolution, state: TeamState) -> _Collected:
    """The teams of a state, their programs copied into a forest."""
    is_term = state.roots >= 0
    roots, position = np.unique(state.roots[is_term], return_inverse=True)
    terms = evolution.terms(state, roots)
    coefficients = np.zeros((len(state.roots), roots.size))
    np.add.at(coefficients, (np.nonzero(is_term)[0], position.ravel()), state.coefficients[is_term])
    about = terms.centre, terms.spread, terms.low, terms.high
    return _Collected(forest.copy_from(state.forest, roots), about, coefficients)


def base_of(training: Training) -> Matrix:
    """What is predicted if nothing is known of a row: the mean of each target."""
    reach = np.maximum(np.abs(training.targets).max(axis=1, keepdims=True), 1e-300)
    return reach[:, 0] * np.average(training.targets / reach, axis=1, weights=training.weight)


def table_bytes(path: Path, n_targets: int, n_rows: int, itemsize: int) -> int:
    """Memory for the values of the teams' terms and of the candidates."""
    n_vectors = path.n_teams * n_targets * (1 + path.rules.max_terms + path.rules.n_joining)
    return int((n_vectors + 3 * path.rules.population_size) * n_rows * itemsize)


def rows_that_fit(path: Path, n_targets: int, itemsize: int, budget: int) -> int:
    """How many training rows the budget has room for."""
    return max(budget // table_bytes(path, n_targets, 1, itemsize), 1)


def take_rows(training: Training, rows: NDArray[Any]) -> Training:
    """Training data of some rows."""
    weight = None if training.weight is None else training.weight[rows]
    return Training(training.X[rows], training.targets[:, rows], weight, training.rows[rows])
