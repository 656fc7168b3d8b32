"""Engines by name: what `engine=` of the estimators accepts. An engine is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

from symgrove.engines.base import Engine
from symgrove.forest.primitives import PrimitiveSet

DEFAULT = "cpu"
ELSEWHERE, ON_CARDS_ELSEWHERE = "dask", "dask-cuda"  # of rows that are on workers already
# Name to module:class. The class takes data, primitives, the number of threads, bytes of memory, and how many of these
# others take. `default_memory_budget()` says how many bytes it has if no number is given, or raises an error that says
# what this machine lacks; `described()` says where it would run.
ENGINES = {
    "cpu": "symgrove.engines.cpu:CpuEngine",
    "cuda": "symgrove.engines.cuda:CudaEngine",
    "dask": "symgrove.engines.dask:DaskEngine",
    "dask-cuda": "symgrove.engines.dask_cuda:DaskCudaEngine",
}


class Workers(int):
    """How many threads predictions have, and the name of the engine that sums of terms are made on."""

    engine = DEFAULT

    def __new__(cls, n_threads: int, engine: str = DEFAULT) -> Self:
        """That engine if it is in this machine, else the default one."""
        own = super().__new__(cls, n_threads)
        own.engine = engine if engine == DEFAULT or (not is_far(engine) and can_run(engine)) else DEFAULT
        return own


# Rows from which on predictions are made on another engine than the default one: fewer take longer to bring there.
FEWEST_ROWS = 100_000


def engine_of(n_threads: int, n_rows: int) -> str | None:
    """The engine that predictions of so many rows are made on; None: the default one."""
    name = n_threads.engine if isinstance(n_threads, Workers) else DEFAULT
    return name if name != DEFAULT and n_rows >= FEWEST_ROWS else None


def can_run(name: str) -> bool:
    """Whether this machine has what an engine needs."""
    try:
        default_memory_budget(name)
    except RuntimeError:
        return False
    return True


def is_far(name: str) -> bool:
    """Whether rows are sent to other processes, which several evolutions would have to share."""
    return bool(getattr(_engine_class(name), "is_far", False))


def check_workers(name: str, cluster: Any) -> None:
    """Refuse a cluster whose workers cannot run an engine that is far."""
    _engine_class(name).check_workers(cluster)


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
    data: Any,
    primitives: PrimitiveSet,
    n_threads: int = 1,
    memory_budget: int | None = None,
    name: str = DEFAULT,
    reserved: int = 0,
) -> Engine:
    """The engine of a name with these rows; close it, or use it as a context.

    `data` is a `Dataset`; of rows that are elsewhere, `TableRows` for engines that are far.
    """
    check_engine(name)
    made: Engine = _engine_class(name)(data, primitives, n_threads, memory_budget, reserved)
    return made
