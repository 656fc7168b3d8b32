"""The contract of an engine: the place where rows live.

Rows and vectors stay there; what comes out is small: sums over rows. Everything after that seam (statistics, scaling,
losses, selection) is shared by all engines. Sums add over row blocks, threads and shards, in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.engines.threads import Threads
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.losses import THRESHOLD, RowLoss
from symgrove.fitness.moments import Centre, Moments, Samples
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling
from symgrove.fitness.terms import VectorSummary
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet

Roots = NDArray[np.int64]
Matrix = NDArray[np.float64]
Index = NDArray[np.intp]
# Of numbers, made of NumPy's element-wise functions, so that arrays of other libraries can go through it.
Function = Callable[..., Any]


# Bytes that a call may take beyond what it is given and returns, if nothing else is asked for.
DEFAULT_MEMORY_BUDGET = 2 << 30
# What methods count on that keep vectors: the share of an engine's budget, without what is reserved, that it leaves to
# vectors, and how many more it may have at once while it writes those that are to be kept.
SHARE_OF_VECTORS = 0.95
VECTORS_WRITTEN_AT_A_TIME = 64


class WeightedTerms(NamedTuple):
    """Sums of terms: a term is a program's output, centred, scaled, and kept within limits; 0 where it is not finite.

    Attributes
    ----------
    centre, factor, low, high : (n_programs,)
        The centre is subtracted first.
    first : (n_programs + 1,)
        Program p enters the sums `member[first[p]:first[p + 1]]`, with the coefficients there.
    member : (n_entries,)
    coefficient : (n_entries,)
    n_members : int
        Sums.
    """

    centre: Matrix
    factor: Matrix
    low: Matrix
    high: Matrix
    first: NDArray[np.int64]
    member: NDArray[np.int64]
    coefficient: Matrix
    n_members: int


class Vectors(Protocol):
    """A handle of vectors that live in an engine: a number for each row and vector."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: ArrayLike) -> Self:
        """Some of them, as often as wanted; nothing is copied."""
        ...

    def __add__(self, other: Self) -> Self:
        """These, then the others."""
        ...

    def standardized(self, centre: Matrix, spread: Matrix) -> Self:
        """The same vectors, read as (x - centre) / spread in float64; nothing is copied."""
        ...


