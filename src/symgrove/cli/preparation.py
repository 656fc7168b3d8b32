"""From a table to a frame and a target: which columns, which of them hold categories, which rows are left out.

Missing values and categories are the estimators' business (docs/tables.md).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symgrove.cli._common import nearest, tell
from symgrove.cli.tables import DataTable
from symgrove.cli.target import MOST_CLASSES, listed, target_of
from symgrove.cli.text_tables import number_of
from symgrove.cli.troubles import Troubles
from symgrove.models.columns import MOST_CATEGORIES, TableColumn, TableColumns, TextFormat
from symgrove.models.date_text import DateFormat, shown_date
from symgrove.models.document import Document, Entries
from symgrove.models.number_text import MISSING as MISSING_TEXTS
from symgrove.models.number_text import share_of_numbers
from symgrove.models.table_frame import TableFrame

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

MISSING = ("median", "drop", "error")
FORMER = ("mean",)  # in files of older versions
TEXTS = ("one-hot", "drop", "error")
FEWEST_LABELS = 20  # rows from which on texts that are all different are no categories
TASKS = ("auto", "regression", "classification")


def checked_options(missing: str, text: str, task: str) -> str:
    """Refuse words that options do not know; what to do about missing values, in today's words."""
    if missing in FORMER:
        tell("note: --missing mean is no more; the median stands in")
        missing = "median"
    for option, value, accepted in (("missing", missing, MISSING), ("text", text, TEXTS), ("task", task, TASKS)):
        if value not in accepted:
            raise ValueError(f"--{option} must be one of {', '.join(accepted)}, got {value!r}.")
    return missing


class NamedColumns:
    """Numbers with names of their columns: the little of a data frame that estimators ask of several targets."""

    def __init__(self, values: Any, names: list[str]) -> None:
        self.values = values
        self.columns = names
        self.shape = values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values if dtype is None else self.values.astype(dtype)


class TableOptions(NamedTuple):
    """What the options of a fit say about its table."""

    target: str
    features: Sequence[str]
    ignore: Sequence[str]
    missing: str
    text: str
    task: str


class Prepared(NamedTuple):
    """Rows to fit on; `told` is what the model remembers of the options and of how targets are written."""

    X: TableFrame
    y: Any
    task: str
    categorical: list[str]
    target: str
    told: Document


def prepare(table: DataTable, wanted: TableOptions, more_categorical: Sequence[str] = ()) -> Prepared:
    """What options make of a table, or an error that says all that is wrong with it."""
    troubles = _troubles_of(table)
    targets: list[str] = []
    with troubles.noting():
        targets = targets_of(table, wanted.target)
    names, texts = choose_columns(table, targets, wanted, more_categorical, troubles)
    categorical = list(dict.fromkeys([*texts, *more_categorical]))
    troubles.check()
    if not wanted.features:
        labels = _labels_of_rows(table, [name for name in texts if name not in more_categorical])
        names = [name for name in names if name not in labels] or names
        categorical = [name for name in categorical if name in names]
    X = frame_of(table, names, categorical, "an option names the column", troubles)
    formats = {name: table.formats[name] for name in (*names, *targets) if name in table.formats}
    X.formats = {name: form for name, form in formats.items() if name in names and name not in categorical}
    rows = list(range(len(X)))
    with troubles.noting():
        rows = complete_rows(X, wanted.missing)
    for name in targets:
        with troubles.noting():
            rows = _with_target(table.column(name), rows, name, wanted.missing, troubles)
    y, task = None, wanted.task
    with troubles.noting():
        y, task = _targets_of(table, targets, rows, wanted.task)
    troubles.check()
    for name in (name for name in texts if name not in names):
        tell(
            f"note: column {name!r} has a different text in each row, and is left out; "
            f"--categorical-features {shlex.quote(name)} keeps it"
        )
    _tell_formats(table, {name: form for name, form in formats.items() if name not in categorical})
    _tell_codes(table, [name for name in names if name not in categorical])
    guessed = [name for name in texts if name in names and name not in more_categorical]
    _tell_almost_numbers(table, guessed)
    _tell_many_texts(table, guessed)
    told: Document = {"target": wanted.target, "missing": wanted.missing}
    if any(name in formats for name in targets):
        told["formats"] = {name: formats[name].document() for name in targets if name in formats}
    return Prepared(X.take(rows), y, task, categorical, wanted.target, told)


