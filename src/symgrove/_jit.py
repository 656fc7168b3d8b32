"""The one place where Python becomes machine code.

`@kernel` is for functions that Python calls, `@subroutine` and `@reduction` for functions that only kernels call,
`compile_block` for the loops of primitives, which the evaluation kernel reaches by address. All are serial, release the
GIL, follow IEEE arithmetic (a reduction but for the order of its sums) and are kept in Numba's cache on disk where it
is writable. Nothing compiles at import.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba import types
from numba.core import event
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaWarning
from numba.extending import intrinsic

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_ANNOUNCEMENT = "symgrove: compiling for this machine, once; later runs load the result from the cache."


class _Announcer(event.Listener):
    """Says once a process, on stderr, that symgrove's own kernels are being compiled."""

    is_registered = False
    has_spoken = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if (function.__module__ or "").startswith("symgrove."):  # None where a function was made by exec
            self.speak()

    def on_end(self, event: Any) -> None:
        """Only the start is of interest."""

    def register(self) -> None:
        if not self.is_registered:
            self.is_registered = True
            event.register("numba:compile", self)

    def speak(self) -> None:
        if not self.has_spoken:
            self.has_spoken = True
            print(_ANNOUNCEMENT, file=sys.stderr, flush=True)


_announcer = _Announcer()


@cache
def _stamp_of_kernels() -> tuple[tuple[str, float, int], ...]:
    """Modification times and sizes of all files with compiled code."""
    files = [Path(__file__), *sorted(Path(__file__).parent.rglob("*_kernels.py"))]
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)


def _enable_cache(compiled: Any) -> bool:
    """Keep machine code on disk; False where no cache folder is writable, and every process compiles for itself.

    Numba notices only changes of the file that a function stands in, not of the files of the subroutines it calls, and
    would go on using the old machine code of those. Here a change of any kernel file counts.
    """
    try:
        compiled.enable_caching()
    except RuntimeError:
        return False
    file = compiled._cache._cache_file
    file._source_stamp = _stamp_of_kernels()
    file.save, file.load = _one_at_a_time(file, file.save), _one_at_a_time(file, file.load)
    return True


def _one_at_a_time(file: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """Have only one process at a time read or write a cache.

    Numba writes the index before the machine code it points to: a process that reads in between would get what an older
    version left under that name, and compute nonsense with it.
    """

    @wraps(method)
    def run(*arguments: Any) -> Any:
        try:
            lock = (Path(file._cache_path) / "symgrove.lock").open("a")
        except OSError:  # a cache that can only be read
            return tried(*arguments)
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return tried(*arguments)

    def tried(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except AttributeError:  # the index names a type that an older version had
            Path(file._index_path).unlink()
            return method(*arguments)

    return tried if fcntl is None else run


class Kernel:
    """A compiled function that Python may call; the first call compiles it or loads it from the cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled: Any = None
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is None:
            # Not when it is decorated: looking for a cache folder takes time, and imports should be quick.
            _announcer.register()
            compiled = numba.njit(nogil=True, error_model="numpy")(self._function)
            _enable_cache(compiled)
            self._compiled = compiled
        return self._compiled(*arguments)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Decorate a function that Python calls: arrays and scalars in, `out` last.

    A NamedTuple argument must have the same types in every call (dtypes and contiguity): Numba 0.60 mixes up overloads
    that differ only inside one. Arrays whose dtype varies are arguments of their own.
    """
    return Kernel(function)


def subroutine(function: Callable[..., Any]) -> Any:
    """Decorate a function that only other compiled functions call; the cache holds it as a part of those."""
    return numba.njit(nogil=True, error_model="numpy")(function)


def reduction(function: Callable[..., Any]) -> Any:
    """A subroutine that adds up rows, where the compiler may choose the order of a sum so that it vectorises.

    The order is part of the machine code: the same for every call. NaN and infinity are what they are.
    """
    return numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})(function)


class Block(NamedTuple):
    """A compiled loop over one block of rows; `owner` keeps the machine code alive."""

    address: int
    owner: Any


