"""What engines have in common, wherever their memory is: the data, the forest they know, the vectors they keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, wraps
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole
from symgrove.blas import product
from symgrove.dataset import Dataset
from symgrove.engines.base import SHARE_OF_VECTORS, VECTORS_WRITTEN_AT_A_TIME, Roots
from symgrove.engines.resident import PlacedVectors, Room
from symgrove.engines.threads import ONE_THREAD, Threads
from symgrove.engines.vectors import SLAB_BYTES, Allocate, VectorStore, host_memory
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.bootstrap import check_counts, check_sample_weight, compact_counts
from symgrove.fitness.losses import RowLoss
from symgrove.fitness.moments import Samples, Target
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.forest.forest import Forest, as_roots
from symgrove.forest.primitives import PrimitiveSet

WORKSPACE_SHARE = 0.25  # of the budget, for buffers
PLAN_SHARE = 0.1  # for plans and bookkeeping; vectors have what is left
# What others take of the budget is taken from the vectors, which change no bits, and only then from everything else.
SHARE_OF_REST = WORKSPACE_SHARE / (WORKSPACE_SHARE + PLAN_SHARE)


def locked(method: Callable[..., Any]) -> Callable[..., Any]:
    """One evaluation at a time: threads that share an engine would share its vectors and buffers."""

    @wraps(method)
    def run(self: ProgramEngine, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return run


class PartOfRows(NamedTuple):
    """What an engine knows that has some rows of many.

    Attributes
    ----------
    share : float
        Of the rows. Vectors have so much of the budget that is for vectors of all rows; buffers are as for all.
    centre, scale : float
        Of the target on all rows.
    """

    share: float
    centre: float
    scale: float


class ProgramEngine(ABC):
    """An engine but for its arithmetic.

    `allocate` and `slab_bytes` are the `VectorStore`'s. Those that inherit set `_feature_address`, where the
    features lie, and `_room`, for vectors that are soon written over.
    """

    threads: Threads = ONE_THREAD
    _feature_address: NDArray[np.int64]
    _room: Room

    def __init__(
        self,
        data: Dataset,
        primitives: PrimitiveSet,
        memory_budget: int,
        reserved: int = 0,
        allocate: Allocate = host_memory,
        slab_bytes: int = SLAB_BYTES,
        part: PartOfRows | None = None,
    ) -> None:
        if not isinstance(data, Dataset) or not isinstance(primitives, PrimitiveSet):
            name = type(self).__name__
            raise TypeError(f"{name} takes a Dataset (symgrove.make_dataset) and a PrimitiveSet.")
        check_whole("memory_budget", memory_budget, 1)
        check_whole("reserved", reserved, 0)
        self.data = data
        self.dtype = data.dtype
        self.memory_budget = int(memory_budget)
        self.n_computed = 0  # node evaluations so far
        self._primitives = primitives
        self._epsilon = primitives.epsilon_by_code()
        self._reserved = reserved
        self._part = part
        self._share = 1.0 if part is None else part.share
        self._workspace_room = workspace_room(memory_budget, reserved)
        # Whatever the number of threads: what is kept decides how programs are cut into batches.
        vector_room = max(int((1 - PLAN_SHARE) * memory_budget - self._workspace_room) - reserved, 0)
        vector_room = int(self._share * vector_room)
        self._store = VectorStore(data.n_rows, self.dtype, vector_room, allocate, slab_bytes)
        self._forest: Forest | None = None
        self._epoch = 0
        self._between_panels: Callable[[], None] | None = None
        self._lock = RLock()

    @abstractmethod
    def _new_rows(self, n_vectors: int) -> Any:
        """Memory for vectors that stay as long as their handle."""

    @abstractmethod
    def _vectors_in(self, rows: Any) -> Any:
        """Rows of memory as vectors."""

    @abstractmethod
    def _vectors_at(self, address: NDArray[np.int64]) -> Any:
        """Vectors of the store and features at these addresses."""

    @abstractmethod
    def _write(self, forest: Forest, roots: Roots, rows: Any, *, keep: bool = False) -> NDArray[np.intp]:
        """Write outputs to rows of memory; which row is each program's."""

    @property
    def n_rows(self) -> int:
        return self.data.n_rows

    @property
    def n_features(self) -> int:
        return self.data.n_features

    @property
    def primitives(self) -> PrimitiveSet:
        return self._primitives

    @property
    def target(self) -> NDArray[np.float64]:
        return self.data.y

    def target_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return self.data.y[rows]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def watch(self, check: Callable[[], None] | None) -> None:
        self._between_panels = check

    def close(self) -> None:
        """Free the vectors of programs."""
        self.forget()

    def forget(self) -> None:
        self._room.clear()
        self._store.forget()
        self._forest = None

    def _look_up(self) -> None:
        """Call whoever watches."""
        if self._between_panels is not None:
            self._between_panels()

    @cached_property
    def _target(self) -> ScaledTarget:
        y = self.data.y
        centre, scale = robust_centre(y) if self._part is None else self._part[1:]
        values = (y - centre) / scale
        is_binary = bool(np.isin(y, (0.0, 1.0)).all())
        return ScaledTarget(centre, scale, values, values.astype(self.dtype, copy=False), is_binary)

    def prepare(self, counts: ArrayLike | SpreadCounts, sample_weight: ArrayLike | None = None) -> Samples:
        matrix = compact_counts(check_counts(np.asarray(counts), self.data.n_rows), self.dtype)
        row_weight = None
        if sample_weight is not None:
            # Only their ratios matter; the largest is 1, so that none overflows in float32.
            weight = check_sample_weight(sample_weight, self.data.n_rows)
            row_weight = (weight / weight.max()).astype(self.dtype)
        total, mean, variance = np.zeros((3, matrix.shape[0]))
        target = Target(mean, variance, self._target.centre, self._target.scale)
        samples = Samples(matrix, row_weight, self.dtype, total, target)
        self._sum_target(samples)
        return samples

    def _sum_target(self, samples: Samples) -> None:
        """Find weight, mean and variance of the target on each sample."""
        total, scaled = samples.total, self._target.values
        for j in range(total.size):
            w = samples.of_rows(slice(None), j).astype(np.float64, copy=False)
            total[j] = w.sum()
            check_total(j, total[j])
            samples.target.mean[j] = product(w, scaled) / total[j]
            samples.target.variance[j] = product(w, (scaled - samples.target.mean[j]) ** 2) / total[j]

    @locked
    def collected(self, forest: Forest, ids: NDArray[np.int64]) -> None:
        if forest is self._forest and forest.epoch == self._epoch + 1:
            self._store.collected(ids)
            self._epoch += 1

    @locked
    def evaluate(self, forest: Forest, roots: Roots, *, keep: bool = False) -> Any:
        roots = as_roots(forest, roots)
        if keep:
            return self._evaluate_and_keep(forest, roots)
        rows = self._room.rows(roots.size, self._store.vector_bytes)
        left = self._share * SHARE_OF_VECTORS * max(self.memory_budget - self._reserved, 0)
        self._store.limit(max(int(left) - self._room.n_bytes, 0))
        position = self._write(forest, roots, rows)
        return self._vectors_in(rows)[position]

    def _evaluate_and_keep(self, forest: Forest, roots: Roots) -> Any:
        self._know(forest)
        missing = np.flatnonzero(self._address_of(forest, roots) == 0)
        spare: list[tuple[NDArray[np.intp], PlacedVectors]] = []
        for start in range(0, missing.size, VECTORS_WRITTEN_AT_A_TIME):
            own = missing[start : start + VECTORS_WRITTEN_AT_A_TIME]
            self._store.make_room(own.size, roots)
            rows = self._new_rows(own.size)
            position = self._write(forest, roots[own], rows, keep=True)
            left_over = self._address_of(forest, roots[own]) == 0  # constants, or there was no room
            if left_over.any():
                spare.append((own[left_over], self._vectors_in(rows[position[left_over]])))
        found = self._vectors_at(self._address_of(forest, roots))
        for own, vectors in spare:
            found.places.address[own] = vectors.places.address
            found = found.with_owners(vectors.owners)
        return found

    def _address_of(self, forest: Forest, roots: Roots) -> NDArray[np.int64]:
        """Where vectors of programs lie; 0: nowhere."""
        self._store.resize(len(forest))
        address = self._store.addresses_of(roots)
        is_feature = forest.columns.code[roots] == 0
        address[is_feature] = self._feature_address[forest.columns.left[roots[is_feature]]]
        return address

    def _in_order(self, forest: Forest, roots: Roots, samples: Samples | None) -> NDArray[np.intp]:
        """The order in which programs are planned, once they and the samples are checked."""
        if samples is not None and samples.counts.shape[1:] != (self.data.n_rows,):
            n_rows = samples.counts.shape[1]
            raise ValueError(f"samples have {n_rows} rows, the data {self.data.n_rows}; prepare them with this engine.")
        order = np.argsort(roots)
        roots = roots[order]
        if (roots[1:] == roots[:-1]).any():
            raise ValueError("roots must be distinct.")
        self._know(forest)
        return order

    def _know(self, forest: Forest) -> None:
        """Forget what is known of another forest, or of this one before it dropped nodes unheard."""
        if self._forest is not forest or self._epoch != forest.epoch:
            self._check_forest(forest)
            self._store.forget()
            self._forest, self._epoch = forest, forest.epoch

    def _check_forest(self, forest: Forest) -> None:
        """Refuse forests of other data or primitives: their nodes would be read as something else."""
        check_forest(forest, self.data.n_features, self.primitives)

    def _check_row_loss(self, row_loss: RowLoss | Deviation | OwnRowLoss) -> None:
        if row_loss is RowLoss.MISCLASSIFIED and not self._target.is_binary:
            raise ValueError("the classification error needs targets of 0 and 1; encode the labels first.")

    def _budget_for(self, workspaces: float) -> int:
        """The smallest budget with room for buffers of so many bytes, besides what is reserved."""
        return int(max(workspaces / WORKSPACE_SHARE, self._reserved + workspaces / SHARE_OF_REST)) + 1

    def _check_room(self, root: int, needed: float) -> None:
        """Refuse a program whose buffers alone do not fit."""
        if needed > self._workspace_room:
            raise ValueError(
                f"memory_budget={self.memory_budget} bytes is too small for program {root}; "
                f"it needs at least {self._budget_for(needed)}."
            )


