"""`symgrove report`: a page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symgrove.cli._common import clean_errors, read_model, tell
from symgrove.cli.options import Data, Dates, Decimal, InputFormat, ModelFile, Quiet, Separator, Sheet, TargetOfModel
from symgrove.cli.outputs import check_output, naming


def report(
    model: ModelFile,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    target: TargetOfModel = None,
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
    quiet: Quiet = False,
) -> None:
    """Write a page about a model: scores beside other models, plots, formulas, a what-if panel, code to copy.

    Rows that the model was fitted on are recognised; the others judge it.
    """
    with clean_errors():
        from symgrove.cli.labelled_rows import labelled_rows
        from symgrove.cli.tables import TableFormat, read_table
        from symgrove.report.build import report as build

        check_output(output, {"the model": model, "the data": data, "the training rows": train})
        estimator = read_model(model)
        given = TableFormat(input_format, separator, sheet, decimal, dates)
        X, y = labelled_rows(estimator, read_table(data, given), target)
        known = (
            None if train is None else labelled_rows(estimator, read_table(train, given._replace(kind=None)), target)
        )
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
                verbose=0 if quiet else 1,
            )
        tell(f"written: {output}")
