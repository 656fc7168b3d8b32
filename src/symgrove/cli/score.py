"""`symgrove score`: how good a model's predictions are."""

from __future__ import annotations

from typing import Annotated

import typer

from symgrove.cli._common import clean_errors, echo, print_json, read_model
from symgrove.cli.options import Data, Dates, Decimal, InputFormat, ModelFile, Separator, Sheet, TargetOfModel
from symgrove.cli.outputs import check_printable

KINDS = {
    "new": "rows that the model was not fitted on",
    "fit": "rows of the fit (too good)",
    "not known": "rows, of which it is not known whether the model was fitted on them",
}


def score(
    model: ModelFile,
    data: Data,
    target: TargetOfModel = None,
    input_format: InputFormat = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Score a model on a table with the target. Rows that it was fitted on are recognised, and scored apart."""
    with clean_errors():
        from symgrove.cli.labelled_rows import labelled_rows
        from symgrove.cli.tables import TableFormat, read_table
        from symgrove.inspection.scores import score_rows

        check_printable()
        estimator = read_model(model)
        table = read_table(data, TableFormat(input_format, separator, sheet, decimal, dates))
        found = score_rows(estimator, *labelled_rows(estimator, table, target))
        if as_json:
            print_json([{"rows": own.rows, "n_rows": own.n_rows, **own.scores} for own in found])
            return
        for own in found:
            echo(f"{own.n_rows:,} {KINDS[own.rows]}")
            for name, value in own.scores.items():
                echo(f"  {value:9.4g}  {name}")
