"""Equations to find again: collections of them, rows that are drawn from them, and the equations for SymPy.

A collection is a table of the package (laws.toml) or a CSV file. Formulas are Python with NumPy's functions; nothing
but arithmetic, numbers, features and functions is accepted, so that a file runs no other code.
"""

from __future__ import annotations

import ast
import csv
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

Matrix = NDArray[np.float64]
FEYNMAN = "feynman"
# An equation that the search was tuned on; one that it is judged on, once.
HALVES = ("tuning", "judged")
COLUMNS = ("id", "formula", "ranges", "half", "rows", "test", "test_rows")
_CODE = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Call, ast.Name, ast.Load, ast.Constant)
_OWN: dict[str, Any] = {"ln": np.log, "digamma": digamma, "pi": np.pi}


class FeatureRange(NamedTuple):
    """Where a feature lies; with a step, its values are a grid."""

    name: str
    low: float
    high: float
    step: float | None


@dataclass(frozen=True)
class Equation:
    """A formula, and the rows that it is to be found from.

    `half` is empty for equations that are neither to be tuned on nor held back; `n_rows` is None where the study says
    how many.
    """

    collection: str
    name: str
    formula: str
    ranges: tuple[FeatureRange, ...]
    half: str
    n_rows: int | None
    test: tuple[FeatureRange, ...]
    n_test: int | None

    @property
    def features(self) -> list[str]:
        """Names."""
        return [own.name for own in self.ranges]

    def values(self, X: Matrix) -> Matrix:
        """The truth on rows; not a number where it has none."""
        with np.errstate(all="ignore"):
            found = self._evaluate(_numeric, dict(zip(self.features, X.T, strict=True)))
        return np.asarray(found * np.ones(len(X)), dtype=np.float64)

    def sympy(self) -> Any:
        """The truth as a SymPy expression."""
        symbols = dict(zip(self.features, self.symbols(), strict=True))
        return import_module("sympy").sympify(self._evaluate(_symbolic, symbols))

    def symbols(self) -> list[Any]:
        """Features for SymPy, positive if their ranges are."""
        make = import_module("sympy").Symbol
        return [make(own.name, positive=True) if own.low >= 0 else make(own.name, real=True) for own in self.ranges]

    def _evaluate(self, functions: Any, values: Mapping[str, Any]) -> Any:
        known = {name: functions(name) for name in _names_in(self.formula) if name not in values}
        return eval(compile(self.formula, self.name, "eval"), {"__builtins__": {}}, {**known, **values})

    def training_rows(self, n_rows: int | None, seed: int) -> tuple[Matrix, Matrix]:
        """Rows to learn from, where the truth is finite."""
        return self._finite(_drawn(self.ranges, n_rows, (seed, 0)))

    def test_rows(self, n_rows: int | None, seed: int) -> tuple[Matrix, Matrix]:
        """Rows as the collection tests on."""
        return self._finite(_drawn(self.test, n_rows, (seed, 1)))

    def uniform_rows(self, n_rows: int, seed: int, wider: float = 1.0) -> tuple[Matrix, Matrix]:
        """Rows between the ends of the ranges of the test, or wider about their middles."""
        ends = np.array([(own.low, own.high) for own in self.test]).T
        middle, half = ends.mean(axis=0), wider * np.ptp(ends, axis=0) / 2
        rng = np.random.default_rng((seed, 2 if wider == 1.0 else 3))
        return self._finite(rng.uniform(middle - half, middle + half, size=(n_rows, len(self.test))))

    def _finite(self, X: Matrix) -> tuple[Matrix, Matrix]:
        y = self.values(X)
        return X[np.isfinite(y)], y[np.isfinite(y)]


def _drawn(ranges: Sequence[FeatureRange], n_rows: int | None, seed: tuple[int, int]) -> Matrix:
    """A grid, or so many rows uniformly."""
    sides = [own.low + own.step * np.arange(round((own.high - own.low) / own.step) + 1) for own in ranges if own.step]
    if sides:
        return np.stack([side.ravel() for side in np.meshgrid(*sides, indexing="ij")], axis=1)
    assert n_rows is not None
    low, high = np.array([(own.low, own.high) for own in ranges]).T
    return np.random.default_rng(seed).uniform(low, high, size=(n_rows, len(ranges)))


def _names_in(formula: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(formula, mode="eval")) if isinstance(node, ast.Name)}


def _numeric(name: str) -> Any:
    """A function of NumPy's, or a constant."""
    found = _OWN.get(name, getattr(np, name, None))
    if not (isinstance(found, np.ufunc) or name in _OWN):
        raise ValueError(f"{name!r} is neither a feature nor a function of NumPy")
    return found


def _symbolic(name: str) -> Any:
    """The same of SymPy's, which writes asin for arcsin."""
    return getattr(import_module("sympy"), name.replace("arc", "a"))


