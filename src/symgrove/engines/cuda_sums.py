"""Sums over rows of programs' outputs on a card, chunk of rows by chunk: moments, exact moments, errors."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import WeightedTerms
from symgrove.engines.cuda_card import Card, SmallArrays, pack
from symgrove.engines.cuda_vectors import PANEL, ROWS_OF_A_TILE, SUMMERS, Kernels
from symgrove.engines.passes import FoundCentre, found_centre
from symgrove.fitness.losses import RowLoss
from symgrove.fitness.moments import Centre, Samples
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling

Matrix = NDArray[np.float64]

# As in the kernels.
TILE, THREADS_OF_TILES = 64, 256


class OnCard(NamedTuple):
    """Counts of samples, of one byte or in the engine's dtype, and weights of rows on the card, or None."""

    bytes: Any
    counts: Any
    row_weight: Any

    @property
    def arguments(self) -> tuple[Any, Any, Any]:
        """As kernels take them: 0 where there are none."""
        bytes_, counts, row_weight = (0 if array is None else array for array in self)
        return bytes_, counts, row_weight


class Chunk(NamedTuple):
    """Outputs on rows `start` to `stop`, on the card, `stride` numbers from one program to the next."""

    outputs: Any
    stride: int
    start: int
    stop: int

    @property
    def n_panels(self) -> int:
        return -(-(self.stop - self.start) // PANEL)


class RowsOnCard(Protocol):
    """What sums read besides outputs: `CudaEngine`."""

    card: Card
    kernels: Kernels
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int: ...

    @property
    def scaled_target(self) -> Any: ...

    @property
    def scaled_target_in_dtype(self) -> Any: ...

    @property
    def target_on_card(self) -> Any: ...

    def samples_on_card(self, samples: Samples) -> OnCard: ...

    def kernels_with(self, loss: OwnRowLoss) -> Kernels: ...


def _add_up(rows: RowsOnCard, parts: Any, out: Any) -> None:
    """Add parts to `out`, in their order."""
    name = "add_doubles" if parts.dtype == np.float64 else "add_reals"
    rows.kernels(name, (-(-out.size // SUMMERS), 1), SUMMERS, parts, len(parts), out.size, out)


def _tiles(n_programs: int, n_samples: int) -> int:
    return -(-n_programs // TILE) * -(-n_samples // TILE)


def centre_on_card(card: Card, chunk: Chunk) -> FoundCentre:
    """Centres of programs, by the rule of the CPU engine, on the host; the chunk begins with the first panel."""
    n_rows = min(PANEL, chunk.stop - chunk.start)
    return found_centre(card.download(chunk.outputs[:, :n_rows]), n_rows)


class MomentsOnCard:
    """First look: sums in the engine's dtype within panels; centres from the first panel, or as given."""

    def __init__(self, rows: RowsOnCard, samples: Samples, n_programs: int, centre: FoundCentre | None = None) -> None:
        self.rows = rows
        self.samples = rows.samples_on_card(samples)
        self.shape = n_programs, samples.total.size
        arrays, bits = rows.card.arrays, np.int32 if rows.dtype == np.float32 else np.int64
        self.sums = arrays.zeros((3, *self.shape), dtype=np.float64)
        self.reach = arrays.zeros(n_programs, dtype=bits)
        self.centre = centre
        self.packed: SmallArrays | None = None

    def add(self, chunk: Chunk) -> None:
        """Add the sums of a chunk; the first has the first panel."""
        rows, (n_programs, n_samples) = self.rows, self.shape
        if self.packed is None:
            self.centre = centre_on_card(rows.card, chunk) if self.centre is None else self.centre
            self.packed = pack(rows.card, self.centre.shift, 1 / self.centre.scale)
        parts = rows.card.arrays.empty((chunk.n_panels, 3, *self.shape), dtype=rows.dtype)
        rows.kernels(
            "moments",
            (chunk.n_panels, _tiles(*self.shape)),
            THREADS_OF_TILES,
            *(chunk.outputs, chunk.stride, n_programs, chunk.start, chunk.stop),
            *self.packed.addresses,
            *self.samples.arguments,
            *(rows.n_rows, n_samples, rows.scaled_target_in_dtype, parts, self.reach),
        )
        _add_up(rows, parts, self.sums)

    def results(self) -> tuple[NDArray[np.floating], ...]:
        """Sums (3, n_programs, n_samples), shifts, scales, reaches; of chunks, of which there was one at least."""
        assert self.centre is not None
        reach = self.rows.card.download(self.reach).view(self.rows.dtype)
        return self.rows.card.download(self.sums), *self.centre, reach


class PairsOnCard:
    """Second look: sums in float64 about given centres, of the wanted pairs of program and sample."""

    def __init__(
        self,
        rows: RowsOnCard,
        samples: Samples,
        centre: Centre,
        programs: NDArray[np.intp],
        wanted: NDArray[np.bool_],
    ) -> None:
        self.rows = rows
        self.samples = rows.samples_on_card(samples)
        p, j = np.nonzero(wanted[programs])
        self.pairs = p, j
        shift, scale = (np.broadcast_to(array, wanted.shape)[programs[p], j].astype(np.float64) for array in centre)
        self.packed = pack(rows.card, p.astype(np.int64), j.astype(np.int64), shift, scale)
        self.sums, self.reach = np.zeros((3, p.size)), np.zeros(p.size)

    def add(self, chunk: Chunk) -> None:
        """Add the sums of a chunk."""
        rows, n_pairs = self.rows, self.reach.size
        n_tiles = -(-(chunk.stop - chunk.start) // ROWS_OF_A_TILE)
        parts = rows.card.arrays.empty((n_tiles, n_pairs, 4), dtype=np.float64)
        rows.kernels(
            "sum_exact",
            (n_pairs, n_tiles),
            SUMMERS,
            *(chunk.outputs, chunk.stride, chunk.start, chunk.stop),
            *self.packed.addresses,
            *self.samples.arguments,
            *(rows.n_rows, rows.scaled_target, ROWS_OF_A_TILE, n_pairs, parts),
        )
        for part in rows.card.download(parts):
            self.sums += part[:, :3].T
            self.reach = np.maximum(self.reach, part[:, 3])  # NaN if one is


class ErrorsOnCard:
    """Sums of a row loss of the scaled outputs: mistakes in the engine's dtype within panels, others in float64."""

    def __init__(
        self,
        rows: RowsOnCard,
        samples: Samples,
        scaling: Scaling,
        row_loss: RowLoss | Deviation | OwnRowLoss,
        threshold: float,
    ) -> None:
        self.rows = rows
        self.samples = rows.samples_on_card(samples)
        self.kernels, dtype = rows.kernels, np.dtype(np.float64)
        self.name, self.constants = "sum_squared", (0.0, 0.0, 0.0)
        if isinstance(row_loss, OwnRowLoss):
            self.name, self.kernels = "sum_own_loss", rows.kernels_with(row_loss)
        elif isinstance(row_loss, Deviation):
            self.name = "sum_deviations"
            self.constants = float(row_loss.above), float(row_loss.below), float(row_loss.delta)
        elif row_loss is RowLoss.MISCLASSIFIED:
            self.name, self.constants, dtype = "sum_misclassified", (float(threshold), 0.0, 0.0), rows.dtype
        with np.errstate(over="ignore"):  # a slope too large for float32 makes errors that are not finite
            self.packed = pack(rows.card, *(array.astype(dtype) for array in scaling))
        self.shape = scaling.slope.shape
        self.sums = rows.card.arrays.zeros(self.shape, dtype=np.float64)

    def add(self, chunk: Chunk) -> None:
        """Add the sums of a chunk."""
        n_programs, n_samples = self.shape
        parts = self.rows.card.arrays.empty((chunk.n_panels, *self.shape), dtype=np.float64)
        self.kernels(
            self.name,
            (chunk.n_panels, _tiles(*self.shape)),
            THREADS_OF_TILES,
            *(chunk.outputs, chunk.stride, n_programs, chunk.start, chunk.stop),
            *self.packed.addresses,
            *self.samples.arguments,
            *(self.rows.n_rows, n_samples, self.rows.target_on_card, *self.constants, parts),
        )
        _add_up(self.rows, parts, self.sums)

    def results(self) -> Matrix:
        """(n_programs, n_samples)."""
        return self.rows.card.download(self.sums)


class TermsOnCard:
    """Sums of terms on every row, of the programs of a plan."""

    def __init__(self, rows: RowsOnCard, terms: WeightedTerms, programs: NDArray[np.intp]) -> None:
        self.rows = rows
        self.n_members = terms.n_members
        position = np.full(terms.centre.size, -1)
        position[programs] = np.arange(programs.size)
        program = position[np.repeat(np.arange(terms.centre.size), np.diff(terms.first))]
        order = np.argsort(terms.member, kind="stable")
        order = order[program[order] >= 0]
        first = np.searchsorted(terms.member[order], np.arange(terms.n_members + 1))
        scaling = (getattr(terms, name)[programs] for name in ("centre", "factor", "low", "high"))
        entries = program[order].astype(np.int64), terms.coefficient[order]
        self.packed = pack(rows.card, *scaling, first.astype(np.int64), *entries)

    def add(self, chunk: Chunk, sums: Any) -> None:
        """Add the sums of a chunk to those of all rows, (n_members, n_rows)."""
        n_rows = chunk.stop - chunk.start
        blocks = -(-n_rows // SUMMERS), self.n_members
        where = chunk.outputs, chunk.stride, chunk.start, chunk.stop
        self.rows.kernels(
            "weigh", blocks, SUMMERS, *where, *self.packed.addresses, sums[:, chunk.start :], sums.shape[1]
        )
