"""Studies as data: one small TOML file for each table or figure.

A study names data sets, known ones or files, and methods; a method is an estimator with parameters. Their product with
the splits is a list of runs. A run is identified by what it computes, not by the study that asked for it, so that
studies share runs.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from symgrove.experiments import estimators
from symgrove.experiments.baselines import BASELINES
from symgrove.experiments.datasets import ORDERS
from symgrove.experiments.names import NAMES
from symgrove.experiments.records import RECORDS

BUILT_IN = files("symgrove.experiments") / "studies"
# How results are shown.
KINDS = (
    "table",
    "comparison",
    "pruning",
    "intervals",
    "figure-scaling",
    "figure-beta",
    "figure-diversity",
    "figure-elites",
    "figure-evolvability",
)
PARTS = ("train", "test")
TASKS = ("regression", "classification")
# Kinds that show one data set, or one method.
ONE_DATASET = ("figure-scaling", "figure-diversity", "figure-elites", "figure-evolvability")
ONE_METHOD = ("pruning", "figure-scaling", "figure-evolvability")


class Run(NamedTuple):
    """One fit: a data set, a split, an estimator, and what is recorded besides errors and time.

    `fingerprint` is that of the data if they are one's own; the paper's are known by their names and the `order` of
    their rows.
    """

    dataset: str
    split: int
    estimator: str
    parameters: tuple[tuple[str, Any], ...]
    record: str
    fingerprint: str = ""
    order: str = ORDERS[0]

    @property
    def key(self) -> str:
        """What identifies a run: equal runs have equal results."""
        known = [self.dataset, self.split, self.estimator, self.parameters, self.record]
        of_data = [self.fingerprint] if self.fingerprint else []
        of_data += [f"order {self.order}"] if self.order != ORDERS[0] else []
        text = json.dumps([*known, *of_data])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class StudyMethod:
    """A column of a table or a line of a figure.

    Attributes
    ----------
    label : str
    regressor, classifier : str
        Names of estimators, short ones or `module:Class`; empty if there is none for that task.
    parameters : dict
    published : str
        Its name in published.toml; its own by default.
    note : str
        What to say about it in the table.
    record : str
        What its runs record, if not what the study's do.
    runs : int
        Splits at most, where a run takes long; 0: as many as the study has.
    ranked : bool
        Whether it has a rank over data sets; false for variants of another method, which would count it twice.
    """

    name: str
    label: str
    regressor: str = ""
    classifier: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    published: str = ""
    note: str = ""
    record: str = ""
    runs: int = 0
    ranked: bool = True


@dataclass(frozen=True)
class DataFile:
    """A file of one's own, and the column to predict; `task` if it cannot be told from the column."""

    file: Path
    target: str
    task: str = ""


@dataclass(frozen=True)
class Study:
    """What a TOML file says; `kind` is how the results are shown.

    `published` names the parts (train, test) that the paper has in this table: numbers that it has elsewhere would
    count twice. `order` is that of the rows of the paper's data sets: other orders are other splits.
    """

    name: str
    title: str
    kind: str
    datasets: Sequence[str]
    methods: Sequence[StudyMethod]
    runs: int = 40
    record: str = ""
    text: str = ""
    published: Sequence[str] = PARTS
    order: str = ORDERS[0]
    data: Mapping[str, DataFile] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)  # of one's own data sets

    def plan(self, n_runs: int | None = None, tasks: Mapping[str, str] | None = None) -> list[Run]:
        """All runs; `tasks` maps data sets to regression or classification."""
        planned = []
        for split in range(n_runs or self.runs):
            for dataset in self.datasets:
                for method in self.methods:
                    run = self.run_of(method, dataset, split, tasks or {})
                    if run is not None:
                        planned.append(run)
        return planned

    def run_of(self, method: StudyMethod, dataset: str, split: int, tasks: Mapping[str, str]) -> Run | None:
        """The run of a method on a split, or None if the method is not for this task, or has fewer splits."""
        estimator = method.regressor if tasks[dataset] == "regression" else method.classifier
        if not estimator or (method.runs and split >= method.runs):
            return None
        record = method.record or self.record
        fingerprint = self.fingerprints.get(dataset, "")
        order = ORDERS[0] if fingerprint else self.order
        return Run(dataset, split, estimator, _frozen(method.parameters), record, fingerprint, order)


