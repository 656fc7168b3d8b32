"""Engines by name: what `engine=` of the estimators accepts. An engine is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from symgrove.dataset import Dataset
from symgrove.engines.base import Engine
from symgrove.forest.primitives import PrimitiveSet

DEFAULT = "cpu"
# Name to module:class. The class takes data, primitives, the number of threads, bytes of memory, and how many of these
# others take.
ENGINES = {"cpu": "symgrove.engines.cpu:CpuEngine"}


def check_engine(name: Any) -> None:
    """A known name, or a clear error."""
    if not (isinstance(name, str) and name in ENGINES):
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {name!r}.")


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
    module, _, attribute = ENGINES[name].partition(":")
    made: Engine = getattr(import_module(module), attribute)(data, primitives, n_threads, memory_budget, reserved)
    return made
