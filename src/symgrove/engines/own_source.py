"""Functions of numbers in C, for engines that compile C.

What is translated is Numba's representation of the function: it knows lambdas, closures and every version of Python.
All numbers are of one type; arithmetic, comparisons, conditions, `math`, NumPy's scalar functions, and functions that
are made of these, are known.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import numba.core.ir as numba_ir
import numpy as np
from numba.core.compiler import run_frontend
from numba.core.errors import NumbaError

_OPERATORS = {
    operator.add: "{0} + {1}",
    operator.sub: "{0} - {1}",
    operator.mul: "{0} * {1}",
    operator.truediv: "{0} / {1}",
    operator.pow: "{1} == 2 ? {0} * {0} : pow({0}, {1})",
    operator.mod: "{0} - floor({0} / {1}) * {1}",
    operator.floordiv: "floor({0} / {1})",
    operator.iadd: "{0} + {1}",
    operator.isub: "{0} - {1}",
    operator.imul: "{0} * {1}",
    operator.itruediv: "{0} / {1}",
    operator.ipow: "{1} == 2 ? {0} * {0} : pow({0}, {1})",
    operator.lt: "{0} < {1}",
    operator.le: "{0} <= {1}",
    operator.gt: "{0} > {1}",
    operator.ge: "{0} >= {1}",
    operator.eq: "{0} == {1}",
    operator.ne: "{0} != {1}",
    operator.and_: "({0} != 0) & ({1} != 0)",
    operator.or_: "({0} != 0) | ({1} != 0)",
    operator.neg: "-{0}",
    operator.pos: "{0}",
    operator.not_: "{0} == 0",
}
_SAME_NAMES = (
    *("sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "hypot", "floor", "ceil", "trunc", "copysign"),
    *("erf", "erfc", "fabs", "pow"),
)
_LARGER, _SMALLER = "{0} > {1} || {0} != {0} ? {0} : {1}", "{0} < {1} || {0} != {0} ? {0} : {1}"
_FUNCTIONS: dict[Any, str] = {
    abs: "fabs({0})",
    float: "{0}",
    bool: "{0} != 0",
    max: "{1} > {0} ? {1} : {0}",
    min: "{1} < {0} ? {1} : {0}",
    np.abs: "fabs({0})",
    np.square: "{0} * {0}",
    np.maximum: _LARGER,
    np.minimum: _SMALLER,
    np.sign: "{0} > 0 ? 1 : {0} < 0 ? -1 : {0}",
    np.where: "{0} != 0 ? {1} : {2}",
    np.clip: "{0} < {1} ? {1} : {0} > {2} ? {2} : {0}",
    math.isnan: "{0} != {0}",
    np.isnan: "{0} != {0}",
    math.isfinite: "{0} - {0} == 0",
    np.isfinite: "{0} - {0} == 0",
}
for _name in _SAME_NAMES:
    _ufunc = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh"}
    _ufunc |= {"acosh": "arccosh", "atanh": "arctanh", "pow": "power"}
    for _module, _own in ((math, _name), (np, _ufunc.get(_name, _name))):
        if _own in vars(_module):
            _arguments = "{0}, {1}" if _name in ("atan2", "hypot", "copysign", "pow") else "{0}"
            _FUNCTIONS[vars(_module)[_own]] = f"{_name}({_arguments})"


MOST_CALLS = 8  # one in another
Slots = Mapping[Callable[..., float], Mapping[str, int]]


def c_function(
    name: str, function: Callable[..., float], arity: int, number: str, what: str, slots: Slots | None = None
) -> str:
    """A function of numbers as a C function of a type; `what` names it in errors.

    `slots` says of functions where their numbers from outside stand in `numbers`, a last argument; of others, and
    without it, they are written down.
    """
    return _InC(function, what, slots).definition(name, arity, number)


class _InC:
    """One function on its way to C: the C names of Numba's variables, and what is known to be no number."""

    def __init__(self, function: Callable[..., float], what: str, slots: Slots | None, depth: int = 0) -> None:
        self.function = function
        self.what = what
        self.slots = slots
        self.depth = depth
        self.names: dict[str, str] = {}
        self.objects: dict[str, Any] = {}
        self.own: dict[tuple[Any, int], str] = {}  # functions that it calls

    def definition(self, name: str, arity: int, number: str) -> str:
        """The C function, after those that it calls."""
        code = getattr(self.function, "__code__", None)
        if code is not None and code.co_argcount != arity:
            raise self._refusal(f"{code.co_name!r} is not called with all of its {code.co_argcount} arguments.")
        try:
            blocks = run_frontend(self.function).blocks
        except NumbaError as error:
            raise self._refusal(str(error).splitlines()[0]) from error
        self.name = name
        lines = [line for label, block in blocks.items() for line in self._block(label, block)]
        called = [
            _InC(own, self.what, self.slots, self.depth + 1).definition(own_name, n_operands, number)
            for (own, n_operands), own_name in self.own.items()
        ]
        declared = [f"{number} {own} = 0;" for own in self.names.values()]
        operands = [f"{number} arg{i}" for i in range(arity)]
        operands += [] if self.slots is None else [f"const {number} *numbers"]
        body = "".join(f"    {line}\n" for line in declared + lines)
        return "".join(called) + f"DEVICE {number} {name}({', '.join(operands)})\n{{\n{body}}}\n"

    def _refusal(self, reason: str) -> ValueError:
        return ValueError(
            f"{self.what} cannot be compiled for the card: {reason} It may use arithmetic, comparisons, conditions, "
            "math and NumPy's scalar functions; a primitive may have a template, c='...', instead."
        )

    def _block(self, label: int, block: Any) -> Iterator[str]:
        """Statements of a basic block, which ends in a jump."""
        yield f"L{label}:;"
        for statement in block.body:
            if isinstance(statement, numba_ir.Assign):
                text = self._value(statement.target.name, statement.value)
                if text is not None:
                    yield f"{self._named(statement.target)} = {text};"
            elif isinstance(statement, numba_ir.Return):
                yield f"return {self._named(statement.value)};"
            elif isinstance(statement, numba_ir.Jump):
                yield f"goto L{statement.target};"
            elif isinstance(statement, numba_ir.Branch):
                yield f"if ({self._named(statement.cond)} != 0) goto L{statement.truebr};"
                yield f"goto L{statement.falsebr};"
            elif not isinstance(statement, numba_ir.Del):
                raise self._refusal(f"{statement} is not known there.")

    def _named(self, variable: Any) -> str:
        """The C variable of one of Numba's."""
        if variable.name in self.objects:
            raise self._refusal(f"{self.objects[variable.name]!r} is used as a number.")
        return self.names.setdefault(variable.name, f"v{len(self.names)}")

    def _value(self, target: str, value: Any) -> str | None:
        """What is assigned, as an expression; None if it is no number, and only remembered."""
        if isinstance(value, numba_ir.Arg):
            return f"arg{value.index}"
        if isinstance(value, numba_ir.Var):
            return self._copied(target, value)
        if isinstance(value, numba_ir.FreeVar) and value.name in (self.slots or {}).get(self.function, {}):
            return f"numbers[{(self.slots or {})[self.function][value.name]}]"
        if isinstance(value, (numba_ir.Const, numba_ir.Global, numba_ir.FreeVar)):
            return self._held(target, value.value)
        if value.op == "getattr" and value.value.name in self.objects:
            return self._held(target, getattr(self.objects[value.value.name], value.attr, None))
        if value.op == "cast":
            return self._copied(target, value.value)
        if value.op in ("binop", "inplace_binop") and value.fn in _OPERATORS:
            return _OPERATORS[value.fn].format(self._named(value.lhs), self._named(value.rhs))
        if value.op == "unary" and value.fn in _OPERATORS:
            return _OPERATORS[value.fn].format(self._named(value.value))
        if value.op == "call":
            return self._called(value)
        raise self._refusal(f"{value} is not known there.")

    def _copied(self, target: str, variable: Any) -> str | None:
        if variable.name in self.objects:
            return self._held(target, self.objects[variable.name])
        return self._named(variable)

    def _held(self, target: str, value: Any) -> str | None:
        """A number as it is written; anything else is remembered."""
        if isinstance(value, (bool, int, float, np.number, np.bool_)):
            number = float(value)
            if math.isfinite(number):
                return repr(number)
            return "NOT_A_NUMBER" if math.isnan(number) else "INFINITE" if number > 0 else "-INFINITE"
        self.objects[target] = value
        return None

    def _called(self, value: Any) -> str:
        function = self.objects.get(value.func.name)
        try:
            template = _FUNCTIONS.get(function)
        except TypeError:  # not hashable
            template = None
        if isinstance(function, FunctionType) and not value.kws and self.depth < MOST_CALLS:
            operands = [self._named(argument) for argument in value.args]
            operands += [] if self.slots is None else ["numbers"]
            name = self.own.setdefault((function, len(value.args)), f"{self.name}_{len(self.own)}")
            return f"{name}({', '.join(operands)})"
        n_operands = sum(f"{{{i}}}" in template for i in range(3)) if template else -1
        if template is None or value.kws or len(value.args) != n_operands:
            raise self._refusal(f"the call of {getattr(function, '__name__', function)!r} is not known there.")
        return template.format(*(self._named(argument) for argument in value.args))
