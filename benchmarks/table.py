"""One line a measurement: what was compared, the ratio, what is wanted."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy


@dataclass(frozen=True)
class Line:
    """A ratio measured in one run; `wanted` is ">= x" or "<= x", or empty for information."""

    name: str
    ratio: float
    wanted: str
    detail: str

    @property
    def verdict(self) -> str:
        if not self.wanted:
            return ""
        sign, bound = self.wanted.split()
        holds = self.ratio >= float(bound) if sign == ">=" else self.ratio <= float(bound)
        return "ok" if holds else "MISSED"


def best_of(n: int, *functions: Callable[[], object]) -> list[float]:
    """Best time of each function; they take turns, so that a slow moment of the machine hits all."""
    best = [float("inf")] * len(functions)
    for _ in range(n):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def show(line: Line) -> None:
    print(f"{line.name:<52} {line.ratio:>8.2f}  {line.wanted:<8} {line.verdict:<7} {line.detail}", flush=True)


def show_header() -> None:
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},")
    print(f"NumPy {numpy.__version__}, Numba {numba.__version__}; ratios within one run, one thread unless said\n")
    print(f"{'what':<52} {'ratio':>8}  {'wanted':<8} {'':<7} detail")
