"""Options that commands share which read a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(help="CSV, TSV (also .gz), Excel or Parquet file with a header; - for standard input.")
]
ModelFile = Annotated[Path, typer.Argument(help="A model file.")]
TargetOfModel = Annotated[
    str | None,
    typer.Option("--target", help="Column with the target; models that the command line made know theirs."),
]
Digits = Annotated[
    int | None,
    typer.Option(min=1, max=17, help="Digits of numbers in formulas; by default what the data justify."),
]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict; several, separated by commas.")]
Features = Annotated[str, typer.Option(help="Only these columns, separated by commas.")]
Ignore = Annotated[str, typer.Option(help="Leave these columns out, separated by commas.")]
Missing = Annotated[str, typer.Option(help="Missing values: median (fill in, and note it), drop (the rows), error.")]
Text = Annotated[str, typer.Option(help="Columns of text: one-hot (categories), drop (the columns), error.")]
InputFormat = Annotated[str | None, typer.Option(help="csv, tsv, xlsx or parquet, if the name does not tell.")]
Separator = Annotated[str | None, typer.Option(help="Between fields of a CSV file, if it is not found out.")]
Sheet = Annotated[str | None, typer.Option(help="The sheet of an Excel workbook, if it is not the first.")]
Categorical = Annotated[
    str, typer.Option(help="Columns of categories, such as codes that are numbers, separated by commas.")
]
Decimal = Annotated[
    str | None, typer.Option(help="Before decimals: . or , (a comma). By default, what the numbers show.")
]
Dates = Annotated[
    str | None, typer.Option(help="The order in dates with the year last: dmy or mdy. By default, what they show.")
]
TransformTarget = Annotated[
    str | None,
    typer.Option(
        "--transform-target",
        help="Fit the logarithm of the target (log), or the power of it that suits best (box-cox); predictions are in "
        "its own units.",
    ),
]
MaxErrorIncrease = Annotated[
    float,
    typer.Option(
        min=0, help="How much higher the smaller model's error may be, as a share, on rows held out of the choice."
    ),
]
Seed = Annotated[int, typer.Option(help="Same seed, same model.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
