"""Engines by name: what `engine=` of the estimators accepts. An engine is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symgrove.dataset import Dataset
from symgrove.engines.base import Engine
from symgrove.forest.primitives import PrimitiveSet

DEFAULT = "cpu"
# Name to module:class. The class takes data, primitives, the number of threads, bytes of memory, and how many of these
# others take. `default_memory_budget()` says how many bytes it has if no number is given, or raises an error that says
# what this machine lacks; `described()` says where it would run.
ENGINES = {"cpu": "symgrove.engines.cpu:CpuEngine", "cuda": "symgrove.engines.cuda:CudaEngine"}


def check_engine(name: Any) -> None:
    """A known name of an engine that this machine can run, or a clear error."""
    if not (isinstance(name, str) and name in ENGINES):
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {name!r}.")
    default_memory_budget(name)


def default_memory_budget(name: str) -> int:
    """Bytes for vectors and buffers if nothing else is asked for."""
    n_bytes: int = _engine_class(name).default_memory_budget()
    return n_bytes


def described_engines() -> dict[str, str]:
    """Of each engine by name: where it would run on this machine, or what is missing."""
    return {name: _engine_class(name).described() for name in ENGINES}


def _engine_class(name: str) -> Any:
    module, _, attribute = ENGINES[name].partition(":")
    return getattr(import_module(module), attribute)


def make_engine(
    data: Dataset,
    primitives: PrimitiveSet,
    n_threads: int = 1,
    memory_budget: int | None = None,
    name: str = DEFAULT,
    reserved: int = 0,
) -> Engine:
    """The engine of a name with these rows; close it, or use it as a context."""
    check_engine(name)
    made: Engine = _engine_class(name)(data, primitives, n_threads, memory_budget, reserved)
    return made
