"""The contract of an engine.

An engine holds the training data and turns programs into sums over rows, or into vectors. Everything after that seam
(statistics, scaling, losses, selection) is shared by all engines. Sums add over row blocks, threads and shards.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest

Roots = NDArray[np.int64]


class Engine(Protocol):
    """Evaluates distinct programs of a forest on one data set; results follow the order of the roots."""

    dtype: np.dtype[Any]

    def prepare(self, counts: ArrayLike, sample_weight: ArrayLike | None = None) -> Samples:
        """Check counts (n_samples, n_rows) and weights, and lay them out; once for each set of samples."""
        ...

    def moments(
        self,
        forest: Forest,
        roots: Roots,
        samples: Samples,
        centre: Centre | None = None,
        *,
        expect_more: bool = False,
    ) -> Moments:
        """Sums for every program and sample; `expect_more` hints that the same programs will be asked for again.

        Without a centre, each program's is found by a fixed rule from the first row block, so that blocks and shards
        agree, and sums may be made in the engine's dtype. With a centre, sums are in float64 and rows of weight zero
        do not enter at all; a pair of program and sample whose shift is NaN is left out, with sums of 0.
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

    def outputs(self, forest: Forest, roots: Roots, rows: slice | None = None) -> NDArray[np.floating]:
        """Outputs of every program, (n_programs, n_rows), or on a range of rows."""
        ...

    def collected(self, forest: Forest, ids: NDArray[np.int64]) -> None:
        """Take note that nodes of a forest were dropped: `ids` is what `collect` or `truncate` returned.

        An engine that is not told forgets all it knows of the forest; results are the same.
        """
        ...
