"""What the data look like, and what in them may mislead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import labels_of
from symgrove.estimators.input import columns_of
from symgrove.inspection._input import some_rows
from symgrove.models.columns import TableColumn
from symgrove.models.date_text import shown_date
from symgrove.report.rows import ReportRows
from symgrove.report.words import number, percent

Matrix = NDArray[np.float64]
ALMOST = 0.999  # rank correlation from which on a feature is suspected to be the target, or another feature
MOST_FEATURES = 200  # for which pairs are compared
MOST_ROWS = 5000
RARE = 0.05  # share of a class


class Column(NamedTuple):
    """A feature or the target in numbers."""

    name: str
    n_distinct: int
    low: str
    middle: str
    high: str
    missing: str = ""


class DataSummary(NamedTuple):
    """Sizes, columns and warnings."""

    n_rows: int
    n_features: int
    target: Column
    columns: list[Column]
    warnings: list[str]


def summarise(model: Estimator, rows: ReportRows) -> DataSummary:
    """Look at all rows that were given."""
    table, y, names = np.asarray(rows.X), rows.y, labels_of(model)
    own = columns_of(model)
    columns = [_summary(column, table[:, j]) for j, column in enumerate(own)]
    X = own.filled(table)
    is_classifier = isinstance(model, Classifier)
    target = _classes(rows.target.name, y) if is_classifier else _column(rows.target.name, y)
    found = [*_duplicates(X, y), *_constants(X, names), *_leaks(X, y, names, is_classifier=is_classifier)]
    found += _twins(X, names) if len(names) <= MOST_FEATURES else []
    found += _rare_classes(y) if is_classifier else []
    found += _too_few(X, rows)
    return DataSummary(len(X), len(names), target, columns, found)


def _column(name: str, values: Matrix) -> Column:
    low, middle, high = (number(v, 6) for v in (values.min(), np.median(values), values.max()))
    return Column(name, np.unique(values).size, low, middle, high)


def _summary(column: TableColumn, values: Matrix) -> Column:
    """Of a column; its most frequent values, if they are categories."""
    known = values[~np.isnan(values)]
    n_missing = values.size - known.size
    missing = f"{n_missing:,} ({percent(n_missing / values.size)})" if n_missing else ""
    if column.categories is None:
        known = known if known.size else np.array([column.fill])
        found = _column(column.name, known)
        if column.date is not None:
            low, middle, high = map(shown_date, (known.min(), np.floor(np.median(known)), known.max()))
            found = found._replace(low=low, middle=middle, high=high)
        return found._replace(missing=missing)
    labels = [*column.categories, "(other)"]
    codes, counts = np.unique(known.astype(np.intp), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:5]
    shares = ", ".join(f"{labels[codes[i]]}: {counts[i] / values.size:.0%}" for i in order)
    return Column(column.name, codes.size, shares, "", "", missing)


def _classes(name: str, y: NDArray[Any]) -> Column:
    labels, counts = np.unique(y, return_counts=True)
    shares = ", ".join(f"{label}: {n / len(y):.0%}" for label, n in zip(labels[:10], counts[:10], strict=True))
    return Column(name, labels.size, shares, "", "")


def _duplicates(X: Matrix, y: NDArray[Any]) -> list[str]:
    n = len(X) - len(np.unique(X, axis=0))
    if not n:
        return []
    codes = np.unique(y, return_inverse=True)[1].astype(np.float64)
    n_equal = len(X) - len(np.unique(np.column_stack([X, codes]), axis=0))
    other = f"; {n - n_equal} of them with another target" if n > n_equal else ""
    start = f"{n} rows have" if n > 1 else "One row has"
    return [f"{start} the same features as another row{other}. If copies are on both sides of a split, scores lie."]


def _constants(X: Matrix, names: list[str]) -> list[str]:
    constant = [name for j, name in enumerate(names) if (X[:, j] == X[0, j]).all()]
    return [f"Columns that never change: {', '.join(constant)}."] if constant else []


def _leaks(X: Matrix, y: NDArray[Any], names: list[str], *, is_classifier: bool) -> list[str]:
    """Features that tell the target almost alone."""
    rows = some_rows(len(X), MOST_ROWS, 0)
    suspects = []
    for j, name in enumerate(names):
        values = X[rows, j]
        if is_classifier:
            tells = np.unique(values).size > 1 and _tells_classes(values, y[rows])
        else:
            tells = abs(_rank_correlation(values, y[rows].astype(np.float64))) > ALMOST
        if tells:
            suspects.append(name)
    if not suspects:
        return []
    return [f"Almost the target itself: {', '.join(suspects)}. Would these be known when predictions are made?"]


def _tells_classes(values: Matrix, y: NDArray[Any]) -> bool:
    """Whether sorting the rows by a feature sorts them by class."""
    if y.size < 30:
        return False
    order = np.argsort(values, kind="stable")
    labels, sorted_values = y[order], values[order]
    changes = labels[1:] != labels[:-1]
    if (changes & (sorted_values[1:] == sorted_values[:-1])).any():
        return False
    return int(changes.sum()) <= np.unique(y).size - 1


def _rank_correlation(a: Matrix, b: Matrix) -> float:
    if (a == a[0]).all() or (b == b[0]).all():
        return 0.0
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def _twins(X: Matrix, names: list[str]) -> list[str]:
    rows = some_rows(len(X), MOST_ROWS, 0)
    ranks = np.apply_along_axis(rankdata, 0, X[rows])
    with np.errstate(all="ignore"):
        correlations = np.abs(np.atleast_2d(np.corrcoef(ranks.T)))
    first, second = np.nonzero(np.triu(np.nan_to_num(correlations) > ALMOST, 1))
    pairs = [f"{names[i]} and {names[j]}" for i, j in zip(first[:5], second[:5], strict=True)]
    more = f", and {first.size - 5} more pairs" if first.size > 5 else ""
    return [f"Columns that say the same: {', '.join(pairs)}{more}. Importances are shared among them."] if pairs else []


def _rare_classes(y: NDArray[Any]) -> list[str]:
    labels, counts = np.unique(y, return_counts=True)
    rare = [str(label) for label, n in zip(labels, counts, strict=True) if n / len(y) < RARE]
    return [f"Rare classes: {', '.join(rare)}. Accuracy says little about them."] if rare else []


def _too_few(X: Matrix, rows: ReportRows) -> list[str]:
    found = [] if len(rows.X_test) >= 50 else [f"Only {len(rows.X_test)} rows to judge on: scores are rough."]
    if X.shape[1] > len(X):
        found.append("More features than rows.")
    return found
