"""Plain documents of text, numbers and lists, which models are saved as, and checked access to them.

Reading trusts nothing: every entry is checked for its kind, its length and its range, and memory is taken only for what
is really there, within an `Allowance`. `Entries` is the checked view of a document.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import LARGEST_PROGRAM
from symgrove.forest.forest import Forest
from symgrove.forest.primitive_table import FIRST_PRIMITIVE
from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.standardization import Standardization

Document = dict[str, Any]
LARGEST_WHOLE = 2**31 - 1


class Allowance:
    """What the models of one document may still ask for: nodes, and places in tables of teams and terms.

    A table may be far larger than the file that describes it, and a node takes a hundred bytes.
    """

    def __init__(self, n_nodes: int, n_places: int) -> None:
        self.left = {"nodes": n_nodes, "places in tables of teams and terms": n_places}

    @classmethod
    def unlimited(cls) -> Allowance:
        """For documents that this program has just made."""
        return cls(LARGEST_WHOLE, 1 << 62)

    def take_nodes(self, n: int) -> None:
        """Nodes of a forest."""
        self._take("nodes", n)

    def take_places(self, n: int) -> None:
        """A table."""
        self._take("places in tables of teams and terms", n)

    def _take(self, name: str, n: int) -> None:
        if n > self.left[name]:
            raise ValueError(f"the file asks for more {name} than a model file may: {n}, {self.left[name]} are left.")
        self.left[name] -= n


class Entries:
    """Checked access to a document; every problem is a ValueError that names the entry."""

    def __init__(self, document: Any, where: str = "the file") -> None:
        if not isinstance(document, dict):
            raise ValueError(f"{where} must be an object with named entries, got {type(document).__name__}.")
        self.document = document
        self.where = where

    def __contains__(self, name: str) -> bool:
        return self.document.get(name) is not None

    def any(self, name: str) -> Any:
        """An entry of any kind."""
        if name not in self.document:
            raise ValueError(f"{self.where} lacks the entry {name!r}.")
        return self.document[name]

    def _fail(self, name: str, wanted: str) -> ValueError:
        return ValueError(f"entry {name!r} of {self.where} must be {wanted}, got {self.document[name]!r:.60}.")

    def text(self, name: str, choices: Sequence[str] | None = None) -> str:
        """A text, one of the choices if there are any."""
        value = self.any(name)
        if not isinstance(value, str) or (choices is not None and value not in choices):
            raise self._fail(name, "a text" if choices is None else "one of " + ", ".join(choices))
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.any(name)
        if not isinstance(value, bool):
            raise self._fail(name, "true or false")
        return value

    def number(self, name: str, *, is_optional: bool = False) -> float:
        """A finite number; NaN for null if that is allowed."""
        value = self.any(name)
        if value is None and is_optional:
            return math.nan
        if not _is_number(value):
            raise self._fail(name, "a finite number")
        return float(value)

    def whole(self, name: str, low: int = 0, high: int = LARGEST_WHOLE) -> int:
        """A whole number in a range."""
        value = self.any(name)
        if not _is_whole(value, low, high):
            raise self._fail(name, f"a whole number from {low} to {high}")
        return int(value)

    def items(self, name: str) -> list[Any]:
        """A list."""
        value = self.any(name)
        if not isinstance(value, list):
            raise self._fail(name, "a list")
        return value

    def numbers(self, name: str, length: int | None = None, *, is_optional: bool = False) -> NDArray[np.float64]:
        """Finite numbers; with `is_optional`, null stands for NaN."""
        values = self._sized(name, length)
        if not all(_is_number(v) or (is_optional and v is None) for v in values):
            raise self._fail(name, "a list of finite numbers")
        return np.array([math.nan if v is None else float(v) for v in values], dtype=np.float64)

    def wholes(self, name: str, low: int, high: int, length: int | None = None) -> NDArray[np.int64]:
        """Whole numbers in a range."""
        values = self._sized(name, length)
        if not all(_is_whole(v, low, high) for v in values):
            raise self._fail(name, f"a list of whole numbers from {low} to {high}")
        return np.array(values, dtype=np.int64)

    def _sized(self, name: str, length: int | None) -> list[Any]:
        values = self.items(name)
        if length is not None and len(values) != length:
            raise ValueError(f"entry {name!r} of {self.where} must have {length} items, got {len(values)}.")
        return values

    def entries(self, name: str) -> Entries:
        """An object inside."""
        return Entries(self.any(name), f"{name!r} of {self.where}")

    def each(self, name: str) -> list[Entries]:
        """Objects in a list."""
        return [Entries(item, f"item {i} of {name!r}") for i, item in enumerate(self.items(name))]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number beyond all doubles
        return False


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def optional_numbers(values: Any) -> list[float | None]:
    """Numbers for a document: null for NaN."""
    return [None if math.isnan(v) else float(v) for v in np.asarray(values, dtype=np.float64).tolist()]


# Forests


def forest_to_document(forest: Forest) -> Document:
    """Nodes in order: 0 is a feature (left: its index), 1 a constant (left: its place), others as in `functions`."""
    arrays = forest.to_arrays()
    code, left, right, value = (arrays[name].tolist() for name in ("code", "left", "right", "value"))
    names: list[str] = []
    constants: list[float] = []
    for i, c in enumerate(code):
        if c >= FIRST_PRIMITIVE:
            name = forest.primitives.by_code[c].name
            if name not in names:
                names.append(name)
            code[i] = FIRST_PRIMITIVE + names.index(name)
        elif c == 1:
            left[i] = len(constants)
            constants.append(value[i])
    return {"functions": names, "code": code, "left": left, "right": right, "constants": constants}


def forest_from_document(entries: Entries, n_features: int, primitives: PrimitiveSet, allowance: Allowance) -> Forest:
    """The forest, its nodes checked one by one as they are made."""
    allowance.take_nodes(len(entries.items("code")))
    names = entries.items("functions")
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"'functions' of {entries.where} must be names.")
    rows = [primitives[name] for name in names]
    code = entries.wholes("code", 0, FIRST_PRIMITIVE + len(rows) - 1)
    n = code.size
    left = entries.wholes("left", 0, LARGEST_WHOLE, n)
    right = entries.wholes("right", -1, LARGEST_WHOLE, n)
    constants = entries.numbers("constants")
    value = np.zeros(n)
    is_constant = code == 1
    if (left[is_constant] >= constants.size).any():
        raise ValueError(f"a node of {entries.where} refers to a constant that is not there.")
    value[is_constant] = constants[left[is_constant]]
    table = np.array([0, 1, *(row.code for row in rows)], dtype=np.int64)
    columns = {"code": table[code], "left": left, "right": right, "value": value}
    forest = Forest.from_arrays(columns, n_features, primitives)
    # Written out, a small graph may be a huge formula.
    if n and forest.size(np.arange(n)).max() > LARGEST_PROGRAM:
        raise ValueError(f"{entries.where} has programs of more than {LARGEST_PROGRAM} nodes.")
    return forest


def programs_from(entries: Entries, forest: Forest) -> NDArray[np.int64]:
    """Different roots."""
    programs = entries.wholes("programs", 0, len(forest) - 1)
    if np.unique(programs).size != programs.size:
        raise ValueError(f"'programs' of {entries.where} must differ.")
    return programs


def standardization_from(entries: Entries, n_features: int) -> Standardization:
    """Of the features."""
    spread = entries.numbers("spread", n_features)
    if (spread <= 0).any():
        raise ValueError(f"'spread' of {entries.where} must be above zero.")
    return Standardization(entries.numbers("mean", n_features), spread)
