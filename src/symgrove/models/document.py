"""Models as plain documents of text, numbers and lists, and back.

Reading trusts nothing: every entry is checked for its kind, its length and its range, and memory is taken only for what
is really there, within an `Allowance`. `Entries` is the checked view of a document.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import LARGEST_PROGRAM
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import FIRST_PRIMITIVE, PrimitiveSet
from symgrove.models.ensemble import COMBINE, Ensemble
from symgrove.models.standardization import Standardization
from symgrove.models.teams import Range, Stack, Teams

Document = dict[str, Any]
LARGEST_WHOLE = 2**31 - 1
MOST_LEVELS = 20


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


# Ensembles of programs


def ensemble_to_document(ensemble: Ensemble) -> Document:
    """An ensemble of programs."""
    return {
        "kind": "programs",
        "forest": forest_to_document(ensemble.forest),
        "programs": ensemble.programs.tolist(),
        "program_of": ensemble.program_of.tolist(),
        "slope": ensemble.slope.tolist(),
        "intercept": ensemble.intercept.tolist(),
        "fallback": ensemble.fallback,
        "mean": ensemble.standardization.mean.tolist(),
        "spread": ensemble.standardization.spread.tolist(),
        "aggregation": ensemble.aggregation,
        "threshold": ensemble.threshold,
    }


def ensemble_from_document(
    entries: Entries, n_features: int, primitives: PrimitiveSet, allowance: Allowance
) -> Ensemble:
    """The ensemble of a document."""
    forest = forest_from_document(entries.entries("forest"), n_features, primitives, allowance)
    programs = _programs(entries, forest)
    program_of = entries.wholes("program_of", 0, programs.size - 1)
    if np.unique(program_of).size != programs.size or program_of.size == 0:
        raise ValueError(f"{entries.where} has programs without members, or no members.")
    return Ensemble(
        forest,
        programs,
        program_of,
        entries.numbers("slope", program_of.size),
        entries.numbers("intercept", program_of.size),
        entries.number("fallback"),
        _standardization(entries, n_features),
        entries.text("aggregation", tuple(COMBINE)),
        entries.number("threshold"),
    )


def _programs(entries: Entries, forest: Forest) -> NDArray[np.int64]:
    programs = entries.wholes("programs", 0, len(forest) - 1)
    if np.unique(programs).size != programs.size:
        raise ValueError(f"'programs' of {entries.where} must differ.")
    return programs


def _standardization(entries: Entries, n_features: int) -> Standardization:
    spread = entries.numbers("spread", n_features)
    if (spread <= 0).any():
        raise ValueError(f"'spread' of {entries.where} must be above zero.")
    return Standardization(entries.numbers("mean", n_features), spread)


# Stacks of teams


def stack_to_document(stack: Stack) -> Document:
    """A stack of ensembles of teams."""
    return {
        "kind": "teams",
        "base": stack.base.tolist(),
        "weights": stack.weights.tolist(),
        "levels": [_teams_to_document(teams) for teams in stack.levels],
    }


def _teams_to_document(teams: Teams) -> Document:
    rows = [np.flatnonzero(row) for row in teams.coefficients]
    return {
        "forest": forest_to_document(teams.forest),
        "programs": teams.programs.tolist(),
        "centre": teams.centre.tolist(),
        "scale": teams.spread.tolist(),
        "terms": [row.tolist() for row in rows],
        "coefficients": [own[row].tolist() for own, row in zip(teams.coefficients, rows, strict=True)],
        "intercept": teams.intercept.tolist(),
        "target_of": teams.target_of.tolist(),
        "mean": teams.standardization.mean.tolist(),
        "spread": teams.standardization.spread.tolist(),
        "feature_range": _range_to_document(teams.features),
        "term_range": _range_to_document(teams.terms),
        "prediction_range": _range_to_document(teams.predictions),
        "aggregation": teams.aggregation,
        "is_logistic": teams.is_logistic,
        "errors": optional_numbers(teams.errors),
    }


def _range_to_document(found: Range | None) -> Document | None:
    if found is None:
        return None
    return {"low": np.atleast_1d(found.low).tolist(), "high": np.atleast_1d(found.high).tolist()}


def stack_from_document(
    entries: Entries, n_features: int, n_targets: int, primitives: PrimitiveSet, allowance: Allowance
) -> Stack:
    """The stack of a document."""
    if len(entries.items("levels")) > MOST_LEVELS:
        raise ValueError(f"{entries.where} has more than {MOST_LEVELS} levels.")
    own = n_features, n_targets, primitives, allowance
    levels = tuple(_teams_from_document(e, *own) for e in entries.each("levels"))
    weights = entries.numbers("weights", len(levels))
    return Stack(levels, weights, entries.numbers("base", n_targets))


def _teams_from_document(
    entries: Entries, n_features: int, n_targets: int, primitives: PrimitiveSet, allowance: Allowance
) -> Teams:
    forest = forest_from_document(entries.entries("forest"), n_features, primitives, allowance)
    programs = _programs(entries, forest)
    n_terms = programs.size
    intercept = entries.numbers("intercept")
    n_teams = intercept.size
    target_of = entries.wholes("target_of", 0, n_targets - 1, n_teams)
    if set(target_of.tolist()) != set(range(n_targets)):
        raise ValueError(f"{entries.where} has a target without teams.")
    scale = entries.numbers("scale", n_terms)
    if (scale <= 0).any():
        raise ValueError(f"'scale' of {entries.where} must be above zero.")
    return Teams(
        forest=forest,
        programs=programs,
        centre=entries.numbers("centre", n_terms),
        spread=scale,
        coefficients=_coefficients(entries, n_teams, n_terms, allowance),
        intercept=intercept,
        target_of=target_of,
        standardization=_standardization(entries, n_features),
        features=_range(entries, "feature_range", n_features, np.asarray),
        terms=_range(entries, "term_range", n_terms, np.asarray),
        predictions=_range(entries, "prediction_range", 1, lambda a: float(a[0])),
        aggregation=entries.text("aggregation", ("interquartile", "mean")),
        is_logistic=entries.flag("is_logistic"),
        errors=entries.numbers("errors", n_teams, is_optional=True),
    )


def _coefficients(entries: Entries, n_teams: int, n_terms: int, allowance: Allowance) -> NDArray[np.float64]:
    terms, values = entries.items("terms"), entries.items("coefficients")
    if not len(terms) == len(values) == n_teams:
        raise ValueError(f"'terms' and 'coefficients' of {entries.where} must have a list for each of {n_teams} teams.")
    allowance.take_places(n_teams * n_terms)
    # A term whose coefficient is still zero is in no list of the teams.
    if n_terms > n_teams + sum(len(t) for t in terms if isinstance(t, list)):
        raise ValueError(f"{entries.where} has {n_terms} terms for {n_teams} teams, most of them in no team.")
    found = np.zeros((n_teams, n_terms))
    for j, pair in enumerate(zip(terms, values, strict=True)):
        own = Entries(dict(zip(("terms", "coefficients"), pair, strict=True)), f"team {j} of {entries.where}")
        indices = own.wholes("terms", 0, n_terms - 1)
        found[j, indices] = own.numbers("coefficients", indices.size)
    return found


def _range(entries: Entries, name: str, length: int, shape: Callable[[Any], Any]) -> Range | None:
    if entries.any(name) is None:
        return None
    own = entries.entries(name)
    low, high = own.numbers("low", length), own.numbers("high", length)
    if (low > high).any():
        raise ValueError(f"{name!r} of {entries.where} has a lowest value above the highest.")
    return Range(shape(low), shape(high))
