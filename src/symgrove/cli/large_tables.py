"""Parquet data sets: patterns, folders, and files that would not fit in memory. Their rows stay where they are."""

from __future__ import annotations

import gzip
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symgrove.cli._common import tell
from symgrove.cli.outputs import writing
from symgrove.cli.preparation import Prepared, TableOptions, check_column, targets_of
from symgrove.cli.tables import DataTable, TableFormat, format_of, table_as_bytes
from symgrove.cli.target import MOST_CLASSES
from symgrove.cli.troubles import Troubles
from symgrove.cli.typed_tables import arrow_modules
from symgrove.models.seen_rows import MOST_ROWS
from symgrove.shards.parquet import ENDINGS, ParquetColumns, ParquetFiles, open_parquet, paths_of

if TYPE_CHECKING:
    from symgrove.shards.pieces import GivenColumns

# A table in memory is lists of Python's numbers and texts, and arrays of them, for a while both.
BYTES_OF_A_VALUE = 100
SHARE_OF_MEMORY = 0.5
ROWS_AT_A_TIME = 1 << 16  # that are predicted
ROWS_FOR_FORMULA = 10_000
ENGINES = "dask", "dask-cuda"  # options that ask for it whatever the size


def data_set_of(path: str, given: TableFormat, engine: Any = None) -> ParquetFiles | None:
    """The files that a path names, if their rows are to stay there; None: a table to read into memory."""
    is_many = any(mark in path for mark in "*?[") and not os.path.exists(path)
    if not is_many and not Path(path).is_dir() and (path == "-" or format_of(path, given.kind, ANY) != "parquet"):
        return None
    if not is_many and not os.path.exists(path):
        return None  # whoever reads it says what is near
    files = open_parquet(path)
    needed = files.n_rows * len(files.names) * BYTES_OF_A_VALUE
    has_no_room = needed > SHARE_OF_MEMORY * available_memory()
    if not (is_many or Path(path).is_dir() or has_no_room or engine in ENGINES):
        return None
    for option, value in zip(("--separator", "--sheet", "--decimal", "--dates"), given[1:], strict=True):
        if value is not None:
            raise ValueError(f"{option} is for tables of texts, and {path!r} is Parquet.")
    return files


def check_apart(output: str | Path, pattern: str) -> None:
    """See, before any work is done, that a result is none of the files of a data set, and would not become one."""
    if str(output) == "-":
        return
    own = os.path.realpath(output)
    if own in map(os.path.realpath, paths_of(pattern)):
        raise ValueError(
            f"--output {str(output)!r} is one of the files of {pattern!r}, which would be lost. Name another."
        )
    if any(_would_join(name, pattern) for name in (own, os.path.abspath(output))):
        raise ValueError(
            f"--output {str(output)!r} would be one of the files of {pattern!r} from then on. Name another file, or "
            "put it into another folder."
        )


def _would_join(name: str, pattern: str) -> bool:
    """Whether a file that is not there yet would be found by a pattern or in a folder."""
    folder, last = os.path.split(pattern)
    if os.path.isdir(pattern):
        return name.endswith(ENDINGS) and Path(os.path.realpath(pattern)) in Path(os.path.realpath(name)).parents
    if os.path.exists(pattern):
        return False
    folders = glob(pattern if last == "**" else folder or ".", recursive=True)
    within = os.path.realpath(os.path.dirname(name))
    return fnmatch(os.path.basename(name), last) and within in map(os.path.realpath, folders)


ANY = ("csv", "tsv", "parquet", "xlsx", "xlsm")


