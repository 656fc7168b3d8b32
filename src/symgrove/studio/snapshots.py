"""What is shown of a fit under way: the formulas found so far, by size and error, and what the best says of some rows.

a search        its own front
an ensemble     the members that are better than all smaller ones
a Grove         sums of a few of its terms that imitate it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.compression.fewer_terms import short_sums
from symgrove.models.coding import coded
from symgrove.models.columns import TableColumns, plain_columns
from symgrove.models.front import Front, FrontPoint
from symgrove.models.model import Model, Names
from symgrove.models.program_model import ProgramModel
from symgrove.models.shown import Shown
from symgrove.models.stack import Stack
from symgrove.models.table_frame import TableFrame
from symgrove.models.task import Task
from symgrove.models.team_members import front_point

Matrix = NDArray[np.float64]
MOST_SHOWN = 300  # rows whose predictions are shown
MOST_TERMS = 8  # of a Grove's sums
MOST_POINTS = 24  # of a front
LONGEST_TEXT = 400
LEAST_SHARE = 1e-9


class ShownRows(NamedTuple):
    """Some of the rows of the fit: columns, and targets as numbers or places of classes."""

    X: TableFrame
    targets: Matrix


class ShownFormula(NamedTuple):
    """A formula with its number of nodes; `said` is what it predicts for the rows, or `error` is known.

    `is_best`: it is the one to show alone, if that is not the one with the lowest error.
    """

    size: int
    formula: Shown
    said: Matrix | None = None
    error: float = np.nan
    is_best: bool = False


class Snapshot(NamedTuple):
    """Formulas from small to large, each better than all smaller ones; what the whole says of the first rows."""

    front: list[dict[str, Any]]
    said: list[list[float]]


def error_of(task: Task, targets: Matrix, said: Matrix) -> float:
    """Root mean squared error, or the mean log loss of the share of the second of two classes."""
    with np.errstate(all="ignore"):
        if task.classes is None:
            return float(np.sqrt(np.mean((said - targets) ** 2)))
        shares = np.clip(said, LEAST_SHARE, 1 - LEAST_SHARE)
        return float(-np.mean(np.where(targets > 0, np.log(shares), np.log1p(-shares))))


class Snapshots:
    """Makes snapshots of one fit.

    Parameters
    ----------
    rows : ShownRows
    columns : callable
        How features are made of columns; known once the fit has begun.
    names : callable
        Of the features, likewise.
    """

    def __init__(self, rows: ShownRows, columns: Callable[[], TableColumns], names: Callable[[], Names]) -> None:
        self.rows = rows
        self._columns, self._names = columns, names
        self._written: dict[tuple[int, float], dict[str, Any]] = {}

    def of(self, found: Model | Sequence[FrontPoint]) -> Snapshot:
        """Of a model, or of the front of a search."""
        columns = self._columns()
        features = columns.features(coded(self.rows.X, columns))
        if isinstance(found, Model):
            has_front = len(found.predict(features[:1])) == 1  # of several classes, there are several
            candidates = _candidates(found, features, self._names()) if has_front else []
            task, said = found.task, found.predict(features[:MOST_SHOWN])
        else:
            chosen = found.chosen if isinstance(found, Front) else None
            best = min(found, key=lambda point: point.description_length) if chosen is None else found[chosen]
            candidates = [ShownFormula(own.size, own, error=own.error, is_best=own is best) for own in found]
            task, said = best.model.task, best.model.predict(features[:MOST_SHOWN])
        return Snapshot(self._front(task, candidates), self._said(task, said))

    def _front(self, task: Task, candidates: Sequence[ShownFormula]) -> list[dict[str, Any]]:
        measured = [
            own if own.said is None else own._replace(error=error_of(task, self.rows.targets, own.said))
            for own in candidates
        ]
        kept: list[ShownFormula] = []
        for own in sorted(measured, key=lambda each: (each.size, each.error)):
            if np.isfinite(own.error) and (not kept or own.error < kept[-1].error * (1 - 1e-4)):
                kept.append(own)
        if len(kept) > MOST_POINTS:
            places = {*np.linspace(0, len(kept) - 1, MOST_POINTS).round().astype(int).tolist()}
            kept = [own for place, own in enumerate(kept) if place in places or own.is_best]
        best = max(range(len(kept)), key=lambda place: (kept[place].is_best, place), default=None)
        self._written = {(own.size, own.error): self._write(own) for own in kept}  # most are those of before
        return [{**own, "is_best": place == best} for place, own in enumerate(self._written.values())]

    def _write(self, own: ShownFormula) -> dict[str, Any]:
        known = self._written.get((own.size, own.error))
        return known or {"size": own.size, "error": rounded(own.error), **written(own.formula)}

    def _said(self, task: Task, said: Matrix) -> list[list[float]]:
        """Targets with predictions; of classes, the place of the right one with the share that it is given."""
        targets = self.rows.targets[:MOST_SHOWN]
        if task.classes is None:
            shown = said[0]
        else:
            shares = np.stack([1 - said[0], said[0]]) if len(said) == 1 else said / np.maximum(said.sum(axis=0), 1e-12)
            shown = shares[targets.astype(int), np.arange(targets.size)]
        return [[rounded(t), rounded(s)] for t, s in zip(targets.tolist(), shown.tolist(), strict=True)]


def rounded(value: float) -> float:
    """Five digits are enough to look at."""
    return float(f"{value:.5g}")


def written(formula: Shown) -> dict[str, str]:
    """A formula as text and, unless it is long, as mathematics."""
    text = formula.brief()
    shown = formula.brief(as_mathml=True)
    is_mathematics = shown.startswith("<math>") and shown.endswith("</math>")
    return {
        "text": text[:LONGEST_TEXT] + (" ..." if len(text) > LONGEST_TEXT else ""),
        "mathml": shown * is_mathematics,
    }


@singledispatch
def _candidates(model: Model, features: Matrix, names: Names) -> list[ShownFormula]:
    return []


@_candidates.register
def _(model: ProgramModel, features: Matrix, names: Names) -> list[ShownFormula]:
    said, lowest, found = model.predict_members(features)[0], np.inf, []
    for own in sorted(model.members(names), key=lambda each: (each.evolved_size, each.in_bag_error)):
        if own.in_bag_error < lowest:  # to count the nodes that are shown takes a while
            lowest = own.in_bag_error
            found.append(ShownFormula(own.size, own, said[own.samples[0]]))
    return found


@_candidates.register
def _(model: Stack, features: Matrix, names: Names) -> list[ShownFormula]:
    points = [
        (front_point(short, names, plain_columns([])), short) for short in short_sums(model, features, MOST_TERMS)
    ]
    return [ShownFormula(point.size, point, short.predict(features)[0]) for point, short in points]
