"""`symgrove studio`: watch formulas evolve in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from symgrove.cli._common import clean_errors, tell

WORKER = (sys.executable, "-m", "symgrove.cli.studio_worker")


def studio(
    data: Annotated[Path | None, typer.Argument(help="A table to begin with: CSV, TSV, Excel or Parquet.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where tables and runs are kept; by default where the system keeps such data.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: one that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open a page on this machine to choose a table and a goal, watch formulas evolve, and take them away.

    Nothing listens beyond 127.0.0.1, and nothing leaves the machine. Runs go on when the page or this command ends.
    """
    with clean_errors():
        try:
            from symgrove.studio.serving import serve
        except ImportError as error:
            raise ImportError(f'the studio needs {error.name}; install it: pip install "symgrove[studio]".') from None
        from symgrove.studio.folder import Folder, default_folder
        from symgrove.studio.processes import Processes
        from symgrove.studio.store import StudioStore

        if data is not None and not data.is_file():
            raise ValueError(f"there is no file {str(data)!r}.")
        store = StudioStore(Folder(folder or default_folder()), Processes(WORKER))
        first = None if data is None else store.add_file(data)
        serve(store, port, first, opens=browser, tell=tell)
