"""Engines of the blocks of a worker, and what they share: here of processors, in dask_cuda.py of cards."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

from symgrove.dataset import Dataset
from symgrove.engines.base import Engine, Roots
from symgrove.engines.cpu import CpuEngine
from symgrove.engines.dask_messages import Setup
from symgrove.engines.passes import FoundCentre
from symgrove.engines.program_engine import PartOfRows
from symgrove.engines.workspace import PANEL_ROWS, Workspaces
from symgrove.fitness.moments import Moments, Samples
from symgrove.forest.forest import Forest
from symgrove.shards.cluster import Check, Cluster


class BlockEngine(Engine, Protocol):
    """An engine that has some rows of many."""

    def moments_about(
        self, centre: FoundCentre, forest: Forest, roots: Roots, samples: Samples, *, expect_more: bool
    ) -> Moments:
        """Moments about centres that `centres` of the engine of the first panel has found."""
        ...

    def centres(self, forest: Forest, roots: Roots) -> FoundCentre:
        """Centres of programs, if the data are the first panel."""
        ...


class BlockEngines(Protocol):
    """What makes the engines of a worker's blocks, made once on each worker, with the `Setup`.

    Attributes
    ----------
    block_rows : int
        About how many rows blocks should have, if they are cut for such engines.
    is_serial : bool
        Whether blocks wait for each other, whatever threads a worker has.
    turn : context manager
        Held while engines work.
    """

    block_rows: ClassVar[int]
    is_serial: ClassVar[bool]
    turn: AbstractContextManager[Any]

    @staticmethod
    def check(cluster: Cluster, check: Check | None) -> None:
        """Refuse workers that cannot run such engines; `check` is called while they are asked."""
        ...

    def make(self, rows: Dataset) -> BlockEngine:
        """The engine of some rows."""
        ...

    @staticmethod
    def as_told(error: Exception) -> Exception:
        """An error of a block as it goes to the client, which may not have the packages that workers have."""
        ...


class EnginesOnProcessors:
    """CPU engines of one thread, which share buffers."""

    block_rows: ClassVar[int] = PANEL_ROWS
    is_serial: ClassVar[bool] = False

    def __init__(self, setup: Setup) -> None:
        self.turn: AbstractContextManager[Any] = nullcontext()
        self._setup = setup
        self._workspaces = Workspaces(PANEL_ROWS, setup.panel.dtype)

    @staticmethod
    def check(cluster: Cluster, check: Check | None) -> None:
        """Every worker has a processor."""

    def make(self, rows: Dataset) -> CpuEngine:
        setup = self._setup
        budget = setup.memory_budget, setup.reserved
        return CpuEngine(rows, setup.primitives, 1, *budget, part_of(rows, setup), self._workspaces)

    @staticmethod
    def as_told(error: Exception) -> Exception:
        return error


def part_of(rows: Dataset, setup: Setup) -> PartOfRows:
    """What the engine of some rows knows of all of them."""
    return PartOfRows(rows.n_rows / setup.n_rows, *setup.target)
