"""`symgrove fit`: from a table to a model file."""

from __future__ import annotations

import ast
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import FAILED, INTERRUPTED, METHODS, clean_errors, echo, fail, nearest, print_json, tell
from symgrove.cli.outputs import check_output, check_printable, write_printed

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

# Parameters that options of the command set, or that only make sense in Python.
_NOT_HERE = ("callbacks", "warm_start", "n_jobs", "random_state", "verbose")


def fit(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet file with a header; - for standard input.")],
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict; several, separated by commas.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file; - for standard output.")] = Path(
        "model.json"
    ),
    method: Annotated[
        str, typer.Option(help="One of " + ", ".join(METHODS), autocompletion=lambda: list(METHODS))
    ] = "grove",
    task: Annotated[str, typer.Option(help="regression or classification; auto looks at the target.")] = "auto",
    features: Annotated[str, typer.Option(help="Only these columns, separated by commas.")] = "",
    ignore: Annotated[str, typer.Option(help="Leave these columns out, separated by commas.")] = "",
    missing: Annotated[
        str, typer.Option(help="Missing values: median (fill in, and note it), drop (the rows), error.")
    ] = "median",
    text: Annotated[
        str, typer.Option(help="Columns of text: one-hot (categories), drop (the columns), error.")
    ] = "one-hot",
    input_format: Annotated[str | None, typer.Option(help="csv, tsv or parquet, if the name does not tell.")] = None,
    separator: Annotated[str | None, typer.Option(help="Between fields of a CSV file.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads or processes; -1 for all cores.")] = -1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON.")] = False,
) -> None:
    """Evolve a model. Any parameter of the method is an option too, such as --generations 50 --functions add,mul,log.

    Ctrl-C stops the evolution and saves what was found so far (exit code 130). `symgrove parameters METHOD` lists the
    parameters of a method.
    """
    with clean_errors():
        from symgrove.cli import preparation as p
        from symgrove.cli.tables import read_table

        if missing in p.FORMER:
            tell("note: --missing mean is no more; the median stands in")
            missing = "median"
        p.check_options(missing, text, task)
        check_output(output, {"the data": data, "the checkpoint": checkpoint_of(context.args)})
        if as_json:
            check_printable()
        table = read_table(data, input_format, separator)
        targets = p.targets_of(table, target)
        names, categorical = p.choose_columns(table, targets, _names(features), _names(ignore), text)
        categorical = list(dict.fromkeys([*categorical, *categories_of(context.args)]))
        X = p.frame_of(table, names, categorical, "an option names the column")
        rows = p.complete_rows(X, missing)
        for name in targets:
            rows = _with_target(table.column(name), rows, name, missing)
        y, found_task = _targets_of(table, targets, rows, task)
        own = parse_parameters(context.args, estimator_class(method, found_task))
        if categorical:
            own["categorical_features"] = categorical
        control: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, "verbose": 0 if quiet else 1}
        model = estimator_class(method, found_task)(**own, **control)
        if not quiet:
            tell(f"{found_task} of {target!r} from {len(names)} columns, {len(rows)} rows")
        start = time.perf_counter()
        model.fit(X.take(rows), y)
        seconds = time.perf_counter() - start
        model.table_ = {"target": target, "missing": missing}
        place = save_model(model, output)
        _report(model, place, seconds, is_json=as_json, is_told=str(output) == "-")
        if model.stop_reason_ == "interrupted":
            raise typer.Exit(INTERRUPTED)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _with_target(column: list[Any], rows: list[int], target: str, missing: str) -> list[int]:
    """Rows that have a target."""
    known = [i for i in rows if column[i] is not None]
    n = len(rows) - len(known)
    if n and missing == "error":
        raise ValueError(f"{n} rows have no value of the target {target!r}. Choose --missing drop to leave them out.")
    if not known:
        raise ValueError("no complete rows are left.")
    if n:
        tell(f"note: {n} rows without a value of the target are left out")
    return known


def _targets_of(table: Any, targets: list[str], rows: list[int], task: str) -> tuple[Any, str]:
    """The target and the task; several targets are numbers, a column for each."""
    import numpy as np

    from symgrove.cli.preparation import target_of

    if len(targets) == 1:
        return target_of(table, targets[0], rows, task)
    if task == "classification":
        raise ValueError(f"classes have one target, got {len(targets)}; fit a model for each.")
    columns = [target_of(table, name, rows, "regression")[0] for name in targets]
    return NamedColumns(np.stack(columns, axis=1), targets), "regression"


class NamedColumns:
    """Numbers with names of their columns: the little of a data frame that estimators ask of several targets."""

    def __init__(self, values: Any, names: list[str]) -> None:
        self.values = values
        self.columns = names
        self.shape = values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values if dtype is None else self.values.astype(dtype)


