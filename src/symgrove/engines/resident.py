"""Vectors that stay where the rows are, and what the CPU engine makes of them: products, combinations, sums.

Rows are taken in blocks, and sums of blocks are added in the order of the rows. Which thread does what changes no sum,
because each result belongs to one thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import local
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.engines import resident_kernels
from symgrove.engines.base import Function
from symgrove.engines.resident_kernels import Places
from symgrove.engines.threads import Work
from symgrove.engines.workspace import PANEL_ROWS, ROW_PADDING
from symgrove.fitness.terms import VectorSummary

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]

# A constant, because the order of sums, and so the last bits, depend on it. A block of four vectors stays in the
# first-level cache, one of a hundred in the second.
ROWS_AT_A_TIME = 1024
VECTORS_OF_A_TASK = 128
ROWS_OF_A_DISTANCE = 256  # whose vectors stay in the first-level cache
VALUES_OF_A_CALL = 1 << 14  # that an element-wise function sees at a time
LARGEST_ROOM = 1 << 17  # numbers that a thread keeps room for
NO_PLACES = Places(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), np.empty(0), np.empty(0))


class RowVectors(Protocol):
    """Vectors wherever they are."""

    @property
    def n_rows(self) -> int: ...

    def __len__(self) -> int: ...


def places_of(index: ArrayLike, n_vectors: int) -> NDArray[np.intp]:
    """Which of some vectors an index or a mask asks for."""
    chosen = np.atleast_1d(np.asarray(index))
    if chosen.dtype == np.bool_:
        if chosen.shape != (n_vectors,):
            raise ValueError(f"a mask of {n_vectors} vectors must have as many entries, got shape {chosen.shape}.")
        chosen = np.flatnonzero(chosen)
    return chosen.astype(np.intp, copy=False)


@dataclass(frozen=True)
class PlacedVectors:
    """Vectors by their addresses, in the memory of the host if not of another class; `owners` keep it."""

    places: Places
    n_rows: int
    owners: tuple[Any, ...]

    def __len__(self) -> int:
        return self.places.address.size

    def __getitem__(self, index: ArrayLike) -> Self:
        chosen = places_of(index, len(self))
        address, is_double, centre, scale = self.places
        places = Places(address[chosen], is_double[chosen], centre[chosen], scale[chosen])
        return replace(self, places=places)

    def __add__(self, other: Self) -> Self:
        places = [np.concatenate(pair) for pair in zip(self.places, other.places, strict=True)]
        return replace(self, places=Places(*places), owners=self.owners + other.owners)

    def with_owners(self, owners: tuple[Any, ...]) -> Self:
        """The same vectors, some of which others keep."""
        return replace(self, owners=self.owners + owners)

    def standardized(self, centre: Matrix, spread: Matrix) -> Self:
        """The same vectors, read as (x - centre) / spread."""
        own = self.places
        with np.errstate(all="ignore"):  # a spread of 0 makes vectors that are not finite
            places = own._replace(centre=own.centre + centre / own.scale, scale=own.scale / spread)
        return replace(self, places=places)


def joined(parts: list[PlacedVectors], index: NDArray[np.integer] | None) -> PlacedVectors:
    """The vectors of an index among all of the parts, which are one after the other; None: all."""
    first, *others = parts
    columns = (
        list(first.places)
        if not others
        else [np.concatenate(own) for own in zip(*(p.places for p in parts), strict=True)]
    )
    if index is not None:
        columns = [own[index] for own in columns]
    owners = first.owners + tuple(owner for part in others for owner in part.owners)
    return replace(first, places=Places(*columns), owners=owners)


def vectors_at(address: NDArray[np.int64], dtype: np.dtype[Any], n_rows: int, *owners: Any) -> PlacedVectors:
    """Vectors of a dtype at these addresses."""
    k = address.size
    places = Places(address, np.full(k, dtype == np.float64), np.zeros(k), np.ones(k))
    return PlacedVectors(places, n_rows, owners)


def vectors_in(rows: NDArray[Any], n_rows: int | None = None) -> PlacedVectors:
    """Rows of an array as vectors; they may be longer than a vector."""
    address = rows.ctypes.data + rows.strides[0] * np.arange(len(rows), dtype=np.int64)
    return vectors_at(address, rows.dtype, rows.shape[1] if n_rows is None else n_rows, rows)


class Room:
    """Rows for vectors that are soon written over; `empty` makes arrays."""

    def __init__(self, dtype: np.dtype[Any], empty: Callable[..., Any] = np.empty) -> None:
        self._empty = empty
        self._rows = empty((0, 0), dtype=dtype)

    @property
    def n_bytes(self) -> int:
        return int(self._rows.nbytes)

    def clear(self) -> None:
        """Free the memory."""
        self._rows = self._empty((0, 0), dtype=self._rows.dtype)

    def rows(self, n_vectors: int, vector_bytes: int) -> Any:
        """So many rows of so many bytes; what they held is lost."""
        shape = n_vectors, vector_bytes // self._rows.itemsize
        if self._rows.shape[0] < n_vectors or self._rows.shape[1] != shape[1]:
            self.clear()  # before there is more, so that there are never both
            self._rows = self._empty(shape, dtype=self._rows.dtype)
        return self._rows[:n_vectors]


ShareOut = Callable[[Work, list[Any]], None]


class HostOperations(ABC):
    """Operations of the contract on vectors in the memory of the host."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Of the data."""

    @abstractmethod
    def _share_out(self, work: Work, tasks: list[Any]) -> None:
        """Call `work` with disjoint parts of the tasks, each on one thread."""

    def put(self, rows: ArrayLike) -> PlacedVectors:
        own = np.array(rows, dtype=np.float64, order="C", ndmin=2)
        if own.ndim != 2 or own.shape[1] != self.n_rows:
            raise ValueError(f"rows must have shape (n_vectors, {self.n_rows}), got {own.shape}.")
        return vectors_in(own)

    def fetch(self, vectors: PlacedVectors) -> Matrix:
        return fetch(vectors)

    def combine(self, coefficients: Matrix, vectors: PlacedVectors, index: Index | None = None) -> PlacedVectors:
        return combine(self._share_out, coefficients, vectors, index)

    def apply(self, function: Function, *vectors: PlacedVectors) -> PlacedVectors:
        return apply(self._share_out, function, vectors)

    def distances(self, vectors: PlacedVectors, index: Index, centres: Matrix, factors: Matrix) -> PlacedVectors:
        return distances(self._share_out, vectors, index, centres, factors)

    def sums(self, function: Function, *vectors: PlacedVectors, weights: PlacedVectors | None = None) -> Matrix:
        return sums(self._share_out, function, vectors, weights)

    def products(
        self,
        left: PlacedVectors,
        right: PlacedVectors,
        weights: PlacedVectors | None = None,
        left_index: Index | None = None,
        right_index: Index | None = None,
    ) -> Matrix:
        return products(self._share_out, left, right, weights, left_index, right_index)

    def squares(self, vectors: PlacedVectors, weights: PlacedVectors, index: Index | None = None) -> Matrix:
        return squares(self._share_out, vectors, weights, index)

    def summaries(self, vectors: PlacedVectors, weight: Matrix, direction: Matrix) -> VectorSummary:
        return summaries(self._share_out, vectors, weight, direction)


