"""`symgrove`: the commands, each a few lines around the library.

Modules of commands load nothing heavy before a command runs: `--help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from symgrove import __version__
from symgrove.cli._common import Messages, cannot_print
from symgrove.cli.bench import bench
from symgrove.cli.distill import distill
from symgrove.cli.doctor import doctor
from symgrove.cli.export import export
from symgrove.cli.fit import fit, parameters
from symgrove.cli.law import law
from symgrove.cli.paper import paper
from symgrove.cli.predict import predict
from symgrove.cli.report import report
from symgrove.cli.score import score
from symgrove.cli.show import show
from symgrove.cli.simplify import simplify
from symgrove.cli.studio import studio
from symgrove.experiments.names import LAWS, NAMES


class _App(typer.Typer):
    """The command as it is started from a shell, whose streams may be closed or full."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        sys.stderr = Messages(sys.stderr)  # type: ignore[assignment]
        try:
            return super().__call__(*arguments, **options)
        except OSError as error:  # in the text of --help; commands have their own
            try:
                cannot_print(error)
            except typer.Exit as end:
                sys.exit(end.exit_code)


app = _App(no_args_is_help=True, add_completion=True, rich_markup_mode=None)
# Unknown options of `fit` are parameters of the estimator.
app.command("fit", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(fit)
app.command("law")(law)
app.command("predict")(predict)
app.command("show")(show)
app.command("score")(score)
app.command("simplify")(simplify)
app.command("export")(export)
app.command("distill")(distill)
app.command("report")(report)
app.command("studio")(studio)
app.command("parameters")(parameters)
app.command("paper", help=f"{paper.__doc__}\n\nStudies: {', '.join(NAMES)}; all; {LAWS}; or a TOML file.")(paper)
app.command("bench")(bench)
app.command("doctor")(doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"symgrove {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Bagging ensembles of formulas by genetic programming."""
