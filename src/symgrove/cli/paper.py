"""`symgrove paper`: rerun the paper, or a study of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from symgrove.experiments.datasets import load_file
from symgrove.experiments.paper import choose, run_study, write_summary
from symgrove.experiments.runner import RUNS_FILE
from symgrove.experiments.study import NAMES, load_study


def paper(
    study: Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}, all, or the path of a TOML file.")],
    runs: Annotated[int | None, typer.Option(help="Splits to run; as many as the study says by default.")] = None,
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
) -> None:
    """Rerun a table or figure of the paper, or a study of your own; started again, it goes on where it stopped."""
    try:
        wanted = NAMES if study == "all" else (study,)
        if data and not target:
            raise ValueError("--data needs --target, the name of the column to predict.")
        own = {found.name: found for found in (load_file(path, target) for path in data or ())}
        chosen = tuple(filter(None, datasets.split(","))) or tuple(own)
        only = tuple(filter(None, methods.split(",")))
        if study == "all" and (chosen or only):
            raise ValueError("all is the whole paper; --datasets, --methods and --data go with a single study.")
        for name in wanted:
            picked = choose(load_study(name), chosen, only)
            with _Display(picked.name) as show:
                rows = run_study(picked, out, n_runs=runs, n_jobs=jobs, data_dir=data_dir, own=own, show=show)
            failed = sum(row["error"] is not None for row in rows.values())
            if failed:
                typer.echo(f"{failed} runs failed; see the column error of {out / RUNS_FILE}", err=True)
        if study == "all":
            page = write_summary(out, [load_study(name) for name in wanted], runs)
            typer.echo(f"all results are in {page}")
        else:
            for file in sorted(out.glob(f"{Path(study).stem}.*")):
                typer.echo(file.read_text(encoding="utf-8") if file.suffix == ".md" else f"written: {file}")
    except ValueError as error:
        typer.echo(f"symgrove paper: {error}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        typer.echo(
            f"\nstopped; what is done is in {out / RUNS_FILE}, and the same command goes on with the rest", err=True
        )
        raise typer.Exit(130) from None


class _Display:
    """Progress on stderr: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.bar: Progress | None = None

    def __enter__(self) -> _Display:
        if sys.stderr.isatty():
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
        elif n_done == n_runs or n_done % 20 == 0:
            typer.echo(f"{self.name}: {n_done} of {n_runs} runs, {left}", err=True)