def _troubles_of(table: DataTable) -> Troubles:
    """Those of reading it; what must be known of that is told."""
    for note in table.notes:
        tell(f"note: {note}")
    troubles = Troubles(table.label)
    for text in table.troubles:
        troubles.add(text)
    return troubles


def frame_of(
    table: DataTable,
    names: Sequence[str],
    categorical: Sequence[str],
    what: str,
    troubles: Troubles,
    formats: Mapping[str, TextFormat] | None = None,
) -> TableFrame:
    """Columns of a table; categories as texts, as they were written; numbers in texts by these formats, or its own."""
    found = {}
    for name in names:
        with troubles.noting():
            check_column(table, name, what)
            found[name] = (
                _texts(table, name) if name in categorical else _numbers(table, name, (formats or {}).get(name))
            )
    return TableFrame(found, table.n_rows)


def _tell_formats(table: DataTable, formats: Mapping[str, TextFormat]) -> None:
    """What was read as numbers and dates, with an example."""
    numbers, dates = [], []
    for name, form in formats.items():
        odd = next((v for v in table.given[name] if _is_odd(v)), None)
        if isinstance(form, DateFormat):
            dates.append(f"{name!r} ({_said(odd)} is {shown_date(form.numbers([odd], name)[0])})")
        elif odd is not None:
            numbers.append(f"{name!r} ({_said(odd)} is {form.numbers([odd], name)[0]:.10g})")
    if numbers:
        tell(f"note: texts that are numbers: {', '.join(numbers)}")
    if dates:
        tell(f"note: dates, as days since 1970-01-01, year, month, weekday: {', '.join(dates)}")


def _tell_codes(table: DataTable, names: Sequence[str]) -> None:
    """Numbers that begin with zeros are often codes."""
    for name in names:
        code = next((v for v in table.given[name] if isinstance(v, str) and re.fullmatch(r"\s*0[0-9]+\s*", v)), None)
        if code is not None:
            tell(
                f"note: column {name!r} is taken for numbers, such as {code.strip()!r}; if they are codes, say "
                f"--categorical-features {name}"
            )


def _tell_almost_numbers(table: DataTable, names: Sequence[str]) -> None:
    """Columns of texts that are numbers in most rows."""
    for name in names:
        texts = [text for text in table.texts(name) if text is not None]
        share, odd = share_of_numbers(texts)
        if odd and share >= 0.5 and len(set(texts)) > MOST_CLASSES:
            tell(
                f"note: column {name!r} is taken for categories, because some of its values are no numbers "
                f"({listed(odd)}); left empty, they are missing numbers"
            )


def _labels_of_rows(table: DataTable, names: Sequence[str]) -> list[str]:
    """Columns of texts of which no two rows have the same, as of names and numbers of orders: a category is a row."""
    found = []
    for name in names:
        texts = [text for text in table.texts(name) if text is not None]
        is_label = len(set(texts)) == len(texts) >= FEWEST_LABELS
        if is_label and share_of_numbers(texts)[0] < 0.5:  # else they are meant as numbers
            found.append(name)
    return found


def _tell_many_texts(table: DataTable, names: Sequence[str]) -> None:
    """Columns of more texts than have features of their own."""
    for name in names:
        n_texts = len({text for text in table.texts(name) if text is not None})
        if n_texts > MOST_CATEGORIES:
            tell(f"note: of the {n_texts:,} texts in column {name!r}, the {MOST_CATEGORIES} most frequent are features")


def _is_odd(value: Any) -> bool:
    """Whether a value is there, and no number as Python writes it."""
    if isinstance(value, str):
        return number_of(value) is None and value.strip().lower() not in MISSING_TEXTS
    return value is not None and not isinstance(value, (int, float))


