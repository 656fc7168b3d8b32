"""Training rows that are not in the memory of this process: on the workers of a cluster, or in files that these read.

They answer what `TrainingRows` asks. Every answer is made of what blocks say, put together in their order, and does not
depend on the workers. Each pass over the rows is counted: facts are found in one, rows that are taken are fetched
together where that is announced, and what `fold` sums takes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from symgrove.methods.problem import HowToPass, Matrix, Places, Rows, Sum
from symgrove.models.block_sums import Sketch, Spreads, joined, thinned
from symgrove.models.standardization import Standardization, standardization_from
from symgrove.shards.blocks import RowBlock
from symgrove.shards.pieces import RawPiece
from symgrove.shards.table import Each, Table

NUMBER = 8  # bytes of a float64


class RowReader(Protocol):
    """From rows as they were given to rows of the fit: checked, coded, without those that are left out."""

    def __call__(self, given: RawPiece) -> Any: ...


class Facts(NamedTuple):
    """Of some rows: how many there are, how features and targets are spread, a sketch of each target, weights."""

    n_rows: int
    features: Spreads
    targets: Spreads
    sketches: tuple[tuple[Sketch, ...], ...]
    largest_weight: float = 1.0

    @classmethod
    def of(cls, rows: Rows, how: HowToPass) -> Facts:
        sketches = tuple((Sketch.of(y, rows.weight),) for y in rows.targets)
        largest = 1.0 if rows.weight is None else float(rows.weight.max())
        features, targets = (Spreads.of(own, rows.weight) for own in (rows.X, rows.targets.T))
        return cls(len(rows.X), features, targets, sketches, largest)

    def __add__(self, other: Facts) -> Facts:  # type: ignore[override]
        sketches = tuple(a + b for a, b in zip(self.sketches, other.sketches, strict=True))
        return Facts(
            self.n_rows + other.n_rows,
            self.features + other.features,
            self.targets + other.targets,
            sketches,
            max(self.largest_weight, other.largest_weight),
        )

    def thinned(self) -> Facts:
        """With one sketch of each target."""
        return self._replace(sketches=tuple((thinned(own),) for own in self.sketches))


@dataclass
class _Fetched:
    """Rows that were announced: those of them that are here."""

    waiting: dict[str, tuple[Any, Callable[[], Places]]] = field(default_factory=dict)
    keys: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Places] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)

    def find(self, places: Places) -> Rows | None:
        for name, own in self.places.items():
            at = np.minimum(np.searchsorted(own, places), own.size - 1)
            if own.size and np.array_equal(own[at], places):
                return self.rows[name].take(at)
        return None


@dataclass(frozen=True)
class Blocks:
    """Blocks of a table, and how their rows are read."""

    table: Table
    read: RowReader
    n_at_a_time: int = 0  # whose results are waited for together; 0: a block for each worker
    has_room: bool = True  # whether workers keep them
    room: int = 0  # bytes that workers may keep of what is made of them
    passes: list[str] = field(default_factory=list)

    def map(
        self, function: Callable[..., Any], *arguments: Any, check: Callable[[], None] | None = None
    ) -> Iterator[Any]:
        """`function(pieces, *arguments)` of every block, in their order; `pieces` makes its rows, a piece at a time."""
        self.passes.append(function.__name__)
        n_blocks = len(self.table.blocks)
        n_at_a_time = self.n_at_a_time or max(1, sum(self.table.cluster.workers(check).values()))
        for first in range(0, n_blocks, n_at_a_time):
            numbers = range(first, min(first + n_at_a_time, n_blocks))
            self.table.watch(check)
            try:
                yield from self.table.map_blocks(_with_pieces, self.read, function, *arguments, only=numbers)
            finally:
                self.table.watch(None)
                if not self.has_room:
                    self.table.release(numbers)


def _with_pieces(block: RowBlock, read: RowReader, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(Pieces(block, read), *arguments)


@dataclass(frozen=True)
class Pieces:
    """Rows of a block, one piece after the other."""

    block: RowBlock
    read: RowReader

    def __iter__(self) -> Iterator[Rows]:
        for given in self.block.value.pieces():
            rows = self.read(given)
            if len(rows.X):
                yield rows


def summed(pieces: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """The sum over the pieces of a block; None if it has no rows."""
    total = None
    for rows in pieces:
        own = function(rows, *arguments)
        total = own if total is None else total + own
    return total


def _facts(pieces: Any) -> Facts | None:
    found: Facts | None = summed(pieces, Facts.of, HowToPass())
    return None if found is None else found.thinned()


def _taken(pieces: Any, places: Places) -> list[Rows]:
    """Some rows of a block, by their places in it, which ascend."""
    found, first = [], 0
    for rows in pieces:
        low, high = np.searchsorted(places, [first, first + len(rows.X)])
        if low < high:
            found.append(rows.take(places[low:high] - first))
        first += len(rows.X)
    return found


@dataclass(frozen=True)
class SpreadRows:
    """Rows elsewhere that answer as `TrainingRows`.

    Attributes
    ----------
    blocks : Blocks
    sizes : (n_blocks,)
        Rows of each that are not left out.
    facts : Facts
        Of all of them; `own_facts` where targets are in the user's units, if the others are not.
    """

    blocks: Blocks
    sizes: NDArray[np.intp]
    facts: Facts
    own_facts: Facts | None = None
    _fetched: _Fetched = field(default_factory=_Fetched)
    _derived: dict[Any, Table] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return int(self.sizes.sum())

    @property
    def n_features(self) -> int:
        return self.facts.features.mean.size

    @property
    def n_targets(self) -> int:
        return self.facts.targets.mean.size

    @property
    def is_here(self) -> bool:
        return False

    @property
    def bytes_of_a_row(self) -> int:
        return NUMBER * (self.n_features + self.n_targets + 2)

    def in_units(self) -> SpreadRows:
        """What is known of targets, in the user's units."""
        return self if self.own_facts is None else replace(self, facts=self.own_facts)

    # Some of the rows

    def announce(self, name: str, key: Any, rows: Callable[[], Places]) -> None:
        own = self._fetched
        if own.keys.get(name) != key:
            own.keys[name] = key
            own.waiting[name] = key, rows

    def take(self, rows: Places) -> Rows:
        own = self._fetched
        found = own.find(rows)
        if found is None and own.waiting:
            self._fetch()
            found = own.find(rows)
        return self._taken_now(rows) if found is None else found

    def _fetch(self) -> None:
        """All that was announced, in one pass."""
        own = self._fetched
        wanted = {name: np.unique(places()) for name, (_, places) in own.waiting.items()}
        everything = np.unique(np.concatenate([*wanted.values()]))
        rows = self._taken_now(everything)
        for name, places in wanted.items():
            own.places[name], own.rows[name] = places, rows.take(np.searchsorted(everything, places))
        own.waiting.clear()

    def _taken_now(self, rows: Places) -> Rows:
        ascending, order = np.unique(rows, return_inverse=True)
        parts = [part for own in self.blocks.map(_taken, self.places_of_blocks(ascending)) for part in own]
        return put_together(parts).take(order.ravel())

    def places_of_blocks(self, ascending: Places) -> Each:
        """For each block, which of its own rows these are."""
        ends = np.append(0, np.cumsum(self.sizes))
        cuts = np.searchsorted(ascending, ends)
        return Each(ascending[a:b] - first for a, b, first in zip(cuts, cuts[1:], ends, strict=False))

    # All of them

    def derived(self, key: Any, function: Callable[..., Any], *arguments: Any) -> Table:
        """A table of what a function makes of blocks, the same for all who ask by this key.

        Rows themselves go, as soon as it is made, and are made again for who asks for them.
        """
        if key not in self._derived:
            self._derived[key] = self.blocks.table.derive(function, *arguments, gives_up=True)
        return self._derived[key]

    def fold(self, function: Callable[..., Sum], *arguments: Any, how: HowToPass) -> Sum:
        elsewhere = type(how)()
        found = self.blocks.map(summed, function, *arguments, elsewhere, check=how.check)
        total: Any = None
        for i, own in enumerate(found, start=1):
            total = own if total is None else total if own is None else total + own
            how.tell(i / len(self.sizes))
        return cast("Sum", total)

    def standardization(self, *, by_blocks: bool) -> Standardization:
        return standardization_from(self.facts.features.mean, self.facts.features.spread)

    def feature_range(self, standardization: Standardization) -> tuple[Matrix, Matrix]:
        own = self.facts.features
        return standardization.apply(own.low), standardization.apply(own.high)

    def target_ends(self, k: int) -> tuple[float, float]:
        return float(self.facts.targets.low[k]), float(self.facts.targets.high[k])

    def target_points(self, k: int) -> tuple[Matrix, Matrix | None]:
        return self._sketches[k]

    @cached_property
    def _sketches(self) -> list[Sketch]:
        return [joined(own) for own in self.facts.sketches]

    def mean_of_target(self, k: int) -> float:
        return float(self.facts.targets.mean[k])

    def means_of_targets(self) -> Matrix:
        return self.facts.targets.mean

    def centre_and_spread(self, k: int) -> tuple[float, float]:
        return float(self.facts.targets.mean[k]), float(self.facts.targets.spread[k])


def look_at(blocks: Blocks) -> tuple[NDArray[np.intp], Facts]:
    """How many rows each block has, and the facts of all; one pass."""
    found = list(blocks.map(_facts))
    sizes = np.array([0 if own is None else own.n_rows for own in found], dtype=np.intp)
    return sizes, reduce(add, (own for own in found if own is not None))


def put_together(parts: Sequence[Rows]) -> Rows:
    """Rows of several, one after the other."""
    weight = (
        None if parts[0].weight is None else np.concatenate([part.weight for part in parts if part.weight is not None])
    )
    own = None
    if parts[0].own_targets is not None:
        own = np.concatenate([part.given_targets for part in parts], axis=1)
    return Rows(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.targets for part in parts], axis=1),
        weight,
        np.concatenate([part.positions for part in parts]),
        own,
    )
