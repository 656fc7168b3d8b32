"""Vectors that stay on a card, and what is made of them there: products, combinations, sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.engines.base import Function
from symgrove.engines.cuda_card import Card, SmallArrays, pack
from symgrove.engines.cuda_functions import Translated, translated
from symgrove.engines.resident import (
    PlacedVectors,
    check_sets,
    checked_factors,
    checked_index,
    checked_rows,
    summary_of,
)
from symgrove.engines.resident_kernels import Places
from symgrove.fitness.terms import VectorSummary

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]

# As in the kernels.
SUMMERS, PANEL, VECTORS_OF_A_BLOCK = 256, 2048, 4
EIGHT, MANY, RIGHT, TOGETHER, FEWEST_WARPS, STEP_ROWS = 8, 32, 64, 128, 8, 32
ROWS_OF_A_TILE = 1 << 14  # whose sum is one part of a sum
FEW = 4  # vectors on the left, each of which reads all on the right
FEWEST_BLOCKS = 4096  # that products are cut into, if there are rows enough
FEWEST_LARGE_BLOCKS = 2048  # of many threads
VALUES_OF_A_CALL = 1 << 25  # that an element-wise function sees at a time
LEAST_ROWS_OF_A_CHUNK = 256
NO_PLACES = Places(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), np.empty(0), np.empty(0))
PADDING = 64  # bytes; a vector's memory ends at a multiple


@dataclass(frozen=True)
class Kernels:
    """The kernels of one source on a card."""

    card: Card
    source: str

    def __call__(self, name: str, blocks: tuple[int, int], n_threads: int, *arguments: Any, shared: int = 0) -> None:
        if min(blocks) > 0:
            self.card.launch(self.source, name, blocks, n_threads, arguments, shared)


@dataclass(frozen=True)
class CardVectors(PlacedVectors):
    """Vectors in the memory of a card."""

    kernels: Kernels

    def packed(self) -> SmallArrays:
        """Their places on the card."""
        return pack(self.kernels.card, *_arrays(self.places))


def _arrays(places: Places) -> tuple[NDArray[Any], ...]:
    return places.address, places.is_double.view(np.uint8), places.centre, places.scale


def n_padded(n_rows: int, itemsize: int) -> int:
    """Numbers of a row that ends where the next vector may begin."""
    n = PADDING // itemsize
    return -(-n_rows // n) * n


def vectors_at(kernels: Kernels, address: NDArray[np.int64], dtype: Any, n_rows: int, *owners: Any) -> CardVectors:
    """Vectors of a dtype at these addresses."""
    k = address.size
    places = Places(address, np.full(k, dtype == np.float64), np.zeros(k), np.ones(k))
    return CardVectors(places, n_rows, owners, kernels)


def vectors_in(kernels: Kernels, rows: Any, n_rows: int) -> CardVectors:
    """Rows of an array as vectors; they may be longer than a vector."""
    stride = rows.shape[1] * rows.dtype.itemsize
    address = kernels.card.address(rows) + stride * np.arange(len(rows), dtype=np.int64)
    return vectors_at(kernels, address, rows.dtype, n_rows, rows)


class CardOperations(ABC):
    """Operations of the contract on vectors in the memory of a card."""

    kernels: Kernels

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Of the data."""

    @abstractmethod
    def _look_up(self) -> None:
        """Call whoever watches."""

    def _doubles(self, n_vectors: int) -> Any:
        return self.kernels.card.arrays.empty((n_vectors, n_padded(self.n_rows, 8)), dtype=np.float64)

    def put(self, rows: ArrayLike) -> CardVectors:
        own = np.array(rows, dtype=np.float64, order="C", ndmin=2)
        if own.ndim != 2 or own.shape[1] != self.n_rows:
            raise ValueError(f"rows must have shape (n_vectors, {self.n_rows}), got {own.shape}.")
        on_card = self._doubles(len(own))
        on_card[:, : self.n_rows] = self.kernels.card.upload(own)
        return vectors_in(self.kernels, on_card, self.n_rows)

    def fetch(self, vectors: CardVectors) -> Matrix:
        return vectors.kernels.card.download(_gathered(vectors, 0, vectors.n_rows))

    def combine(self, coefficients: Matrix, vectors: CardVectors, index: Index | None = None) -> CardVectors:
        self._look_up()
        coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
        own_index = checked_index(index, vectors, len(coefficients))
        if own_index.shape != coefficients.shape:
            raise ValueError(f"coefficients of shape {coefficients.shape} do not go with {own_index.shape} vectors.")
        return self._rows_of("combine", 4, vectors, own_index, coefficients)

    def distances(self, vectors: CardVectors, index: Index, centres: Matrix, factors: Matrix) -> CardVectors:
        self._look_up()
        own_index = checked_index(index, vectors, len(index))
        centres, factors = (np.ascontiguousarray(given, dtype=np.float64) for given in (centres, factors))
        n, k = own_index.shape
        if centres.shape != (n, k) or factors.shape != (n, k, k):
            raise ValueError(
                f"{centres.shape} centres and {factors.shape} factors do not go with {own_index.shape} vectors."
            )
        return self._rows_of("measure", 1, vectors, own_index, centres, factors)

    def _rows_of(self, kernel: str, n_at_once: int, vectors: CardVectors, index: Index, *more: Matrix) -> CardVectors:
        """A vector for each row of an index, by a kernel whose threads have so many rows of the data each."""
        n, k = index.shape
        out = self._doubles(n)
        packed = pack(self.kernels.card, *_arrays(vectors.places), index, *more)
        blocks = -(-self.n_rows // (n_at_once * SUMMERS)), n
        self.kernels(kernel, blocks, SUMMERS, *packed.addresses, k, self.n_rows, out, out.shape[1])
        return vectors_in(self.kernels, out, self.n_rows)

    def apply(self, function: Function, *vectors: CardVectors) -> CardVectors:
        check_sets(*vectors)
        out = self._doubles(len(vectors[0]))
        own = translated(function, len(vectors))
        if own is not None:
            self._look_up()
            kernels, packed = self._with_places(own, vectors)
            blocks = -(-self.n_rows // SUMMERS), len(out)
            how = len(out), self.n_rows, out, out.shape[1]
            kernels("apply_function", blocks, SUMMERS, *packed.addresses, *how)
            return vectors_in(self.kernels, out, self.n_rows)
        for some, rows in self._calls(len(out), len(vectors)):
            self._look_up()
            arrays = [_gathered(v[np.arange(some.start, some.stop)], rows.start, rows.stop) for v in vectors]
            with np.errstate(all="ignore"):
                out[some, rows] = function(*arrays)
        return vectors_in(self.kernels, out, self.n_rows)

    def sums(self, function: Function, *vectors: CardVectors, weights: CardVectors | None = None) -> Matrix:
        check_sets(*vectors, *([] if weights is None else [weights]))
        n = len(vectors[0])
        own_function = translated(function, len(vectors))
        if own_function is not None:
            self._look_up()
            kernels, packed = self._with_places(own_function, vectors if weights is None else (*vectors, weights))
            n_tiles = -(-self.n_rows // ROWS_OF_A_TILE)
            parts = self.kernels.card.arrays.empty((n_tiles, n), dtype=np.float64)
            how = int(weights is not None), n, self.n_rows, ROWS_OF_A_TILE, parts
            kernels("sum_function", (n, n_tiles), SUMMERS, *packed.addresses, *how)
            return self._added(parts)
        total = np.zeros(n)
        for some, rows in self._calls(n, len(vectors)):
            self._look_up()
            part = np.arange(some.start, some.stop)
            arrays = [_gathered(v[part], rows.start, rows.stop) for v in vectors]
            with np.errstate(all="ignore"):
                values = self.kernels.card.arrays.ascontiguousarray(function(*arrays), dtype=np.float64)
                own = None if weights is None else _gathered(weights[part], rows.start, rows.stop)
                total[some] += self._summed(values, own)
        return total

    def _with_places(self, function: Translated, vectors: tuple[CardVectors, ...]) -> tuple[Kernels, SmallArrays]:
        """Kernels of a function, and the places of all vectors that it reads, set after set, with its numbers."""
        card = self.kernels.card
        places = (np.concatenate(each) for each in zip(*(_arrays(v.places) for v in vectors), strict=True))
        return Kernels(card, function.source), pack(card, *places, function.numbers)

    def _calls(self, n_vectors: int, n_sets: int) -> list[tuple[slice, slice]]:
        """Ranges of vectors and rows that an element-wise function sees at a time."""
        n_rows = min(self.n_rows, max(VALUES_OF_A_CALL // max(n_sets, 1) // PANEL, 1) * PANEL)
        n_at_once = max(1, VALUES_OF_A_CALL // max(n_sets, 1) // n_rows)
        return [
            (slice(i, min(i + n_at_once, n_vectors)), slice(k, min(k + n_rows, self.n_rows)))
            for i in range(0, n_vectors, n_at_once)
            for k in range(0, self.n_rows, n_rows)
        ]

    def _summed(self, values: Any, weights: Any) -> Matrix:
        """Sums of rows of values, or of their products with weights that are not zero."""
        n, n_rows = values.shape
        n_tiles = -(-n_rows // ROWS_OF_A_TILE)
        parts = self.kernels.card.arrays.empty((n_tiles, n), dtype=np.float64)
        own = 0 if weights is None else weights
        self.kernels("sum_rows", (n, n_tiles), SUMMERS, values, own, n_rows, n_rows, ROWS_OF_A_TILE, n, parts)
        return self._added(parts)

    def _added(self, parts: Any) -> Matrix:
        """Parts, (n_parts, ...), added up in their order."""
        card = self.kernels.card
        out = card.arrays.zeros(parts.shape[1:], dtype=np.float64)
        name = "add_doubles" if parts.dtype == np.float64 else "add_reals"
        self.kernels(name, (-(-out.size // SUMMERS), 1), SUMMERS, parts, len(parts), out.size, out)
        return card.download(out)

    def products(
        self,
        left: CardVectors,
        right: CardVectors,
        weights: CardVectors | None = None,
        left_index: Index | None = None,
        right_index: Index | None = None,
    ) -> Matrix:
        return self._products(left, right, weights, left_index, right_index, is_squared=False)

    def squares(self, vectors: CardVectors, weights: CardVectors, index: Index | None = None) -> Matrix:
        if index is None:
            return self._products(weights, vectors, None, None, None, is_squared=True)[0]
        itself = np.arange(len(weights))[:, None]
        return self._products(weights, vectors, None, itself, index, is_squared=True)[:, 0]

    def _products(
        self,
        left: CardVectors,
        right: CardVectors,
        weights: CardVectors | None,
        left_index: Index | None,
        right_index: Index | None,
        *,
        is_squared: bool,
    ) -> Matrix:
        """See `Engine.products`; with `is_squared`, vectors on the right are squared."""
        self._look_up()
        is_symmetric = left is right and left_index is right_index and not is_squared
        left_index, right_index = checked_factors(left, right, weights, left_index, right_index)
        shape = *left_index.shape, right_index.shape[1]
        if 0 in shape:
            return np.zeros(shape)
        left_places, right_places = _arrays(left.places), _arrays(right.places)
        of_weights = _arrays(NO_PLACES if weights is None else weights.places)
        if is_symmetric and FEW < shape[1] <= TOGETHER:
            name, n_threads, n_tiles, n_blocks = (
                "multiply_together",
                threads_of(shape[1]),
                shape[0],
                FEWEST_LARGE_BLOCKS,
            )
            packed = pack(self.kernels.card, *left_places, *of_weights, left_index)
            how: tuple[int, ...] = int(weights is not None), shape[0], shape[1]
        else:
            is_few = shape[1] <= FEW
            name, n_threads = ("multiply_few", SUMMERS) if is_few else ("multiply_many", 128)
            n_left, n_right = (1, EIGHT) if is_few else (MANY, RIGHT)
            n_tiles, n_blocks = shape[0] * -(-shape[1] // n_left) * -(-shape[2] // n_right), FEWEST_BLOCKS
            packed = pack(self.kernels.card, *left_places, *right_places, *of_weights, left_index, right_index)
            how = int(weights is not None), int(is_squared), int(is_symmetric), *shape
        n_chunks = min(-(-n_blocks // n_tiles), -(-self.n_rows // LEAST_ROWS_OF_A_CHUNK))
        chunk_rows = -(-self.n_rows // (n_chunks * STEP_ROWS)) * STEP_ROWS  # so that warps read whole lines
        n_chunks = -(-self.n_rows // chunk_rows)
        parts = self.kernels.card.arrays.empty((n_chunks, *shape), dtype=np.float64)
        self.kernels(name, (n_tiles, n_chunks), n_threads, *packed.addresses, *how, chunk_rows, self.n_rows, parts)
        out = self._added(parts)
        if is_symmetric:
            below = np.tri(shape[1], k=-1, dtype=np.bool_)
            out[:, below] = out.transpose(0, 2, 1)[:, below]
        if not np.isfinite(out).all():
            self._mend(out, left, right, weights, left_index, right_index, is_squared=is_squared)
        return out

    def _mend(
        self,
        out: Matrix,
        left: CardVectors,
        right: CardVectors,
        weights: CardVectors | None,
        left_index: Index,
        right_index: Index,
        *,
        is_squared: bool,
    ) -> None:
        """Make products that are not finite again, without the rows of weight zero."""
        j, a, b = np.nonzero(~np.isfinite(out))
        x, y = left_index[j, a], right_index[j, b] + len(left)
        together = left + right
        of_weight = np.zeros_like(j)
        if is_squared:  # the weights of squares are on the left
            of_weight, x = x, y
        elif weights is not None:
            together, of_weight = together + weights, j + len(together)
        packed = pack(self.kernels.card, *_arrays(together.places), np.stack([x, y, of_weight]))
        found = self.kernels.card.arrays.empty(j.size, dtype=np.float64)
        is_weighted = int(is_squared or weights is not None)
        self.kernels("mend", (j.size, 1), SUMMERS, *packed.addresses, is_weighted, j.size, self.n_rows, found)
        out[j, a, b] = self.kernels.card.download(found)

    def summaries(self, vectors: CardVectors, weight: Matrix, direction: Matrix) -> VectorSummary:
        self._look_up()
        weight, direction = checked_rows(weight, direction, vectors.n_rows)
        card, n, n_tiles = self.kernels.card, len(vectors), -(-vectors.n_rows // ROWS_OF_A_TILE)
        packed = vectors.packed()
        parts = card.arrays.empty((n, n_tiles, 6), dtype=np.float64)
        out = card.arrays.empty((n, 5), dtype=np.float64)
        rows = card.upload(weight), card.upload(direction)
        blocks, how = (n_tiles, -(-n // VECTORS_OF_A_BLOCK)), (n, vectors.n_rows, ROWS_OF_A_TILE, n_tiles)
        self.kernels("summarize", blocks, SUMMERS, *packed.addresses[:2], *rows, *how, parts)
        self.kernels("merge_summaries", (-(-n // SUMMERS), 1), SUMMERS, parts, n_tiles, n, out)
        return summary_of(card.download(out), vectors, direction)


def threads_of(n: int) -> int:
    """Of a block that multiplies so many vectors with themselves: a warp for a tile that reaches above the diagonal."""
    n_tiles = sum(min(2 * column + 2, -(-n // 16)) for column in range(-(-n // 32)))
    return 32 * max(n_tiles, FEWEST_WARPS)


def _gathered(vectors: CardVectors, start: int, stop: int) -> Any:
    """Vectors on a range of rows, in float64, as an array on the card."""
    packed, n = vectors.packed(), len(vectors)
    out = vectors.kernels.card.arrays.empty((n, stop - start), dtype=np.float64)
    blocks = -(-(stop - start) // SUMMERS), n
    vectors.kernels("gather", blocks, SUMMERS, *packed.addresses, start, stop, out, stop - start)
    return out
