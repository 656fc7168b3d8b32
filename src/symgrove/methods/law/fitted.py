"""From a problem to a front: rows held out, features that matter, the search, and models of what it has found.

A front is saved with its model, so that another of its formulas can be chosen from a file too. What the formulas said
of the rows held out is not: those are rows of the user's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.primitives import PrimitiveSet
from symgrove.forest.sympy_size import sympy_size
from symgrove.methods.law.choosing import Entry, Fold, choose, entries_of, entry_so_far, in_units
from symgrove.methods.law.findings import Findings, Found
from symgrove.methods.law.formulas import RowSet
from symgrove.methods.law.rules import Rules
from symgrove.methods.law.search import LAWS, best_of_sizes, search
from symgrove.methods.law.task import N_GENERATIONS, LawTask
from symgrove.methods.law.units import Units, no_units
from symgrove.methods.problem import Problem
from symgrove.models.document import (
    Allowance,
    Document,
    Entries,
    forest_from_document,
    forest_to_document,
    optional_numbers,
)
from symgrove.models.ensemble import make_ensemble
from symgrove.models.model import Names
from symgrove.models.program_model import ProgramModel
from symgrove.models.reading import Reading, quantiles_of, some_rows
from symgrove.models.standardization import no_standardization
from symgrove.models.task import Regression, Task
from symgrove.rng import stream

Matrix = NDArray[np.float64]
N_FOLDS, MOST_HELD_OUT = 5, 2000
MOST_FOLDED = 300  # rows; with more, one fold is enough
QUICK_GENERATIONS = 60
MOST_FEATURES = 10  # with more, the library has too few atoms of each
N_TREES, N_AT_ONCE, N_ROWS_OF_TREES = 100, 10, 2000
MOST_IN_SINGLE, MOST_EXTREME = 1e30, 1e40


@dataclass(frozen=True)
class SoFar:
    """What a search has found, in the user's units and features; errors are of the rows that it searches on.

    Attributes
    ----------
    fold : int
        0 for the search that makes the front; others say how good formulas of each size are.
    """

    target: int
    fold: int
    _findings: Findings
    _shown: Callable[[Findings, list[Found]], list[Entry]]

    @property
    def best(self) -> Entry | None:
        """The one that describes the data in the fewest bits."""
        best = self._findings.best
        return None if best is None else self._shown(self._findings, [best])[0]

    def front(self) -> list[Entry]:
        """The best of every size."""
        return self._shown(self._findings, best_of_sizes(self._findings))


class LawSettings(NamedTuple):
    """What the user says about formulas, and when to stop."""

    functions: tuple[str, ...]
    end: float
    check: Callable[[], bool]
    tell: Callable[[str, SoFar], None]
    units: Sequence[Units] | None = None  # for each target
    max_size: int | None = None
    nested: Mapping[str, Mapping[str, int]] = {}  # see `Rules`
    is_quick: bool = False
    names: Names = None  # of the features

    def rules(self, target: int, features: NDArray[np.intp], n_features: int) -> Rules:
        """Of a search among some of the features."""
        units = no_units(n_features) if self.units is None else self.units[target]
        return Rules(units.of(features), self.max_size, self.nested)


class FoundFront(NamedTuple):
    """Entries of a front, why its search ended, and the rows that it held out, with their places."""

    entries: list[Entry]
    reason: str
    held_out: NDArray[np.intp]


def find_front(problem: Problem, target: int, settings: LawSettings) -> FoundFront:
    """Search on four fifths of the rows; constants are those of all.

    If that finds no law, and rows are few, shorter searches on the other folds say how good formulas of each size are.
    """
    training, seed = problem.training, problem.seed
    units, unit = units_of(training.X), float(units_of(training.targets[target]))
    X, y, weight = training.X / units, training.targets[target] / unit, training.weight
    order = stream(seed, "held out").permutation(len(y))
    n_held_out = min(len(y) // N_FOLDS, MOST_HELD_OUT)
    held_out = [np.sort(order[:n_held_out])]
    seen = np.setdiff1d(order, held_out[0])
    is_over = partial(_is_over, settings)

    def rows_of(places: NDArray[np.intp], features: NDArray[np.intp]) -> tuple[Matrix, Matrix, Matrix | None]:
        return X[np.ix_(places, features)], y[places], None if weight is None else weight[places]

    varies = bool(np.ptp(y[seen]) > 0)  # else the mean is all that there is to find
    end = settings.end if varies else -np.inf

    as_given = partial(in_units, features=units, target=unit) if unit != 1 or (units != 1).any() else _as_it_is

    def fold_of(places: NDArray[np.intp], number: int, *, is_short: bool) -> tuple[Fold, NDArray[np.intp]]:
        rest = np.setdiff1d(order, places)
        features = features_that_matter(X[rest], y[rest], None if weight is None else weight[rest], seed, is_over)
        rules = settings.rules(target, features, X.shape[1])
        own = rows_of(rest, features)
        n_generations = QUICK_GENERATIONS if settings.is_quick else N_GENERATIONS
        task = LawTask(*own, seed, settings.functions, end, settings.check, rules, is_short, n_generations)

        def shown(findings: Findings, found: list[Found]) -> list[Entry]:
            return [as_given(entry_so_far(findings, one, features.tolist(), X.shape[1])) for one in found]

        def tell(step: str, findings: Findings) -> None:
            settings.tell(step, SoFar(target, number, findings, shown))

        return Fold(search(task, tell), RowSet(*rows_of(places, features))), features

    first, features = fold_of(held_out[0], 0, is_short=settings.is_quick)
    folds = [first]
    reason = first.outcome.reason if varies else "exact"
    if reason == "everything" and len(y) <= MOST_FOLDED and n_held_out and not settings.is_quick:
        held_out += [np.sort(part) for part in np.array_split(order[n_held_out:], N_FOLDS - 1)]
        folds += [fold_of(places, k, is_short=True)[0] for k, places in enumerate(held_out[1:], start=1)]
        if is_over():  # the last of them were cut short
            held_out, folds = held_out[:1], folds[:1]
    reading = Reading(quantiles_of(training.X[some_rows(len(y))]), 0.0, len(y))
    entries = entries_of(
        folds,
        RowSet(*rows_of(np.arange(len(y)), features)),
        features.tolist(),
        X.shape[1],
        lambda entry: shown_size(as_given(entry), reading, settings.names),
        settings.max_size,
    )
    entries = [as_given(entry) for entry in entries]
    return FoundFront(entries, reason, np.concatenate(held_out))


def _as_it_is(entry: Entry) -> Entry:
    return entry


def shown_size(entry: Entry, reading: Reading, names: Names) -> int:
    """Nodes of an entry's SymPy expression, of the formula as people read it."""
    shown = model_of(Regression(), [0.0], [entry]).with_reading(reading).as_sum()
    assert shown is not None  # it is one formula
    return sympy_size(*shown, names)


