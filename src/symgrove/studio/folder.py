"""The studio's folder: tables and runs, each a folder of plain files, which outlive the server.

    tables/ID/   table.json (name, where the rows are), data.csv (of an upload), columns.json
    runs/ID/     settings.json, events.jsonl, checkpoint.npz, model.json, result.json, worker.log, stop

A process that works in a folder holds a lock on the file `working` there, which the system takes back however it ends.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from symgrove._files import atomic_write

Kind = Literal["tables", "runs"]
BETWEEN_TRIES = 0.05  # seconds
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")


def default_folder() -> Path:
    """Where this system keeps data of programs."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "symgrove" / "studio"


class Folder:
    """Tables and runs.

    Parameters
    ----------
    path : Path
        Made if it is not there; nobody else may read it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        for kind in ("tables", "runs"):
            (path / kind).mkdir(parents=True, exist_ok=True, mode=0o700)

    def new(self, kind: Kind) -> Path:
        """A folder for one more."""
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
        made = self.path / kind / name
        made.mkdir(mode=0o700)
        return made

    def find(self, kind: Kind, name: str) -> Path | None:
        """The folder of this name; None if there is none, whatever the name is."""
        if _ID.fullmatch(name) is None:
            return None
        found = self.path / kind / name
        return found if found.is_dir() else None

    def all(self, kind: Kind) -> list[Path]:
        """Folders, the latest first."""
        found = [each for each in (self.path / kind).iterdir() if _ID.fullmatch(each.name) and each.is_dir()]
        return sorted(found, key=lambda each: each.name, reverse=True)


def remove(folder: Path) -> None:
    """Delete a folder that nobody works in."""
    if is_working(folder):
        raise ValueError("somebody works with it; stop that first.")
    shutil.rmtree(folder)


def read_json(file: Path) -> dict[str, Any] | None:
    """What a file holds; None if it is not there, or not whole."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_json(file: Path, value: dict[str, Any]) -> None:
    """Write a file whole or not at all."""
    with atomic_write(file) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=True, allow_nan=False), encoding="utf-8")


@contextmanager
def working_in(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Be the only process that works in a folder.

    Parameters
    ----------
    folder : Path
    patience : float
        Seconds to wait for another one, which is about to end.

    Raises
    ------
    BlockingIOError
        If another one does.
    """
    with open(folder / "working", "a+b") as stream:
        end = time.monotonic() + patience
        while not _lock(stream):
            if time.monotonic() > end:
                raise BlockingIOError(f"another process works in {str(folder)!r}.")
            time.sleep(BETWEEN_TRIES)
        yield


def is_working(folder: Path) -> bool:
    """Whether a process works in a folder."""
    try:
        with open(folder / "working", "r+b") as stream:
            return not _lock(stream)
    except FileNotFoundError:
        return False


def _lock(stream: IO[bytes]) -> bool:
    """Lock a file until it is closed; whether that was possible."""
    with suppress(OSError):
        if sys.platform == "win32":
            import msvcrt

            stream.seek(0)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
