"""Source of the CUDA engine's kernels, for a dtype, some primitives, and a loss of the user's.

Built-in primitives are expressions of their operands `a` and `b` and of epsilon `e`, in what C and CUDA have in common.
A user's primitive is its C template, if it has one, or else what `own_source.py` makes of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.resources import files
from typing import Any

import numpy as np

from symgrove.engines.own_source import c_function
from symgrove.forest.primitive_table import BUILTIN, EXP_CAP, Primitive

_PLACE_OF_PRIMITIVES = "/* Primitives come here, and CASES. */\n"
_FILES = "cuda_kernels.cu", "cuda_vector_kernels.cu"
_FUNCTION_FILE = "cuda_function_kernels.cu"
_END_OF_PLACES = "/* Rows `start` to `stop` of vectors"  # what follows, functions do not need
MOST_CODES = 256  # a step has a byte for it

# As in block_kernels.py.
_EXPRESSIONS = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "(b < 0 ? -a : a) / (size_of(b) + e)",
    "pdiv": "a / (b == 0 ? (REAL)1 : b)",
    "aq": "a / sqrt((REAL)1 + b * b)",
    "min": "a < b || a != a ? a : b",
    "max": "a > b || a != a ? a : b",
    "step": "a > b ? (REAL)1 : (REAL)0",
    "sqrt": "sqrt(fabs(a))",
    "log": "log(fabs(a) + e)",
    "log1p": "log1p(fabs(a))",
    "exp": f"exp(a > (REAL){EXP_CAP} ? (REAL){EXP_CAP} : a)",
    "sin": "sin(a)",
    "cos": "cos(a)",
    "tanh": "tanh(a)",
    "square": "a * a",
    "cube": "a * a * a",
    "neg": "-a",
    "abs": "fabs(a)",
    "plain_div": "a / b",
    "plain_sqrt": "sqrt(a)",
    "plain_log": "log(a)",
    "plain_exp": "exp(a)",
    "power": "b == 2 ? a * a : b == 3 ? a * a * a : b == -1 ? (REAL)1 / a : b == -2 ? ((REAL)1 / a) * ((REAL)1 / a)"
    " : b == (REAL)0.5 ? (a == -(REAL)INFINITE ? (REAL)INFINITE : sqrt(a) + (REAL)0) : pow(a, b)",
    "arcsin": "asin(a)",
    "arccos": "acos(a)",
}
_TYPES = {"float32": ("float", "int"), "float64": ("double", "long long")}
_NUMBERS = """\
#ifndef INFINITE
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)
#endif
"""


def kernel_source(
    rows: Iterable[Primitive], dtype: np.dtype[Any], own_loss: tuple[str, Callable[..., float]] | None = None
) -> str:
    """All kernels, for programs of these primitives in a dtype, and for a user's row loss, given with its name."""
    rows = list(rows)
    real, bits = _TYPES[dtype.name]
    head = [f"#define REAL {real}", f"#define BITS {bits}", _NUMBERS]
    body, *more = map(_text, _FILES)
    definitions, _, kernels = body.partition(_PLACE_OF_PRIMITIVES)
    functions = [_function(row) for row in rows]
    functions.append("#define CASES " + " ".join(f"CASE({row.code}, primitive_{row.code})" for row in rows))
    if own_loss is not None:
        functions += [c_function("own_loss", own_loss[1], 2, "double", own_loss[0]), "#define OWN_LOSS"]
    return "\n".join([*head, definitions, *functions, kernels, *more])


def function_source(function: str, n_sets: int) -> str:
    """Kernels for `own_function`, a function in C of so many numbers and of `numbers`, constants."""
    definitions, _, _ = _text(_FILES[0]).partition(_PLACE_OF_PRIMITIVES)
    places, _, _ = _text(_FILES[1]).partition(_END_OF_PLACES)
    operands = ", ".join(f"(x)[{i}]" for i in range(n_sets))
    head = ["#define REAL double", _NUMBERS, definitions, places, function]
    own = [f"#define N_SETS {n_sets}", f"#define FUNCTION(x, numbers) own_function({operands}, numbers)"]
    return "\n".join([*head, *own, _text(_FUNCTION_FILE)])


def _text(name: str) -> str:
    return files("symgrove.engines").joinpath(name).read_text(encoding="utf-8")


def _function(row: Primitive) -> str:
    """A primitive as a function of two operands and epsilon."""
    if row.code >= MOST_CODES:
        raise ValueError(f"the CUDA engine has room for {MOST_CODES} primitives; {row.name!r} would be beyond them.")
    name = f"primitive_{row.code}"
    if row.function is None:
        return _defined(name, _EXPRESSIONS[row.name])
    if row.templates.c is not None:
        return _defined(name, row.templates.c.format("a", "b"))
    own = c_function(f"own_{row.code}", row.function, row.arity, "REAL", f"primitive {row.name!r}")
    operands = "a" if row.arity == 1 else "a, b"
    return own + _defined(name, f"own_{row.code}({operands})")


def _defined(name: str, expression: str) -> str:
    return f"DEVICE REAL {name}(REAL a, REAL b, REAL e) {{ return (REAL)({expression}); }}\n"


assert set(_EXPRESSIONS) == set(BUILTIN), "every built-in primitive has an expression"