def units_of(values: Matrix) -> Matrix:
    """Powers of two to divide columns by whose products and squares would leave the range of doubles; else 1."""
    largest = np.abs(values).max(axis=0)
    is_extreme = (largest > MOST_EXTREME) | ((largest < 1 / MOST_EXTREME) & (largest > 0))
    return np.asarray(np.where(is_extreme, np.exp2(np.round(np.log2(np.where(is_extreme, largest, 1.0)))), 1.0))


def _is_over(settings: LawSettings) -> bool:
    return time.perf_counter() > settings.end or settings.check()


def features_that_matter(
    X: Matrix, y: Matrix, weight: Matrix | None, seed: int, is_over: Callable[[], bool] = lambda: False
) -> NDArray[np.intp]:
    """Places of the features that trees use most, in their order; all if they are few. Fewer trees if time is up."""
    if X.shape[1] <= MOST_FEATURES:
        return np.arange(X.shape[1])
    some = stream(seed, "trees").permutation(len(y))[:N_ROWS_OF_TREES]
    forests = import_module("sklearn.ensemble")  # which loads more than imports of the package may
    rows = _in_single(X[some]), y[some], None if weight is None else weight[some]
    trees = forests.ExtraTreesRegressor(0, min_samples_leaf=2, random_state=seed % 2**31, n_jobs=1, warm_start=True)
    for n_trees in range(N_AT_ONCE, N_TREES + 1, N_AT_ONCE):
        trees.set_params(n_estimators=n_trees).fit(*rows)
        if is_over():
            break
    return np.sort(np.argsort(-trees.feature_importances_, kind="stable")[:MOST_FEATURES])


