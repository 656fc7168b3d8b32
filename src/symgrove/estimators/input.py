"""From what a user gives to checked rows: what scikit-learn checks, and errors that name the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from symgrove._checks import numeric_vector
from symgrove.fitness.bootstrap import check_sample_weight
from symgrove.models.checked_rows import CheckedRows
from symgrove.models.row_blocks import row_blocks

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

LARGEST_FEATURE = 1e150  # squares of larger values overflow
ROWS_AT_A_TIME = 4096  # that are checked


def is_foreign_frame(X: Any) -> bool:
    """A frame that is not pandas', such as polars': older scikit-learn does not see its column names."""
    return hasattr(X, "columns") and not hasattr(X, "iloc")


def check_columns(X: Any, names: Sequence[Any]) -> None:
    """Refuse frames with repeated names or with columns of text, naming the columns."""
    labels = [str(name) for name in names]
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise ValueError(f"X has columns of the same name: {', '.join(map(repr, repeated))}. Rename them.")
    text = []
    for name in names:
        column = np.asarray(X[name])
        try:
            is_number = column.dtype.kind not in "mM" and column.astype(np.float64) is not None
        except (TypeError, ValueError):
            is_number = False
        if not is_number:
            text.append(str(name))
    if text:
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(map(repr, text))}. Drop or encode them, for example with "
            "sklearn.preprocessing.OneHotEncoder."
        )


def check_no_dates(name: str, values: NDArray[Any]) -> None:
    """Refuse dates and time spans, whose numbers depend on the unit that they happen to be stored in."""
    if values.dtype.kind in "mM":
        raise ValueError(
            f"{name} holds dates or time spans ({values.dtype}), which are not numbers. Convert them to numbers in a "
            "unit of your choice, for example days: (dates - dates.min()) / numpy.timedelta64(1, 'D')."
        )


def check_finite(X: NDArray[Any], names: Sequence[str] | None) -> None:
    """Refuse dates, NaN and inf, naming the columns."""
    check_no_dates("X", X)
    if X.dtype.kind != "f":
        return
    # Some rows at a time: a copy of X would be large.
    parts = [X[rows] for rows in row_blocks(len(X), ROWS_AT_A_TIME)]
    is_bad = ~np.all([np.isfinite(part).all(axis=0) for part in parts], axis=0)
    if is_bad.any():
        found = [str(names[int(k)]) if names is not None else f"column {k}" for k in np.flatnonzero(is_bad)]
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        kind = "NaN" if np.isnan(X).any() else "infinity"
        raise ValueError(
            f"X contains {kind} in {shown}. Drop those rows or fill them in, for example with "
            "sklearn.impute.SimpleImputer."
        )
    largest = np.max([np.abs(part).max(axis=0) for part in parts], axis=0)
    is_huge = largest.astype(np.float64) > LARGEST_FEATURE
    if is_huge.any():
        k = int(np.argmax(is_huge))
        label = str(names[k]) if names is not None else f"column {k}"
        raise ValueError(f"X has values above {LARGEST_FEATURE:g} in {label}, whose squares overflow. Rescale it.")


class Checked(NamedTuple):
    """Checked training data; `positions` are those of the rows in what the user gave, of which there are `n_given`."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    positions: NDArray[np.intp]
    n_given: int


def read_rows(estimator: Estimator, X: Any, y: Any, sample_weight: Any, rules: dict[str, Any]) -> Checked:
    """Check training data and note the names of features; rows of weight 0 are left out."""
    names = getattr(X, "columns", None)
    if names is not None:
        check_columns(X, names)
    if is_foreign_frame(X):
        X = np.asarray(X)
    else:
        names = None
    X, y = validate_data(estimator, X, y, dtype="numeric", ensure_all_finite=False, estimator=estimator, **rules)
    if names is not None:
        estimator.feature_names_in_ = np.array(list(names), dtype=object)
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    weight = None
    n_given = len(X)
    rows = np.arange(n_given)
    if sample_weight is not None:
        given = numeric_vector("sample_weight", sample_weight)
        weight = check_sample_weight(np.full(len(X), given) if given.ndim == 0 else given, len(X))
        rows = np.flatnonzero(weight)
        X, y, weight = X[rows], np.asarray(y)[rows], weight[rows]
    # One memory layout, so that frames and arrays give the same bits.
    return Checked(np.ascontiguousarray(X, dtype=np.float64), y, weight, rows, n_given)


def checked_rows(estimator: Estimator, X: Any) -> NDArray[np.float64]:
    """Rows to predict, checked against what the estimator was fitted with."""
    if isinstance(X, CheckedRows) and X.ndim == 2 and X.shape[1] == estimator.n_features_in_:
        return np.asarray(X)
    names = getattr(estimator, "feature_names_in_", None)
    if hasattr(X, "columns"):
        check_columns(X, X.columns)
    if is_foreign_frame(X):
        if names is not None and list(X.columns) != list(names):
            raise ValueError(f"X has the columns {list(X.columns)}, but the model was fitted with {list(names)}.")
        X = check_array(np.asarray(X), dtype="numeric", ensure_all_finite=False)
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but the model was fitted with {estimator.n_features_in_}.")
    else:
        X = validate_data(estimator, X, dtype="numeric", ensure_all_finite=False, reset=False)
    check_finite(X, names)
    found: NDArray[np.float64] = X.astype(np.float64, copy=False)
    return found
