"""Columns as a user gives them, of arrays, pandas and polars frames, as a coded table (models/columns.py).

Categories are compared as texts: 3, 3.0 and "3" are the same category, True is "True".
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.models.columns import TableColumn, TableColumns
from symgrove.models.table_frame import TableFrame

Matrix = NDArray[np.float64]
_NO_NUMBERS = ("m", "M", "c")  # kinds of NumPy's types: time spans, dates, complex numbers


def raw_columns(X: Any) -> list[Any]:
    """The columns of a frame, or of something like a matrix."""
    if hasattr(X, "columns"):
        return [X[name] for name in X.columns]
    matrix = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if matrix.ndim != 2:
        raise ValueError(f"X must be a matrix or a frame, got an array of shape {matrix.shape}. Reshape your data.")
    return list(matrix.T)


def coded(X: Any, columns: TableColumns) -> Matrix:
    """Rows for a fitted model: places of the categories that it knows, numbers as they are."""
    given = _read_texts(raw_columns(X), columns)
    table = _numbers(given, [c.name for c in columns], [c.categories is not None for c in columns])
    for j in columns.categorical:
        column = columns.columns[j]
        table[:, j] = _places(texts_of(given[j], column.name), column)
    return table


def values_of(X: Any, columns: TableColumns) -> NDArray[Any]:
    """The rows as objects: numbers, texts of categories, None where a value is missing."""
    found = []
    for values, column in zip(_read_texts(raw_columns(X), columns), columns, strict=True):
        if column.categories is None:
            found.append([None if math.isnan(v) else v for v in numbers_of(values).tolist()])
        else:
            found.append(texts_of(values, column.name))
    return np.array(found, dtype=object).T


def _read_texts(given: list[Any], columns: TableColumns) -> list[Any]:
    """Columns with numbers where the model knows how texts are numbers."""
    return [
        values
        if column.text_format is None or getattr(getattr(values, "dtype", None), "kind", "O") in "fiu"
        else column.text_format.numbers(values, column.name)
        for values, column in zip(given, columns, strict=True)
    ]


def coded_for_fit(X: Any, names: Sequence[str], is_categorical: Sequence[bool]) -> tuple[Matrix, TableColumns]:
    """All rows, and columns that know all categories in them, sorted, and nothing else."""
    given = raw_columns(X)
    table = _numbers(given, names, is_categorical)
    formats = X.formats if isinstance(X, TableFrame) else {}
    found = [TableColumn(name, text_format=formats.get(name)) for name in names]
    for j in np.flatnonzero(is_categorical).tolist():
        texts = texts_of(given[j], names[j])
        found[j] = TableColumn(names[j], categories=tuple(sorted({t for t in texts if t is not None})))
        table[:, j] = _places(texts, found[j])
    return table, TableColumns(tuple(found))


def _numbers(given: list[Any], names: Sequence[str], is_categorical: Sequence[bool]) -> Matrix:
    """A table with the columns of numbers, or a ValueError that names those that hold something else."""
    table = np.empty((len(given[0]) if given else 0, len(given)), order="F")
    wrong = []
    for j, (values, name) in enumerate(zip(given, names, strict=True)):
        if not is_categorical[j]:
            try:
                table[:, j] = numbers_of(values)
            except (TypeError, ValueError):
                wrong.append(name)
    if wrong:
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(map(repr, wrong))}. If they hold categories, convert them "
            f"(pandas: X[{wrong[0]!r}].astype('category'), polars: cast to Categorical) or name them in "
            "categorical_features; else drop them or turn them into numbers."
        )
    return table


def has_categories(values: Any) -> bool:
    """Whether a column says by its type that it holds categories: pandas' category, polars' Categorical and Enum."""
    dtype = getattr(values, "dtype", None)
    return getattr(dtype, "name", None) == "category" or str(dtype).startswith(("Categorical", "Enum"))


def _is_of_pandas(values: Any) -> bool:
    """Whether a column is a series of pandas, which need not be installed."""
    return any(kind.__module__.startswith("pandas.") for kind in type(values).__mro__)


def numbers_of(values: Any) -> NDArray[Any]:
    """A column of numbers, NaN where there is none; a ValueError or TypeError if it holds something else."""
    if getattr(getattr(values, "dtype", None), "kind", "") in _NO_NUMBERS:
        raise ValueError("dates, time spans and complex numbers are no numbers.")
    if _is_of_pandas(values) and not has_categories(values):
        found: NDArray[Any] = values.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas' missing values too
        return found
    array = np.asarray(values)
    if array.dtype.kind in _NO_NUMBERS:
        raise ValueError("dates, time spans and complex numbers are no numbers.")
    return array.astype(np.float64, copy=False)


def texts_of(values: Any, name: str = "") -> list[str | None]:
    """Categories as texts, None where there is none."""
    if _is_of_pandas(values) and has_categories(values):  # as many texts as there are categories
        known = [category_text(c) for c in values.cat.categories]
        return [None if k < 0 else known[k] for k in values.cat.codes.tolist()]
    array = np.asarray(values, dtype=object) if isinstance(values, (list, tuple)) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} must hold a category for each row, got an array of shape {array.shape}.")
    texts: dict[tuple[type, Any], str | None] = {}
    found = []
    for value in array.tolist():
        key = (value.__class__, value)  # True is 1 for a dictionary
        try:
            if key not in texts:
                texts[key] = category_text(value)
        except TypeError:
            raise ValueError(f"column {name!r} holds {value!r:.60}, which is no category.") from None
        found.append(texts[key])
    return found


def category_text(value: Any) -> str | None:
    """The text that stands for a category; None for what is missing."""
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return str(value)


def _places(texts: list[str | None], column: TableColumn) -> Matrix:
    """Places of the categories: one past the last for others, NaN where there is none."""
    categories = column.categories or ()
    place: dict[str | None, float] = {c: float(k) for k, c in enumerate(categories)}
    place[None] = np.nan
    return np.array([place.get(text, float(len(categories))) for text in texts], dtype=np.float64)
