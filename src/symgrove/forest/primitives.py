"""The primitive table: everything that is known about a primitive, one row each.

A row has the NumPy meaning, the partial derivatives, and how the primitive is written as text, LaTeX and C. The
protected division, square root and logarithm are those of Virgolin (2021, experimental setup), with epsilon as a
parameter. How a primitive is computed fast is in `engines/`; this table is what it is tested against.

A `PrimitiveSet` is a choice of rows, plus primitives that users write as plain Python functions.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_own_function, check_plain_name

FEATURE = 0  # code of a feature node
CONSTANT = 1  # code of a constant node
FIRST_PRIMITIVE = 2

PROTECTION_EPSILON = 1e-10  # Virgolin 2021, experimental setup
# Up to here, the epsilon of a division is left out where formulas are written for people: it matters next to a division
# by zero, which has no value.
SMALL_EPSILON = 1e-9
EXP_CAP = 80.0  # exp(80) = 5.5e34 still fits float32

Array = Any
Meaning = Callable[[Array, Array, float], Array]


class Text(NamedTuple):
    """How a primitive is written: templates with {0}, {1} for operands and {eps} for epsilon.

    In infix text and LaTeX, whoever prints puts brackets around operands of lower precedence.
    """

    infix: str
    latex: str
    c: str


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive.

    Attributes
    ----------
    code : int
        Identifies the primitive in a forest; 0 for a user-defined one until a `PrimitiveSet` numbers it.
    name : str
        Name in `functions=` and in formulas.
    arity : int
        1 or 2.
    meaning : callable (a, b, epsilon) -> array
        The definition, in NumPy; `b` is ignored by unary primitives.
    derivative : tuple of callables (a, b, epsilon) -> array
        Partial derivative for each operand; empty when unknown. At kinks, one of the one-sided values.
    text : Text
        Infix text, LaTeX and C.
    function : callable or None
        A user's own scalar function; None for built-in primitives.
    """

    code: int
    name: str
    arity: int
    meaning: Meaning
    derivative: tuple[Meaning, ...]
    text: Text
    function: Callable[..., float] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Built-in meanings are lambdas: a built-in primitive travels by name.
        if self.function is None:
            return _builtin, (self.name,)
        fields = (self.code, self.name, self.arity, self.meaning, self.derivative, self.text, self.function)
        return Primitive, fields


def _builtin(name: str) -> Primitive:
    return BUILTIN[name]


def _sign(b: Array) -> Array:
    """+1 for b >= 0, also for b = 0, else -1: the sign that protected division keeps."""
    return np.where(np.asarray(b) < 0, -1.0, 1.0).astype(np.asarray(b).dtype)


def _div(a: Array, b: Array, eps: float) -> Array:
    return a * _sign(b) / (np.abs(b) + eps)


def _or_one(b: Array) -> Array:
    """b, and 1 where it is 0: dividing by it leaves the other operand as it is."""
    return np.where(np.asarray(b) == 0, np.ones_like(b), b)


def _ones(a: Array) -> Array:
    return np.ones_like(a)


def _step(a: Array, b: Array, eps: float) -> Array:
    return np.where(np.asarray(a) > b, 1.0, 0.0).astype(np.asarray(a).dtype)


def _call(name: str) -> str:
    shown = name.replace("_", "\\_")
    return f"\\operatorname{{{{{shown}}}}}\\left({{0}}\\right)"


