"""`symgrove predict`: a table with predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, print_json, read_model, tell
from symgrove.cli.options import Data, Dates, Decimal, InputFormat, ModelFile, Separator, Sheet
from symgrove.cli.outputs import check_output, print_bytes, writing

if TYPE_CHECKING:
    from symgrove.cli.tables import DataTable
    from symgrove.estimators.base import Estimator


def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write; - for standard output.")] = "-",
    only: Annotated[
        bool, typer.Option("--only", help="Only the predictions, without the columns of the table.")
    ] = False,
    probabilities: Annotated[bool, typer.Option("--proba", help="Of classes, the probability of each too.")] = False,
    spread: Annotated[bool, typer.Option("--std", help="Of numbers, the members' standard deviation too.")] = False,
    interval: Annotated[
        float | None,
        typer.Option(help="Of numbers, lower and upper ends of intervals with this coverage, such as 0.9."),
    ] = None,
    input_format: InputFormat = None,
    output_format: Annotated[
        str | None, typer.Option(help="csv, tsv, xlsx or parquet, if the name does not tell.")
    ] = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
    as_json: Annotated[bool, typer.Option("--json", help="Columns as JSON on standard output.")] = False,
) -> None:
    """Predict the rows of a table, whose values may be missing, and whose categories may be new."""
    with clean_errors():
        from symgrove.cli.large_tables import check_apart, data_set_of, free_names, predict_data_set
        from symgrove.cli.preparation import rows_for
        from symgrove.cli.tables import TableFormat, format_of, read_table, table_as_bytes

        if as_json and output != "-":
            raise ValueError("--json goes to standard output; leave out --output.")
        check_output(output, {"the model": model, "the data": data})
        kind = format_of(output, output_format)
        estimator = read_model(model)
        form = TableFormat(input_format, separator, sheet, decimal, dates)
        files = data_set_of(data, form)
        if files is not None:
            if as_json:
                raise ValueError("--json is for tables in memory; predictions of a data set go to a file.")
            check_apart(output, data)
            own = _OfTables(estimator, probabilities=probabilities, spread=spread, interval=interval)
            predict_data_set(files, output, kind, own, only=only)
            return
        table = read_table(data, form)
        X, rows, notes = rows_for(estimator, table)
        for note in notes:
            tell(f"note: {note}")
        columns = _answers(estimator, X, probabilities=probabilities, spread=spread, interval=interval)
        # What is only passed on stays as it was written; Parquet and Excel want numbers.
        has_types = as_json or kind in ("parquet", "xlsx")
        kept = {} if only else {n: _typed(table, n) if has_types else v for n, v in table.given.items()}
        for name, values in free_names(columns, list(kept)).items():
            kept[name] = _spread_out(values, rows, table.n_rows)
        if as_json:
            print_json(kept)
        elif output == "-":
            print_bytes(table_as_bytes(kept, kind))
        else:
            content = table_as_bytes(kept, kind, output)
            with writing(output) as temporary:
                temporary.write_bytes(content)


class _OfTables:
    """Columns of answers for tables, one after the other; what must be told is told once."""

    def __init__(self, estimator: Estimator, **wanted: Any) -> None:
        self.estimator, self.wanted = estimator, wanted
        self.told: set[str] = set()

    def __call__(self, table: DataTable) -> dict[str, list[Any]]:
        from symgrove.cli.preparation import rows_for

        X, rows, notes = rows_for(self.estimator, table)
        for note in notes:
            if note not in self.told:
                tell(f"note: {note}")
        self.told |= {*notes}
        columns = _answers(self.estimator, X, **self.wanted)
        return {name: _spread_out(values, rows, table.n_rows) for name, values in columns.items()}


def _answers(
    estimator: Estimator, X: Any, *, probabilities: bool, spread: bool, interval: float | None
) -> dict[str, list[Any]]:
    from symgrove.estimators.classifier import Classifier
    from symgrove.estimators.fitted import target_names_of
    from symgrove.estimators.regressor import Regressor

    if probabilities and not isinstance(estimator, Classifier):
        raise ValueError("--proba is for classes; this model predicts numbers.")
    if spread and not isinstance(estimator, Regressor):
        raise ValueError("--std is for numbers; this model predicts classes.")
    if interval is not None and not isinstance(estimator, Regressor):
        raise ValueError("--interval is for numbers; this model predicts classes.")
    columns = target_names_of(estimator)
    found = _named("prediction", columns, estimator.predict(X).T.tolist() if len(X) else [])
    if spread and isinstance(estimator, Regressor):
        found |= _named("std", columns, estimator.predict(X, return_std=True)[1].T.tolist() if len(X) else [])
    if interval is not None and isinstance(estimator, Regressor):
        ends = estimator.predict_interval(X, interval).tolist() if len(X) else []
        found |= {"lower": [low for low, _ in ends], "upper": [high for _, high in ends]}
    if probabilities and isinstance(estimator, Classifier):
        shares = estimator.predict_proba(X).T.tolist() if len(X) else [[] for _ in estimator.classes_]
        found |= {f"probability of {label}": own for label, own in zip(estimator.classes_, shares, strict=True)}
    return found


def _named(what: str, columns: Sequence[str], values: list[Any]) -> dict[str, list[Any]]:
    """A column of the answer, or one for each of several targets."""
    if not columns:
        return {what: values}
    return dict(zip((f"{what} of {name}" for name in columns), values or [[] for _ in columns], strict=True))


def _typed(table: Any, name: str) -> list[Any]:
    """A column of texts as numbers, if they all are; other values as they are."""
    given: list[Any] = table.given[name]
    return table.as_given(name) if all(isinstance(v, str) for v in given) else given


def _spread_out(values: list[Any], rows: list[int], n_rows: int) -> list[Any]:
    """Values of some rows, None for the others."""
    full: list[Any] = [None] * n_rows
    for i, value in zip(rows, values, strict=False):
        full[i] = value
    return full