def products(
    share_out: ShareOut,
    left: PlacedVectors,
    right: PlacedVectors,
    weights: PlacedVectors | None,
    left_index: Index | None,
    right_index: Index | None,
    *,
    is_squared: bool = False,
) -> Matrix:
    """See `Engine.products`; with `is_squared`, vectors on the right are squared."""
    left_index, right_index = checked_factors(left, right, weights, left_index, right_index)
    (n_products, n_left), n_right = left_index.shape, right_index.shape[1]
    out = np.zeros((n_products, n_left, n_right))
    weight_places = NO_PLACES if weights is None else weights.places
    tasks = [
        (j, b, min(b + VECTORS_OF_A_TASK, n_right))
        for j in range(n_products)
        for b in range(0, n_right, VECTORS_OF_A_TASK)
    ]

    def work(own: list[Any], check: Callable[[], None]) -> None:
        own_tasks = np.array(own, dtype=np.intp).reshape(-1, 3)
        n_rows = min(ROWS_AT_A_TIME, left.n_rows) + ROW_PADDING
        room = _room("products", (resident_kernels.FIRST_LEFT + -(-n_left // 4) * 4, n_rows))
        for rows in _blocks(left.n_rows):
            check()
            resident_kernels.multiply(
                left.places,
                right.places,
                weight_places,
                left_index,
                right_index,
                is_squared,
                own_tasks,
                rows.start,
                rows.stop,
                room,
                out,
            )

    share_out(work, tasks)
    if not np.isfinite(out).all():
        _mend(out, left, right, weights, left_index, right_index, is_squared=is_squared)
    return out


def squares(share_out: ShareOut, vectors: PlacedVectors, weights: PlacedVectors, index: Index | None) -> Matrix:
    """See `Engine.squares`."""
    if index is None:
        return products(share_out, weights, vectors, None, None, None, is_squared=True)[0]
    itself = np.arange(len(weights))[:, None]
    return products(share_out, weights, vectors, None, itself, index, is_squared=True)[:, 0]


def combine(share_out: ShareOut, coefficients: Matrix, vectors: PlacedVectors, index: Index | None) -> PlacedVectors:
    """See `Engine.combine`."""
    out = np.empty((len(coefficients), vectors.n_rows))
    coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
    own_index = checked_index(index, vectors, len(coefficients))
    if own_index.shape != coefficients.shape:
        raise ValueError(f"coefficients of shape {coefficients.shape} do not go with {own_index.shape} vectors.")

    def work(own: list[Any], check: Callable[[], None]) -> None:
        some = slice(own[0], own[-1] + 1)
        for rows in _blocks(vectors.n_rows):
            check()
            resident_kernels.combine(
                vectors.places, own_index[some], coefficients[some], rows.start, rows.stop, out[some]
            )

    share_out(work, list(range(len(coefficients))))
    return vectors_in(out)


def distances(
    share_out: ShareOut, vectors: PlacedVectors, index: Index, centres: Matrix, factors: Matrix
) -> PlacedVectors:
    """See `Engine.distances`."""
    own_index = checked_index(index, vectors, len(index))
    centres, factors = (np.ascontiguousarray(given, dtype=np.float64) for given in (centres, factors))
    n, k = own_index.shape
    check_distances(own_index, centres, factors)
    out = np.empty((n, vectors.n_rows))

    def work(own: list[Any], check: Callable[[], None]) -> None:
        some = slice(own[0], own[-1] + 1)
        room = _room("distances", (-(-k // 4) * 4 + 4, ROWS_OF_A_DISTANCE + ROW_PADDING))
        for rows in _blocks(vectors.n_rows):
            check()
            resident_kernels.measure(
                vectors.places,
                own_index[some],
                centres[some],
                factors[some],
                rows.start,
                rows.stop,
                ROWS_OF_A_DISTANCE,
                room,
                out[some],
            )

    share_out(work, list(range(n)))
    return vectors_in(out)


def apply(share_out: ShareOut, function: Function, vectors: tuple[PlacedVectors, ...]) -> PlacedVectors:
    """See `Engine.apply`."""
    out = np.empty((len(vectors[0]), vectors[0].n_rows))
    check_sets(*vectors)

    def work(own: list[Any], check: Callable[[], None]) -> None:
        for rows in _blocks(vectors[0].n_rows):
            check()
            for some in own:
                arrays = _fetch_sets(vectors, some, rows)
                with np.errstate(all="ignore"):
                    out[some, rows] = function(*arrays)

    share_out(work, _calls(len(out), vectors[0].n_rows))
    return vectors_in(out)


def sums(
    share_out: ShareOut, function: Function, vectors: tuple[PlacedVectors, ...], weights: PlacedVectors | None
) -> Matrix:
    """See `Engine.sums`."""
    out = np.zeros(len(vectors[0]))
    check_sets(*vectors, *([] if weights is None else [weights]))

    def work(own: list[Any], check: Callable[[], None]) -> None:
        for rows in _blocks(vectors[0].n_rows):
            check()
            for some in own:
                arrays = _fetch_sets(vectors, some, rows)
                with np.errstate(all="ignore"):
                    values = function(*arrays)
                    if weights is not None:
                        (W,) = _fetch_sets((weights,), some, rows, "weights")
                        values = np.multiply(values, W, out=_room("weighted", W.shape))
                        values[W == 0] = 0.0
                    out[some] += values.sum(axis=1)

    share_out(work, _calls(out.size, vectors[0].n_rows))
    return out


def summaries(share_out: ShareOut, vectors: PlacedVectors, weight: Matrix, direction: Matrix) -> VectorSummary:
    """See `Engine.summaries`."""
    weight, direction = checked_rows(weight, direction, vectors.n_rows)
    out = np.empty((len(vectors), 5))

    def work(own: list[Any], check: Callable[[], None]) -> None:
        for some in own:
            check()
            start, stop, _ = some.indices(len(vectors))
            resident_kernels.summarize(vectors.places, start, stop, PANEL_ROWS, weight, direction, out)

    n = len(vectors)
    share_out(work, [slice(i, min(i + VECTORS_OF_A_TASK, n)) for i in range(0, n, VECTORS_OF_A_TASK)])
    return summary_of(out, vectors, direction)


def summary_of(out: Matrix, vectors: PlacedVectors, direction: Matrix) -> VectorSummary:
    """Vectors as they are read, from what is known of them as stored: a row of five numbers each."""
    centre, scale = vectors.places.centre, vectors.places.scale
    with np.errstate(all="ignore"):
        reach = (out[:, :2] - centre[:, None]) * scale[:, None]
        mean, spread = (out[:, 2] - centre) * scale, out[:, 3] * np.abs(scale)
        projection = (out[:, 4] - out[:, 2] * direction.sum()) * scale
    return VectorSummary(reach.min(axis=1), reach.max(axis=1), mean, spread, projection)


def fetch(vectors: PlacedVectors, rows: slice | None = None) -> Matrix:
    """Vectors on a range of rows, in float64."""
    start, stop = (0, vectors.n_rows) if rows is None else (rows.start, rows.stop)
    out = np.empty((len(vectors), stop - start))
    resident_kernels.gather(vectors.places, np.arange(len(vectors)), start, out)
    return out


def _fetch_sets(vectors: tuple[PlacedVectors, ...], some: slice, rows: slice, name: str = "set") -> list[Matrix]:
    """A range of vectors of each set on a range of rows, in memory that is soon used again."""
    n = some.stop - some.start
    index = np.arange(some.start, some.stop)
    found = [_room(f"{name} {i}", (n, rows.stop - rows.start)) for i in range(len(vectors))]
    for own, out in zip(vectors, found, strict=True):
        resident_kernels.gather(own.places, index, rows.start, out)
    return found


def _room(name: str, shape: tuple[int, int]) -> Matrix:
    """Memory that calls on this thread use again: fresh memory costs page faults. What it held is lost."""
    n = shape[0] * shape[1]
    if n > LARGEST_ROOM:
        return np.empty(shape)
    rooms: dict[str, Matrix] = _of_thread.__dict__
    if name not in rooms:
        rooms[name] = np.empty(LARGEST_ROOM)  # pages that nobody writes to take no memory
    return rooms[name][:n].reshape(shape)


def _mend(
    out: Matrix,
    left: PlacedVectors,
    right: PlacedVectors,
    weights: PlacedVectors | None,
    left_index: Index,
    right_index: Index,
    *,
    is_squared: bool,
) -> None:
    """Make products that are not finite again, without the rows of weight zero."""
    is_bad = ~np.isfinite(out)
    for j in np.flatnonzero(is_bad.any(axis=(1, 2))):
        w = fetch(weights[[j]])[0] if weights is not None else np.ones(left.n_rows)
        for a in np.flatnonzero(is_bad[j].any(axis=1)):
            x = fetch(left[[left_index[j, a]]])[0]
            for b in np.flatnonzero(is_bad[j, a]):
                y = fetch(right[[right_index[j, b]]])[0]
                # The weights of squares are on the left.
                out[j, a, b] = resident_kernels.sum_with_weights(*((y, y, x) if is_squared else (x, y, w)))


def checked_index(index: Index | None, vectors: RowVectors, n_times: int) -> Index:
    """An index that kernels may use without a look; None is all vectors, so many times."""
    if index is None:
        return np.broadcast_to(np.arange(len(vectors)), (n_times, len(vectors)))
    given = np.asarray(index)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"an index must hold whole numbers, got {given.dtype}.")
    own = np.ascontiguousarray(given, dtype=np.intp)
    if own.ndim != 2 or (own.size and own.max() >= len(vectors)):
        raise ValueError(f"an index must be a matrix of positions below {len(vectors)}, got shape {own.shape}.")
    return own


def checked_factors(
    left: RowVectors,
    right: RowVectors,
    weights: RowVectors | None,
    left_index: Index | None,
    right_index: Index | None,
) -> tuple[Index, Index]:
    """Both indices of products, a row for each product."""
    given = {len(a) for a in (weights, left_index, right_index) if a is not None} or {1}
    if len(given) > 1:
        raise ValueError(f"weights and indices must be of equally many products, got {sorted(given)}.")
    (n_products,) = given
    check_rows(left, right, weights)
    return checked_index(left_index, left, n_products), checked_index(right_index, right, n_products)


def check_distances(index: Index, centres: Matrix, factors: Matrix) -> None:
    """Refuse centres and factors of other shapes."""
    n, k = index.shape
    if centres.shape != (n, k) or factors.shape != (n, k, k):
        raise ValueError(f"{centres.shape} centres and {factors.shape} factors do not go with {index.shape} vectors.")


def checked_rows(weight: Matrix, direction: Matrix, n_rows: int) -> tuple[Matrix, Matrix]:
    """Both as kernels take them, or a clear error."""
    weight, direction = (np.ascontiguousarray(given, dtype=np.float64) for given in (weight, direction))
    if weight.shape != (n_rows,) or direction.shape != weight.shape:
        raise ValueError(f"weight and direction must have shape ({n_rows},), got {weight.shape} and {direction.shape}.")
    return weight, direction


def check_sets(*sets: RowVectors) -> None:
    """Refuse sets of different lengths, or of other rows."""
    if len({len(vectors) for vectors in sets}) > 1:
        raise ValueError(f"sets must have equally many vectors, got {[len(vectors) for vectors in sets]}.")
    check_rows(*sets)


def check_rows(*sets: RowVectors | None) -> None:
    """Refuse vectors of engines with different rows."""
    if len({vectors.n_rows for vectors in sets if vectors is not None}) > 1:
        raise ValueError("vectors of engines with different rows cannot be used together.")


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, ROWS_AT_A_TIME):
        yield slice(start, min(start + ROWS_AT_A_TIME, n_rows))


def _calls(n_vectors: int, n_rows: int) -> list[slice]:
    """Ranges of vectors whose blocks an element-wise function sees at a time."""
    n_at_once = max(1, VALUES_OF_A_CALL // min(n_rows, ROWS_AT_A_TIME))
    return [slice(i, min(i + n_at_once, n_vectors)) for i in range(0, n_vectors, n_at_once)]


_of_thread = local()
