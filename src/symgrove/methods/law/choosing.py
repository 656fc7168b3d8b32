"""From a search to a front: formulas of every size, judged on rows that the search did not see, fitted on all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.law.findings import Findings, Found
from symgrove.methods.law.fitting import error_of, fit
from symgrove.methods.law.formulas import LAW_FUNCTIONS, RowSet
from symgrove.methods.law.search import Outcome

Matrix = NDArray[np.float64]
N_STEPS = 20
RULES = ("auto", "mdl", "one_se", "accuracy")
# How many standard errors behind the best on the rows held out a formula may be; auto and mean: without a law.
N_ERRORS = {"auto": 0.5, "one_se": 1.0, "mean": 2.0, "mdl": 2.0}
PRICE_OF_A_NODE = 2.0  # as Akaike's criterion has it for parameters
LEAST_ERROR = 1e-300
LARGEST_CHOSEN = 60  # nodes, unless the user asks for more


@dataclass(frozen=True)
class Entry:
    """A formula of the front.

    Attributes
    ----------
    forest, root
        The formula with its constants, in a forest of the features.
    size : int
        Nodes of the SymPy expression of the formula as it is shown.
    error : float
        Mean squared error on all training rows.
    held_out_error, held_out_margin : float
        Mean squared error on rows held out, of the formula as it was before it was fitted on all rows, and of the best
        formulas up to its size of other searches; and the standard error of the difference to the best entry. NaN if
        there are no such rows.
    description : float
        Bits of the formula, and of the rows that were searched on, with it.
    criterion : float
        Akaike's information criterion, with nodes as the search counts them for parameters, of all rows, and of those
        held out once more, as they were not fitted then. NaN if there were several searches, whose held out rows are
        all.
    held_out : (n_held_out,)
        What it predicted for the rows held out; nothing if it was read from a file.
    """

    forest: Forest
    root: int
    size: int
    error: float
    held_out_error: float
    held_out_margin: float
    description: float
    criterion: float
    held_out: Matrix


class Fold(NamedTuple):
    """What a search has found, and rows that it did not see."""

    outcome: Outcome
    rows: RowSet


def entries_of(
    folds: Sequence[Fold],
    rows: RowSet,
    features: Sequence[int],
    n_features: int,
    measure: Callable[[Entry], int],
    max_size: int | None = None,
) -> list[Entry]:
    """The front of the first fold with constants of all rows.

    `features` are places in the user's rows of those that were searched. An entry that is larger than another and no
    better on all rows is left out: as the search counts nodes, and as `measure` does, in formulas as they are shown.
    """
    found = _improving([_entry(folds, own, rows, features, n_features) for own in folds[0].outcome.found])
    shown = _improving([replace(entry, size=measure(entry)) for entry in found])
    if max_size is not None:  # as they are shown, some are larger than the search thought
        shown = [entry for entry in shown if entry.size <= max_size] or shown[:1]
    return _with_margins(shown, folds, rows)


def _improving(entries: Sequence[Entry]) -> list[Entry]:
    """From small to large, those that are better than all smaller ones."""
    kept: list[Entry] = []
    for entry in sorted(entries, key=lambda each: (each.size, each.error)):
        if not kept or entry.error < kept[-1].error:
            kept.append(entry)
    return kept


def _entry(folds: Sequence[Fold], own: Found, rows: RowSet, features: Sequence[int], n_features: int) -> Entry:
    outcome = folds[0].outcome
    formulas = outcome.formulas
    fitted = fit(formulas, own.root, rows, own.values, N_STEPS)
    values, error = (
        fitted if np.isfinite(fitted.error) else (own.values, error_of(formulas, own.root, rows, own.values))
    )
    forest = Forest(n_features, PrimitiveSet(LAW_FUNCTIONS))
    root = formulas.in_forest(own.root, values, forest, features)
    description = outcome.findings.description(own.error, own.bits)
    said = np.concatenate([
        fold.outcome.formulas.predict(each.root, fold.rows, each.values)
        for fold, each in zip(folds, (own, *(_best_up_to(own.size, fold.outcome) for fold in folds[1:])), strict=True)
    ])  # fmt: skip
    return Entry(forest, root, own.size, error, np.nan, np.nan, description, PRICE_OF_A_NODE * own.size, said)


def entry_so_far(findings: Findings, own: Found, features: Sequence[int], n_features: int) -> Entry:
    """A formula of a search that goes on: its error is of the rows that it searches on, of others nothing is known."""
    forest = Forest(n_features, PrimitiveSet(LAW_FUNCTIONS))
    root = findings.formulas.in_forest(own.root, own.values, forest, features)
    description = findings.description(own.error, own.bits)
    return Entry(forest, root, own.size, own.error, np.nan, np.nan, description, np.nan, np.zeros(0))


def _best_up_to(size: int, outcome: Outcome) -> Found:
    """The smallest if all are larger."""
    return max((own for own in outcome.found if own.size <= size), key=lambda own: own.size, default=outcome.found[0])


def _with_margins(entries: Sequence[Entry], folds: Sequence[Fold], rows: RowSet) -> list[Entry]:
    """With errors on the rows held out; where a formula has no value, the target's mean counts."""
    ends = np.cumsum([fold.rows.n_rows for fold in folds])
    if not entries or not ends[-1]:
        return [replace(entry, criterion=np.nan) for entry in entries]
    with np.errstate(all="ignore"):
        said = [np.split(np.where(np.isfinite(own.held_out), own.held_out, rows.mean), ends[:-1]) for own in entries]
        squares = np.array([
            np.concatenate([fold.rows.residuals(part) for fold, part in zip(folds, parts, strict=True)]) ** 2
            for parts in said
        ])  # fmt: skip
        errors = squares.mean(axis=1)
        margins = (squares - squares[np.nanargmin(errors)]).std(axis=1) / np.sqrt(ends[-1])
        logs = np.log(np.maximum([[own.error for own in entries], errors], LEAST_ERROR))
        criteria = rows.n_rows * logs[0] + ends[-1] * logs[1]
        criteria += [own.criterion for own in entries]  # what their nodes cost
    if len(folds) > 1:
        criteria[:] = np.nan
    return [
        replace(entry, held_out_error=float(error), held_out_margin=float(margin), criterion=float(criterion))
        for entry, error, margin, criterion in zip(entries, errors, margins, criteria, strict=True)
    ]


