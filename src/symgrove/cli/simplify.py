"""`symgrove simplify`: a smaller model of fewer members or terms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symgrove.cli._common import clean_errors, echo, print_json, read_model, tell
from symgrove.cli.fronts import front_lines
from symgrove.cli.options import (
    Data,
    Dates,
    Decimal,
    Digits,
    InputFormat,
    MaxErrorIncrease,
    ModelFile,
    Seed,
    Separator,
    Sheet,
    TargetOfModel,
)
from symgrove.cli.outputs import check_model_output

LONGEST_FORMULA = 300  # characters: sums of hundreds of terms would push the table off the screen


def simplify(
    model: ModelFile,
    data: Data,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save the smaller model in this file.")] = None,
    target: TargetOfModel = None,
    max_error_increase: MaxErrorIncrease = 0.01,
    max_size: Annotated[
        int | None, typer.Option(min=1, help="The most nodes, even if the error rises more than that.")
    ] = None,
    digits: Digits = None,
    input_format: InputFormat = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Choose some of a model's members, or of a Grove's terms; print sizes and errors, and save the chosen model.

    Rows with the target decide, best ones that the model was not fitted on; for a Grove, those of the fit beside them.
    """
    with clean_errors():
        from symgrove.cli.fit import save_model
        from symgrove.cli.labelled_rows import labelled_rows
        from symgrove.cli.tables import TableFormat, read_table
        from symgrove.compression.smaller import simplify_ensemble
        from symgrove.estimators.fitted import transformed_names_of

        check_model_output(output, {"the model": model, "the data": data}, "sizes and errors go")
        estimator = read_model(model)
        table = read_table(data, TableFormat(input_format, separator, sheet, decimal, dates))
        X, y = labelled_rows(estimator, table, target)
        found = simplify_ensemble(
            estimator, X, y, max_error_increase=max_error_increase, max_size=max_size, random_state=seed
        )
        place = None if output is None else save_model(found.model, output)
        sizes = {
            "size_before": sum(m.size for m in estimator.ensemble_),
            "n_parts_before": found.n_parts_before,
            "error_before": found.error_before,
            "rows": found.rows,
            "n_rows": found.n_rows,
        }
        points = found.path.rows("text", digits)
        if as_json:
            print_json({"model": place, **sizes, "size": found.path[found.chosen].size, "front": points})
            return
        transformed = next(iter(transformed_names_of(estimator)), None)
        echo(f"{found}" + (f" (errors of {transformed})" if transformed else ""))
        for line in front_lines({"target": transformed, "points": points}, LONGEST_FORMULA):
            echo(line)
        if place is not None:
            tell(f"written: {place}")
