"""From what a user gives to checked rows: what scikit-learn checks, and errors that name the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_X_y, validate_data

from symgrove._checks import numeric_vector
from symgrove.fitness.bootstrap import check_sample_weight
from symgrove.forest.text import feature_labels
from symgrove.models.checked_rows import CheckedRows
from symgrove.models.coding import category_text, coded, coded_for_fit, has_categories, raw_columns
from symgrove.models.columns import TableColumns, plain_columns
from symgrove.models.row_blocks import row_blocks
from symgrove.models.task import Task

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

LARGEST_FEATURE = 1e150  # squares of larger values overflow
ROWS_AT_A_TIME = 4096  # that are checked


def is_foreign_frame(X: Any) -> bool:
    """A frame that is not pandas', such as polars': older scikit-learn does not see its column names."""
    return hasattr(X, "columns") and not hasattr(X, "iloc")


def check_names(names: Sequence[Any]) -> None:
    """Refuse frames with repeated names."""
    labels = [str(name) for name in names]
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise ValueError(f"X has columns of the same name: {', '.join(map(repr, repeated))}. Rename them.")


def categorical_columns(given: Any, X: Any, n_columns: int) -> list[bool]:
    """Which columns hold categories, from the parameter `categorical_features`."""
    if given is None or (isinstance(given, str) and given == "from_dtype"):
        is_asked = given is not None and hasattr(X, "columns")
        return [is_asked and has_categories(values) for values in (raw_columns(X) if is_asked else [None] * n_columns)]
    wanted = (
        "categorical_features must be 'from_dtype', None, or a list of column names, of column numbers, or of a truth "
        "value for each column"
    )
    if isinstance(given, (str, dict)) or not isinstance(given, Iterable):
        raise ValueError(f"{wanted}; got {given!r:.80}.")
    items = [v.item() if isinstance(v, np.generic) else v for v in given]
    if items and all(isinstance(v, bool) for v in items):
        if len(items) != n_columns:
            raise ValueError(f"{wanted}; got {len(items)} truth values for {n_columns} columns.")
        return items
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    chosen = set()
    for item in items:
        if isinstance(item, str) and names is None:
            raise ValueError(f"categorical_features names the column {item!r}, but X has no column names.")
        if isinstance(item, str) and names is not None and item in names:
            chosen.add(names.index(item))
        elif isinstance(item, int) and not isinstance(item, bool) and 0 <= item < n_columns:
            chosen.add(item)
        else:
            raise ValueError(f"{wanted}; got {item!r:.80}, and X has {n_columns} columns{_listed(names)}.")
    return [j in chosen for j in range(n_columns)]


def _listed(names: list[str] | None) -> str:
    return "" if names is None else ": " + ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")


def check_no_dates(name: str, values: NDArray[Any]) -> None:
    """Refuse dates and time spans, whose numbers depend on the unit that they happen to be stored in."""
    if values.dtype.kind in "mM":
        raise ValueError(
            f"{name} holds dates or time spans ({values.dtype}), which are not numbers. Convert them to numbers in a "
            "unit of your choice, for example days: (dates - dates.min()) / numpy.timedelta64(1, 'D')."
        )


def check_values(X: NDArray[Any], names: Sequence[str] | None, must_be_there: Any = False) -> None:
    """Refuse dates, infinity and huge numbers, and missing ones in some columns, naming the columns."""
    check_no_dates("X", X)
    if X.dtype.kind != "f":
        return
    # Some rows at a time: a copy of X would be large.
    parts = [X[rows] for rows in row_blocks(len(X), ROWS_AT_A_TIME)]
    largest_of: Callable[..., Any] = np.max
    if not np.all([np.isfinite(part).all() for part in parts]):
        largest_of = np.fmax.reduce  # slower, and blind to NaN
        _refuse("infinity", np.any([np.isinf(part).any(axis=0) for part in parts], axis=0), names)
        is_missing = np.any([np.isnan(part).any(axis=0) for part in parts], axis=0)
        _refuse("NaN", is_missing & must_be_there, names)
    largest = largest_of([largest_of(np.abs(part), axis=0) for part in parts], axis=0)
    is_huge = largest.astype(np.float64) > LARGEST_FEATURE
    if is_huge.any():
        label = _label(names, int(np.argmax(is_huge)))
        raise ValueError(f"X has values above {LARGEST_FEATURE:g} in {label}, whose squares overflow. Rescale it.")


def _refuse(kind: str, is_bad: NDArray[np.bool_], names: Sequence[str] | None) -> None:
    if is_bad.any():
        found = [_label(names, int(k)) for k in np.flatnonzero(is_bad)]
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        advice = "Only NaN stands for a missing value; mend those rows or drop them."
        if kind == "NaN":
            advice = "This model is of a version that took complete rows only: fill them in, or fit it again."
        raise ValueError(f"X contains {kind} in {shown}. {advice}")


def _label(names: Sequence[str] | None, k: int) -> str:
    return f"column {k}" if names is None else str(names[k])


class Checked(NamedTuple):
    """Checked training data; `positions` are those of the rows in what the user gave, of which there are `n_given`.

    X is a coded table; `columns` know all categories in it.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    positions: NDArray[np.intp]
    n_given: int
    columns: TableColumns


