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

from symgrove.cli._common import (
    FAILED,
    INTERRUPTED,
    METHODS,
    clean_errors,
    echo,
    fail,
    names_of,
    nearest,
    print_json,
    tell,
)
from symgrove.cli.one_formula import find_one_formula, one_formula_values, print_one_formula
from symgrove.cli.options import (
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
from symgrove.cli.outputs import check_output, check_printable, write_printed

if TYPE_CHECKING:
    from symgrove.cli.preparation import Prepared
    from symgrove.estimators.base import Estimator

# Parameters that options of the command set, or that only make sense in Python.
_NOT_HERE = ("target_transform", "callbacks", "warm_start", "n_jobs", "random_state", "verbose")


def fit(
    context: typer.Context,
    data: Data,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file; - for standard output.")] = Path(
        "model.json"
    ),
    method: Annotated[
        str, typer.Option(help="One of " + ", ".join(METHODS), autocompletion=lambda: list(METHODS))
    ] = "grove",
    task: Annotated[str, typer.Option(help="regression or classification; auto looks at the target.")] = "auto",
    features: Features = "",
    ignore: Ignore = "",
    missing: Missing = "median",
    text: Text = "one-hot",
    input_format: InputFormat = None,
    separator: Separator = None,
    sheet: Sheet = None,
    decimal: Decimal = None,
    dates: Dates = None,
    transform_target: TransformTarget = None,
    seed: Seed = 0,
    jobs: Annotated[int, typer.Option(help="Threads or processes; -1 for all cores.")] = -1,
    quiet: Quiet = False,
    one_formula: Annotated[
        bool, typer.Option("--one-formula/--no-one-formula", help="Find one formula that imitates the ensemble.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON.")] = False,
) -> None:
    """Evolve a model. Any parameter of the method is an option too, such as --generations 50 --functions add,mul,log.

    Ctrl-C stops the evolution and saves what was found so far (exit code 130). `symgrove parameters METHOD` lists the
    parameters of a method.
    """
    with clean_errors():
        from symgrove._workers import n_workers
        from symgrove.cli import large_tables as large
        from symgrove.cli import preparation as p
        from symgrove.cli.tables import TableFormat, read_table

        missing = p.checked_options(missing, text, task)
        check_output(output, {"the data": data, "the checkpoint": checkpoint_of(context.args)})
        if as_json:
            check_printable()
        wanted = p.TableOptions(target, names_of(features), names_of(ignore), missing, text, task)
        form = TableFormat(input_format, separator, sheet, decimal, dates)
        files = large.data_set_of(data, form, engine_of(context.args))
        if files is None:
            given = p.prepare(read_table(data, form), wanted, categories_of(context.args))
        else:
            large.check_apart(output, data)
            large.tell_where(files, n_workers(jobs))
            given = large.prepare_data_set(files, wanted, categories_of(context.args))
        cls = estimator_class(method, given.task)
        own = {**parse_parameters(context.args, cls), **transform_of(transform_target, given.task)}
        control: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, "verbose": 0 if quiet else 1}
        model, seconds = fitted(cls, given, {**own, **control}, is_quiet=quiet)
        if one_formula and model.stop_reason_ != "interrupted":
            find_one_formula(model, *((given.X, given.y) if files is None else large.rows_for_formula(given)))
        place = save_model(model, output)
        _report(model, place, seconds, is_json=as_json, is_told=str(output) == "-")
        if model.stop_reason_ == "interrupted":
            raise typer.Exit(INTERRUPTED)


def fitted(cls: type[Estimator], given: Prepared, own: dict[str, Any], *, is_quiet: bool) -> tuple[Estimator, float]:
    """A model of a prepared table, which it remembers, and the seconds that the fit took."""
    if given.categorical:
        own = {**own, "categorical_features": given.categorical}
    model = cls(**own)
    if not is_quiet:
        tell(f"{given.task} of {given.target!r} from {len(given.X.columns)} columns, {len(given.X)} rows")
    start = time.perf_counter()
    model.fit(given.X, given.y)
    seconds = time.perf_counter() - start
    model.table_ = given.told
    return model, seconds


def transform_of(given: str | None, task: str) -> dict[str, Any]:
    """The parameter that --transform-target sets."""
    from symgrove.models.target_transform import TRANSFORMS

    if given is None:
        return {}
    if given not in TRANSFORMS:
        raise ValueError(f"--transform-target must be {' or '.join(TRANSFORMS)}, got {given!r}.")
    if task == "classification":
        raise ValueError(
            "--transform-target is for numbers, and the target holds classes; --task regression predicts numbers."
        )
    return {"target_transform": given}


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
    return _value_of("--checkpoint", words)


def engine_of(words: list[str]) -> str | None:
    """The engine of the option --engine, if it is there."""
    return _value_of("--engine", words)


def _value_of(option: str, words: list[str]) -> str | None:
    for word, following in zip(words, [*words[1:], None], strict=False):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.removeprefix(f"{option}=")
    return None


def categories_of(words: list[str]) -> list[str]:
    """The columns of the option --categorical-features, if it is there."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        option, has_value, value = word.partition("=")
        if option.replace("_", "-") == "--categorical-features":
            given = value if has_value else following
            return [] if given.lower() in ("from_dtype", "none") else names_of(given)
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
    from symgrove.cli.screen import score_line
    from symgrove.cli.show import summary_of

    summary = {"model": place, "seconds": round(seconds, 3), **summary_of(model)}
    summary["one_formula"] = one_formula_values(model)
    if is_json and not is_told:
        print_json(summary)
        return
    shown = "" if summary["score"] is None else f", {score_line(summary)}"
    is_stopped = " (stopped; this is what was found so far)" if model.stop_reason_ == "interrupted" else ""
    line = f"{place}: {summary['estimator']}, {summary['parts']}{shown}, {seconds:.1f} s{is_stopped}"
    (tell if is_told else echo)(line)
    if not is_told:
        print_one_formula(model)


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
