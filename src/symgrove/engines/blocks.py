"""Machine code of primitives, by address: loops of `block_kernels.py`, and of users' functions (`_own_blocks.py`).

The evaluation kernel calls a block by its address, so a user-defined primitive runs like a built-in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from symgrove._jit import Block, compile_block
from symgrove._own_blocks import own_block
from symgrove.engines import block_kernels
from symgrove.engines.schedule_kernels import COPY, FILL
from symgrove.forest.primitive_table import BUILTIN, EXP_CAP, Primitive
from symgrove.forest.primitives import PrimitiveSet

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
    "plain_div": block_kernels.plain_div,
    "plain_sqrt": block_kernels.plain_sqrt,
    "plain_log": block_kernels.plain_log,
    "plain_exp": block_kernels.plain_exp,
    "power": block_kernels.power,
    "arcsin": block_kernels.arcsine,
    "arccos": block_kernels.arccosine,
}
_compiled: dict[tuple[Any, str], Block] = {}  # once a process, by loop and dtype; a Block owns its machine code


class BlockTable:
    """Addresses of the blocks of a primitive set for one dtype, compiled when first needed."""

    def __init__(self, primitives: PrimitiveSet, dtype: np.dtype[Any]) -> None:
        self.primitives = primitives
        self.dtype = dtype
        self.addresses = np.zeros(max(primitives.by_code) + 1, dtype=np.int64)
        self.epsilon = primitives.epsilon_by_code()
        self.addresses[COPY] = _builtin_block(block_kernels.copy, dtype).address
        self.addresses[FILL] = _builtin_block(block_kernels.fill, dtype).address
        self.compile(row.code for row in primitives.functions)

    def compile(self, codes: Iterable[int]) -> None:
        """Make sure that these codes have an address."""
        for code in codes:
            if self.addresses[code] == 0:
                row = self.primitives.by_code[int(code)]
                self.addresses[code] = _block_of(row, self.dtype).address


def _block_of(row: Primitive, dtype: np.dtype[Any]) -> Block:
    if row.function is None:
        return _builtin_block(_LOOPS[row.name], dtype)
    return own_block(f"primitive {row.name!r}", row.function, row.arity, dtype)


def _builtin_block(loop: Callable[..., None], dtype: np.dtype[Any]) -> Block:
    key = (loop, dtype.name)
    if key not in _compiled:
        _compiled[key] = compile_block(loop, dtype)
    return _compiled[key]


assert set(_LOOPS) == set(BUILTIN), "every built-in primitive has a loop"
assert block_kernels.EXP_CAP == EXP_CAP, "the kernel and the primitive table have the same cap"
