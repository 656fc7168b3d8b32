"""Rows of a table with the target that a model was fitted on, for commands that judge it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symgrove.cli._common import tell

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator


def labelled_rows(estimator: Estimator, table: Any, target: str | None) -> tuple[Any, Any]:
    """Columns and target of the rows that are used."""
    from symgrove.cli.preparation import check_column, rows_for
    from symgrove.estimators.fitted import table_of, target_names_of

    if target_names_of(estimator):
        raise ValueError("this is about a model of one target; fit a model for each.")
    name = target or (table_of(estimator) or {"target": None})["target"]
    if name is None:
        raise ValueError("the model file does not name the target; say which column it is with --target.")
    check_column(table, name, "the target is")
    X, rows, notes = rows_for(estimator, table)
    for note in notes:
        tell(f"note: {note.replace('have no prediction', 'are left out')}")
    column = _target_column(estimator, table, name)
    known = [i for i, row in enumerate(rows) if column[row] is not None]
    if len(known) < len(rows):
        tell(f"note: {len(rows) - len(known)} rows without a target are left out")
    values = [column[rows[i]] for i in known]
    if not values:
        raise ValueError("no row has all features and the target.")
    return X.take(known), _labels(estimator, values)


def _target_column(estimator: Estimator, table: Any, name: str) -> list[Any]:
    """The target, with None where it is missing: numbers in texts as in the fit."""
    from symgrove.estimators.fitted import table_of
    from symgrove.models.document import Entries
    from symgrove.models.number_text import number_format_from

    formats = Entries((table_of(estimator) or {}).get("formats", {}), "'formats' of the model file")
    if name in formats:
        values: list[float] = number_format_from(formats.entries(name)).numbers(table.given[name], name).tolist()
        return [None if math.isnan(v) else v for v in values]
    found: list[Any] = table.texts(name) if table.is_text(name) else table.column(name)
    return found


def _labels(estimator: Estimator, values: list[Any]) -> Any:
    """The target as the model has it: numbers, or labels of its kind."""
    import numpy as np

    from symgrove.estimators.classifier import Classifier

    if not isinstance(estimator, Classifier):
        return np.array(values, dtype=np.float64)
    kind = estimator.classes_.dtype.kind
    if kind in "iu":
        return np.array([int(v) for v in values])
    return np.array([str(v) for v in values]) if kind in "UO" else np.array(values)
