"""The contract of an engine.

An engine holds the training data and turns programs into sums over rows, or into vectors. Everything after that seam
(statistics, scaling, losses, selection) is shared by all engines. Sums add over row blocks, threads and shards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet

Roots = NDArray[np.int64]


# Bytes for kept vectors and buffers, if nothing else is asked for.
DEFAULT_MEMORY_BUDGET = 2 << 30


class Engine(Protocol):
    """Evaluates distinct programs of a forest on one data set; results follow the order of the roots.

    Attributes
    ----------
    dtype : numpy.dtype
        What programs are evaluated in.
    n_rows, n_features : int
    primitives : PrimitiveSet
        Of the forests whose programs it evaluates.
    target : float64 array (n_rows,)
        A copy of the target on the host.
    memory_budget : int
        Bytes for kept vectors and buffers.
    n_computed : int
        Node evaluations so far.
    """

    dtype: np.dtype[Any]
    memory_budget: int
    n_computed: int

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def primitives(self) -> PrimitiveSet: ...

    @property
    def target(self) -> NDArray[np.float64]: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

    def close(self) -> None:
        """Free what the engine holds."""
        ...

    def watch(self, check: Callable[[], None] | None) -> None:
        """Call `check` often within evaluations; it may raise to abandon one."""
        ...

    def prepare(self, counts: ArrayLike, sample_weight: ArrayLike | None = None) -> Samples:
        """Check counts (n_samples, n_rows) and weights, and lay them out; once for each set of samples."""
        ...

    def moments(
        self,
        forest: Forest,
        roots: Roots,
        samples: Samples,
        *,
        expect_more: bool = False,
    ) -> Moments:
        """Sums for every program and sample; `expect_more` hints that the same programs will be asked for again.

        Each program's centre is found by a fixed rule from the first row block, so that blocks and shards agree; sums
        may be made in the engine's dtype.
        """
        ...

    def exact_moments(
        self, forest: Forest, roots: Roots, samples: Samples, centre: Centre, wanted: NDArray[np.bool_]
    ) -> Moments:
        """Sums in float64 about given centres, of the wanted pairs of program and sample; those of others are 0.

        Rows of weight zero do not enter at all.
        """
        ...

    def errors(
        self,
        forest: Forest,
        roots: Roots,
        scaling: Scaling,
        samples: Samples,
        row_loss: RowLoss | OwnRowLoss,
        threshold: float = THRESHOLD,
    ) -> NDArray[np.float64]:
        """Weighted sums of a row loss of the scaled outputs, (n_programs, n_samples); NaN if an output is not finite.

        Scaled outputs above the threshold are class 1. Sums of counts are exact whole numbers. A user's loss is taken
        and summed in float64, in the order of the rows of a panel; rows of weight zero do not enter, and a loss that is
        not finite on another row makes the sum so.
        """
        ...

    def outputs(
        self, forest: Forest, roots: Roots, rows: slice | NDArray[np.intp] | None = None
    ) -> NDArray[np.floating]:
        """Outputs of every program, (n_programs, n_rows), on the host; or on a range of rows, or on some rows."""
        ...

    def map(self, function: Callable[[int], None], n_calls: int) -> None:
        """Call a function of the host with 0 .. n_calls - 1, on as many threads as the engine has."""
        ...

    def collected(self, forest: Forest, ids: NDArray[np.int64]) -> None:
        """Take note that nodes of a forest were dropped: `ids` is what `collect` or `truncate` returned.

        An engine that is not told forgets all it knows of the forest; results are the same.
        """
        ...
