"""Primitives that users make of plain Python functions, with templates for the languages they export to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from symgrove._checks import check_own_function, check_plain_name
from symgrove.forest.primitive_table import BUILTIN, Array, Primitive
from symgrove.forest.templates import Templates, checked_sql, checked_template

_IN_BRACKETS = ("python", "c", "javascript", "sql", "sqlite", "duckdb", "excel")


def primitive(
    function: Callable[..., float],
    *,
    name: str | None = None,
    derivative: tuple[Callable[..., Array], ...] = (),
    latex: str | None = None,
    mathml: str | None = None,
    python: str | None = None,
    c: str | None = None,
    javascript: str | None = None,
    sql: str | Mapping[str, str] | None = None,
    excel: str | None = None,
    onnx: str | None = None,
    sympy: str | None = None,
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
    latex, mathml : str, optional
        How formulas show it; a call of the name by default. These and all below are templates: text with ``{0}`` and
        ``{1}`` where the operands go, each at least once; a brace that is meant is doubled.
    python, c, javascript, excel : str, optional
        An expression that computes the function in that language, for exports: ``c="log1p(exp({0}))"``. Python's is
        over columns and may use NumPy as `np`: ``python="np.log1p(np.exp({0}))"``. An operand that stands there more
        than once is computed once. Without a template, a model with this function cannot be exported to the language.
    sql : str or mapping, optional
        The same for SQL; ``{"sqlite": ..., "duckdb": ...}`` if the dialects need different ones.
    onnx : str, optional
        Calls of ONNX operators, numbers among their operands: ``onnx="Log(Add(Exp({0}), 1.0))"``. Lines before the
        last may name parts: ``"size = Abs({0})"``.
    sympy : str, optional
        An expression of SymPy's functions: ``sympy="log(1 + exp({0}))"``; by default a function without a definition.

    Examples
    --------
    >>> from symgrove import Forest, PrimitiveSet, parse, primitive, to_text
    >>> def clip(x):
    ...     return min(max(x, -1.0), 1.0)
    >>> forest = Forest(1, PrimitiveSet(("add", primitive(clip))))
    >>> to_text(forest, parse(forest, "clip(x0 + 2)"))
    'clip(x0 + 2)'
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
    given = {"mathml": mathml, "python": python, "c": c, "javascript": javascript, "excel": excel, "onnx": onnx}
    given |= {"sympy": sympy, "latex": _call(name, arity) if latex is None else latex}
    templates: dict[str, Any] = {
        key: checked_template(name, arity, key, text) for key, text in given.items() if text is not None
    }
    templates |= {} if sql is None else checked_sql(name, arity, sql)
    # An operand may be any expression, and so may what stands around the template.
    templates = {key: f"({text})" if key in _IN_BRACKETS else text for key, text in templates.items()}
    text = f"{name}({', '.join(f'{{{i}}}' for i in range(arity))})"
    meaning = partial(_apply_elementwise, function, arity)
    partials = tuple(partial(_apply, function, arity) for function in derivative)
    return Primitive(0, name, arity, meaning, partials, Templates(text=text, **templates), function)


def _call(name: str, arity: int) -> str:
    """LaTeX of a call."""
    shown = name.replace("_", "\\_")
    return rf"\operatorname{{{{{shown}}}}}\left({', '.join(f'{{{i}}}' for i in range(arity))}\right)"


def _apply(function: Callable[..., Array], arity: int, a: Array, b: Array, eps: float) -> Array:
    """Call a user's function, which knows no epsilon and, if unary, no second operand."""
    return function(a) if arity == 1 else function(a, b)


def _apply_elementwise(function: Callable[..., float], arity: int, a: Array, b: Array, eps: float) -> Array:
    """Call a user's scalar function on every element; where Python refuses, as math.sqrt(-1) does, it is NaN."""

    def tried(*operands: float) -> float:
        try:
            return function(*operands)
        except (ArithmeticError, ValueError):
            return np.nan

    return _apply(np.vectorize(tried, otypes=[float]), arity, a, b, eps)


def _check_name(name: str) -> None:
    check_plain_name("primitive", name)
    if name in BUILTIN or name.removeprefix("protected_") in BUILTIN:
        raise ValueError(f"primitive name {name!r} is taken by a built-in primitive; pass another name='...'.")
    if name in ("feature", "constant"):
        raise ValueError(f"primitive name {name!r} is reserved; pass another name='...'.")
    if re.fullmatch(r"x\d+", name):
        raise ValueError(f"primitive name {name!r} reads like a feature; pass another name='...'.")
