"""What happens in a run: lines of JSON in a file that one process appends to and others follow.

An event's id is the place in the file where the next one begins, so that whoever has lost touch goes on from there.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from symgrove._json import finite

MOST_ERRORS = 1200  # that somebody is told who comes later
ONLY_LAST = ("best", "beat")  # kinds of which the newest replaces all before it
LONGEST_READ, LONGEST_EVENT = 1 << 22, 1 << 18  # bytes at a time, and of two lines


class Event(NamedTuple):
    """A line with its id."""

    id: int
    text: str

    @property
    def kind(self) -> str:
        """What sort of event it is; it begins the line."""
        return self.text[9 : self.text.index('"', 9)]


class EventLog:
    """Appends events; threads may share it."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        is_cut = file.exists() and file.read_bytes()[-1:] not in (b"", b"\n")  # the process before was killed
        self._stream = open(file, "a", encoding="utf-8")  # noqa: SIM115  # closed by close
        if is_cut:
            self._stream.write("\n")

    def write(self, kind: str, **values: Any) -> None:
        """Append an event, so that others see it now."""
        line = json.dumps({"kind": kind, **finite(values)}, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()

    def close(self) -> None:
        """Nothing follows."""
        self._stream.close()


def events_after(file: Path, place: int) -> list[Event]:
    """Whole lines behind a place, as far as they are there; lines that a killed process has left are skipped."""
    try:
        with open(file, "rb") as stream:
            stream.seek(place)
            content = stream.read(LONGEST_READ)
    except FileNotFoundError:
        return []
    found = []
    for line in content[: content.rfind(b"\n") + 1].splitlines(keepends=True):
        place += len(line)
        text = line.decode("utf-8", "replace").strip()
        if text.startswith('{"kind":"') and text.endswith("}"):
            found.append(Event(place, text))
    return found


def all_events(file: Path) -> Iterator[Event]:
    """From the beginning."""
    place = 0
    while events := events_after(file, place):
        yield from events
        place = events[-1].id


def condensed(file: Path) -> list[Event]:
    """What somebody must know who comes now: the newest of some kinds, and of many errors some."""
    events = [*all_events(file)]
    last = {event.kind: place for place, event in enumerate(events) if event.kind in ONLY_LAST}
    errors = [place for place, event in enumerate(events) if event.kind == "errors"]
    step = max(1, math.ceil(len(errors) / MOST_ERRORS))
    kept = {*errors[::step], *errors[-1:]}
    return [
        event
        for place, event in enumerate(events)
        if (place in kept if event.kind == "errors" else last.get(event.kind, place) == place)
    ]


def last_event(file: Path) -> dict[str, Any] | None:
    """The newest event, if there is one."""
    try:
        with open(file, "rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - LONGEST_EVENT))
            lines = stream.read().splitlines()
    except FileNotFoundError:
        return None
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:  # cut, because its process was killed
            continue
        return found if isinstance(found, dict) else None
    return None