# fmt: off
_ROWS: tuple[tuple[str, int, Meaning, tuple[Meaning, ...], Text], ...] = (
    ("add", 2, lambda a, b, e: a + b,
     (lambda a, b, e: _ones(a), lambda a, b, e: _ones(a)),
     Text("{0} + {1}", "{0} + {1}", "({0} + {1})")),
    ("sub", 2, lambda a, b, e: a - b,
     (lambda a, b, e: _ones(a), lambda a, b, e: -_ones(a)),
     Text("{0} - {1}", "{0} - {1}", "({0} - {1})")),
    ("mul", 2, lambda a, b, e: a * b,
     (lambda a, b, e: b, lambda a, b, e: a),
     Text("{0} * {1}", "{0} \\cdot {1}", "({0} * {1})")),
    ("div", 2, _div,
     (lambda a, b, e: _sign(b) / (np.abs(b) + e), lambda a, b, e: -a / (np.abs(b) + e) ** 2),
     Text("{0} / {1}", "\\frac{{{0}}}{{{1}}}", "(({1} < 0 ? -({0}) : ({0})) / (fabs({1}) + {eps}))")),
    ("aq", 2, lambda a, b, e: a / np.sqrt(1 + b * b),
     (lambda a, b, e: 1 / np.sqrt(1 + b * b), lambda a, b, e: -a * b / (1 + b * b) ** 1.5),
     Text("aq({0}, {1})", "\\frac{{{0}}}{{\\sqrt{{1 + \\left({1}\\right)^2}}}}",
          "(({0}) / sqrt(1 + ({1}) * ({1})))")),
    ("min", 2, lambda a, b, e: np.minimum(a, b),
     (lambda a, b, e: _step(b, a, e), lambda a, b, e: 1 - _step(b, a, e)),
     Text("min({0}, {1})", "\\min\\left({0}, {1}\\right)", "(({0}) < ({1}) || ({0}) != ({0}) ? ({0}) : ({1}))")),
    ("max", 2, lambda a, b, e: np.maximum(a, b),
     (lambda a, b, e: _step(a, b, e), lambda a, b, e: 1 - _step(a, b, e)),
     Text("max({0}, {1})", "\\max\\left({0}, {1}\\right)", "(({0}) > ({1}) || ({0}) != ({0}) ? ({0}) : ({1}))")),
    ("step", 2, _step,
     (lambda a, b, e: np.zeros_like(a), lambda a, b, e: np.zeros_like(a)),
     Text("step({0}, {1})", "\\left[{0} > {1}\\right]", "(({0}) > ({1}) ? 1.0 : 0.0)")),
    ("sqrt", 1, lambda a, b, e: np.sqrt(np.abs(a)),
     (lambda a, b, e: _sign(a) * 0.5 / np.sqrt(np.abs(a)),),
     Text("sqrt(abs({0}))", "\\sqrt{{\\left|{0}\\right|}}", "sqrt(fabs({0}))")),
    ("log", 1, lambda a, b, e: np.log(np.abs(a) + e),
     (lambda a, b, e: _sign(a) / (np.abs(a) + e),),
     Text("log(abs({0}))", "\\log\\left|{0}\\right|", "log(fabs({0}) + {eps})")),
    ("log1p", 1, lambda a, b, e: np.log1p(np.abs(a)),
     (lambda a, b, e: _sign(a) / (1 + np.abs(a)),),
     Text("log1p(abs({0}))", "\\log\\left(1 + \\left|{0}\\right|\\right)", "log1p(fabs({0}))")),
    ("exp", 1, lambda a, b, e: np.exp(np.minimum(a, EXP_CAP)),
     (lambda a, b, e: np.where(a < EXP_CAP, np.exp(np.minimum(a, EXP_CAP)), 0.0),),
     Text("exp({0})", "\\exp\\left({0}\\right)", "exp(({0}) > 80 ? 80 : ({0}))")),
    ("sin", 1, lambda a, b, e: np.sin(a), (lambda a, b, e: np.cos(a),),
     Text("sin({0})", "\\sin\\left({0}\\right)", "sin({0})")),
    ("cos", 1, lambda a, b, e: np.cos(a), (lambda a, b, e: -np.sin(a),),
     Text("cos({0})", "\\cos\\left({0}\\right)", "cos({0})")),
    ("tanh", 1, lambda a, b, e: np.tanh(a), (lambda a, b, e: 1 - np.tanh(a) ** 2,),
     Text("tanh({0})", "\\tanh\\left({0}\\right)", "tanh({0})")),
    ("square", 1, lambda a, b, e: a * a, (lambda a, b, e: 2 * a,),
     Text("square({0})", "\\left({0}\\right)^2", "(({0}) * ({0}))")),
    ("cube", 1, lambda a, b, e: a * a * a, (lambda a, b, e: 3 * a * a,),
     Text("cube({0})", "\\left({0}\\right)^3", "(({0}) * ({0}) * ({0}))")),
    ("neg", 1, lambda a, b, e: -a, (lambda a, b, e: -_ones(a),),
     Text("-{0}", "-{0}", "(-({0}))")),
    ("abs", 1, lambda a, b, e: np.abs(a), (lambda a, b, e: _sign(a),),
     Text("abs({0})", "\\left|{0}\\right|", "fabs({0})")),
    ("pdiv", 2, lambda a, b, e: a / _or_one(b),
     (lambda a, b, e: 1 / _or_one(b), lambda a, b, e: np.where(np.asarray(b) == 0, 0.0, -a / _or_one(b) ** 2)),
     Text("pdiv({0}, {1})", "\\operatorname{{pdiv}}\\left({0}, {1}\\right)", "(({1}) == 0 ? ({0}) : ({0}) / ({1}))")),
)
# fmt: on

