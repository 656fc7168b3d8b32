"""Files to take away, made when they are asked for, by the commands that anybody could give."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from symgrove.export.targets import LANGUAGES

SECONDS = 300.0


class Download(NamedTuple):
    """What can be taken away: the ending of its name, and its type."""

    suffix: str
    kind: str


REPORT = Download("html", "text/html; charset=utf-8")
EXPORTS = {
    "python": Download("py", "text/x-python; charset=utf-8"),
    "javascript": Download("js", "text/javascript; charset=utf-8"),
    "c": Download("c", "text/x-c; charset=utf-8"),
    "sql": Download("sql", "application/sql; charset=utf-8"),
    "excel": Download("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "onnx": Download("onnx", "application/octet-stream"),
    "latex": Download("tex", "text/plain; charset=utf-8"),
    "text": Download("txt", "text/plain; charset=utf-8"),
}
NEEDS = {**{to: LANGUAGES[to].needs for to in EXPORTS}, "parquet": "pyarrow"}
_one_at_a_time = asyncio.Semaphore(1)


def missing() -> dict[str, str]:
    """What is not installed, by the kinds of files that cannot be made or read without it."""
    return {kind: package for kind, package in NEEDS.items() if package is not None and find_spec(package) is None}


async def made(folder: Path, name: str, data: Path, title: str) -> Path:
    """The file of a report or an export of a run's model, made if it is not there or older than the model.

    Raises
    ------
    ValueError
        With what the command says, if it fails.
    """
    model = folder / "model.json"
    if not model.exists():
        raise ValueError("the run has no model yet.")
    suffix = REPORT.suffix if name == "report" else EXPORTS[name].suffix
    file = folder / f"{name}.{suffix}"
    async with _one_at_a_time:
        if file.exists() and file.stat().st_mtime_ns >= model.stat().st_mtime_ns:
            return file
        words = ["export", str(model), "--to", name, "-o", str(file)]
        if name == "report":
            words = ["report", str(model), str(data), "-o", str(file), f"--title={title}"]
        await _run(words)
    return file


async def _run(words: list[str]) -> None:
    own = [sys.executable, "-c", "from symgrove.cli.app import app; app()"]
    process = await asyncio.create_subprocess_exec(
        *own, *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    except (TimeoutError, asyncio.CancelledError):
        process.kill()
        await process.wait()
        raise ValueError(f"this took more than {SECONDS:g} s, and was given up.") from None
    if process.returncode != 0:
        text = said.decode("utf-8", "replace").strip()
        raise ValueError(text.splitlines()[-1].removeprefix("symgrove: ") if text else "the command failed.")