def read_rows(estimator: Estimator, X: Any, y: Any, sample_weight: Any, rules: dict[str, Any]) -> Checked:
    """Check training data and note the names of columns; rows of weight 0 are left out."""
    rules = {"dtype": "numeric", "ensure_all_finite": False, "estimator": estimator, **rules}
    _check_complete(y)
    is_categorical = _categorical(estimator.categorical_features, X)
    if is_categorical is None:
        table, y = _validated(estimator, X, y, **rules)
        columns = plain_columns(feature_labels(table.shape[1]))
    else:
        validate_data(estimator, X, skip_check_array=True)  # notes names, and how many columns there are
        if is_foreign_frame(X):
            estimator.feature_names_in_ = np.array(list(X.columns), dtype=object)
        labels = feature_labels(len(is_categorical), names_of(estimator))
        table, columns = coded_for_fit(X, labels, is_categorical)
        table, y = check_X_y(table, y, **rules)
    check_values(table, names_of(estimator))
    weight = None
    n_given = len(table)
    rows = np.arange(n_given)
    if sample_weight is not None:
        given = numeric_vector("sample_weight", sample_weight)
        weight = check_sample_weight(np.full(n_given, given) if given.ndim == 0 else given, n_given)
        rows = np.flatnonzero(weight)
        table, y, weight = table[rows], np.asarray(y)[rows], weight[rows]
    # One memory layout, so that frames and arrays give the same bits.
    return Checked(np.ascontiguousarray(table, dtype=np.float64), y, weight, rows, n_given, columns)


def _check_complete(y: Any) -> None:
    """Refuse texts and objects with None or pandas' own missing values, which scikit-learn stumbles over."""
    if getattr(y, "dtype", None) is None:
        return
    values = np.asarray(y)
    if values.dtype == object and any(category_text(value) is None for value in values.ravel().tolist()):
        raise ValueError("y has rows without a value; leave out rows whose target is missing.")


def ready(parts: Sequence[Any], coded_by: TableColumns, columns: TableColumns, task: Task) -> list[Any]:
    """Rows of tables that `coded_by` coded, where there are any, with features, and targets as the task has them."""
    return [
        rows and rows.transformed(task)._replace(X=columns.features(coded_by.recoded(rows.X, columns)))
        for rows in parts
    ]


def _validated(own: Estimator, /, *given: Any, **rules: Any) -> Any:
    """What scikit-learn makes of arrays; its error about texts says what to do."""
    try:
        return validate_data(own, *given, **rules)
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"X holds texts: {error}. If columns hold categories, name them in categorical_features, such as [0, 3]; "
            "else turn them into numbers."
        ) from None


def _categorical(given: Any, X: Any) -> list[bool] | None:
    """Which columns of a frame, or of an array with categories, hold these; None for arrays without."""
    if hasattr(X, "columns"):
        check_names(X.columns)
        return categorical_columns(given, X, len(X.columns))
    if given is None or (isinstance(given, str) and given == "from_dtype") or hasattr(X, "tocsr"):
        return None
    found = categorical_columns(given, X, len(raw_columns(X)))
    return found if any(found) else None


def checked_rows(estimator: Estimator, X: Any) -> NDArray[np.float64]:
    """Rows to predict, checked against what the estimator was fitted with, as a coded table."""
    if isinstance(X, CheckedRows) and X.ndim == 2 and X.shape[1] == estimator.n_features_in_:
        return np.asarray(X)
    columns = columns_of(estimator)
    names = names_of(estimator)
    if hasattr(X, "columns") or columns.takes_texts:
        if hasattr(X, "columns"):
            check_names(X.columns)
        if is_foreign_frame(X):
            if names is not None and list(X.columns) != list(names):
                raise ValueError(f"X has the columns {list(X.columns)}, but the model was fitted with {list(names)}.")
            n_given = len(X.columns)
            if n_given != len(columns):
                raise ValueError(f"X has {n_given} features, but the model was fitted with {len(columns)}.")
        else:
            validate_data(estimator, X, reset=False, skip_check_array=True)
        found = check_array(coded(X, columns), dtype=np.float64, ensure_all_finite=False)
    else:
        found = _validated(estimator, X, dtype="numeric", ensure_all_finite=False, reset=False)
    no_fill = [c.categories is None and np.isnan(c.fill) for c in columns]
    check_values(found, names, np.array(no_fill))
    table: NDArray[np.float64] = found.astype(np.float64, copy=False)
    return table


def columns_of(estimator: Estimator) -> TableColumns:
    """How features are made of columns; of older pickles, as they are."""
    found: TableColumns | None = vars(estimator).get("columns_")
    if found is None:
        found = plain_columns(feature_labels(estimator.n_features_in_, names_of(estimator)))
    return found


def names_of(estimator: Estimator) -> Sequence[str] | None:
    """Names of the columns, if they have any."""
    return getattr(estimator, "feature_names_in_", None)
