"""Which lines of the package the tests run: `python tools/coverage_of_tests.py`, after `pip install coverage`.

Machine code has no lines that can be watched. So the suite runs once as it is, and the tests of kernels run again with
kernels as plain Python, slowly and with Python's arithmetic: there only the lines count, not whether a test passes.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numba.core.ccallback
import numba.extending
import numpy as np

coverage = import_module("coverage")  # not among the dependencies
ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "coverage"
TESTS_OF_KERNELS = (
    "contracts/test_engines.py",
    "engines/test_scoring.py",
    "fitness",
    "forest",
    "methods/test_two_segp.py",
    "selection",
    "variation",
)
PLAIN = "SYMGROVE_PLAIN_KERNELS"
_blocks: list[Callable[..., None]] = []


class _PlainBlock:
    """In place of Numba's CFunc: its address is its number among the blocks."""

    cache_hits = 1

    def __init__(self, function: Callable[..., None], *_: Any, **__: Any) -> None:
        _blocks.append(function)
        self.address = len(_blocks)

    def enable_caching(self) -> None:
        raise RuntimeError("there is nothing to cache")

    def compile(self) -> None:
        """There is nothing to compile."""


def _call_block(address: int, out: int, left: int, right: int, n_rows: int, epsilon: Any) -> None:
    kind = ctypes.c_float if isinstance(epsilon, np.float32) else ctypes.c_double
    places = (ctypes.cast(int(a), ctypes.POINTER(kind)) if a else None for a in (out, left, right))
    arrays = [place and np.ctypeslib.as_array(place, (int(n_rows),)) for place in places]
    _blocks[int(address) - 1](*arrays, int(n_rows), epsilon)


def _bits_of(x: Any) -> Any:
    return np.float32(x).view(np.int32) if isinstance(x, np.float32) else np.float64(x).view(np.int64)


def _float_of(bits: Any) -> Any:
    return bits.view(np.float32) if isinstance(bits, np.int32) else np.int64(bits).view(np.float64)


def _plain_overload(stub: Any) -> Callable[[Any], Any]:
    """Let a stub call what it stands for, by the type of its argument."""

    def decorate(choose: Any) -> Any:
        def plain(x: Any) -> Any:
            return choose(numba.float32 if isinstance(x, np.float32) else numba.float64)(x)

        space: dict[str, Any] = {}
        exec(f"def {stub.__name__}(x): return _plain_{stub.__name__}(x)", space)
        stub.__globals__[f"_plain_{stub.__name__}"] = plain
        stub.__code__ = space[stub.__name__].__code__
        return choose

    return decorate


def _use_plain_kernels() -> None:
    """Before symgrove is imported: take away Numba's compiler."""

    def njit(*_: Any, **__: Any) -> Callable[[Any], Any]:
        def decorate(function: Any) -> Any:
            def plain(*arguments: Any) -> Any:  # whole numbers of 64 bits, which wrap around
                return function(*(np.int64(a) if type(a) is int else a for a in arguments))

            plain.enable_caching = _PlainBlock.enable_caching.__get__(plain)  # type: ignore[attr-defined]
            return plain

        return decorate

    plain = {"call_block": _call_block, "float_to_bits": _bits_of, "bits_to_float": _float_of}
    for module, name, substitute in (
        (numba, "njit", njit),
        (numba.core.ccallback, "CFunc", _PlainBlock),
        (numba.extending, "intrinsic", lambda function: plain[function.__name__]),
        (numba.extending, "overload", _plain_overload),
    ):
        setattr(module, name, substitute)


def pytest_unconfigure() -> None:
    """Keep what this process has seen."""
    _watch.stop()
    _watch.save()


def _run(*arguments: str, **environment: str) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p", "tools.coverage_of_tests"]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [*command, *arguments], cwd=ROOT, env={**os.environ, **environment, "PYTHONPATH": paths}, check=False
    ).returncode


def main() -> None:
    """Run the tests twice and print the lines that neither has run."""
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    _run(*sys.argv[1:])
    tests = [f"tests/{name}" for name in TESTS_OF_KERNELS]
    _run(*tests, "-W", "ignore", "--tb=no", "-r", "N", **{PLAIN: "1"})
    found = coverage.Coverage(data_file=str(OUT / "data"), source=[str(ROOT / "src" / "symgrove")])
    found.combine([str(OUT)])
    found.report(show_missing=True, skip_covered=True)


if __name__ == "__main__":
    main()
else:  # a plugin of pytest
    if os.environ.get(PLAIN):
        _use_plain_kernels()
    _watch = coverage.Coverage(
        data_file=str(OUT / "data"), data_suffix=True, source=[str(ROOT / "src" / "symgrove")], config_file=False
    )
    _watch.set_option("run:disable_warnings", ["no-data-collected"])  # by the process that only hands tests out
    _watch.start()
