"""Controls for the features, so that a reader can ask what the model would predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import labels_of, table_of
from symgrove.report.rows import ReportRows

MOST_SHOWN = 12  # controls that are open at first
N_STEPS = 200
FEW_VALUES = 10  # different values up to which a feature may be a category


def controls(model: Estimator, rows: ReportRows, coverage: float) -> dict[str, Any]:
    """What the script of the page needs: a control for each feature, or for each column of texts."""
    names = labels_of(model)
    X = rows.X
    importances = dict(zip(names, model.feature_importances_.tolist(), strict=True))
    grouped = _groups(model, names)
    start = X[_typical(X, [[names.index(f) for f in features] for features in grouped.values()])]
    found = []
    inside = {feature for features in grouped.values() for feature in features}
    for name, features in grouped.items():
        places = [names.index(f) for f in features]
        chosen = int(np.argmax(start[places]))
        found.append(
            {
                "kind": "choice",
                "name": name,
                "features": places,
                "options": [f.partition("=")[2] for f in features],
                "value": chosen if start[places[chosen]] > 0 else -1,
                "importance": sum(importances[f] for f in features),
            }
        )
    for j, name in enumerate(names):
        if name not in inside:
            found.append(_number(name, j, X[:, j], float(start[j]), importances[name]))
    found.sort(key=lambda control: -control["importance"])
    return {"controls": found, "n_shown": MOST_SHOWN, "coverage": coverage, "start": start.tolist()}


def _typical(X: Any, groups: list[list[int]]) -> int:
    """Of the rows with the most frequent categories, the one whose numbers are nearest to the medians.

    A feature with few values, such as 0 and 1, is the farther away the rarer its value is. The logarithm makes that
    comparable: of normal numbers, the squared distance is minus twice that of the density beside the highest one.
    """
    rows = np.arange(len(X))
    for places in groups:
        own = X[rows][:, places]
        codes = np.where(own.any(axis=1), own.argmax(axis=1), -1)
        rows = rows[codes == _most_frequent(codes)]
    grouped = {place for places in groups for place in places}
    distances = [_distance(X[:, j])[rows] for j in range(X.shape[1]) if j not in grouped]
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


def _groups(model: Estimator, names: list[str]) -> dict[str, list[str]]:
    """Columns of texts, with the features of 0 and 1 that the command line made of them."""
    table = table_of(model) or {"sources": []}
    found = {}
    for source in table["sources"]:
        if source.get("categories"):
            features = [f"{source['name']}={category}" for category in source["categories"]]
            if all(feature in names for feature in features):
                found[source["name"]] = features
    return found


def _round_number(value: float) -> float:
    """1, 2 or 5 times a power of ten, about as large."""
    if not value > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(f"{max(f for f in (1, 2, 5) if f * power <= value * (1 + 1e-9)) * power:.6g}")


def _number(name: str, j: int, values: Any, start: float, importance: float) -> dict[str, Any]:
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
