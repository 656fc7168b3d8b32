"""From a problem to a front: rows held out, features that matter, the search, and models of what it has found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from symgrove.methods.law.choosing import Entry, entries_of
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.formulas import RowSet
from symgrove.methods.law.search import search
from symgrove.methods.law.task import LawTask
from symgrove.methods.problem import Problem
from symgrove.models.ensemble import make_ensemble
from symgrove.models.program_model import ProgramModel
from symgrove.models.standardization import no_standardization
from symgrove.models.task import Task
from symgrove.rng import stream

Matrix = NDArray[np.float64]
SHARE_HELD_OUT, MOST_HELD_OUT = 0.2, 2000
MOST_FEATURES = 10  # with more, the library has too few atoms of each
N_TREES, N_ROWS_OF_TREES = 100, 2000


class LawSettings(NamedTuple):
    """What the user says about formulas, and when to stop."""

    functions: tuple[str, ...]
    end: float
    check: Callable[[], bool]
    tell: Callable[[str, Findings], None]


class Front(NamedTuple):
    """Entries of a front, why its search ended, and the rows that it held out, with their places."""

    entries: list[Entry]
    reason: str
    held_out: NDArray[np.intp]


def find_front(problem: Problem, target: int, settings: LawSettings) -> Front:
    """Search on four fifths of the rows; constants are those of all."""
    training, seed = problem.training, problem.seed
    X, y, weight = training.X, training.targets[target], training.weight
    order = stream(seed, "held out").permutation(len(y))
    n_held_out = min(int(SHARE_HELD_OUT * len(y)), MOST_HELD_OUT)
    held_out, seen = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    features = features_that_matter(X[seen], y[seen], weight if weight is None else weight[seen], seed)

    def rows_of(places: NDArray[np.intp]) -> tuple[Matrix, Matrix, Matrix | None]:
        return X[np.ix_(places, features)], y[places], None if weight is None else weight[places]

    task = LawTask(*rows_of(seen), seed, settings.functions, settings.end, settings.check)
    outcome = search(task, settings.tell)
    everything = RowSet(*rows_of(np.arange(len(y))))
    entries = entries_of(outcome, everything, RowSet(*rows_of(held_out)), features.tolist(), X.shape[1])
    return Front(entries, outcome.reason, held_out)


def features_that_matter(X: Matrix, y: Matrix, weight: Matrix | None, seed: int) -> NDArray[np.intp]:
    """Places of the features that trees use most, in their order; all if they are few."""
    if X.shape[1] <= MOST_FEATURES:
        return np.arange(X.shape[1])
    some = stream(seed, "trees").permutation(len(y))[:N_ROWS_OF_TREES]
    trees = ExtraTreesRegressor(N_TREES, min_samples_leaf=2, random_state=seed % 2**31, n_jobs=1)
    trees.fit(X[some], y[some], None if weight is None else weight[some])
    return np.sort(np.argsort(-trees.feature_importances_, kind="stable")[:MOST_FEATURES])


def model_of(task: Task, fallbacks: Sequence[float], chosen: Sequence[Entry]) -> ProgramModel:
    """One formula for each target; fallbacks stand in where one is not finite."""
    ensembles = tuple(
        make_ensemble(
            entry.forest,
            np.array([entry.root]),
            np.ones(1),
            np.zeros(1),
            fallback,
            no_standardization(entry.forest.n_features),
        )
        for entry, fallback in zip(chosen, fallbacks, strict=True)
    )
    errors = tuple(np.array([entry.error]) for entry in chosen)
    return ProgramModel(ensembles, task, errors, tuple(np.full(1, np.nan) for _ in chosen))