def block_signature(scalar: Any) -> Any:
    """Signature of a block: out, left and right pointers, number of rows, epsilon."""
    pointer = types.CPointer(scalar)
    return types.void(pointer, pointer, pointer, types.intp, scalar)


def compile_block(function: Callable[..., Any], dtype: Any, *, is_cachable: bool = True) -> Block:
    """Compile `function(out, left, right, n_rows, epsilon)` over raw pointers to a C function.

    Blocks that close over a user's function cannot be cached on disk: Numba keys its cache by the source file, and a
    closure's contents are not part of it in a way that survives the process.
    """
    signature = block_signature(numba.from_dtype(dtype))
    compiled = CFunc(function, (signature.args, signature.return_type), locals={}, options={"error_model": "numpy"})
    if is_cachable:
        _enable_cache(compiled)
    compiled.compile()
    if is_cachable and compiled.cache_hits == 0:
        _announcer.speak()
    address = compiled.address
    assert address is not None
    return Block(address, compiled)


def compile_scalar(function: Callable[..., Any]) -> Any:
    """Compile a user's scalar function so that a block can inline it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaWarning)
        return numba.njit(error_model="numpy")(function)


@intrinsic
def call_block(typing_context, address, out, left, right, n_rows, epsilon):  # type: ignore[no-untyped-def]
    """Call the block at `address`; out, left and right are addresses too, all int64."""
    signature = types.void(types.int64, types.int64, types.int64, types.int64, types.int64, epsilon)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pointer = ir.IntType(8).as_pointer()
        scalar = context.get_value_type(signature.args[5])
        function_type = ir.FunctionType(ir.VoidType(), [pointer, pointer, pointer, ir.IntType(64), scalar])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        pointers = [builder.inttoptr(argument, pointer) for argument in arguments[1:4]]
        builder.call(function, [*pointers, arguments[4], arguments[5]])
        return context.get_dummy_value()

    return signature, generate


def _bitcast(source: Any, target: Any) -> Any:
    """Type signature and code generator that reinterpret the bits of `source` as `target`."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], context.get_value_type(target))

    return target(source), generate


@intrinsic
def float_to_bits(typing_context, x):  # type: ignore[no-untyped-def]
    """Bits of a float as a signed integer of the same width; unlike a view, it vectorises."""
    return _bitcast(x, types.int32 if x == types.float32 else types.int64)


@intrinsic
def bits_to_float(typing_context, bits):  # type: ignore[no-untyped-def]
    """Float with the given bits."""
    return _bitcast(bits, types.float32 if bits == types.int32 else types.float64)


def _flip_if_negative(builder: Any, bits: Any) -> Any:
    """All bits but the first, if that is set: bits of floats then order like the floats."""
    width = bits.type.width
    sign = builder.ashr(bits, ir.Constant(bits.type, width - 1))
    return builder.xor(bits, builder.lshr(sign, ir.Constant(bits.type, 1)))


@intrinsic
def float_to_rank(typing_context, x):  # type: ignore[no-untyped-def]
    """A whole number for a float, in the same order, with NaN beyond infinity; minima of these vectorise."""
    signature, bits_of = _bitcast(x, types.int32 if x == types.float32 else types.int64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _flip_if_negative(builder, bits_of(context, builder, signature, arguments))

    return signature, generate


@intrinsic
def rank_to_float(typing_context, rank):  # type: ignore[no-untyped-def]
    """Undo `float_to_rank`."""
    signature, float_of = _bitcast(rank, types.float32 if rank == types.int32 else types.float64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return float_of(context, builder, signature, [_flip_if_negative(builder, arguments[0])])

    return signature, generate


def _pointer_to(scalar: Any) -> Any:
    """Type signature and code generator that take an address for a pointer to numbers of a type."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(scalar)(types.int64), generate


@intrinsic
def single_at(typing_context, address):  # type: ignore[no-untyped-def]
    """Numbers in float32 from an address on."""
    return _pointer_to(types.float32)


@intrinsic
def double_at(typing_context, address):  # type: ignore[no-untyped-def]
    """Numbers in float64 from an address on."""
    return _pointer_to(types.float64)
