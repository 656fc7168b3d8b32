"""Studies as data: one small TOML file for each table or figure.

A study names data sets and methods; a method is an estimator with parameters. Their product with the splits is a list
of runs. A run is identified by what it computes, not by the study that asked for it, so that studies share runs.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from symgrove import methods
from symgrove.methods import ESTIMATORS

BUILT_IN = files("symgrove.experiments") / "studies"
# In the order of the paper.
NAMES = (
    "table1",
    "table2",
    "table3",
    "figure-scaling",
    "figure-beta",
    "figure-diversity",
    "figure-elites",
    "figure-evolvability",
    "pruning",
    "budget",
)


class Run(NamedTuple):
    """One fit: a data set, a split, an estimator, and what is recorded besides errors and time."""

    dataset: str
    split: int
    estimator: str
    parameters: tuple[tuple[str, Any], ...]
    record: str

    @property
    def key(self) -> str:
        """What identifies a run: equal runs have equal results."""
        text = json.dumps([self.dataset, self.split, self.estimator, self.parameters, self.record])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Method:
    """A column of a table or a line of a figure.

    Attributes
    ----------
    label : str
    regressor, classifier : str
        Names of estimators; empty if there is none for that task.
    parameters : dict
    published : str
        Its name in published.toml; its own by default.
    note : str
        What to say about it in the table.
    record : str
        What its runs record, if not what the study's do.
    """

    name: str
    label: str
    regressor: str = ""
    classifier: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    published: str = ""
    note: str = ""
    record: str = ""


@dataclass(frozen=True)
class Study:
    """What a TOML file says; `kind` is how the results are shown."""

    name: str
    title: str
    kind: str
    datasets: Sequence[str]
    methods: Sequence[Method]
    runs: int = 40
    record: str = ""
    text: str = ""

    def plan(self, n_runs: int | None = None, tasks: Mapping[str, str] | None = None) -> list[Run]:
        """All runs; `tasks` maps data sets to regression or classification."""
        planned = []
        for split in range(self.runs if n_runs is None else min(n_runs, self.runs)):
            for dataset in self.datasets:
                for method in self.methods:
                    run = self.run_of(method, dataset, split, tasks or {})
                    if run is not None:
                        planned.append(run)
        return planned

    def run_of(self, method: Method, dataset: str, split: int, tasks: Mapping[str, str]) -> Run | None:
        """The run of a method on a split, or None if the method is not for this task or not here yet."""
        estimator = method.regressor if tasks[dataset] == "regression" else method.classifier
        if not estimator:
            return None
        return Run(dataset, split, estimator, _sorted(method.parameters), method.record or self.record)


def _sorted(parameters: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Parameters as a value that can be compared."""
    return tuple(
        sorted((name, tuple(value) if isinstance(value, list) else value) for name, value in parameters.items())
    )


def load_study(name: str) -> Study:
    """A built-in study by name, or the TOML file at a path."""
    if name in NAMES:
        text = (BUILT_IN / f"{name}.toml").read_text(encoding="utf-8")
    elif name.endswith(".toml") and Path(name).exists():
        text = Path(name).read_text(encoding="utf-8")
    else:
        raise ValueError(f"unknown study {name!r}; known are {', '.join(NAMES)}, or the path of a TOML file.")
    try:
        return _parse(Path(name).stem, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise ValueError(f"the study {name!r} cannot be read: {error}") from error


def _parse(name: str, content: dict[str, Any]) -> Study:
    own = [Method(name=key, **value) for key, value in content.pop("methods").items()]
    for method in own:
        for estimator in (method.regressor, method.classifier):
            if estimator and estimator not in ESTIMATORS:
                raise ValueError(
                    f"method {method.name!r} names the estimator {estimator!r}; known are {', '.join(ESTIMATORS)}."
                )
    return Study(name=name, methods=own, **content)


def published() -> dict[str, dict[str, dict[str, Any]]]:
    """The paper's numbers: method, data set, part (train, test) to median and interquartile range."""
    text = (files("symgrove.experiments") / "published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def make_estimator(run: Run, **more: Any) -> Any:
    """The estimator of a run; the seed of everything but the split is the split's number."""
    kind = getattr(methods, run.estimator)
    return kind(**{**dict(run.parameters), **more, "random_state": run.split})
