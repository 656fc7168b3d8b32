"""Parameters of estimators as plain values for a model file, and back.

Lists, numbers and texts are themselves. Objects with one entry stand for what JSON has no form for: a function of the
user's by its name (`own`), a selection with parameters (`selection`), a dictionary whose keys are not all texts
(`pairs`).
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from symgrove._missing import MissingFunction
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.forest.primitive_table import Primitive
from symgrove.selection.named import (
    Partition,
    PartitionLexicase,
    Tournament,
    Truncation,
)

DEEPEST = 10  # lists in a parameter
FUNCTIONS = ("selection", "variation", "loss")  # parameters that may be functions of the user's
_MARKS = ("own", "selection", "pairs")
_SELECTIONS = {kind.__name__: kind for kind in (Partition, PartitionLexicase, Tournament, Truncation)}


def defaults_of(kind: type) -> dict[str, Any]:
    """Parameters of an estimator's constructor, with their defaults."""
    return {own.name: own.default for own in inspect.signature(kind).parameters.values()}


def to_plain(name: str, value: Any) -> Any:
    """A parameter as plain values, or a ValueError if it has no such form."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, int, bool, type(None))) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if name == "dtype":
        return np.dtype(value).name
    if isinstance(value, Primitive):
        return value.name if value.function is None else {"own": value.name}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [to_plain(name, item) for item in value]
    if isinstance(value, dict):
        pairs = [(to_plain(name, key), to_plain(name, item)) for key, item in value.items()]
        if all(isinstance(key, str) and key not in _MARKS for key, _ in pairs):
            return dict(pairs)
        return {"pairs": [list(pair) for pair in pairs]}
    if type(value) in _SELECTIONS.values():
        arguments = {key: to_plain(name, item) for key, item in vars(value).items()}
        return {"selection": [type(value).__name__, arguments]}
    if isinstance(value, (MissingFunction, OwnRowLoss)):
        return {"own": value.name}
    if name in FUNCTIONS and callable(value):
        return {"own": str(getattr(value, "__name__", type(value).__name__))}
    raise ValueError(f"{name}={value!r:.60} cannot be saved in a model file; set it to a number, a text or a list.")


def from_plain(value: Any, depth: int = 0) -> Any:
    """Undo `to_plain`, but for functions of the user's; lists become tuples, as defaults are."""
    if depth > DEEPEST:
        raise ValueError(f"a parameter of the file is nested more than {DEEPEST} deep.")
    if isinstance(value, list):
        return tuple(from_plain(item, depth + 1) for item in value)
    if not isinstance(value, dict):
        return value
    mark = next(iter(value)) if len(value) == 1 else None
    if mark == "selection":
        return _selection(value[mark])
    if mark == "pairs":
        return _dictionary(value[mark], depth)
    return {key: from_plain(item, depth + 1) for key, item in value.items()}


def _selection(given: Any) -> Any:
    is_known = isinstance(given, list) and len(given) == 2 and isinstance(given[1], dict)
    if not is_known or not isinstance(given[0], str) or given[0] not in _SELECTIONS:
        raise ValueError(f"'selection' of the file must be one of {', '.join(_SELECTIONS)}, got {given!r:.60}.")
    try:
        return _SELECTIONS[given[0]](**given[1])
    except TypeError as error:
        raise ValueError(f"'selection' of the file cannot be read: {error}.") from error


def _dictionary(given: Any, depth: int) -> dict[Any, Any]:
    if not isinstance(given, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise ValueError(f"a dictionary of the file must be a list of pairs, got {given!r:.60}.")
    if not all(isinstance(key, (str, int, float, bool, type(None))) for key, _ in given):
        raise ValueError("a dictionary of the file must have texts or numbers as keys.")
    return {key: from_plain(item, depth + 1) for key, item in given}
