"""From a search to a front: formulas of every size, judged on rows that the search did not see, fitted on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.law.findings import Found
from symgrove.methods.law.fitting import error_of, fit
from symgrove.methods.law.formulas import LAW_FUNCTIONS, RowSet
from symgrove.methods.law.search import Outcome

Matrix = NDArray[np.float64]
N_STEPS = 20
RULES = ("mdl", "one_se", "accuracy")


@dataclass(frozen=True)
class Entry:
    """A formula of the front.

    Attributes
    ----------
    forest, root
        The formula with its constants, in a forest of the features.
    size : int
    error : float
        Mean squared error on all training rows.
    held_out_error, held_out_margin : float
        Mean squared error of the formula as it was before it was fitted on all rows, on the rows held out, and its
        standard error; NaN if there are no such rows.
    description : float
        Bits of the formula, and of the rows that were searched on, with it.
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
    held_out: Matrix


def entries_of(
    outcome: Outcome, rows: RowSet, held_out: RowSet, features: Sequence[int], n_features: int
) -> list[Entry]:
    """The front with constants of all rows; `features` are places in the user's rows of those that were searched.

    An entry that is larger than another and no better on all rows is left out.
    """
    found = [_entry(outcome, own, rows, held_out, features, n_features) for own in outcome.found]
    kept: list[Entry] = []
    for entry in sorted(found, key=lambda each: (each.size, each.error)):
        if not kept or entry.error < kept[-1].error:
            kept.append(entry)
    return kept


def _entry(
    outcome: Outcome, own: Found, rows: RowSet, held_out: RowSet, features: Sequence[int], n_features: int
) -> Entry:
    formulas = outcome.formulas
    predicted = formulas.predict(own.root, held_out, own.values)
    with np.errstate(all="ignore"):
        squares = held_out.residuals(np.where(np.isfinite(predicted), predicted, rows.mean)) ** 2
        held_out_error = np.nan, np.nan
        if squares.size:
            held_out_error = squares.mean(), squares.std() / np.sqrt(squares.size)
    fitted = fit(formulas, own.root, rows, own.values, N_STEPS)
    values, error = (
        fitted if np.isfinite(fitted.error) else (own.values, error_of(formulas, own.root, rows, own.values))
    )
    forest = Forest(n_features, PrimitiveSet(LAW_FUNCTIONS))
    root = formulas.in_forest(own.root, values, forest, features)
    description = outcome.findings.description(own.error, own.bits)
    mean_square, margin = held_out_error
    return Entry(forest, root, own.size, error, float(mean_square), float(margin), description, predicted)


def in_units(entry: Entry, features: Matrix, target: float) -> Entry:
    """An entry of features and a target that were divided by units, in a forest of them as they were.

    Its size stays that without units.
    """
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
    return Entry(forest, root, entry.size, error, held_out_error, margin, entry.description, held_out)


def choose(entries: Sequence[Entry], rule: str | int) -> int:
    """Which entry a rule picks.

    mdl: the shortest description among those that are within one standard error of the best on the rows held out;
    one_se: the smallest of those; accuracy: the best on the rows held out; a number: the largest of at most this size.
    Without rows held out, every rule takes the shortest description.
    """
    if not isinstance(rule, str):
        fitting = [i for i, entry in enumerate(entries) if entry.size <= rule]
        return fitting[-1] if fitting else 0
    known = [i for i, entry in enumerate(entries) if np.isfinite(entry.held_out_error)]
    if not known:
        return min(range(len(entries)), key=lambda i: entries[i].description)
    best = min(known, key=lambda i: entries[i].held_out_error)
    if rule == "accuracy":
        return best
    margin = entries[best].held_out_margin
    most = entries[best].held_out_error + (margin if np.isfinite(margin) else 0.0)
    near = [i for i in known if entries[i].held_out_error <= most]
    return near[0] if rule == "one_se" else min(near, key=lambda i: entries[i].description)
