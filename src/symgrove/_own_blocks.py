"""Machine code of users' functions of one or two numbers: a block around each, called by address.

A user's primitive and a user's row loss run like built-in ones. What a function may be is checked where it is given
(`_checks.py::check_own_function`); here it is compiled, when it is first needed.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from symgrove._jit import Block, compile_block, compile_scalar

# Compiled once a process, by what a function does; a Block owns its machine code. Numba never frees machine code, so a
# function that is defined again, in a loop for example, must not be compiled again.
_compiled: dict[tuple[Any, str], Block] = {}


def own_block(what: str, function: Callable[..., float], arity: int, dtype: np.dtype[Any]) -> Block:
    """Compile the loop around a user's function, or say why it cannot be compiled; `what` names it in errors."""
    key = (_content_of(function), dtype.name)
    if key in _compiled:
        return _compiled[key]
    scalar = compile_scalar(_with_literals_of(function, dtype))
    _check_result(what, scalar, arity, dtype)

    def loop_unary(out, left, right, n_rows, epsilon):  # type: ignore[no-untyped-def]
        for i in range(n_rows):
            out[i] = scalar(left[i])

    def loop_binary(out, left, right, n_rows, epsilon):  # type: ignore[no-untyped-def]
        for i in range(n_rows):
            out[i] = scalar(left[i], right[i])

    _compiled[key] = compile_block(loop_unary if arity == 1 else loop_binary, dtype, is_cachable=False)
    return _compiled[key]


def apply_block(block: Block, left: Any, right: Any) -> NDArray[np.float64]:
    """What a float64 block gives for every pair of numbers of two arrays, which are broadcast."""
    pair = np.broadcast_arrays(np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64))
    left, right = (np.ascontiguousarray(array) for array in pair)
    out = np.empty(pair[0].shape)
    pointer = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_ssize_t, ctypes.c_double)(block.address)
    call(out.ctypes.data, left.ctypes.data, right.ctypes.data, out.size, 0.0)
    return out


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


def _check_result(what: str, scalar: Any, arity: int, dtype: np.dtype[Any]) -> None:
    """Compile the function by itself and see that it returns a number on every path."""
    try:
        scalar.compile((numba.from_dtype(dtype),) * arity)
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines[1:] if not line.startswith(("File", "During", "-"))), lines[0])
        raise ValueError(
            f"{what} cannot be compiled: {reason} It may use arithmetic, comparisons, math and NumPy's scalar "
            "functions."
        ) from error
    result = scalar.overloads[scalar.signatures[0]].signature.return_type
    if not isinstance(result, (types.Float, types.Integer, types.Boolean)):
        raise ValueError(f"{what} must return one number on every path; it returns {result}.")


def _with_literals_of(function: Callable[..., float], dtype: np.dtype[Any]) -> Callable[..., float]:
    """The function with its float literals in the dtype: a float64 literal would drag float32 code into float64."""
    if dtype != np.float32 or not isinstance(function, FunctionType):
        return function
    constants = tuple(np.float32(c) if isinstance(c, float) else c for c in function.__code__.co_consts)
    code = function.__code__.replace(co_consts=constants)
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
