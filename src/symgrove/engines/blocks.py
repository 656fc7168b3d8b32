"""Machine code of primitives, by address: built-in loops from `block_kernels.py`, and loops around users' functions.

The evaluation kernel calls a block by its address, so a user-defined primitive runs like a built-in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from symgrove._jit import Block, compile_block, compile_scalar
from symgrove.engines import block_kernels
from symgrove.engines.schedule_kernels import COPY, FILL
from symgrove.forest.primitives import BUILTIN, EXP_CAP, Primitive, PrimitiveSet

_LOOPS: dict[str, Callable[..., None]] = {
    "add": block_kernels.add,
    "sub": block_kernels.sub,
    "mul": block_kernels.mul,
    "div": block_kernels.div,
    "pdiv": block_kernels.pdiv,
    "aq": block_kernels.aq,
    "min": block_kernels.minimum,
    "max": block_kernels.maximum,
    "step": block_kernels.step,
    "sqrt": block_kernels.sqrt,
    "log": block_kernels.log_protected,
    "log1p": block_kernels.log1p_abs,
    "exp": block_kernels.exp_capped,
    "sin": block_kernels.sine,
    "cos": block_kernels.cosine,
    "tanh": block_kernels.tanh,
    "square": block_kernels.square,
    "cube": block_kernels.cube,
    "neg": block_kernels.neg,
    "abs": block_kernels.absolute,
}
# Compiled once a process, by loop or by what a user's function does; a Block owns its machine code. Numba never frees
# machine code, so a function that is defined again, in a loop for example, must not be compiled again.
_compiled: dict[tuple[Any, str], Block] = {}


class BlockTable:
    """Addresses of the blocks of a primitive set for one dtype, compiled when first needed."""

    def __init__(self, primitives: PrimitiveSet, dtype: np.dtype[Any]) -> None:
        self.primitives = primitives
        self.dtype = dtype
        n_codes = max(primitives.by_code) + 1
        self.addresses = np.zeros(n_codes, dtype=np.int64)
        self.epsilon = np.zeros(n_codes, dtype=np.float64)
        for code, row in primitives.by_code.items():
            self.epsilon[code] = primitives.epsilon_of(row.name)
        self.addresses[COPY] = _builtin_block(block_kernels.copy, dtype).address
        self.addresses[FILL] = _builtin_block(block_kernels.fill, dtype).address
        self.compile(row.code for row in primitives.functions)

    def compile(self, codes: Iterable[int]) -> None:
        """Make sure that these codes have an address."""
        for code in codes:
            if self.addresses[code] == 0:
                row = self.primitives.by_code[int(code)]
                block = _user_block(row, self.dtype) if row.function else _builtin_block(_LOOPS[row.name], self.dtype)
                self.addresses[code] = block.address


def _builtin_block(loop: Callable[..., None], dtype: np.dtype[Any]) -> Block:
    key = (loop, dtype.name)
    if key not in _compiled:
        _compiled[key] = compile_block(loop, dtype)
    return _compiled[key]


def _user_block(row: Primitive, dtype: np.dtype[Any]) -> Block:
    """Compile the loop around a user's function, or say why it cannot be compiled."""
    assert row.function is not None
    key = (_content_of(row.function), dtype.name)
    if key in _compiled:
        return _compiled[key]
    scalar = compile_scalar(_with_literals_of(row.function, dtype))
    _check_result(row, scalar, dtype)

    def loop_unary(out, left, right, n_rows, epsilon):  # type: ignore[no-untyped-def]
        for i in range(n_rows):
            out[i] = scalar(left[i])

    def loop_binary(out, left, right, n_rows, epsilon):  # type: ignore[no-untyped-def]
        for i in range(n_rows):
            out[i] = scalar(left[i], right[i])

    _compiled[key] = compile_block(loop_unary if row.arity == 1 else loop_binary, dtype, is_cachable=False)
    return _compiled[key]


def _content_of(function: Any) -> Any:
    """What a function does, for comparisons, if it is easy to see: code that uses numbers, `math` and NumPy only.

    Of any other, which may use what changes between two definitions, only the function itself is the same.
    """
    code = function.__code__
    outside = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    held = [
        *code.co_consts,
        *(function.__defaults__ or ()),
        *cells,
        *(v for v in outside if not (v is math or v is np)),
    ]
    if function.__kwdefaults__ or not all(isinstance(v, (int, float, str, type(None))) for v in held):
        return function
    # By type and text: 1, 1.0 and True are equal but compile differently, and so do 0.0 and -0.0.
    numbers = tuple((type(value).__name__, repr(value)) for value in held)
    return code.co_code, code.co_names, code.co_varnames, numbers


def _check_result(row: Primitive, scalar: Any, dtype: np.dtype[Any]) -> None:
    """Compile the function by itself and see that it returns a number on every path."""
    try:
        scalar.compile((numba.from_dtype(dtype),) * row.arity)
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines[1:] if not line.startswith(("File", "During", "-"))), lines[0])
        raise ValueError(
            f"primitive {row.name!r} cannot be compiled: {reason} It may use arithmetic, comparisons, math and NumPy's "
            "scalar functions."
        ) from error
    result = scalar.overloads[scalar.signatures[0]].signature.return_type
    if not isinstance(result, (types.Float, types.Integer, types.Boolean)):
        raise ValueError(f"primitive {row.name!r} must return one number on every path; it returns {result}.")


def _with_literals_of(function: Callable[..., float], dtype: np.dtype[Any]) -> Callable[..., float]:
    """The function with its float literals in the dtype: a float64 literal would drag float32 code into float64."""
    if dtype != np.float32 or not isinstance(function, FunctionType):
        return function
    constants = tuple(np.float32(c) if isinstance(c, float) else c for c in function.__code__.co_consts)
    code = function.__code__.replace(co_consts=constants)
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


assert set(_LOOPS) == set(BUILTIN), "every built-in primitive has a loop"
assert block_kernels.EXP_CAP == EXP_CAP, "the kernel and the primitive table have the same cap"