BUILTIN: dict[str, Primitive] = {
    row[0]: Primitive(FIRST_PRIMITIVE + position, *row) for position, row in enumerate(_ROWS)
}

# The functions of the paper's experiments.
PAPER_FUNCTIONS = ("add", "sub", "mul", "div", "sqrt", "log")


def primitive(
    function: Callable[..., float],
    *,
    name: str | None = None,
    derivative: tuple[Callable[..., Array], ...] = (),
    latex: str | None = None,
    c: str | None = None,
) -> Primitive:
    """Make a primitive of a plain Python function of one or two numbers.

    Numba compiles the function, so it may use arithmetic, comparisons, `math` and NumPy's scalar functions. In float32
    mode its float literals become float32; whole-number literals and global constants stay as they are and slow it
    down. The machine code is not cached on disk: each process compiles it again, in about half a second. It stays in
    memory, about a megabyte for each different function: Numba does not free it.

    Parameters
    ----------
    function : callable
        ``f(a)`` or ``f(a, b)``, numbers in, a number out.
    name : str, optional
        Name in formulas; the function's own name by default.
    derivative : tuple of callables, optional
        Partial derivatives with the function's own arguments, over arrays.
    latex, c : str, optional
        Templates with ``{0}`` and ``{1}``; calls of the name by default.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"a primitive is made of a plain Python function (def or lambda), got {function!r}.")
    name = function.__name__ if name is None else name
    _check_name(name)
    arity = check_own_function("primitive", name, function)
    if arity not in (1, 2):
        raise ValueError(f"primitive {name!r} takes {arity} arguments; primitives take one or two.")
    if len(derivative) not in (0, arity):
        raise ValueError(f"primitive {name!r} takes {arity} arguments but has {len(derivative)} derivatives.")
    slots = ", ".join(f"{{{i}}}" for i in range(arity))
    text = Text(f"{name}({slots})", latex or _call(name).replace("{0}", slots), c or f"{name}({slots})")
    meaning = partial(_apply_elementwise, function, arity)
    partials = tuple(partial(_apply, function, arity) for function in derivative)
    return Primitive(0, name, arity, meaning, partials, text, function)


def _apply(function: Callable[..., Array], arity: int, a: Array, b: Array, eps: float) -> Array:
    """Call a user's function, which knows no epsilon and, if unary, no second operand."""
    return function(a) if arity == 1 else function(a, b)


def _apply_elementwise(function: Callable[..., float], arity: int, a: Array, b: Array, eps: float) -> Array:
    """Call a user's scalar function on every element."""
    return _apply(np.vectorize(function, otypes=[float]), arity, a, b, eps)


def _check_name(name: str) -> None:
    check_plain_name("primitive", name)
    if name in BUILTIN:
        raise ValueError(f"primitive name {name!r} is taken by a built-in primitive; pass another name='...'.")
    if name in ("feature", "constant"):
        raise ValueError(f"primitive name {name!r} is reserved; pass another name='...'.")
    if re.fullmatch(r"x\d+", name):
        raise ValueError(f"primitive name {name!r} reads like a feature; pass another name='...'.")


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


def _resolve_epsilon(epsilon: float | Mapping[str, float]) -> dict[str, float]:
    protected = ("div", "log")
    by_name = dict(epsilon) if isinstance(epsilon, Mapping) else dict.fromkeys(protected, epsilon)
    for name, value in by_name.items():
        if name not in protected:
            raise ValueError(f"epsilon names {name!r}; only {' and '.join(map(repr, protected))} have one.")
        is_number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
        if not (is_number and np.isfinite(value) and value >= 0):
            raise ValueError(f"epsilon of {name!r} must be a finite number of at least 0, got {value!r}.")
    return {name: float(by_name.get(name, PROTECTION_EPSILON)) for name in protected}