def available_memory() -> int:
    """Bytes that this machine has left."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("MemAvailable")))
    except (OSError, StopIteration):
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def tell_where(files: ParquetFiles, n_processes: int) -> None:
    """That rows are not read into memory, but for few."""
    what = f"{files.n_rows:,} rows in {files.n_files} file{'s' if files.n_files > 1 else ''}"
    if files.n_rows > MOST_ROWS:
        what += f" of {files.n_bytes / 1e9:.3g} GB; they stay there, and {n_processes} processes go through them"
    tell(what)


def prepare_data_set(files: ParquetFiles, wanted: TableOptions, more_categorical: Sequence[str] = ()) -> Prepared:
    """What options make of it, or an error that says what is wrong."""
    if wanted.missing != "median":
        raise ValueError(
            f"--missing {wanted.missing} is for tables in memory; of {files.label}, missing numbers are filled in with "
            "medians (--missing median). Leave rows out when the files are written."
        )
    troubles = Troubles(files.label)
    table = DataTable({name: [] for name in files.names}, files.label, 1)
    targets = targets_of(table, wanted.target)
    names = _chosen(files, table, targets, wanted, troubles)
    texts = [name for name in names if name in files.texts]
    if texts and wanted.text == "error":
        troubles.add(f"columns of text: {', '.join(map(repr, texts))}. Choose --text one-hot, --text drop or --ignore.")
    if wanted.text == "drop":
        names = [name for name in names if name not in texts or name in more_categorical]
    if not names:
        troubles.add("no features are left besides the target.")
    troubles.check()
    categorical = [name for name in names if name in texts or name in more_categorical]
    X, y = files.columns(names), files.columns(targets)
    task = _task_of(y, wanted.task)
    told: Mapping[str, Any] = {"target": wanted.target, "missing": wanted.missing}
    given = y.of_whole_numbers() if task == "classification" else y
    return Prepared(X, given, task, categorical, wanted.target, dict(told))  # type: ignore[arg-type]  # a frame, elsewhere


def _chosen(
    files: ParquetFiles, table: DataTable, targets: Sequence[str], wanted: TableOptions, troubles: Troubles
) -> list[str]:
    for name in (*wanted.features, *wanted.ignore):
        with troubles.noting():
            check_column(table, name, "an option names the column")
    chosen = [name for name in wanted.features if name in files.names]
    if not wanted.features:
        chosen = [name for name in files.names if name not in targets and name not in wanted.ignore]
    for name in (name for name in chosen if name in files.others):
        troubles.add(
            f"column {name!r} holds values of type {files.others[name]}; of data sets only numbers and texts can be "
            f"used. Leave it out with --ignore {shlex.quote(name)}."
        )
    for name in (name for name in targets if name in chosen):
        troubles.add(f"the target {name!r} cannot be a feature too.")
    return chosen


def _task_of(y: ParquetColumns, wanted: str) -> str:
    """Texts, or few different whole numbers, are classes; a look at the target's column, up to where it is clear."""
    files, names = y.files, y.columns
    texts = [name for name in names if name in files.texts]
    if len(names) > 1:
        if wanted == "classification":
            raise ValueError(f"classes have one target, got {len(names)}; fit a model for each.")
        if texts:
            raise ValueError(f"the target {texts[0]!r} holds texts, which is no regression.")
        return "regression"
    if texts:
        if wanted == "regression":
            raise ValueError(
                f"the target {texts[0]!r} holds texts, which is no regression. Take --task classification."
            )
        return "classification"
    if wanted == "regression":
        return wanted
    found: set[float] = set()
    for columns in y.batches(ROWS_AT_A_TIME):
        values = columns[names[0]]
        is_whole = bool(np.all((values == np.floor(values)) & (np.abs(values) < 2**53)))
        if not is_whole and wanted == "classification":
            raise ValueError(
                f"the target {names[0]!r} holds numbers that are not whole, beyond 2^53, or missing: no classes. "
                "--task regression predicts the numbers."
            )
        found |= set(np.unique(values).tolist()) if is_whole else set()
        if not is_whole or (len(found) > MOST_CLASSES and wanted == "auto"):
            return "regression"
    return "classification"


def rows_for_formula(given: Prepared) -> tuple[GivenColumns, Any]:
    """Some rows of a prepared data set, from all of its files, to find one formula with."""
    X, y = given.X, given.y
    columns = X.files.some_rows((*X.columns, *y.columns), ROWS_FOR_FORMULA, y)  # type: ignore[attr-defined]
    targets = [columns[name] for name in y.columns]
    own = {name: columns[name] for name in X.columns}
    return X.of(own), targets[0] if len(targets) == 1 else np.stack(targets, axis=1)  # type: ignore[attr-defined]


def predict_data_set(
    files: ParquetFiles, output: str, kind: str, answer: Callable[[Any], dict[str, list[Any]]], *, only: bool
) -> None:
    """Write a data set with predictions as Parquet, CSV or TSV, some rows at a time.

    `answer` gives columns of predictions for a table.
    """
    if kind == "xlsx":
        raise ValueError("a data set with predictions is written as parquet, csv or tsv; workbooks hold few rows.")
    if output == "-":
        raise ValueError("predictions of a data set go to a file; name one with -o.")
    with writing(output) as temporary:
        write = _parquet_writer(temporary) if kind == "parquet" else _text_writer(temporary, kind, output)
        with write as write_rows:
            for batch in files.record_batches(ROWS_AT_A_TIME):
                table = DataTable({n: batch.column(n).to_pylist() for n in batch.schema.names}, files.label, 1)
                write_rows(batch, table, free_names(answer(table), [] if only else batch.schema.names), only)


def free_names(columns: dict[str, list[Any]], taken: Sequence[str]) -> dict[str, list[Any]]:
    """Columns by names that a table does not have yet."""
    known, found = {name.lower() for name in taken}, {}
    for name, values in columns.items():
        free = name
        while free.lower() in known:
            free += "_"
        found[free] = values
    return found


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Callable[..., None]]:
    """Columns that are passed on stay what they were; the first rows tell the types of predictions."""
    parquet, arrow = arrow_modules()
    with ExitStack() as stack:
        writer: Any = None

        def write(batch: Any, table: DataTable, columns: dict[str, list[Any]], only: bool) -> None:
            nonlocal writer
            kept = {} if only else dict(zip(batch.schema.names, batch.columns, strict=True))
            own = arrow.table({**kept, **{name: arrow.array(values) for name, values in columns.items()}})
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(path, own.schema))
            writer.write_table(own.cast(writer.schema))

        yield write


@contextmanager
def _text_writer(path: Path, kind: str, name: str) -> Iterator[Callable[..., None]]:
    opened: Callable[..., Any] = gzip.open if name.lower().endswith(".gz") else open
    with opened(path, "wb") as file:
        is_begun = False

        def write(batch: Any, table: DataTable, columns: dict[str, list[Any]], only: bool) -> None:
            nonlocal is_begun
            kept = columns if only else {**table.given, **columns}
            header = table_as_bytes({name: [] for name in kept}, kind)
            file.write(table_as_bytes(kept, kind)[len(header) if is_begun else 0 :])
            is_begun = True

        yield write
