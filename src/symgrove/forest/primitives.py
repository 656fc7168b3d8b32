"""A `PrimitiveSet`: the choice of primitives that programs are made of.

What a built-in primitive is stands in the table (primitive_table.py); users make others of plain Python functions
(own_primitives.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.primitive_table import BUILTIN, Primitive

__all__ = ["PAPER_FUNCTIONS", "PROTECTION_EPSILON", "Primitive", "PrimitiveSet"]

PROTECTION_EPSILON = 1e-10  # Virgolin 2021, experimental setup
# Up to here, the epsilon of a division is left out where formulas are written for people: it matters next to a division
# by zero, which has no value.
SMALL_EPSILON = 1e-9
# The functions of the paper's experiments.
PAPER_FUNCTIONS = ("add", "sub", "mul", "div", "sqrt", "log")
_PROTECTED = tuple(name for name, row in BUILTIN.items() if row.has_epsilon)


class PrimitiveSet:
    """The primitives that programs of one forest may use.

    Parameters
    ----------
    functions : sequence of str or Primitive
        Names of built-in primitives, and primitives made by `primitive`.
    epsilon : float or mapping from name to float
        Protection constant of `div` and `log`; names that a mapping leaves out get the paper's 1e-10.

    Attributes
    ----------
    by_code : dict of int to Primitive
        All built-in primitives, and the user-defined ones with the numbers they got here.
    functions : tuple of Primitive
        The chosen ones, which random programs are made of.
    written_names : dict of str to str
        Names in text that are not the primitives' own. Where `plain_sqrt` is chosen and `sqrt` is not, text writes the
        plain one as sqrt, and the protected one, if a program has it nevertheless, as protected_sqrt.

    Examples
    --------
    >>> from symgrove import PrimitiveSet
    >>> [one.name for one in PrimitiveSet(("add", "mul", "log")).functions]
    ['add', 'mul', 'log']
    """

    def __init__(
        self,
        functions: Sequence[str | Primitive] | str | Primitive = PAPER_FUNCTIONS,
        epsilon: float | Mapping[str, float] = PROTECTION_EPSILON,
    ) -> None:
        if isinstance(functions, (str, Primitive)):
            functions = (functions,)
        if not isinstance(functions, Sequence):
            raise TypeError(f"functions must be a list or tuple of names and primitives, got {functions!r}.")
        self.by_code: dict[int, Primitive] = {p.code: p for p in BUILTIN.values()}
        self.by_name: dict[str, Primitive] = dict(BUILTIN)
        self.functions = tuple(self._resolve(function) for function in functions)
        names = [p.name for p in self.functions]
        if not names:
            raise ValueError("functions is empty; name at least one primitive, for example ('add', 'mul').")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"functions names {', '.join(map(repr, repeated))} more than once.")
        self.epsilon = _resolve_epsilon(epsilon)
        self.written_names: dict[str, str] = {}
        for row in BUILTIN.values():
            protected = row.plain_form_of
            if protected and row.name in names and protected not in names:
                self.written_names |= {row.name: protected, protected: f"protected_{protected}"}
        self._meant_names = {written: name for name, written in self.written_names.items()}

    def _resolve(self, function: str | Primitive) -> Primitive:
        if isinstance(function, str):
            return self[function]
        if not isinstance(function, Primitive):
            raise TypeError(
                f"functions holds {function!r}; give names of built-in primitives or symgrove.primitive(function)."
            )
        known = self.by_name.get(function.name)
        if function.function is None or (known is not None and known.function is function.function):
            return self[function.name]
        if known is not None:
            raise ValueError(f"functions holds two different primitives called {function.name!r}.")
        numbered = replace(function, code=max(self.by_code) + 1)
        self.by_code[numbered.code] = self.by_name[numbered.name] = numbered
        return numbered

    def __getitem__(self, name: str) -> Primitive:
        try:
            return self.by_name[name]
        except KeyError:
            near = difflib.get_close_matches(name, self.by_name, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"unknown primitive {name!r}.{hint} Accepted: {', '.join(sorted(self.by_name))}."
            ) from None

    def meant_by(self, name: str) -> str:
        """Name of the primitive that text calls by this name."""
        return self._meant_names.get(name, name)

    def is_same(self, other: PrimitiveSet) -> bool:
        """Whether programs mean the same under both: the same primitives by code, and the same epsilon."""
        ours, theirs = (
            {code: (row.name, row.function) for code, row in each.by_code.items()} for each in (self, other)
        )
        return self is other or (ours == theirs and self.epsilon == other.epsilon)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def arity_by_code(self) -> NDArray[np.int64]:
        """Arity of every code, 0 for features and constants."""
        arity = np.zeros(max(self.by_code) + 1, dtype=np.int64)
        for code, row in self.by_code.items():
            arity[code] = row.arity
        return arity

    def written_epsilon(self, name: str) -> float | None:
        """Protection constant of `div` or `log` if formulas show it: that of `log`, and a large one of `div`."""
        epsilon = self.epsilon.get(name, 0.0)
        return epsilon if epsilon > (SMALL_EPSILON if name == "div" else 0.0) else None

    def epsilon_of(self, name: str) -> float:
        """Protection constant of a primitive."""
        return self.epsilon.get(name, PROTECTION_EPSILON)

    def epsilon_by_code(self) -> NDArray[np.float64]:
        """Protection constant of every code."""
        epsilon = np.zeros(max(self.by_code) + 1)
        for code, row in self.by_code.items():
            epsilon[code] = self.epsilon_of(row.name)
        return epsilon


def _resolve_epsilon(epsilon: float | Mapping[str, float]) -> dict[str, float]:
    by_name = dict(epsilon) if isinstance(epsilon, Mapping) else dict.fromkeys(_PROTECTED, epsilon)
    for name, value in by_name.items():
        if name not in _PROTECTED:
            raise ValueError(f"epsilon names {name!r}; only {' and '.join(map(repr, _PROTECTED))} have one.")
        is_number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
        if not (is_number and np.isfinite(value) and value >= 0):
            raise ValueError(f"epsilon of {name!r} must be a finite number of at least 0, got {value!r}.")
    return {name: float(by_name.get(name, PROTECTION_EPSILON)) for name in _PROTECTED}
