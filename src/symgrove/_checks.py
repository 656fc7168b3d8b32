"""Checks at the door: what was given, what is accepted."""

from __future__ import annotations

import dis
import inspect
import keyword
import numbers
import re
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of counts, so that absurd ones get an error and not gigabytes or hours.
MOST_PROGRAMS = 10**7
MOST_SAMPLES = 10**6
LARGEST_PROGRAM = 100_000  # nodes; model files hold no larger ones either
LARGEST_TOURNAMENT = 100_000


def check_whole(name: str, value: Any, low: int, high: int = 2**62, *, is_optional: bool = False) -> None:
    """A whole number from `low` to `high`."""
    if is_optional and value is None:
        return
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not is_whole or not low <= value <= high:
        also = " or None" if is_optional else ""
        accepted = f"from {low} to {high}" if is_whole and value > high else f"of at least {low}"
        raise ValueError(f"{name} must be a whole number {accepted}{also}, got {_shown(value)}.")


def _shown(value: Any) -> str:
    """A value as it prints; Python refuses to print whole numbers of thousands of digits."""
    try:
        return f"{value!r:.60}"
    except ValueError:
        return "a larger one"


def check_number(name: str, value: Any, low: float, high: float, *, is_optional: bool = False) -> None:
    """A number strictly between `low` and `high`."""
    if is_optional and value is None:
        return
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not (is_number and low < value < high):
        also = " or None" if is_optional else ""
        raise ValueError(f"{name} must be a number above {low:g} and below {high:g}{also}, got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_pair(name: str, value: Any) -> None:
    """Two finite numbers, low and high."""
    try:
        low, high = value
        is_ordered = bool(low <= high) and bool(np.isfinite(low) and np.isfinite(high))
    except (TypeError, ValueError):
        is_ordered = False
    if not is_ordered:
        raise ValueError(f"{name} must be a pair of finite numbers (low, high), got {value!r}.")


def check_generator(rng: Any) -> None:
    """A NumPy random generator."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(0), got {rng!r}.")


def numeric_vector(name: str, values: Any) -> NDArray[np.float64]:
    """A vector of real numbers as float64; text, dates and complex numbers are refused."""
    array = np.asarray(values)
    if array.dtype == object:  # numbers in an object array are numbers all the same
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold numbers, got {values!r:.100}.") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    return array.astype(np.float64)


def check_plain_name(what: str, name: Any) -> None:
    """A name that can stand in a formula or a file; `what` is the kind of thing that has it."""
    is_plain = isinstance(name, str) and name.isidentifier() and re.fullmatch(r"[^\W\d]\w*", name)
    if not is_plain or keyword.iskeyword(name):
        raise ValueError(f"{what} name {name!r} is not a plain name; pass name='...' (letters, digits, underscores).")


def check_own_function(what: str, name: str, function: FunctionType) -> int:
    """How many numbers a user's function takes; a clear error if it cannot be compiled for what can be seen of it."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
        raise ValueError(f"{what} {name!r} must take plain positional arguments, got {inspect.signature(function)}.")
    if any(instruction.opname.startswith("RAISE") for instruction in dis.get_instructions(function)):
        raise ValueError(f"{what} {name!r} raises, which compiled code cannot. Return a number instead, such as nan.")
    return len(parameters)
