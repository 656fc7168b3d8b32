"""Predictions of Dask's collections: promises, made partition by partition where the rows are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from symgrove.shards.collections import is_collection, is_frame

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

Method = TypeVar("Method", bound=Callable[..., Any])
# Of an estimator and the arguments of a call: names of the columns of what it gives, or None for one number a row.
ColumnsOf = Callable[..., Sequence[Any] | None]


def lazily(columns_of: ColumnsOf) -> Callable[[Method], Method]:
    """A method of rows X that is also one of collections: of an array it gives one, of a frame a series or a frame."""

    def made(method: Method) -> Method:
        @wraps(method)
        def own(estimator: Estimator, X: Any, *arguments: Any, **options: Any) -> Any:
            if not is_collection(X):
                return method(estimator, X, *arguments, **options)
            check_is_fitted(estimator)
            call = _Call(estimator, method.__name__, arguments, options)
            return call.of_all(X, columns_of(estimator, *arguments, **options))

        return cast("Method", own)

    return made


class _Call:
    """A call of a method, which workers make of the rows that they have. It has one thread: they share the rows out."""

    def __init__(self, estimator: Estimator, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.estimator = copy.copy(estimator)
        self.estimator.n_jobs = 1
        self.name, self.arguments, self.options = name, arguments, options

    def of_all(self, X: Any, columns: Sequence[Any] | None) -> Any:
        """The promise."""
        kind = self.dtype
        if is_frame(X):
            return X.map_partitions(self.of_frame, columns, meta=self._as_frame(np.empty(0, kind), X._meta, columns))
        X = X.rechunk({1: -1})
        empty = np.empty((0,) if columns is None else (0, len(columns)), dtype=kind)
        if columns is None:
            return X.map_blocks(self.of_rows, columns, dtype=kind, drop_axis=1, meta=empty)
        return X.map_blocks(self.of_rows, columns, dtype=kind, chunks=(X.chunks[0], (len(columns),)), meta=empty)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of classes, theirs."""
        labels = getattr(self.estimator, "classes_", None)
        return np.dtype(np.float64) if labels is None or self.name != "predict" else labels.dtype

    def of_rows(self, X: Any, columns: Sequence[Any] | None) -> NDArray[Any]:
        """Of some rows; there may be none."""
        if not len(X):
            return np.empty((0,) if columns is None else (0, len(columns)), dtype=self.dtype)
        found: NDArray[Any] = getattr(self.estimator, self.name)(X, *self.arguments, **self.options)
        return found

    def of_frame(self, X: Any, columns: Sequence[Any] | None) -> Any:
        """The same with the index of the frame."""
        return self._as_frame(self.of_rows(X, columns), X, columns)

    def _as_frame(self, values: NDArray[Any], X: Any, columns: Sequence[Any] | None) -> Any:
        import pandas

        index = X.index[: len(values)]
        if columns is None:
            return pandas.Series(values, index=index, name="prediction")
        return pandas.DataFrame(values.reshape(-1, len(columns)), index=index, columns=list(columns))