def built_in() -> dict[str, list[Equation]]:
    """Equations of the package by collection; all are held back."""
    return {
        name: [_equation(name, entry, HALVES[1]) for entry in content["equations"]]
        for name, content in _content().items()
    }


def titles() -> dict[str, tuple[str, str]]:
    """Titles and sources of the package's collections."""
    return {name: (own["title"], " ".join(own["source"].split())) for name, own in _content().items()}


def _content() -> dict[str, Any]:
    return tomllib.loads((files("symgrove.experiments") / "laws.toml").read_text(encoding="utf-8"))


def collections(
    folder: Path | None = None, own: Sequence[Path] = (), wanted: Sequence[str] = ()
) -> dict[str, list[Equation]]:
    """Equations by collection: those of the package, Feynman's if a file has them, and one's own files.

    Parameters
    ----------
    folder : path, optional
        Where feynman.csv is; by default SYMGROVE_DATA, or the folder `laws` beside it.
    own : sequence of paths
        CSV files; a collection is named like its file.
    wanted : sequence of str
        Collections that must be there.
    """
    found = built_in()
    file = _feynman(folder)
    if file is not None:
        found[FEYNMAN] = read_equations(file)
    elif FEYNMAN in wanted:
        raise ValueError(
            f"there is no {FEYNMAN}.csv (columns {', '.join(COLUMNS[:4])}): name its folder with --data-dir, or set "
            "SYMGROVE_DATA to it or to the folder beside `laws`."
        )
    for path in own:
        if path.stem in found:
            raise ValueError(f"there is a collection {path.stem!r} already; rename {str(path)!r}.")
        found[path.stem] = read_equations(path)
    return found


def _feynman(folder: Path | None) -> Path | None:
    named = folder or os.environ.get("SYMGROVE_DATA") or None
    if named is None:
        return None
    places = [Path(named) / f"{FEYNMAN}.csv", Path(named).parent / "laws" / f"{FEYNMAN}.csv"]
    return next((place for place in places if place.is_file()), None)


def read_equations(file: Path) -> list[Equation]:
    """Equations in a CSV file with the columns id, formula and ranges, and perhaps half, rows, test, test_rows."""
    if not file.is_file():
        raise ValueError(f"{str(file)!r} does not exist, or is not a file.")
    with file.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        names = reader.fieldnames or []
        if not set(COLUMNS[:3]) <= set(names) <= set(COLUMNS):
            raise ValueError(
                f"{str(file)!r} must have the columns {', '.join(COLUMNS[:3])}, and may have {', '.join(COLUMNS[3:])}; "
                f"it has {', '.join(names)}."
            )
        return [_equation(file.stem, {k: v for k, v in line.items() if v}) for line in reader]


def _equation(collection: str, entry: Mapping[str, Any], half: str = "") -> Equation:
    """An entry of a table, checked."""
    name = str(entry.get("id", ""))
    try:
        ranges = _ranges(entry["ranges"])
        test = _ranges(entry.get("test", entry["ranges"]))
        n_rows, n_test = _count(entry.get("rows")), _count(entry.get("test_rows", entry.get("rows")))
        own = Equation(collection, name, entry["formula"], ranges, entry.get("half", half), n_rows, test, n_test)
        if own.half not in ("", *HALVES):
            raise ValueError(f"half must be {' or '.join(HALVES)}, got {own.half!r}")
        if [r.name for r in test] != own.features:
            raise ValueError("ranges and test must name the same features")
        _check_code(own)
    except (KeyError, ValueError, SyntaxError, TypeError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        raise ValueError(f"the equation {name!r} of {collection} {what}.") from error
    return own


def _check_code(own: Equation) -> None:
    for node in ast.walk(ast.parse(own.formula, mode="eval")):
        is_number = isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        if not isinstance(node, _CODE) or (isinstance(node, ast.Constant) and not is_number):
            raise ValueError(f"{ast.unparse(node)!r} is no arithmetic")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise ValueError(f"{ast.unparse(node.func)!r} is no function of NumPy's")
    for name in _names_in(own.formula) - set(own.features):
        _numeric(name)


def _count(text: Any) -> int | None:
    if text is None:
        return None
    if int(text) < 1:
        raise ValueError(f"numbers of rows must be at least 1, got {text}")
    return int(text)


def _ranges(text: str) -> tuple[FeatureRange, ...]:
    found = []
    for word in text.split():
        name, *numbers = word.split(":")
        if not (name.isidentifier() and len(numbers) in (2, 3)):
            raise ValueError(f"a range must be name:low:high or name:low:high:step, got {word!r}")
        low, high = float(numbers[0]), float(numbers[1])
        step = float(numbers[2]) if len(numbers) == 3 else None
        if not low < high or (step is not None and not 0 < step <= high - low):
            raise ValueError(f"a range must have low < high, and a step that fits, got {word!r}")
        found.append(FeatureRange(name, low, high, step))
    if not found or len({own.step is None for own in found}) > 1:
        raise ValueError(f"ranges must all have a step, or none, got {text!r}")
    return tuple(found)
