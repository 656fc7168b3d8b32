"""`symgrove distill`: from a model to one formula that imitates it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, echo, print_json, read_model, tell
from symgrove.cli.fronts import print_fronts
from symgrove.cli.options import (
    Data,
    Dates,
    Decimal,
    Digits,
    InputFormat,
    ModelFile,
    Seed,
    Separator,
    Sheet,
    TargetOfModel,
)
from symgrove.cli.outputs import check_model_output

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator


def distill(
    model: ModelFile,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the formula as a model in this file.")
    ] = None,
    target: TargetOfModel = None,
    max_size: Annotated[int, typer.Option(min=1, help="The most nodes of the formula.")] = 30,
    effort: Annotated[str, typer.Option(help="Of the search: full (up to half a minute) or quick.")] = "full",
    digits: Digits = None,
    input_format: InputFormat = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Find one formula that imitates a model; print it, its score beside the model's, and those of other sizes.

    Any rows will do. Those that the model was not fitted on judge, if they have the target.
    """
    with clean_errors():
        from symgrove.cli.fit import save_model
        from symgrove.cli.tables import TableFormat, read_table
        from symgrove.compression.distillation import distill as teach
        from symgrove.compression.one_formula import in_one_formula

        check_model_output(output, {"the model": model, "the data": data}, "the formula goes")
        estimator = read_model(model)
        table = read_table(data, TableFormat(input_format, separator, sheet, decimal, dates))
        name, X, y = _rows(estimator, table, target)
        found = teach(estimator, X, y, max_size=max_size, effort=effort, random_state=seed)
        place = None if output is None else save_model(found.model, output)
        one, front = in_one_formula(found), {"target": None, "points": found.path.rows("text", digits)}
        if as_json:
            print_json({"model": place, "one_formula": one.values(digits=digits), "front": front["points"]})
        else:
            echo(one.sentence(name, digits))
            print_fronts([front])
            if place is not None:
                tell(f"written: {place}")


def _rows(estimator: Estimator, table: Any, target: str | None) -> tuple[str | None, Any, Any]:
    """The target's name, columns, and the target if it is there."""
    from symgrove.cli.labelled_rows import labelled_rows
    from symgrove.cli.preparation import rows_for
    from symgrove.estimators.fitted import table_of

    name: str | None = target or (table_of(estimator) or {"target": None})["target"]
    if target is not None or name in table.given:
        return name, *labelled_rows(estimator, table, name)
    tell("note: the target is not in the data, so the formula is judged by the model's predictions")
    X, _, notes = rows_for(estimator, table)
    for note in notes:
        tell(f"note: {note.replace('have no prediction', 'are left out')}")
    return name, X, None