def _in_single(X: Matrix) -> Matrix:
    """Columns that single precision, which trees compute in, has room for."""
    largest = np.abs(X).max(axis=0)
    is_extreme = (largest > MOST_IN_SINGLE) | ((largest < 1 / MOST_IN_SINGLE) & (largest > 0))
    return np.asarray(X / np.where(is_extreme, largest, 1.0))


class Searched(NamedTuple):
    """What a fit keeps for another choice.

    `entries` of every target; `importances` of theirs, (n_entries, n_columns); `held_out_target` is the first target
    on the rows held out, None if it was read from a file; `reasons` are why the searches ended.
    """

    entries: list[list[Entry]]
    fallbacks: list[float]
    importances: list[Matrix]
    held_out_target: Matrix | None
    reasons: list[str]

    def places(self, rule: str | int) -> list[int]:
        """Which entry of each target a rule picks."""
        return [
            choose(entries, rule, is_law=reason in LAWS)
            for entries, reason in zip(self.entries, self.reasons, strict=True)
        ]

    def chosen(self, rule: str | int) -> list[Entry]:
        """An entry of each target."""
        return [entries[place] for entries, place in zip(self.entries, self.places(rule), strict=True)]

    def model(self, task: Task, rule: str | int) -> ProgramModel:
        """What predicts with them."""
        return model_of(task, self.fallbacks, self.chosen(rule))

    def importances_of(self, rule: str | int) -> Matrix:
        """Of the columns, in the mean of the targets; they sum to one, or are zero if no column acts."""
        chosen = [own[place] for own, place in zip(self.importances, self.places(rule), strict=True)]
        total = np.sum(chosen, axis=0)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def said_held_out(self) -> list[Matrix]:
        """What entries of the first target said of the rows held out."""
        return [entry.held_out for entry in self.entries[0]]

    def with_held_out(self, target: Matrix, said: Sequence[Matrix]) -> Searched:
        """With what a file does not hold."""
        first = [replace(entry, held_out=own) for entry, own in zip(self.entries[0], said, strict=True)]
        return self._replace(entries=[first, *self.entries[1:]], held_out_target=target)

    def document(self) -> list[Document]:
        """For a model file: a front for each target."""
        return [
            {
                "fallback": fallback,
                "reason": reason,
                "entries": [_entry_document(*own) for own in zip(entries, importances, strict=True)],
            }
            for entries, fallback, importances, reason in zip(
                self.entries, self.fallbacks, self.importances, self.reasons, strict=True
            )
        ]


def _entry_document(entry: Entry, importances: Matrix) -> Document:
    measures = np.array([entry.error, entry.held_out_error, entry.held_out_margin, entry.description, entry.criterion])
    found = optional_numbers(np.where(np.isfinite(measures), measures, np.nan))
    return {
        "forest": forest_to_document(entry.forest),
        "program": int(entry.root),
        "size": entry.size,
        **dict(zip(_MEASURES, found, strict=True)),
        "importances": importances.tolist(),
    }


_MEASURES = ("error", "held_out_error", "held_out_margin", "description_length", "criterion")


def searched_from(
    fronts: Sequence[Entries],
    task: Task,
    n_features: int,
    n_columns: int,
    primitives: PrimitiveSet,
    allowance: Allowance,
) -> Searched:
    """Undo `Searched.document`."""
    if len(fronts) != task.n_targets or not all(front.items("entries") for front in fronts):
        raise ValueError(f"the file has {len(fronts)} fronts for {task.n_targets} targets, or fronts without entries.")
    entries, importances = [], []
    for front in fronts:
        own = front.each("entries")
        entries.append([_entry_from(each, n_features, primitives, allowance) for each in own])
        importances.append(np.array([each.numbers("importances", n_columns) for each in own]))
    fallbacks = [front.number("fallback") for front in fronts]
    return Searched(entries, fallbacks, importances, None, [front.text("reason") for front in fronts])


def _entry_from(own: Entries, n_features: int, primitives: PrimitiveSet, allowance: Allowance) -> Entry:
    forest = forest_from_document(own.entries("forest"), n_features, primitives, allowance)
    root, size = own.whole("program", 0, len(forest) - 1), own.whole("size", 1)
    error, held_out_error, margin, description, criterion = (own.number(name, is_optional=True) for name in _MEASURES)
    return Entry(forest, root, size, error, held_out_error, margin, description, criterion, np.zeros(0))


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
