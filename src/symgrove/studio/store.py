"""What a page asks of the folder: tables and runs with their states, and changes to them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from symgrove.studio.code import command, python_code
from symgrove.studio.events import EventLog, last_event
from symgrove.studio.folder import Folder, read_json, remove, write_json
from symgrove.studio.processes import Processes
from symgrove.studio.settings import RunSettings, settings_from

KINDS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx"}
LONGEST_SHOWN = 200  # characters of a file's name
LISTED = ("in_one_formula", "score")  # of a result
MORE_GENERATIONS = 100
# Why a fit ended that may go on: more time, or more generations, would change something.
MAY_GO_ON = ("interrupted", "max_time", "time", "generations")


class NotFoundError(Exception):
    """There is no such table or run."""


class StudioStore:
    """Tables and runs.

    Parameters
    ----------
    folder : Folder
    processes : Processes
    """

    def __init__(self, folder: Folder, processes: Processes) -> None:
        self.folder, self.processes = folder, processes

    # Tables

    def new_table(self, name: str) -> tuple[Path, Path]:
        """The folder of one more, and the file that its content goes into, whose name is ours."""
        shown = printable(name)[:LONGEST_SHOWN] or "table"
        kind = KINDS.get(Path(shown.lower()).suffix)
        if kind is None:
            raise ValueError(f"{shown!r} is no table that can be read; accepted: {', '.join(KINDS)}.")
        made = self.folder.new("tables")
        write_json(made / "table.json", {"name": shown, "kind": kind, "at": time.time()})
        return made, made / f"data.{kind}"

    def add_file(self, file: Path) -> str:
        """A table that stays where it is; its id, the one of before if it is known and has not changed."""
        place = {"path": str(file.resolve()), "stamp": stamp_of(file)}
        for known in self.folder.all("tables"):
            if place.items() <= (read_json(known / "table.json") or {}).items():
                return known.name
        made, _ = self.new_table(file.name)
        own = read_json(made / "table.json") or {}
        write_json(made / "table.json", {**own, **place})
        self.processes.start(made)
        return made.name

    def table(self, name: str) -> dict[str, Any]:
        """What is known of a table."""
        folder = self._find_table(name)
        own = read_json(folder / "table.json") or {}
        found = read_json(folder / "columns.json")
        if found is None:
            is_read = self.processes.is_at_work(folder)
            found = {"state": "reading"} if is_read else {"state": "failed", "message": "the file could not be read"}
        return {"id": name, "name": own.get("name", "?"), "kind": own.get("kind"), "path": own.get("path"), **found}

    def tables(self) -> list[dict[str, Any]]:
        """All, the latest first, without their columns."""
        used = {run["settings"]["table"] for run in self.runs()}
        found = [self.table(each.name) for each in self.folder.all("tables")]
        return [{**{k: v for k, v in t.items() if k != "columns"}, "is_used": t["id"] in used} for t in found]

    def remove_table(self, name: str) -> None:
        """Delete a table that no run needs."""
        folder = self._find_table(name)
        if any(run["settings"]["table"] == name for run in self.runs()):
            raise ValueError("there are runs on this table; delete them first.")
        remove(folder)

    def _find_table(self, name: str) -> Path:
        found = self.folder.find("tables", name)
        if found is None:
            raise NotFoundError
        return found

    # Runs

    def new_run(self, given: Any) -> str:
        """Begin a run with what a page has chosen; its id."""
        settings = settings_from(given)
        table = self.table(settings.table)
        if table["state"] != "ready":
            raise ValueError("the table has not been read.")
        known = {column["name"]: column for column in table["columns"]}
        for name in (settings.target, *settings.features):
            if name not in known:
                raise ValueError(f"the table has no column {name!r}.")
        if settings.task not in known[settings.target]["tasks"]:
            raise ValueError(f"{settings.target!r} cannot be the target of a {settings.task}.")
        folder = self.folder.new("runs")
        write_json(folder / "settings.json", {**settings.as_dict(), "at": time.time()})
        self._begin(folder)
        return folder.name

    def run(self, name: str) -> dict[str, Any]:
        """What is known of a run."""
        folder = self.find_run(name)
        settings = read_json(folder / "settings.json") or {}
        last = last_event(folder / "events.jsonl") or {}
        result = read_json(folder / "result.json")
        if last.get("kind") == "end":  # its process may still be about to go
            state, message = last["reason"], last.get("message", "")
        elif self.processes.is_at_work(folder):
            state, message = "running", ""
        else:
            state, message = "broken off", "its process was ended from outside"
        table = self.folder.find("tables", str(settings.get("table")))
        own = {} if table is None else read_json(table / "table.json") or {}
        return {
            "id": name,
            "state": state,
            "message": message,
            "settings": settings,
            "table_name": own.get("name", "?"),
            "is_stopping": state == "running" and _n_stops(folder) > 0,
            "is_given_up": state == "running" and _n_stops(folder) > 1,
            "can_go_on": state != "running" and _can_go_on(settings, last, state),
            "has_model": result is not None,
            "result": result,
        }

    def runs(self) -> list[dict[str, Any]]:
        """All, the latest first, of their results what a list shows."""
        names = [each.name for each in self.folder.all("runs") if (each / "settings.json").exists()]
        found = [self.run(name) for name in names]
        return [{**run, "result": run["result"] and {name: run["result"][name] for name in LISTED}} for run in found]

    def stop(self, name: str, *, give_up: bool = False) -> None:
        """Ask a run to stop, or to give up: to stop without a model. To ask once more changes nothing."""
        folder = self.find_run(name)
        if self.run(name)["state"] != "running":
            raise ValueError("the run has ended already.")
        with open(folder / "stop", "ab") as stream:
            stream.write(b"x" * ((2 if give_up else 1) - _n_stops(folder)))

    def go_on(self, name: str, seconds: float) -> None:
        """Give a run more time: an evolution goes on from its checkpoint, a search begins again."""
        run, folder = self.run(name), self.find_run(name)
        if not run["can_go_on"]:
            raise ValueError("this run cannot go on: it is under way, or has tried everything.")
        settings = settings_of(folder)
        last = last_event(folder / "events.jsonl") or {}
        more = MORE_GENERATIONS if last.get("by") == "generations" else 0
        changed = replace(settings, seconds=seconds, generations=settings.generations + more)
        own = run["settings"]
        kept = {"at": own.get("at"), "seconds_before": own.get("seconds_before", 0) + settings.seconds}
        write_json(folder / "settings.json", {**changed.as_dict(), **kept})
        self._begin(folder)

    def remove_run(self, name: str) -> None:
        """Delete a run that has ended."""
        folder = self.find_run(name)
        if self.processes.is_at_work(folder):
            raise ValueError("the run is under way; stop it first.")
        remove(folder)

    def find_run(self, name: str) -> Path:
        """Its folder."""
        found = self.folder.find("runs", name)
        if found is None:
            raise NotFoundError
        return found

    def code(self, name: str) -> dict[str, str | None]:
        """Code that does the same."""
        folder = self.find_run(name)
        settings = settings_of(folder)
        if settings.goal != "law":  # what has gone on has had more time than the last fit
            before = (read_json(folder / "settings.json") or {}).get("seconds_before", 0)
            settings = replace(settings, seconds=settings.seconds + before)
        table = self.table(settings.table)
        data = table["path"] or table["name"]
        odd = [
            own["name"] for own in table.get("columns", []) if own.get("is_odd") and own["name"] in settings.features
        ]
        python = python_code(settings, data, table["kind"], table.get("separator", ","), odd)
        return {"python": python, "command": command(settings, data)}

    def data_of(self, name: str) -> Path:
        """The file with the rows of a run."""
        return data_file(self._find_table(settings_of(self.find_run(name)).table))

    def _begin(self, folder: Path) -> None:
        (folder / "stop").unlink(missing_ok=True)
        log = EventLog(folder / "events.jsonl")
        log.write("queued", at=time.time())
        log.close()
        self.processes.start(folder)


def _n_stops(folder: Path) -> int:
    """How often a run is to be interrupted: once to stop, twice to give up."""
    file = folder / "stop"
    return file.stat().st_size if file.exists() else 0


def printable(text: str) -> str:
    """A text without what cannot be shown, or given to a command."""
    return "".join(c if c.isprintable() else "�" for c in text)


def settings_of(folder: Path) -> RunSettings:
    """Of a run."""
    return settings_from(read_json(folder / "settings.json"))


def _can_go_on(settings: dict[str, Any], last: dict[str, Any], state: str) -> bool:
    if state in ("failed", "broken off"):
        return state == "broken off"
    by = last.get("by")
    return by in MAY_GO_ON or by is None


def stamp_of(file: Path) -> list[int]:
    """What changes with a file's content."""
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def data_file(table: Path) -> Path:
    """Where the rows of a table are.

    Raises
    ------
    ValueError
        If the file has changed, or is gone.
    """
    own = read_json(table / "table.json") or {}
    if "path" not in own:
        return table / f"data.{own.get('kind', 'csv')}"
    file = Path(own["path"])
    if not file.is_file():
        raise ValueError(f"the table {str(file)!r} is gone. Put it back, or begin again with another.")
    if stamp_of(file) != own["stamp"]:
        raise ValueError(
            f"the table {str(file)!r} has changed since it was read. Begin again: `symgrove studio {file}`."
        )
    return file
