"""Where the model is wrong: the worst rows, and segments of the rows with the largest errors."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import classes_of, labels_of
from symgrove.estimators.input import columns_of
from symgrove.models.columns import TableColumn
from symgrove.models.date_text import shown_date
from symgrove.report.features import Looked
from symgrove.report.rows import ReportRows
from symgrove.report.words import number, percent

Matrix = NDArray[np.float64]
N_WORST = 8
N_COLUMNS = 6  # that rows are shown with, and cut by
N_SEGMENTS = 4  # of a number
FEWEST = 10  # rows of a segment


class Segment(NamedTuple):
    """Rows with something in common: how many, and how large their error is."""

    column: str
    values: str
    n_rows: int
    error: str
    bias: str
    share: float  # of the largest error in the table, for a bar


class Mistakes(NamedTuple):
    """Tables: the worst rows (headings, and cells), and segments; what the error is, and what makes a row bad."""

    headings: list[str]
    worst: list[list[str]]
    segments: list[Segment]
    error: str
    badness: str


def find_mistakes(model: Estimator, rows: ReportRows, looked: Looked) -> Mistakes:
    """On the rows that judge."""
    X, y = np.asarray(rows.X_test), rows.y_test
    classes = classes_of(model)
    shown = looked.order[:N_COLUMNS]
    if classes is None:
        predicted = model.predict(rows.X_test)
        errors, bias = np.abs(y - predicted), predicted - y
        said, told, name = [number(v) for v in predicted], [number(v) for v in y], "mean absolute error"
    else:
        shares = model.predict_proba(rows.X_test)  # type: ignore[attr-defined]
        own = shares[np.arange(len(y)), np.searchsorted(classes, y)]
        best = shares.argmax(axis=1)
        errors, bias = (classes[best] != y).astype(np.float64), np.full(len(y), np.nan)
        said = [f"{classes[k]} ({percent(share[k])})" for k, share in zip(best, shares, strict=True)]
        told, name = [str(label) for label in y], "share of wrong classes"
    badness = errors if classes is None else 1 - own
    meant = "with the largest errors" if classes is None else "whose true class was given the lowest probability"
    columns, labels = columns_of(model).columns, labels_of(model)
    headings = [rows.target.name, "predicted", *(labels[j] for j in shown)]
    worst = [
        [told[i], said[i], *(_shown_value(columns[j], X[i, j]) for j in shown)]
        for i in np.argsort(-badness, kind="stable")[:N_WORST]
    ]
    write = number if classes is None else percent
    found = [
        (labels[j], values, int(own.sum()), float(errors[own].mean()), float(bias[own].mean()))
        for j in shown
        for values, own in _segments(columns[j], X[:, j])
        if own.sum() >= FEWEST
    ]
    found.sort(key=lambda segment: -segment[3])
    largest = max((segment[3] for segment in found), default=0.0) or 1.0
    segments = [
        Segment(c, v, n, write(error), "" if np.isnan(b) else number(b), error / largest) for c, v, n, error, b in found
    ]
    return Mistakes(headings, worst, segments, name, meant)


def _shown_value(column: TableColumn, value: float) -> str:
    if np.isnan(value):
        return "missing"
    if column.categories is not None:
        return column.categories[int(value)] if value < len(column.categories) else "(other)"
    return shown_date(value) if column.date is not None else number(value, 6)


def _segments(column: TableColumn, values: Matrix) -> list[tuple[str, NDArray[np.bool_]]]:
    """Rows of each category, or of quarters of a number's values, and those where it is missing."""
    is_missing = np.isnan(values)
    known = values[~is_missing]
    found: list[tuple[str, NDArray[np.bool_]]] = [("missing", is_missing)] if is_missing.any() else []
    if not known.size:
        return found
    distinct = np.unique(known)
    if column.categories is not None or distinct.size <= N_SEGMENTS:
        return found + [(_shown_value(column, value), values == value) for value in distinct]
    cuts = np.unique(np.quantile(known, np.linspace(0, 1, N_SEGMENTS + 1)))
    for low, high in pairwise(cuts):
        is_last = high == cuts[-1]
        own = (values >= low) & ((values <= high) if is_last else (values < high))
        text = f"{_shown_value(column, low)} to {'' if is_last else 'below '}{_shown_value(column, high)}"
        found.append((text, own))
    return found