def _frozen(parameters: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Parameters as a value, in the order of their names."""

    def as_value(item: Any) -> Any:
        return tuple(map(as_value, item)) if isinstance(item, list) else item

    return tuple(sorted((name, as_value(value)) for name, value in parameters.items()))


def load_study(name: str | Path) -> Study:
    """A built-in study by name, or the TOML file at a path; imports the estimators that it names as `module:Class`."""
    name = str(name)
    if name in NAMES:
        text = (BUILT_IN / f"{name}.toml").read_text(encoding="utf-8")
    elif name.endswith(".toml") and Path(name).exists():
        text = Path(name).read_text(encoding="utf-8")
    else:
        raise ValueError(f"unknown study {name!r}; known are {', '.join(NAMES)}, or the path of a TOML file.")
    try:
        return _parse(Path(name), tomllib.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the study {name!r} cannot be read: {error}") from error


def _parse(path: Path, content: dict[str, Any]) -> Study:
    known = {f.name for f in fields(Study)} - {"name", "fingerprints"}
    _check_keys("the study", content, known, {"title", "kind", "methods"})
    for part in ("data", "methods"):
        if not isinstance(content.setdefault(part, {}), dict):
            raise ValueError(f"{part} must be tables, [{part}.NAME], got {content[part]!r}.")
    data = {name: _data_file(name, entry, path.parent) for name, entry in content.pop("data").items()}
    own = [_method(name, entry) for name, entry in content.pop("methods").items()]
    study = Study(**{"name": path.stem, "methods": own, "data": data, "datasets": list(data), **content})
    if study.kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {study.kind!r}.")
    if not (isinstance(study.runs, int) and study.runs >= 1):
        raise ValueError(f"runs must be a whole number of at least 1, got {study.runs!r}.")
    if not (isinstance(study.datasets, list) and all(isinstance(name, str) for name in study.datasets)):
        raise ValueError(f"datasets must be a list of names, got {study.datasets!r}.")
    if not (isinstance(study.published, (list, tuple)) and set(study.published) <= set(PARTS)):
        raise ValueError(f"published must be a list of some of {', '.join(PARTS)}, got {study.published!r}.")
    if study.order not in ORDERS:
        raise ValueError(f"order must be {' or '.join(ORDERS)}, got {study.order!r}.")
    for method in own:
        _check_method(method, study)
    return study


def _check_keys(what: str, given: Any, known: set[str], needed: set[str]) -> None:
    if not isinstance(given, dict):
        raise ValueError(f"{what} must be a table, got {given!r}.")
    unknown, missing = sorted(given.keys() - known), sorted(needed - given.keys())
    if unknown or missing:
        problem = f"has an unknown entry {unknown[0]!r}" if unknown else f"has no {missing[0]!r}"
        raise ValueError(f"{what} {problem}; it takes {', '.join(sorted(known))}.")


def _data_file(name: str, entry: Any, folder: Path) -> DataFile:
    """Paths are relative to the study's file, so that both can be moved together."""
    _check_keys(f"data.{name}", entry, {f.name for f in fields(DataFile)}, {"file", "target"})
    if not all(isinstance(value, str) for value in entry.values()):
        raise ValueError(f"data.{name}: file, target and task must be texts, got {entry!r}.")
    if entry.get("task", TASKS[0]) not in TASKS:
        raise ValueError(f"data.{name}: task must be {' or '.join(TASKS)}, got {entry['task']!r}.")
    return DataFile(**{**entry, "file": folder / entry["file"]})


def _method(name: str, entry: Any) -> StudyMethod:
    _check_keys(f"methods.{name}", entry, {f.name for f in fields(StudyMethod)} - {"name"}, {"label"})
    kinds: dict[str, type] = {"parameters": dict, "runs": int, "ranked": bool}
    for key, value in entry.items():
        is_kind = isinstance(value, kinds.get(key, str)) and isinstance(value, bool) == (key == "ranked")
        if not is_kind or (key == "runs" and value < 1):
            raise ValueError(
                f"methods.{name}: parameters must be a table, ranked true or false, runs a whole number of at least 1 "
                f"and the rest texts, got {key} = {value!r}."
            )
    return StudyMethod(name=name, **entry)


def _check_method(method: StudyMethod, study: Study) -> None:
    record = method.record or study.record
    if record and record not in RECORDS:
        raise ValueError(f"method {method.name!r}: record must be one of {', '.join(RECORDS)}, got {record!r}.")
    for name, value in method.parameters.items():
        if not _is_plain(value):
            raise ValueError(
                f"method {method.name!r}: the parameter {name!r} must be a value or a list (texts, finite numbers, "
                f"true, false); got {value!r}."
            )
    for estimator, task in zip((method.regressor, method.classifier), TASKS, strict=True):
        if not estimator or (estimator in BASELINES and not method.parameters):
            continue  # the library of a baseline may be missing
        try:
            estimators.check(estimator, method.parameters, task, record)
        except (ValueError, ImportError) as error:
            raise ValueError(f"method {method.name!r}: {error}") from error


def _is_plain(value: Any) -> bool:
    """Whether a value can stand in a row of results."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def published() -> dict[str, dict[str, dict[str, Any]]]:
    """The paper's numbers: method, data set, part (train, test) to median and interquartile range."""
    text = (files("symgrove.experiments") / "published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def published_marks(study: str) -> dict[str, dict[str, dict[str, list[str]]]]:
    """What the paper marks in a table: "best" (underlined) and "starred" to part, data set and methods."""
    text = (files("symgrove.experiments") / "published_marks.toml").read_text(encoding="utf-8")
    marks: dict[str, dict[str, dict[str, list[str]]]] = tomllib.loads(text).get(study, {})
    return marks


def family_of_the_paper(study: Study, dataset: str) -> set[str]:
    """Methods of a table that the paper compares by tests: of others it has medians only, or nothing of their own."""
    their = published() if published_marks(study.name) else {}
    return {
        method.name
        for method in study.methods
        if not method.published and len(their.get(method.name, {}).get(dataset, {}).get("test", ())) > 1
    }


def make_estimator(run: Run, **more: Any) -> Any:
    """The estimator of a run; the seed of everything but the split is the split's number."""
    return estimators.make(run.estimator, {**dict(run.parameters), **more}, seed=run.split)