def _said(value: Any) -> str:
    return repr(value.strip()) if isinstance(value, str) else str(value)


def _texts(table: DataTable, name: str) -> np.ndarray[Any, Any]:
    return np.array(table.texts(name), dtype=object)


def _numbers(table: DataTable, name: str, form: TextFormat | None) -> np.ndarray[Any, Any]:
    if form is not None:
        return form.numbers(table.given[name], name)
    column = table.column(name)
    text = next((v for v in column if isinstance(v, str)), None)
    if text is not None:
        raise ValueError(f"column {name!r} must be numbers as it was for the fit, but holds {text!r}.")
    return np.array([np.nan if v is None else v for v in column], dtype=np.float64)


def complete_rows(frame: TableFrame, missing: str) -> list[int]:
    """Rows that are used: those with all values, or all of them; an error if values may not be missing."""
    holes = {} if missing == "median" else frame.missing()
    is_missing = np.any([np.zeros(len(frame), dtype=bool), *holes.values()], axis=0)
    if holes and missing == "error":
        raise ValueError(
            f"missing values in {', '.join(map(repr, holes))} ({is_missing.sum()} of {len(frame)} rows). Choose for "
            "the fit: --missing median (fill in), --missing drop (leave these rows out), or --ignore COLUMN."
        )
    return [int(i) for i in np.flatnonzero(~is_missing)]


def check_column(table: DataTable, name: str, what: str) -> None:
    """See that a column is there, or name the nearest."""
    if name not in table.given:
        known = list(table.given)
        shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
        raise ValueError(f"{what} {name!r}, which is not there.{nearest(name, known)} Columns: {shown}.")


def targets_of(table: DataTable, given: str) -> list[str]:
    """The columns to predict: names with commas between them, or one that may have commas of its own."""
    names = [given] if given in table.given else [name.strip() for name in given.split(",") if name.strip()] or [given]
    for name in names:
        check_column(table, name, "the target is")
    if len(set(names)) < len(names):
        raise ValueError(f"--target names a column twice: {given!r}.")
    return names


def choose_columns(
    table: DataTable,
    targets: Sequence[str],
    wanted: TableOptions,
    categorical: Sequence[str],
    troubles: Troubles,
) -> tuple[list[str], list[str]]:
    """Which columns are used, and which of them hold texts; what the options do not say is a trouble."""
    for name in (*wanted.features, *wanted.ignore):
        with troubles.noting():
            check_column(table, name, "an option names the column")
    chosen = [name for name in wanted.features if name in table.given]
    if not wanted.features:
        chosen = [name for name in table.given if name not in targets and name not in wanted.ignore]
    for target in targets:
        if target in chosen:
            troubles.add(f"the target {target!r} cannot be a feature too.")
    found, readable = [], []
    for name in (name for name in chosen if name not in categorical):
        with troubles.noting():
            found += [name] if table.is_text(name) else []
            readable.append(name)
    if found and wanted.text == "error":
        troubles.add(
            f"columns of text: {', '.join(map(repr, found))}. Choose: --text one-hot (a feature of 0 and 1 for each "
            "value), --text drop (leave these columns out), or --ignore COLUMN."
        )
    if wanted.text == "drop":
        chosen, found = [name for name in chosen if name not in found], []
    if not chosen:
        troubles.add("no features are left besides the target.")
    empty = [name for name in chosen if name in readable and all(v is None for v in table.column(name))]
    if empty:
        troubles.add(f"columns without any value: {', '.join(map(repr, empty))}. Leave them out with --ignore.")
    return chosen, found


