"""What a person has chosen for a run, checked: it comes from a page, and is read from a file again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

GOALS = ("law", "grove", "2segp")
TASKS = ("regression", "classification")
LEAST_SECONDS, MOST_SECONDS = 1.0, 7 * 86400.0
MOST_COLUMNS = 1000
LONGEST_NAME = 1000
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class RunSettings:
    """Of one run.

    Attributes
    ----------
    table : str
        The id of its table.
    target : str
    features, categorical : tuple of str
        Columns, and those of them that hold categories.
    task, goal : str
        One of TASKS, one of GOALS.
    seconds : float
        That a fit may take; when a run goes on, of what follows.
    seed : int
    generations : int
        Of goals that evolve, the last one.
    keeps_out : bool
        Whether a fifth of the rows is kept out of the fit, to judge the model by.
    """

    table: str
    target: str
    features: tuple[str, ...]
    categorical: tuple[str, ...]
    task: str
    goal: str
    seconds: float
    seed: int = 0
    generations: int = 100
    keeps_out: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


def settings_from(given: Any) -> RunSettings:
    """Check what was given, by a page or by a file."""
    if not isinstance(given, dict):
        raise ValueError("settings must be an object.")
    target, features = _text(given, "target"), _texts(given, "features")
    categorical = _texts(given, "categorical")
    if not features:
        raise ValueError("no features are chosen; tick at least one column besides the target.")
    if target in features:
        raise ValueError(f"{target!r} is the target, and cannot be a feature too.")
    if not set(categorical) <= set(features):
        raise ValueError("categories must be columns that are features.")
    task, goal = _choice(given, "task", TASKS), _choice(given, "goal", GOALS)
    if goal == "law" and task == "classification":
        raise ValueError("one formula to read predicts numbers; choose another goal for classes.")
    return RunSettings(
        _text(given, "table"),
        target,
        features,
        categorical,
        task,
        goal,
        _number(given, "seconds", LEAST_SECONDS, MOST_SECONDS),
        int(_number(given, "seed", 0, LARGEST_SEED, 0)),
        int(_number(given, "generations", 1, 1_000_000, 100)),
        given.get("keeps_out") is True,
    )


def seconds_from(given: Any) -> float:
    """How long a run is to go on."""
    return _number(given if isinstance(given, dict) else {}, "seconds", LEAST_SECONDS, MOST_SECONDS)


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value or len(value) > LONGEST_NAME:
        raise ValueError(f"{name} must be a text of at most {LONGEST_NAME} characters, got {value!r:.80}.")
    return value


def _texts(given: dict[str, Any], name: str) -> tuple[str, ...]:
    values = given.get(name, [])
    if not isinstance(values, (list, tuple)) or len(values) > MOST_COLUMNS:
        raise ValueError(f"{name} must be a list of at most {MOST_COLUMNS} names.")
    if not all(isinstance(v, str) and 0 < len(v) <= LONGEST_NAME for v in values) or len(set(values)) < len(values):
        raise ValueError(f"{name} must be names of columns, each once.")
    return tuple(values)


def _choice(given: dict[str, Any], name: str, accepted: Sequence[str]) -> str:
    value = given.get(name)
    if not isinstance(value, str) or value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r:.80}.")
    return value


def _number(given: dict[str, Any], name: str, low: float, high: float, default: float | None = None) -> float:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {value!r:.80}.")
    return float(value)
