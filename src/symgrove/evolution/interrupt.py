"""Ctrl-C: the first stops after the current generation and leaves a fitted model, the second raises.

After the last generation there is nothing left to stop: the first lets the model be finished.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

_MESSAGE = b"\nsymgrove: stopping as soon as there is a model; press Ctrl-C again to give up.\n"
# Within these, a fit is one of many: Ctrl-C must end them all, so it is not caught.
_OUTER_LOOPS = ("sklearn.model_selection", "joblib", "symgrove.experiments")


class Interrupt(Protocol):
    """What the loop asks whether to stop."""

    @property
    def is_requested(self) -> bool:
        """Whether someone wants the run to stop."""
        ...


class StopOnInterrupt:
    """Context in which the first SIGINT sets `is_requested`; does nothing outside the main thread or in outer loops."""

    def __init__(self) -> None:
        self.is_requested = False
        self.file: Path | None = None
        self._previous: Any = None
        self._is_installed = False

    def __enter__(self) -> StopOnInterrupt:
        is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if is_default and threading.current_thread() is threading.main_thread() and not _is_within_outer_loop():
            self._previous = signal.signal(signal.SIGINT, self._handle)
            self._is_installed = True
        return self

    def __exit__(self, *exception: object) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, self._previous)

    @contextmanager
    def requesting_with(self, file: Path) -> Iterator[None]:
        """Make this file when a stop is requested, or now if one was."""
        self.file = file
        if self.is_requested:
            file.touch()
        try:
            yield
        finally:
            self.file = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True
        with suppress(OSError, ValueError, AttributeError):  # of a standard error that is closed or full
            if self.file is not None:
                self.file.touch()
            # Not print: a signal can arrive in the middle of one, which must not be entered twice. Not to descriptor 2
            # whatever it is: if standard error is closed, it may be another file by now.
            os.write(sys.stderr.fileno(), _MESSAGE)


class StopOnFile:
    """A stop that is requested by making a file; can be sent to other processes."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def is_requested(self) -> bool:
        """Whether the file is there."""
        return self.file.exists()


@contextmanager
def ignoring_interrupts_outside(process: int) -> Iterator[None]:
    """In any process but this one, Ctrl-C does nothing: that process decides what it means, for all."""
    is_main_thread = threading.current_thread() is threading.main_thread()
    if os.getpid() == process or not is_main_thread:
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _is_within_outer_loop() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_OUTER_LOOPS):
            return True
        frame = frame.f_back
    return False
