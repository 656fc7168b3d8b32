"""`symgrove paper`: rerun the paper, or a study of one's own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from symgrove.cli._common import names_of
from symgrove.experiments.names import LAWS, LAWS_FILE, NAMES

if TYPE_CHECKING:
    from symgrove.experiments.datasets import DataSet
    from symgrove.experiments.paper import Results

T = TypeVar("T", int, float)
SECONDS_BETWEEN_LINES = 10.0
QUICK_RUNS = 5


Halves = Annotated[
    str | None, typer.Option(help="laws: equations that the search was tuned on, tuning (default), or judged.")
]
Noises = Annotated[str, typer.Option(help="laws: shares of the target's root mean square, separated by commas.")]
Rows = Annotated[str, typer.Option(help="laws: numbers of training rows, where a collection does not say.")]
MaxTime = Annotated[
    float | None, typer.Option(min=1, help="laws: seconds that every method has for a fit; 60 by default.")
]


def paper(
    study: Annotated[
        str,
        typer.Argument(
            help="The name of a study, all, laws, or the path of a TOML file. A file names Python code that is run."
        ),
    ],
    runs: Annotated[int | None, typer.Option(min=1, help="Splits to run; by default as the study says.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help=f"A first look: {QUICK_RUNS} splits.")] = False,
    jobs: Annotated[int, typer.Option(help="Runs at the same time; -1 for all cores.")] = 1,
    datasets: Annotated[str, typer.Option(help="Only these data sets, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Only these methods of the study, separated by commas.")] = "",
    out: Annotated[Path, typer.Option(help="Folder for results; runs that are there are not done again.")] = Path(
        "results"
    ),
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with asn.csv and so on (no header, label last).")
    ] = None,
    data: Annotated[list[Path] | None, typer.Option(help="A CSV or Parquet file of your own; may be repeated.")] = None,
    target: Annotated[str, typer.Option(help="The column of own files to predict.")] = "",
    half: Halves = None,
    noise: Noises = "",
    rows: Rows = "",
    max_time: MaxTime = None,
    again: Annotated[
        bool, typer.Option("--again", help="Do all runs, also those that are there: for times on an idle machine.")
    ] = False,
    only_show: Annotated[
        bool, typer.Option("--only-show", help="No runs: tables and figures from those that are there.")
    ] = False,
) -> None:
    """Rerun a table or figure of the paper, or a study of your own; started again, it goes on where it stopped."""
    from symgrove.experiments.runner import RUNS_FILE

    with _told_errors(out / (LAWS_FILE if study == LAWS else RUNS_FILE)):
        how = _how(runs, jobs, quick=quick, again=again, only_show=only_show)
        of_laws = {"half": half, "noise": noise, "rows": rows, "max_time": max_time}
        if study == LAWS:
            own = {"data": data or [], "data_dir": data_dir, "target": target, "quick": quick}
            n_failed = _run_laws(names_of(datasets), names_of(methods), out, own, of_laws, how)
        else:
            _refuse({name: value for name, value in of_laws.items() if value}, study)
            owned = _own_data(data or [], target)
            n_failed = _run_studies(study, names_of(datasets), names_of(methods), out, data_dir, owned, how)
    if n_failed:
        raise typer.Exit(1)


@contextmanager
def _told_errors(file: Path) -> Iterator[None]:
    """Bad input, workers that died and Ctrl-C as messages and exit codes."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"symgrove paper: {error}", err=True)
        raise typer.Exit(2) from error
    except BrokenProcessPool as error:
        typer.echo(f"symgrove paper: a worker died ({error}); the same command goes on with the rest", err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        typer.echo(f"\nstopped; the same command goes on with what {file} does not have", err=True)
        raise typer.Exit(130) from None


def _run_studies(
    study: str,
    datasets: list[str],
    methods: list[str],
    out: Path,
    data_dir: Path | None,
    own: dict[str, DataSet],
    how: dict[str, Any],
) -> int:
    """Run a study, or all; returns how many runs failed."""
    from symgrove.experiments.paper import choose, run_study, write_summary
    from symgrove.experiments.runner import RUNS_FILE
    from symgrove.experiments.study import load_study

    chosen = datasets or list(own)
    if study == "all" and (chosen or methods):
        raise ValueError("all is the whole paper; --datasets, --methods and --data go with a single study.")
    n_failed = 0
    # The summary writes all files itself.
    names = (study,) if study != "all" else () if how["only_show"] else NAMES
    for name in names:
        picked = choose(load_study(name), chosen, methods)
        with _Display(picked.name) as show:
            found = run_study(picked, out, data_dir=data_dir, own=own, show=show, **how)
        _tell(found, out / RUNS_FILE, is_one=study != "all")
        n_failed += len(found.failures)
    if study == "all":
        typer.echo(f"all results are in {write_summary(out, [load_study(name) for name in NAMES], how['n_runs'])}")
    return n_failed


def _run_laws(
    datasets: list[str],
    methods: list[str],
    out: Path,
    own: dict[str, Any],
    of_laws: dict[str, Any],
    how: dict[str, Any],
) -> int:
    """Run the study of laws; returns how many runs failed."""
    from symgrove.experiments.law_study import MAX_TIME, ROWS, LawStudy, not_here, run_laws
    from symgrove.experiments.laws import HALVES

    data, half, max_time = own["data"], of_laws["half"], of_laws["max_time"]
    if own["target"] or own["quick"]:
        raise ValueError("--target and --quick do not go with laws.")
    if half is not None and half not in HALVES:
        raise ValueError(f"--half must be {' or '.join(HALVES)}, got {half!r}.")
    study = LawStudy(
        half=half or HALVES[0],
        wanted=datasets or [path.stem for path in data],
        methods=methods,
        noises=_numbers("noise", of_laws["noise"], float, 0) or None,
        rows=_numbers("rows", of_laws["rows"], int, 10) or ROWS,
        max_time=MAX_TIME if max_time is None else max_time,
        n_runs=how["n_runs"] or 1,
    )
    if not methods and not how["only_show"]:
        for name, why in not_here().items():
            typer.echo(f"{name} is not run: {why}", err=True)
    options = {name: how[name] for name in ("n_jobs", "again", "only_show")}
    with _Display(LAWS) as show:
        found = run_laws(study, out, data_dir=own["data_dir"], own=data, show=show, **options)
    _tell(found, out / LAWS_FILE, is_one=True)
    return len(found.failures)


def _refuse(given: dict[str, Any], study: str) -> None:
    for name in given:
        raise ValueError(f"--{name.replace('_', '-')} goes with the study {LAWS}, not with {study}.")


def _numbers(option: str, text: str, kind: type[T], least: int) -> list[T]:
    """Numbers with commas between them, or a clear error."""
    try:
        found = [kind(word) for word in names_of(text)]
    except ValueError:
        found = []
    if len(found) < len(names_of(text)) or not all(least <= number < float("inf") for number in found):
        what = "whole numbers" if kind is int else "numbers"
        raise ValueError(f"--{option} must be {what} of at least {least}, separated by commas, got {text!r}.")
    return found


def _how(runs: int | None, jobs: int, *, quick: bool, again: bool, only_show: bool) -> dict[str, Any]:
    """How to run a study; or a clear error for options that contradict each other."""
    if quick and runs is not None:
        raise ValueError("--quick and --runs both say how many splits; give one of them.")
    if again and only_show:
        raise ValueError("--again does all runs and --only-show none; give one of them.")
    if jobs == 0:
        raise ValueError("--jobs must be a number of processes, or -1 for all cores.")
    return {"n_runs": QUICK_RUNS if quick else runs, "n_jobs": jobs, "again": again, "only_show": only_show}


def _own_data(paths: list[Path], target: str) -> dict[str, DataSet]:
    from symgrove.experiments.datasets import load_file

    if paths and not target:
        raise ValueError("--data needs --target, the name of the column to predict.")
    own: dict[str, DataSet] = {}
    for path in paths:
        found = load_file(path, target)
        if found.name in own:
            raise ValueError(f"two files are named {found.name!r}; rename one.")
        own[found.name] = found
    return own


def _tell(found: Results, file_of_rows: Path, *, is_one: bool) -> None:
    """Show the results on stdout, and what is odd about them on stderr."""
    from symgrove.experiments.runner import circumstances

    here = circumstances()["symgrove"]
    others = {row["symgrove"] for row in found.rows.values()} - {here}
    if others:
        typer.echo(f"some runs were made by symgrove {', '.join(sorted(others))}; this is {here}", err=True)
    if found.failures:
        text = f"{len(found.failures)} runs failed, the first with: {found.failures[0]}. See {file_of_rows}"
        typer.echo(text, err=True)
    for file in found.files if is_one else []:
        typer.echo(file.read_text(encoding="utf-8") if file.suffix == ".md" else f"written: {file}")


class _Display:
    """Progress on stderr: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.bar: Any = None
        self.last_line = time.monotonic()

    def __enter__(self) -> _Display:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (TextColumn(self.name), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.bar.start()
            self.task = self.bar.add_task(self.name, total=None, left="")
        return self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, n_done: int, n_runs: int, seconds_left: float) -> None:
        left = f"about {seconds_left / 60:.0f} min left" if seconds_left > 90 else f"about {seconds_left:.0f} s left"
        if self.bar is not None:
            self.bar.update(self.task, completed=n_done, total=n_runs, left=left)
        elif n_done == n_runs or time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            typer.echo(f"{self.name}: {n_done} of {n_runs} runs, {left}", err=True)