def in_units(entry: Entry, features: Matrix, target: float) -> Entry:
    """An entry of features and a target that were divided by units, in a forest of them as they were."""
    forest = Forest(entry.forest.n_features, PrimitiveSet(LAW_FUNCTIONS))
    made: dict[int, int] = {}
    for node in entry.forest.reachable([entry.root]):
        name = entry.forest.name(node)
        if name == "feature":
            j = int(entry.forest.columns.left[node])
            own = forest.feature(j)
            made[node] = own if features[j] == 1 else forest.apply("plain_div", own, forest.constant(features[j]))
        elif name == "constant":
            made[node] = forest.constant(float(entry.forest.columns.value[node]))
        else:
            made[node] = forest.apply(name, *(made[child] for child in entry.forest.children(node)))
    root = made[entry.root]
    if target != 1:
        root = forest.apply("mul", forest.constant(target), root)
    with np.errstate(all="ignore"):
        error, held_out_error, margin = (
            float(target * own * np.float64(target))
            for own in (entry.error, entry.held_out_error, entry.held_out_margin)
        )
        held_out = entry.held_out * target
    return Entry(forest, root, entry.size, error, held_out_error, margin, entry.description, entry.criterion, held_out)


def choose(entries: Sequence[Entry], rule: str | int, *, is_law: bool) -> int:
    """Which entry a rule picks.

    mdl: the shortest description among those that are within two standard errors of the best on the rows held out;
    one_se: the smallest within one; accuracy: the best on the rows held out; auto: mdl if the search has found a law,
    else, of at most sixty nodes, the first entry, which is mostly the mean, if it is within two, else, of those within
    two, the best by its criterion, or, where there is none, the smallest within half a standard error; a number: the
    largest of at most this size. Without rows held out, every rule takes the shortest description.
    """
    if not isinstance(rule, str):
        fitting = [i for i, entry in enumerate(entries) if entry.size <= rule]
        return fitting[-1] if fitting else 0
    known = [i for i, entry in enumerate(entries) if np.isfinite(entry.held_out_error)]
    if not known:
        return min(range(len(entries)), key=lambda i: entries[i].description)
    is_short = rule == "mdl" or (rule == "auto" and is_law)
    if rule == "auto" and not is_law:
        known = [i for i in known if entries[i].size <= LARGEST_CHOSEN] or known[:1]
    best = min(known, key=lambda i: entries[i].held_out_error)
    if rule == "accuracy":
        return best
    behind = {i: entries[i].held_out_error - entries[best].held_out_error for i in known}
    is_open = rule == "auto" and not is_law
    if is_open and behind[known[0]] <= N_ERRORS["mean"] * entries[known[0]].held_out_margin:
        return known[0]
    by_criterion = is_open and not any(np.isnan(entries[i].criterion) for i in known)
    n_errors = N_ERRORS["mdl" if is_short or by_criterion else rule]
    near = [i for i in known if i == best or behind[i] <= n_errors * entries[i].held_out_margin]
    if by_criterion:
        return min(near, key=lambda i: entries[i].criterion)
    return min(near, key=lambda i: entries[i].description) if is_short else near[0]