Handle = Any  # `Vectors` of the engine that made them; another engine cannot read them


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
        A copy of the target on the host; of many rows that are elsewhere, ask `target_of` instead.
    memory_budget : int
        Bytes for kept vectors and buffers, what others take of it included.
    n_computed : int
        Node evaluations so far.
    threads : Threads
        Of the host, for work on what comes out.
    """

    dtype: np.dtype[Any]
    memory_budget: int
    n_computed: int
    threads: Threads

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def primitives(self) -> PrimitiveSet: ...

    @property
    def target(self) -> NDArray[np.float64]: ...

    def target_of(self, rows: Index) -> NDArray[np.float64]:
        """The target on some rows, on the host."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

    def close(self) -> None:
        """Free what the engine holds; handles of evaluated programs are worth nothing afterwards."""
        ...

    def forget(self) -> None:
        """Free buffers, and vectors of programs, whose handles are then worth nothing; they come again if needed."""
        ...

    def watch(self, check: Callable[[], None] | None) -> None:
        """Call `check` often within evaluations; it may raise to abandon one."""
        ...

    def prepare(self, counts: ArrayLike | SpreadCounts, sample_weight: ArrayLike | None = None) -> Samples:
        """Check counts (n_samples, n_rows) and weights, and lay them out; once for each set of samples.

        Of rows that are on workers already, counts may be drawn there (`SpreadCounts`), where the weights are too.
        """
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
        row_loss: RowLoss | Deviation | OwnRowLoss,
        threshold: float = THRESHOLD,
    ) -> NDArray[np.float64]:
        """Weighted sums of a row loss of the scaled outputs, (n_programs, n_samples); NaN if an output is not finite.

        Scaled outputs above the threshold are class 1. Sums of counts are exact whole numbers. A `Deviation` or a
        user's loss is taken and summed in float64, in the order of the rows of a panel; rows of weight zero do not
        enter, and a loss that is not finite on another row makes the sum so.
        """
        ...

    def outputs(
        self, forest: Forest, roots: Roots, rows: slice | NDArray[np.intp] | None = None
    ) -> NDArray[np.floating]:
        """Outputs of every program, (n_programs, n_rows), on the host; or on a range of rows, or on some rows."""
        ...

    def weighted_sums(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> Matrix:
        """Sums of terms on every row, (n_members, n_rows) in float64, on the host.

        One pass over the rows; outputs are read as soon as they are there, and lie nowhere. A row's sums do not depend
        on the rows beside it.
        """
        ...

    # Vectors that stay

    def weighted_vectors(self, forest: Forest, roots: Roots, terms: WeightedTerms) -> Handle:
        """The sums of `weighted_sums` as vectors in float64, which stay as long as their handle does."""
        ...

    def evaluate(self, forest: Forest, roots: Roots, *, keep: bool = False) -> Handle:
        """Outputs of distinct programs as vectors.

        Without `keep` they are there until the next such call. With it, those that are there already are found, the
        others computed; all stay while their nodes live and each call asks for them again.
        """
        ...

    def put(self, rows: ArrayLike) -> Handle:
        """Numbers from the host, (n_vectors, n_rows), as vectors in float64.

        They stay as long as their handle does, and so do those that `combine` and `apply` make.
        """
        ...

    def fetch(self, vectors: Handle) -> Matrix:
        """Vectors on the host, (n_vectors, n_rows) in float64: for small data and inspection."""
        ...

    def combine(self, coefficients: Matrix, vectors: Handle, index: Index | None = None) -> Handle:
        """Linear combinations as vectors in float64: of all vectors, or row i of those in row i of the index.

        Vectors with the coefficient 0 do not enter, nor do those of a negative index.
        """
        ...

    def apply(self, function: Function, *vectors: Handle) -> Handle:
        """An element-wise function of sets of vectors, equally many in each, as vectors in float64.

        The function gets an array of each set, (vectors, rows) of some of them, and returns one of that shape.
        """
        ...

    def distances(self, vectors: Handle, index: Index, centres: Matrix, factors: NDArray[np.float64]) -> Handle:
        """Squared lengths as vectors in float64: entry j is of factor j times (the vectors in row j of the index, less
        centre j).

        Centres are (n_distances, n_vectors), factors (n_distances, n_vectors, n_vectors). Vectors of a negative index
        do not enter.
        """
        ...

    def sums(self, function: Function, *vectors: Handle, weights: Handle = None) -> Matrix:
        """Sums over the rows of what `apply` would give, (n_vectors,); rows of weight zero do not enter."""
        ...

    def products(
        self,
        left: Handle,
        right: Handle,
        weights: Handle = None,
        left_index: Index | None = None,
        right_index: Index | None = None,
    ) -> Matrix:
        """Sums over the rows of products of two vectors and a weight, in float64.

        Entry (j, a, b) is of vector `left_index[j, a]`, vector `right_index[j, b]` and weights j; 0 where an index is
        negative. Without an index it is of all vectors; without weights all weigh one, and without all three there is
        one j. Rows of weight zero do not enter.
        """
        ...

    def squares(self, vectors: Handle, weights: Handle, index: Index | None = None) -> Matrix:
        """Weighted sums of squares: entry (j, a) of vector `index[j, a]`, or of vector a, with weights j."""
        ...

    def summaries(self, vectors: Handle, weight: Matrix, direction: Matrix) -> VectorSummary:
        """What is known of vectors, with weights and a direction of the host, (n_rows,).

        All rows enter, also those of weight zero: a vector that is not finite anywhere shows.
        """
        ...

    def collected(self, forest: Forest, ids: NDArray[np.int64]) -> None:
        """Take note that nodes of a forest were dropped: `ids` is what `collect` or `truncate` returned.

        An engine that is not told forgets all it knows of the forest; results are the same.
        """
        ...
