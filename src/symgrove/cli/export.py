"""`symgrove export`: a model in another language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, echo, read_model, tell
from symgrove.cli.outputs import check_output, naming, print_bytes

if TYPE_CHECKING:
    pass

TARGETS = ("python", "c", "javascript", "sql", "excel", "onnx", "text", "latex", "sympy")


def export(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    to: Annotated[str, typer.Option(help="One of " + ", ".join(TARGETS), autocompletion=lambda: list(TARGETS))],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write; - for standard output.")] = "-",
    table: Annotated[str | None, typer.Option(help="sql: the table to read.")] = None,
    dialect: Annotated[str | None, typer.Option(help="sql: sqlite or duckdb.")] = None,
    keep: Annotated[str | None, typer.Option(help="sql: columns to pass on, separated by commas.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="excel: rows to leave room for.")] = None,
    dtype: Annotated[str | None, typer.Option(help="onnx: float64 or float32, of input and output.")] = None,
) -> None:
    """Write a model in another language; it computes what `symgrove predict` does."""
    with clean_errors():
        from symgrove.export.targets import LANGUAGES, language_of

        name = language_of(to)
        given = {"table": table, "dialect": dialect, "n_rows": rows, "dtype": dtype}
        options: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
        if keep is not None:
            options["keep"] = [column.strip() for column in keep.split(",") if column.strip()]
        if LANGUAGES[name].makes == "file" and output == "-":
            raise ValueError(f"an export to {name} is a file; name it with -o.")
        check_output(output, {"the model": model})
        estimator = read_model(model)
        with naming(output):
            made = estimator.export(name, None if output == "-" else output, **options)
        if output != "-":
            tell(f"written: {output}")
        elif name == "onnx":
            print_bytes(made.SerializeToString())
        else:
            echo(str(made).rstrip("\n"))