def rows_for(estimator: Estimator, table: DataTable) -> tuple[TableFrame, list[int], list[str]]:
    """The rows of a table that a model predicts, which ones these are, and what was odd."""
    from symgrove.estimators.fitted import table_of
    from symgrove.estimators.input import columns_of

    columns, told = columns_of(estimator), table_of(estimator)
    missing = "median" if told is None else Entries(told, "'table'").text("missing", (*MISSING, *FORMER))
    categorical = [columns.columns[j].name for j in columns.categorical]
    troubles = _troubles_of(table)
    formats = {c.name: c.text_format for c in columns if c.text_format is not None and not _has_own_dates(table, c)}
    names = [c.name for c in columns]
    frame = frame_of(table, names, categorical, "the model needs the column", troubles, formats)
    troubles.check()
    others = {n: f for n, f in table.formats.items() if n in names and n not in categorical and n not in formats}
    _tell_formats(table, others)
    rows = complete_rows(frame, "median" if missing in FORMER else missing)
    notes = []
    for column in (columns.columns[j] for j in columns.categorical if not columns.columns[j].has_others):
        new = sorted({t for t in frame[column.name] if t is not None} - set(column.categories or ()))
        if new:
            shown = ", ".join(map(repr, new[:5]))
            notes.append(
                f"column {column.name!r} has values that the fit did not see ({shown}); all its features are 0 there"
            )
    if len(rows) < len(frame):
        notes.append(f"{len(frame) - len(rows)} rows with missing values have no prediction")
    return frame.take(rows), rows, notes


def _has_own_dates(table: DataTable, column: TableColumn) -> bool:
    """Whether a table shows how it writes dates, and the model does not: there, no text had the year last."""
    return column.date is not None and column.date.order == "ymd" and table.is_date(column.name)


def with_columns(estimator: Estimator) -> Estimator:
    """A model of an older version, whose table says how features were made of columns, with these columns."""
    from symgrove.estimators.fitted import feature_names_of, labels_of, table_of
    from symgrove.estimators.grove import GroveEstimator

    told = table_of(estimator)
    if told is None or "sources" not in told:
        return estimator
    columns, features = [], []
    for own in Entries(told, "'table'").each("sources"):
        name, fill = own.text("name"), np.nan if own.any("fill") is None else own.number("fill")
        categories = None if own.any("categories") is None else tuple(own.items("categories"))
        if not all(isinstance(c, str) for c in categories or ()):
            raise ValueError("'categories' of the model file must be texts.")
        columns.append(TableColumn(name, fill, not np.isnan(fill) and categories is None, False, categories))
        features += [name] if categories is None else [f"{name}={c}" for c in categories]
    if features != labels_of(estimator):
        raise ValueError("the model file is damaged: its columns do not make its features.")
    made = TableColumns(tuple(columns))
    estimator.columns_, estimator.n_features_in_ = made, len(made)
    estimator.feature_names_in_ = np.array([column.name for column in made], dtype=object)
    estimator.feature_importances_ = np.bincount(made.owners, estimator.feature_importances_, len(made)).astype(float)
    estimator.ensemble_ = estimator.model_.members(feature_names_of(estimator))
    if isinstance(estimator, GroveEstimator):
        estimator.size_path_ = estimator.model_.front(feature_names_of(estimator), made)
    return estimator


def _with_target(column: list[Any], rows: list[int], target: str, missing: str, troubles: Troubles) -> list[int]:
    """Rows that have a target."""
    known = [i for i in rows if column[i] is not None]
    n = len(rows) - len(known)
    if n and missing == "error":
        troubles.add(f"{n} rows have no value of the target {target!r}. Choose --missing drop to leave them out.")
    elif not known:
        troubles.add("no complete rows are left.")
    elif n:
        tell(f"note: {n} rows without a value of the target are left out")
    return known


def _targets_of(table: Any, targets: list[str], rows: list[int], task: str) -> tuple[Any, str]:
    """The target and the task; several targets are numbers, a column for each."""
    if len(targets) == 1:
        return target_of(table, targets[0], rows, task)
    if task == "classification":
        raise ValueError(f"classes have one target, got {len(targets)}; fit a model for each.")
    columns = [target_of(table, name, rows, "regression")[0] for name in targets]
    return NamedColumns(np.stack(columns, axis=1), targets), "regression"
