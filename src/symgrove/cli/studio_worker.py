"""A process of the studio: waits, loaded, for the name of a folder on standard input, and reads a table or fits there.

echo FOLDER | python -m symgrove.cli.studio_worker
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from symgrove.studio.events import EventLog, all_events
from symgrove.studio.folder import read_json, working_in, write_json
from symgrove.studio.store import data_file, settings_of

SECONDS_TO_BE_TOLD = 0.05  # by a server that has something to do at once
SECONDS_TO_READ = 600
SECONDS_TO_WAIT = 10.0  # for the process of the fit before
MOST_TROUBLES = 3  # with a table, that a page lists
SHARE_OF_MEMORY = 0.7  # of the machine's, that a process may take


def main() -> None:
    """Load what fits need until there is something to do; end without it if the server has ended."""
    given: list[bytes] = []
    reader = threading.Thread(target=lambda: given.append(sys.stdin.buffer.readline()), daemon=True)
    reader.start()
    reader.join(SECONDS_TO_BE_TOLD)
    for load in LOADED:
        if given:
            break
        load()
    reader.join()
    name = given[0].rstrip(b"\n")
    if name:
        work_in(Path(os.fsdecode(name)))


def work_in(folder: Path) -> None:
    """Work until it is done; what goes wrong is told in the folder, what is printed goes into worker.log."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the server was started from
    with open(folder / "worker.log", "ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    limit_memory()
    try:
        with working_in(folder, SECONDS_TO_WAIT):
            (read if folder.parent.name == "tables" else fit)(folder)
    except BlockingIOError:
        return  # another process was faster


def limit_memory() -> None:
    """Have a table that unpacks to more than the machine holds end this process, and no other."""
    with suppress(ImportError, ValueError, OSError, AttributeError):
        import resource

        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        most = int(SHARE_OF_MEMORY * total)
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def load_modules() -> None:
    """What every fit imports."""
    import_module("symgrove.studio.fitting")
    import_module("symgrove.cli.preparation")


def load_law() -> None:
    """Compiled code of searches."""
    import symgrove

    X = np.random.default_rng(0).uniform(1, 2, size=(40, 2))
    symgrove.LawRegressor(max_time=0.2, effort="quick", random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 0])


def load_evolutions() -> None:
    """Compiled code of evolutions."""
    import symgrove

    X = np.random.default_rng(0).uniform(1, 2, size=(40, 2))
    small: dict[str, Any] = {"generations": 1, "population_size": 20, "n_estimators": 2, "random_state": 0}
    for estimator in (symgrove.GroveRegressor, symgrove.TwoSEGPRegressor):
        estimator(**small).fit(X, X[:, 0] * X[:, 1])


LOADED = (load_modules, load_law, load_evolutions)


# Tables


def read(folder: Path) -> None:
    """Describe the columns of a table; what takes too long ends the process."""
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS_TO_READ)
    try:
        found = described_table(data_file(folder), name_of(folder))
    except MemoryError:
        found = {"state": "failed", "message": "the table needs more memory than this machine can give."}
    except (ValueError, TypeError, ImportError, OSError) as error:
        found = {"state": "failed", "message": said(error)}
    except Exception as error:  # a damaged file, whatever the library says of it
        traceback.print_exc()
        found = {"state": "failed", "message": f"the file cannot be read: {type(error).__name__}: {error}"}
    write_json(folder / "columns.json", found)
    if sys.platform != "win32":
        signal.alarm(0)


def name_of(table: Path) -> str:
    """Of the file that somebody chose."""
    return str((read_json(table / "table.json") or {}).get("name", "the table"))


def described_table(file: Path, name: str) -> dict[str, Any]:
    """What a page shows of a table."""
    from symgrove.cli.tables import read_table
    from symgrove.studio.columns import GivenColumn, described, suggested_target

    table = read_table(str(file), shown=name)
    if table.troubles:
        raise ValueError(listed(table.troubles, name))
    if table.n_rows == 0:
        raise ValueError("the table has no rows.")
    given = {}
    for column in table.given:
        try:
            given[column] = GivenColumn(table.column(column), table.is_date(column))
        except ValueError as error:
            given[column] = GivenColumn([None] * table.n_rows, trouble=said(error))
    columns = described(given)
    for own in columns:
        own["is_odd"] = own["name"] in table.formats
    return {
        "state": "ready",
        "rows": table.n_rows,
        "columns": columns,
        "target": suggested_target(columns),
        "notes": [without_options(note) for note in table.notes],
        "separator": separator_of(file),
    }


