"""The Dask engine whose workers have cards: blocks are evaluated by CUDA engines.

It has a name of its own, because a card's bits are not a processor's: which of the two a block is on must not change a
model. A card does one thing at a time, so blocks of a worker, and workers in one process, take turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, ClassVar

from symgrove.dataset import Dataset
from symgrove.engines.cuda import CudaEngine
from symgrove.engines.cuda_card import Spill, missing_for_cuda, the_card
from symgrove.engines.dask import DaskEngine
from symgrove.engines.dask_engines import part_of
from symgrove.engines.dask_messages import Setup
from symgrove.engines.dask_rows import TableRows
from symgrove.forest.primitives import PrimitiveSet
from symgrove.shards.cluster import Check, Cluster, Lost, current_cluster, missing_for_dask
from symgrove.shards.quick_calls import this_worker

# A constant, because this process may have no card to look at, and because bits may depend on the budget: what most
# cards have room for, beside the rows.
DEFAULT_BUDGET_ON_CARDS = 8 << 30
BLOCK_ROWS = 1 << 18  # smaller blocks leave most of a card idle
_turn = RLock()  # of all workers in this process


class EnginesOnCard:
    """CUDA engines on the card of a worker, which share memory for scratch rows."""

    block_rows: ClassVar[int] = BLOCK_ROWS
    is_serial: ClassVar[bool] = True

    def __init__(self, setup: Setup) -> None:
        missing = _missing_on_worker()
        if missing:
            raise _refusal({this_worker().address: missing})
        self.turn: AbstractContextManager[Any] = _turn
        self._setup = setup
        self._card = the_card()
        self._spill = Spill(self._card)

    @staticmethod
    def check(cluster: Cluster, check: Check | None) -> None:
        missing = _missing_of(cluster, check)
        if missing:
            raise _refusal(missing)

    def make(self, rows: Dataset) -> CudaEngine:
        setup = self._setup
        budget = setup.memory_budget, setup.reserved
        return CudaEngine(rows, setup.primitives, 1, *budget, self._card, part_of(rows, setup), self._spill)

    @staticmethod
    def as_told(error: Exception) -> Exception:
        if type(error).__module__.partition(".")[0] != "cupy":
            return error
        kind = MemoryError if isinstance(error, MemoryError) else RuntimeError
        return kind(f"{type(error).__name__}: {error}")


class DaskCudaEngine(DaskEngine):
    """Evaluates programs on the cards of a cluster: the user's current client's, or else on this machine's.

    Parameters
    ----------
    data : Dataset or TableRows
        Rows of this process, which are sent once; or rows that are there already.
    primitives : PrimitiveSet
        Of the forests whose programs will be evaluated.
    n_threads : int
        Of no use: without a client, one process is made, for the first card of this machine.
    memory_budget : int, optional
        Bytes of all cards together for kept vectors, and for buffers, which each has; 8 GiB by default.
    reserved : int
        Bytes of the budget that others take.
    """

    engines = EnginesOnCard
    budget_without_number = DEFAULT_BUDGET_ON_CARDS

    def __init__(
        self,
        data: Dataset | TableRows,
        primitives: PrimitiveSet,
        n_threads: int = 1,
        memory_budget: int | None = None,
        reserved: int = 0,
    ) -> None:
        super().__init__(data, primitives, 1, memory_budget, reserved)

    @staticmethod
    def described() -> str:
        """Where it would run now, or what is missing."""
        missing = missing_for_dask()
        if missing:
            return missing
        cluster = current_cluster()
        if cluster is None:
            missing = missing_for_cuda()
            here = f"no process on this machine ({missing})" if missing else "one process with the card of this machine"
            return f"{here}; or your cluster, once there is a Client"
        workers, without = cluster.workers(), _missing_of(cluster, None)
        told = f"{cluster.client.scheduler.address}: {len(workers)} workers"
        return f"{told}, {len(without)} of them without a card" if without else f"{told} with a card each"


def _missing_on_worker() -> str:
    return missing_for_cuda()


def _missing_of(cluster: Cluster, check: Check | None) -> dict[str, str]:
    """What workers lack, of those that lack something."""
    nothing: tuple[Any, ...] = ()
    found = cluster.call(_missing_on_worker, dict.fromkeys(cluster.workers(check), nothing), check)
    return {worker: missing for worker, missing in found.items() if missing and not isinstance(missing, Lost)}


def _refusal(missing: Mapping[str, str]) -> RuntimeError:
    """Of workers without a card."""
    workers: dict[str, list[str]] = {}
    for worker, reason in missing.items():
        workers.setdefault(reason, []).append(worker)
    told = " ".join(f"Without one: {', '.join(names)} ({reason})" for reason, names in workers.items())
    return RuntimeError(
        'engine="dask-cuda" needs workers that have a card of NVIDIA each, all of them. '
        f'{told} Start workers only where there are cards, one for each, or take engine="dask".'
    )
