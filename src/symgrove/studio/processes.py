"""Processes of the studio: they go on when the page, the server or its terminal is closed.

Loading all that a fit needs takes seconds, so one process waits, loaded, for the folder that it will work in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from symgrove.studio.folder import is_working


class Processes:
    """Starts them, and cleans up after those that have ended.

    Parameters
    ----------
    worker : sequence of str
        The command of a process that reads the name of a folder from standard input, and works there.
    """

    def __init__(self, worker: Sequence[str]) -> None:
        self._worker = [*worker]
        self._waiting: subprocess.Popen[bytes] | None = None
        self._started: list[tuple[Path, subprocess.Popen[bytes]]] = []

    def warm_up(self) -> None:
        """Have a process wait that is loaded by the time it is needed."""
        if self._waiting is None or self._waiting.poll() is not None:
            self._waiting = self._new()

    def start(self, folder: Path) -> None:
        """Have a process work in a folder; what it says goes into worker.log there."""
        self._started = [(own, process) for own, process in self._started if process.poll() is None]
        waiting, self._waiting = self._waiting, None
        process = waiting if waiting is not None and _tell(waiting, folder) else self._new()
        if process is not waiting:
            _tell(process, folder)
        self._started.append((folder, process))

    def is_at_work(self, folder: Path) -> bool:
        """Whether one works in a folder, or has been started by us and is about to."""
        return is_working(folder) or any(own == folder and process.poll() is None for own, process in self._started)

    def _new(self) -> subprocess.Popen[bytes]:
        own: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        return subprocess.Popen(
            self._worker,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            **own,
        )


def _tell(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Give a process its folder; whether it still waited for one."""
    if process.stdin is None or process.poll() is not None:
        return False
    with suppress(OSError):
        process.stdin.write(os.fsencode(str(folder)) + b"\n")
        process.stdin.close()
        return True
    return False
