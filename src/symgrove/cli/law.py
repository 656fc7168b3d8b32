"""`symgrove law`: from a table to a front of formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from symgrove.cli._common import INTERRUPTED, clean_errors, echo, names_of, print_json, tell
from symgrove.cli.fronts import end_of, fronts_as_values, print_fronts
from symgrove.cli.options import (
    Categorical,
    Data,
    Dates,
    Decimal,
    Features,
    Ignore,
    InputFormat,
    Missing,
    Quiet,
    Seed,
    Separator,
    Sheet,
    Target,
    Text,
    TransformTarget,
)
from symgrove.cli.outputs import check_model_output


def law(
    data: Data,
    target: Target,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save the model in this file too.")] = None,
    max_time: Annotated[
        float | None, typer.Option(help="Seconds after which the search ends with what it has.")
    ] = None,
    choose: Annotated[
        str, typer.Option(help="Which formula predicts: auto, mdl, one_se, accuracy, or the number of nodes at most.")
    ] = "auto",
    functions: Annotated[
        str | None, typer.Option(help="Functions that formulas may have, separated by commas; none: arithmetic only.")
    ] = None,
    digits: Annotated[int, typer.Option(min=1, max=17, help="Digits of numbers in formulas.")] = 4,
    features: Features = "",
    ignore: Ignore = "",
    categorical_features: Categorical = "",
    missing: Missing = "median",
    text: Text = "one-hot",
    input_format: InputFormat = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
    transform_target: TransformTarget = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="The front as JSON.")] = False,
) -> None:
    """Look for one short formula; print the best of every size.

    Ctrl-C ends the search and shows what was found so far (exit code 130).
    """
    with clean_errors():
        from symgrove.cli import preparation as p
        from symgrove.cli.fit import fitted, parse_value, save_model, transform_of
        from symgrove.cli.tables import TableFormat, read_table
        from symgrove.estimators import LawRegressor

        missing = p.checked_options(missing, text, "regression")
        check_model_output(output, {"the data": data}, "the front goes")
        wanted = p.TableOptions(target, names_of(features), names_of(ignore), missing, text, "regression")
        table = read_table(data, TableFormat(input_format, separator, sheet, decimal, dates))
        given = p.prepare(table, wanted, names_of(categorical_features))
        own: dict[str, Any] = {"max_time": max_time, "choose": parse_value(choose), "random_state": seed}
        own |= transform_of(transform_target, "regression")
        if functions is not None:
            own["functions"] = () if functions == "none" else tuple(names_of(functions))
        model, seconds = fitted(LawRegressor, given, {**own, "verbose": 0 if quiet else 1}, is_quiet=quiet)
        place = None if output is None else save_model(model, output)
        fronts = fronts_as_values(model, "text", digits)
        if as_json:
            print_json({"stopped_by": model.stop_reason_, "seconds": seconds, "model": place, "fronts": fronts})
        else:
            echo(f"{end_of(model.stop_reason_)} ({seconds:.1f} s)")
            print_fronts(fronts)
            if place is not None:
                tell(f"written: {place}")
        if model.stop_reason_ == "interrupted":
            raise typer.Exit(INTERRUPTED)
