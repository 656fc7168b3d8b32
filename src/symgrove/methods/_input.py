"""Checks of X that scikit-learn leaves to others: errors that name the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_FEATURE = 1e150  # squares of larger values overflow


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
    is_bad = ~np.isfinite(X).all(axis=0)
    if is_bad.any():
        found = [str(names[int(k)]) if names is not None else f"column {k}" for k in np.flatnonzero(is_bad)]
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        kind = "NaN" if np.isnan(X).any() else "infinity"
        raise ValueError(
            f"X contains {kind} in {shown}. Drop those rows or fill them in, for example with "
            "sklearn.impute.SimpleImputer."
        )
    is_huge = np.abs(X).max(axis=0, initial=0.0).astype(np.float64) > LARGEST_FEATURE
    if is_huge.any():
        k = int(np.argmax(is_huge))
        label = str(names[k]) if names is not None else f"column {k}"
        raise ValueError(f"X has values above {LARGEST_FEATURE:g} in {label}, whose squares overflow. Rescale it.")