class ScaledTarget(NamedTuple):
    """The target, shifted and scaled so that sums lose few digits, in float64 and in the engine's dtype."""

    centre: float
    scale: float
    values: NDArray[np.float64]
    in_dtype: NDArray[np.floating]
    is_binary: bool


def workspace_room(memory_budget: int, reserved: int) -> float:
    """Bytes of a budget that buffers have."""
    return min(WORKSPACE_SHARE * memory_budget, SHARE_OF_REST * max(memory_budget - reserved, 0))


def check_forest(forest: Forest, n_features: int, primitives: PrimitiveSet) -> None:
    """Refuse forests of other data or primitives: their nodes would be read as something else."""
    if forest.n_features != n_features:
        raise ValueError(f"the forest has {forest.n_features} features, the data {n_features}.")
    if not forest.primitives.is_same(primitives):
        raise ValueError("the forest and the engine must have the same primitives and epsilon.")


def check_total(j: int, total: float) -> None:
    """Refuse a sample without rows."""
    if not total > 0:
        raise ValueError(f"sample {j} has no rows of positive weight.")


def robust_centre(y: NDArray[np.float64]) -> tuple[float, float]:
    """Centre and scale of the target that outliers do not reach: median, and median distance from it."""
    centre = float(np.median(y))
    distance = np.abs(y - centre)
    for scale in (np.median(distance), distance.max()):
        if np.isfinite(scale) and scale > 0:
            return centre, float(scale)
    return centre, 1.0
