"""A row loss of the user's own: a plain Python function, compiled and called by address like a primitive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_own_function, check_plain_name
from symgrove._jit import Block
from symgrove._own_blocks import apply_block, own_block

# Whatever programs are evaluated in: of nearly perfect predictions, float32 would leave only rounding.
_DTYPE = np.dtype(np.float64)


@dataclass(frozen=True, repr=False)
class OwnRowLoss:
    """A user's loss on one row, as `row_loss` makes it; equal if name and function are."""

    name: str
    function: Callable[[float, float], float]

    def __repr__(self) -> str:
        return f"row_loss({self.name})"

    @property
    def block(self) -> Block:
        """Machine code of `out = function(left, right)` over targets and predictions, compiled once a process."""
        return own_block(f"row loss {self.name!r}", self.function, 2, _DTYPE)

    def __call__(self, y: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
        """The loss for every target and prediction; arrays are broadcast. The arithmetic is that of the engine."""
        return apply_block(self.block, y, prediction)


def row_loss(function: Callable[[float, float], float], name: str | None = None) -> OwnRowLoss:
    """Make a row loss of a plain Python function of two numbers.

    What is minimised is the weighted mean of the loss over the rows of each sample. With linear scaling, the slope and
    intercept are those of least squares, as for the squared error, and the loss is taken of the scaled outputs. A
    program is unusable on a sample if its loss on one of the sample's rows is not finite.

    Numba compiles the function, so it may use arithmetic, comparisons, `math` and NumPy's scalar functions. It runs in
    float64 for programs of either dtype. The machine code is not cached on disk: each process compiles it again, in
    about half a second. It stays in memory, about a megabyte for each different function: Numba does not free it.

    Parameters
    ----------
    function : callable
        ``f(y, prediction)``, the target and the prediction on one row in, the loss out; lower is better. For classes,
        the target is 0 or 1. A function that is to be pickled must stand in a module, as any.
    name : str, optional
        Name in printouts and files; the function's own name by default.

    Examples
    --------
    >>> from symgrove import row_loss
    >>> def pinball(y, prediction):
    ...     return 0.9 * (y - prediction) if y > prediction else 0.1 * (prediction - y)
    >>> row_loss(pinball)([1.0, 2.0], 1.5)
    array([0.05, 0.45])
    """
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"a row loss is made of a plain Python function (def or lambda) of target and prediction, got {function!r}."
        )
    name = function.__name__ if name is None else name
    check_plain_name("row loss", name)
    n_arguments = check_own_function("row loss", name, function)
    if n_arguments != 2:
        raise ValueError(
            f"row loss {name!r} takes {n_arguments} arguments; it must take two, the target and the prediction on one "
            "row."
        )
    return OwnRowLoss(name, function)
