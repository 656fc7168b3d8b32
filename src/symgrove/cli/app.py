"""`symgrove`: the commands, each a few lines around the library."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Annotated

import typer

from symgrove.cli.paper import paper
from symgrove.experiments.study import NAMES

app = typer.Typer(no_args_is_help=True, add_completion=True, rich_markup_mode=None)
app.command("paper", help=f"{paper.__doc__}\n\nStudies: {', '.join(NAMES)}; all; or a TOML file.")(paper)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"symgrove {version_of('symgrove')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Bagging ensembles of formulas by genetic programming."""
