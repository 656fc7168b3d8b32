"""`symgrove export`: a model in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, echo, read_model, tell
from symgrove.cli.options import Dates, Decimal, InputFormat, ModelFile, Seed, Separator, Sheet, TargetOfModel
from symgrove.cli.outputs import check_output, naming, print_bytes

if TYPE_CHECKING:
    from symgrove.cli.tables import TableFormat
    from symgrove.estimators.base import Estimator

TARGETS = ("python", "c", "javascript", "sql", "excel", "onnx", "text", "latex", "sympy")


def export(
    model: ModelFile,
    to: Annotated[str, typer.Option(help="One of " + ", ".join(TARGETS), autocompletion=lambda: list(TARGETS))],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write; - for standard output.")] = "-",
    table: Annotated[str | None, typer.Option(help="sql: the table to read.")] = None,
    dialect: Annotated[str | None, typer.Option(help="sql: sqlite or duckdb.")] = None,
    keep: Annotated[str | None, typer.Option(help="sql: columns to pass on, separated by commas.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="excel: rows to leave room for.")] = None,
    dtype: Annotated[str | None, typer.Option(help="onnx: float64 or float32, of input and output.")] = None,
    max_error_increase: Annotated[
        float | None,
        typer.Option(help="Make the model smaller first: how much higher its error may be, as a share (0.01)."),
    ] = None,
    data: Annotated[str | None, typer.Option(help="A table with the target, to make it smaller with.")] = None,
    target: TargetOfModel = None,
    input_format: InputFormat = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
    seed: Seed = 0,
) -> None:
    """Write a model in another language; it computes what `symgrove predict` does."""
    with clean_errors():
        from symgrove.cli.tables import TableFormat
        from symgrove.export.targets import LANGUAGES, language_of

        name = language_of(to)
        given = {"table": table, "dialect": dialect, "n_rows": rows, "dtype": dtype}
        options: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
        if keep is not None:
            options["keep"] = [column.strip() for column in keep.split(",") if column.strip()]
        if LANGUAGES[name].makes == "file" and output == "-":
            raise ValueError(f"an export to {name} is a file; name it with -o.")
        if (max_error_increase is None) != (data is None):
            raise ValueError("--max-error-increase and --data go together: rows with the target make a model smaller.")
        check_output(output, {"the model": model} if data is None else {"the model": model, "the data": data})
        estimator = read_model(model)
        if max_error_increase is not None and data is not None:
            file_format = TableFormat(input_format, separator, sheet, decimal, dates)
            estimator = _smaller(estimator, max_error_increase, data, file_format, target, seed)
        with naming(output):
            made = estimator.export(name, None if output == "-" else output, **options)
        if output != "-":
            tell(f"written: {output}")
        elif name == "onnx":
            print_bytes(made.SerializeToString())
        else:
            echo(str(made).rstrip("\n"))


def _smaller(
    estimator: Estimator, max_error_increase: float, data: str, file_format: TableFormat, target: str | None, seed: int
) -> Estimator:
    """As of `symgrove simplify`; a note says what is left."""
    from symgrove.cli.labelled_rows import labelled_rows
    from symgrove.cli.tables import read_table
    from symgrove.compression.smaller import simplify_ensemble

    X, y = labelled_rows(estimator, read_table(data, file_format), target)
    found = simplify_ensemble(estimator, X, y, max_error_increase=max_error_increase, random_state=seed)
    tell(f"made smaller: {found}")
    return found.model