def listed(troubles: Sequence[str], name: str) -> str:
    """One trouble, or a list of the first ones; the last may stand for several rows."""
    if len(troubles) == 1:
        return troubles[0]
    several = re.fullmatch(r"so have (\d+) more rows\.", troubles[-1])
    n_all = len(troubles) + (int(several[1]) - 1 if several else 0)
    more = [f"and {n_all - MOST_TROUBLES} more"] if n_all > MOST_TROUBLES else []
    return "\n".join([f"{name!r} has {n_all} troubles:", *(f"- {t}" for t in troubles[:MOST_TROUBLES]), *more])


def without_options(text: str) -> str:
    """Without the sentences that name options of a command, which a page does not have."""
    lines = [re.split(r"(?<=[.?!;]) ", line.replace(" with --ignore", "")) for line in text.split("\n")]
    kept = [" ".join(part for part in parts if not re.search(r"--[a-z]", part)).rstrip(";") for parts in lines]
    return "\n".join(line for line in kept if line) or text


def separator_of(file: Path) -> str:
    """What separates the fields of a text, for code that reads it."""
    from symgrove.cli.tables import format_of
    from symgrove.cli.text_tables import rows_of_text
    from symgrove.cli.troubles import Troubles

    if format_of(str(file), None) not in ("csv", "tsv"):
        return ","
    with open(file, "rb") as stream:
        lines = stream.read(1 << 16).splitlines(keepends=True)
    _, found = rows_of_text(
        b"".join(lines[:-1] or lines), "\t" if file.suffix in (".tsv", ".tab") else None, Troubles("")
    )
    return str(found)


# Runs


def fit(folder: Path) -> None:
    """Fit what the settings say."""
    log = EventLog(folder / "events.jsonl")
    before = max((seconds_of(event.text) for event in all_events(folder / "events.jsonl")), default=0.0)
    try:
        fit_with(folder, log, before)
    except KeyboardInterrupt:
        log.write("end", reason="stopped", message="stopped before there was a model", seconds=before)
    except MemoryError:
        log.write(
            "end", reason="failed", message="the run needs more memory than this machine can give.", seconds=before
        )
    except (ValueError, TypeError, ImportError, OSError) as error:
        log.write("end", reason="failed", message=said(error), seconds=before)
    except Exception as error:  # the page must not wait for ever
        traceback.print_exc()
        log.write("end", reason="failed", message=f"{type(error).__name__}: {error} (see worker.log)", seconds=before)
    finally:
        log.close()


def fit_with(folder: Path, log: EventLog, before: float) -> None:
    """Read the table, and fit."""
    from symgrove.cli.preparation import TableOptions, prepare
    from symgrove.cli.tables import read_table
    from symgrove.studio.fitting import GivenTable, run_fit

    start = time.perf_counter()
    settings = settings_of(folder)
    table = folder.parents[1] / "tables" / settings.table
    log.write("step", what="reading the table", seconds=before)
    with redirect_stderr(io.StringIO()) as notes:
        options = TableOptions(settings.target, settings.features, (), "median", "one-hot", settings.task)
        prepared = prepare(read_table(str(data_file(table)), shown=name_of(table)), options, settings.categorical)
    told = [
        without_options(line.removeprefix("note: "))
        for line in notes.getvalue().splitlines()
        if line.startswith("note: ")
    ]
    log.write("step", what="preparing", seconds=before, read=round(time.perf_counter() - start, 2))
    run_fit(
        folder, settings, GivenTable(prepared.X, prepared.y, prepared.categorical, prepared.told, told), log, before
    )


def seconds_of(line: str) -> float:
    """Of an event."""
    import json

    with suppress(ValueError):
        value = json.loads(line).get("seconds")
        return float(value) if isinstance(value, (int, float)) else 0.0
    return 0.0


def said(error: Exception) -> str:
    """What an error says, as a page may say it."""
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return without_options(str(error))


if __name__ == "__main__":
    main()