def estimator_class(method: str, task: str) -> type[Estimator]:
    """The class of a method for a task."""
    from symgrove import estimators

    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}.{nearest(method, list(METHODS))} Accepted: {', '.join(METHODS)}.")
    name = METHODS[method] + ("Classifier" if task == "classification" else "Regressor")
    if name not in estimators.ESTIMATORS:
        raise ValueError(f"the method {method} has no {task}.")
    found: type[Estimator] = getattr(estimators, name)
    return found


def parse_parameters(words: list[str], cls: type[Estimator]) -> dict[str, Any]:
    """Parameters of an estimator from what follows the known options."""
    from symgrove.saving.parameters import defaults_of

    known = [name for name in defaults_of(cls) if name not in _NOT_HERE]
    found: dict[str, Any] = {}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("--"):
            raise ValueError(f"unexpected {word!r}; a parameter is given as --name value.")
        option, has_value, value = word.removeprefix("--").partition("=")
        name = option.replace("-", "_")
        if name not in known:
            options = [k.replace("_", "-") for k in known]
            raise ValueError(
                f"no option or parameter --{option}.{nearest(option, options)} Parameters: {', '.join(options)}."
            )
        if not has_value:
            if not waiting:
                raise ValueError(f"--{option} needs a value.")
            value = waiting.pop(0)
        found[name] = parse_value(value)
    return found


def checkpoint_of(words: list[str]) -> str | None:
    """The file of the option --checkpoint, if it is there."""
    for word, following in zip(words, [*words[1:], None], strict=False):
        if word == "--checkpoint":
            return following
        if word.startswith("--checkpoint="):
            return word.removeprefix("--checkpoint=")
    return None


def categories_of(words: list[str]) -> list[str]:
    """The columns of the option --categorical-features, if it is there."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        option, has_value, value = word.partition("=")
        if option.replace("_", "-") == "--categorical-features":
            given = value if has_value else following
            return [] if given.lower() in ("from_dtype", "none") else _names(given)
    return []


def parse_value(text: str) -> Any:
    """A number, a truth value, nothing, a list by commas, or a text."""
    words = {"true": True, "false": False, "none": None, "yes": True, "no": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    return tuple(parse_value(part.strip()) for part in text.split(",") if part.strip()) if "," in text else text


def save_model(model: Estimator, output: Path) -> str:
    """Write the model; if that fails, somewhere else rather than nowhere."""
    from symgrove.saving.estimators import to_document

    is_printed = str(output) == "-"
    place = "standard output" if is_printed else str(output)
    try:
        if is_printed:
            write_printed((json.dumps(to_document(model), separators=(",", ":")) + "\n").encode())
        else:
            model.save(output)
        return place
    except OSError as error:
        why = error.strerror or error
        rescue = Path(f"symgrove-{os.getpid()}-{'model.json' if is_printed else output.name}")
        try:
            rescue = Path(tempfile.gettempdir()) / rescue
            model.save(rescue)
        except OSError:
            fail(f"{place} cannot be written ({why}), and neither can {rescue}; the model is lost", FAILED)
        fail(f"{place} cannot be written ({why}); the model is in {rescue}", FAILED)


def _report(model: Estimator, place: str, seconds: float, *, is_json: bool, is_told: bool) -> None:
    from symgrove.cli.show import summary_of

    summary = {"model": place, "seconds": round(seconds, 3), **summary_of(model)}
    if is_json and not is_told:
        print_json(summary)
        return
    score = summary["score"]
    shown = "" if score is None else f", {summary['score_of']} {score:.4g}"
    is_stopped = " (stopped; this is what was found so far)" if model.stop_reason_ == "interrupted" else ""
    text = f"{place}: {summary['estimator']}, {summary['n_members']} members, {summary['size']} nodes{shown}"
    line = f"{text}, {seconds:.1f} s{is_stopped}"
    (tell if is_told else echo)(line)


def parameters(
    method: Annotated[str, typer.Argument(help="One of " + ", ".join(METHODS))] = "grove",
    task: Annotated[str, typer.Option(help="regression or classification.")] = "regression",
) -> None:
    """List the parameters of a method, with their defaults."""
    with clean_errors():
        from symgrove.saving.parameters import defaults_of

        check_printable()
        cls = estimator_class(method, task)
        described = _descriptions(cls.__doc__ or "")
        for name, default in defaults_of(cls).items():
            if name not in _NOT_HERE:
                echo(f"--{name.replace('_', '-')}  (default {_default(default)})")
                echo(f"    {described.get(name, '')}")


def _default(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _descriptions(text: str) -> dict[str, str]:
    """What a docstring in NumPy's style says about each parameter."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        stripped = line.strip()
        if " : " in stripped and (len(line) - len(line.lstrip())) <= 4:
            name = stripped.split(" : ")[0]
            found[name] = ""
        elif name and stripped and not stripped.startswith("---"):
            found[name] = f"{found[name]} {stripped}".strip()
        elif not stripped:
            name = ""
    return found
