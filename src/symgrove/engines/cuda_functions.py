"""Element-wise functions as kernels: one launch reads the vectors, and writes or sums what the function says.

What is not translated, such as a function of NumPy's or one that looks at whole arrays, is called with arrays instead.
"""

from __future__ import annotations

from collections.abc import Hashable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Function
from symgrove.engines.cuda_source import function_source
from symgrove.engines.own_source import c_function

NUMBERS = bool, int, float, np.number, np.bool_
_SOURCES: dict[Hashable, str | None] = {}


class Translated(NamedTuple):
    """A function in C: the source of its kernels, and its numbers from outside, which the source does not hold."""

    source: str
    numbers: NDArray[np.float64]


def translated(function: Function, n_sets: int) -> Translated | None:
    """A function of so many numbers as kernels; None if it cannot be."""
    numbers: list[float] = []
    slots: dict[Any, dict[str, int]] = {}
    key = n_sets, _shape_of(function, numbers, slots)
    try:
        source = _SOURCES[key]
    except KeyError:
        source = _SOURCES[key] = _source_of(function, n_sets, slots)
    except TypeError:  # it holds something that is no constant
        return None
    return None if source is None else Translated(source, np.array([*numbers, 0.0]))


def _source_of(function: Function, n_sets: int, slots: dict[Any, dict[str, int]]) -> str | None:
    try:
        return function_source(c_function("own_function", function, n_sets, "double", "it", slots), n_sets)
    except ValueError:
        return None


def _shape_of(function: Any, numbers: list[float], slots: dict[Any, dict[str, int]]) -> Hashable:
    """What a function is, but for its numbers from outside, which are added to a list, with their places."""
    if not isinstance(function, FunctionType) or function in slots:
        found: Hashable = function
        return found
    own: dict[str, int] = slots.setdefault(function, {})
    shape: list[Hashable] = [function.__code__, function.__defaults__]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        value = cell.cell_contents
        if isinstance(value, NUMBERS):
            own[name] = len(numbers)
            numbers.append(float(value))
        shape.append(None if isinstance(value, NUMBERS) else _shape_of(value, numbers, slots))
    known = (function.__globals__.get(name) for name in function.__code__.co_names)
    shape += [_shape_of(value, numbers, slots) for value in known if isinstance(value, (FunctionType, *NUMBERS))]
    return tuple(shape)
