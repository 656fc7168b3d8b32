"""Controls for the features, so that a reader can ask what the model would predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import plan_of
from symgrove.estimators.input import columns_of
from symgrove.models.columns import TableColumns
from symgrove.report.contributions import rows_beside
from symgrove.report.rows import ReportRows
from symgrove.report.words import number

MOST_SHOWN = 12  # controls that are open at first
N_STEPS = 200
MOST_ROWS, MOST_VALUES = 1000, 50_000  # of the data, for the page to hold
FEW_VALUES = 10  # different values up to which a feature may be a category


def controls(model: Estimator, rows: ReportRows, coverage: float) -> dict[str, Any]:
    """What the script of the page needs: a control for each column, a row to start from, rows to choose from."""
    columns, table = columns_of(model), np.asarray(rows.X)
    filled = columns.filled(table)
    complete = np.flatnonzero(~np.isnan(table).any(axis=1))
    chosen = _typical(filled, columns.categorical, complete if complete.size else np.arange(len(table)))
    start = columns.values(table[[chosen]])[0].tolist()
    found = []
    for j, (column, importance) in enumerate(zip(columns, model.feature_importances_.tolist(), strict=True)):
        if column.categories is None:
            own = _number(column.name, j, filled[:, j], start[j], importance)
            found.append(own | {"fill": float(filled[chosen, j]), "is_date": column.date is not None})
        else:
            found.append(_choice(columns, j, start[j]) | {"importance": importance})
    found.sort(key=lambda control: -control["importance"])
    used = np.flatnonzero(model.feature_importances_ > 0).tolist()
    settings = {"controls": found, "n_shown": MOST_SHOWN, "coverage": coverage, "start": start}
    n_rows = min(MOST_ROWS, max(1, MOST_VALUES // len(columns)))
    settings |= {
        "rows": [list(row) for row in columns.values(table[:n_rows])],
        "truths": [str(label) if isinstance(model, Classifier) else number(label) for label in rows.y[:n_rows]],
        "target": rows.target.name,
    }
    return settings | {"columns": used, "beside": rows_beside(model, rows), "nSteps": len(plan_of(model).steps)}


def _choice(columns: TableColumns, j: int, start: str | None) -> dict[str, Any]:
    """A list of the categories; other values, and none, are choices too."""
    column = columns.columns[j]
    known = column.categories or ()
    codes = np.full((1, len(columns)), np.nan)
    codes[0, j] = len(known)
    options = [*((c, c) for c in known), ("(other)", columns.values(codes)[0, j]), ("(missing)", None)]
    places = [value for _, value in options]
    return {"kind": "choice", "name": column.name, "feature": j, "options": options, "value": places.index(start)}


def _typical(X: Any, categorical: list[int], rows: Any) -> int:
    """Of some rows, and of these with the most frequent categories, the one whose numbers are nearest to the medians.

    A feature with few values, such as 0 and 1, is the farther away the rarer its value is. The logarithm makes that
    comparable: of normal numbers, the squared distance is minus twice that of the density beside the highest one.
    """
    for j in categorical:
        rows = rows[X[rows, j] == _most_frequent(X[rows, j])]
    distances = [_distance(X[:, j])[rows] for j in range(X.shape[1]) if j not in categorical]
    return int(rows[np.argmin(sum(distances, np.zeros(rows.size)))])


def _most_frequent(values: Any) -> Any:
    found, counts = np.unique(values, return_counts=True)
    return found[np.argmax(counts)]


def _distance(values: Any) -> Any:
    """How far each value of a feature is from a typical one, squared."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    if counts.size <= FEW_VALUES and counts.size < len(values) / 2:
        return -2 * np.log(counts / counts.max())[places]
    return ((values - np.median(values)) / (values.std() or 1.0)) ** 2


def _round_number(value: float) -> float:
    """1, 2 or 5 times a power of ten, about as large."""
    if not value > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(f"{max(f for f in (1, 2, 5) if f * power <= value * (1 + 1e-9)) * power:.6g}")


def _number(name: str, j: int, values: Any, start: float | None, importance: float) -> dict[str, Any]:
    low, high = float(values.min()), float(values.max())
    is_whole = bool((values == np.round(values)).all()) and high - low < 1e9
    step = _round_number((high - low) / N_STEPS)
    step = max(1.0, step) if is_whole else step
    if high > low:
        low, high = (float(f"{step * turn(v / step):.15g}") for turn, v in ((np.floor, low), (np.ceil, high)))
    return {
        "kind": "number",
        "name": name,
        "feature": j,
        "low": low,
        "high": high,
        "step": step,
        "value": start,
        "importance": importance,
    }
