"""`symgrove report`: a page about a model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, read_model, tell
from symgrove.cli.options import Data, Dates, Decimal, InputFormat, Separator, Sheet
from symgrove.cli.outputs import check_output, naming

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator


def report(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    target: Annotated[
        str | None, typer.Option(help="Column with the target; needed if the model was saved in Python.")
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="The rows of the fit, if the data do not hold them: a file like the data.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page; the name of the model file by default.")] = None,
    coverage: Annotated[float, typer.Option(help="Of the intervals that are shown.")] = 0.9,
    input_format: InputFormat = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
) -> None:
    """Write a page about a model: scores beside other models, plots, formulas, a what-if panel, code to copy.

    Rows that the model was fitted on are recognised; the others judge it.
    """
    with clean_errors():
        from symgrove.cli.tables import TableFormat, read_table
        from symgrove.report.build import report as build

        check_output(output, {"the model": model, "the data": data, "the training rows": train})
        estimator = read_model(model)
        given = TableFormat(input_format, separator, sheet, decimal, dates)
        X, y = _rows(estimator, read_table(data, given), target)
        known = None if train is None else _rows(estimator, read_table(train, given._replace(kind=None)), target)
        with naming(output):
            build(
                estimator,
                X,
                y,
                path=output,
                train=known,
                title=title or model.stem,
                coverage=coverage,
                model_file=model,
            )
        tell(f"written: {output}")


def _rows(estimator: Estimator, table: Any, target: str | None) -> tuple[Any, Any]:
    """Columns and target of the rows that are used."""
    from symgrove.cli.preparation import check_column, rows_for
    from symgrove.estimators.fitted import table_of, target_names_of

    if target_names_of(estimator):
        raise ValueError("a report is about a model of one target; fit a model for each.")
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
