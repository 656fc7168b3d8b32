"""What a worker of a cluster has of each block of rows: an engine, and what was made of them; what it can be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.dataset import Dataset
from symgrove.engines.base import Handle, Matrix, WeightedTerms
from symgrove.engines.dask_engines import BlockEngine, BlockEngines
from symgrove.engines.dask_messages import ChosenVectors, Message, Numbered, Pickled, Setup
from symgrove.engines.forest_mirror import Mirror, NewNodes, Replaced
from symgrove.engines.passes import FoundCentre
from symgrove.engines.resident import joined
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.moments import Samples, Target
from symgrove.forest.forest import Ids
from symgrove.shards.blocks import RowBlock


@dataclass
class HeldBlock:
    """A block's rows, and what was made of them, by number.

    `weight` are sample weights in the dtype of the rows, if they lie here too.
    """

    rows: Dataset
    number: int
    weight: NDArray[np.floating] | None = None
    made: dict[int, Any] = field(default_factory=dict)
    held_engine: BlockEngine | None = None

    @property
    def engine(self) -> BlockEngine:
        """Of these rows; there from the first message on."""
        assert self.held_engine is not None
        return self.held_engine

    def vectors(self, chosen: ChosenVectors) -> Handle:
        """Vectors of the block's engine."""
        found = joined([self.made[number] for number in chosen.numbers], chosen.which)
        if chosen.centre is None or chosen.spread is None:
            return found
        return found.standardized(chosen.centre, chosen.spread)

    def resolved(self, argument: Any) -> Any:
        """An argument with what it refers to."""
        if isinstance(argument, ChosenVectors):
            return self.vectors(argument)
        if isinstance(argument, Numbered):
            return self.made[argument.number]
        return argument


def hold_block(block: RowBlock, place: int | None = None) -> HeldBlock:
    """What a table is asked to derive of its rows; of several targets the one in that place."""
    y = block.value["y"]
    rows = Dataset(block.value["X"], y if place is None else y[place])
    return HeldBlock(rows, block.number, block.value.get("weight"))


class BlockWorker:
    """What blocks of one worker share: the forest, what makes engines, the first panel."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.forest = Mirror(len(setup.panel), setup.primitives)
        self.engines: BlockEngines = setup.engines(setup)
        with self.engines.turn:
            self.panel = self.engines.make(Dataset(np.ascontiguousarray(setup.panel), np.zeros(setup.panel.shape[1])))
        self.centre: FoundCentre | None = None  # of the programs that the message asks about

    def follow(self, message: Message, blocks: list[HeldBlock]) -> bool:
        """Bring the forest up to date; False if events are missing."""
        version = message.version + len(message.events)
        if message.missed.forest is not None and self.forest.version != version:
            self.forest.apply_event(Replaced(message.missed.forest[0]))
            self.forest.version = version
        if not message.version <= self.forest.version <= version:
            return False
        for event in message.events[self.forest.version - message.version :]:
            ids = self.forest.apply_event(event)
            if ids is not None:
                for engine in (self.panel, *(block.held_engine for block in blocks)):
                    if engine is not None:
                        engine.collected(self.forest, ids)
        return True


# Commands: what is made of a block

Brought = Any


def _evaluate(worker: BlockWorker, block: HeldBlock, own: Brought, roots: Ids, keep: bool) -> Handle:
    return block.engine.evaluate(worker.forest, roots, keep=keep)


def _evaluate_again(worker: BlockWorker, block: HeldBlock, own: Brought, nodes: NewNodes, roots: Ids) -> Handle:
    """Of programs that the forest may not have any more."""
    return block.engine.put(block.engine.outputs(_forest_of(worker, nodes), roots))


def _weighted(worker: BlockWorker, block: HeldBlock, own: Brought, roots: Ids, terms: WeightedTerms) -> Handle:
    return block.engine.weighted_vectors(worker.forest, roots, terms)


def _weighted_again(
    worker: BlockWorker, block: HeldBlock, own: Brought, nodes: NewNodes, roots: Ids, terms: WeightedTerms
) -> Handle:
    return block.engine.weighted_vectors(_forest_of(worker, nodes), roots, terms)


def _forest_of(worker: BlockWorker, nodes: NewNodes) -> Mirror:
    forest = Mirror(worker.forest.n_features, worker.setup.primitives)
    forest.apply_event(nodes)
    return forest


def _put(worker: BlockWorker, block: HeldBlock, own: Brought) -> Handle:
    return block.engine.put(own)


def _combine(
    worker: BlockWorker, block: HeldBlock, own: Brought, coefficients: Matrix, vectors: ChosenVectors, index: Any
) -> Handle:
    return block.engine.combine(coefficients, block.vectors(vectors), index)


def _apply(
    worker: BlockWorker, block: HeldBlock, own: Brought, function: Pickled, sets: tuple[ChosenVectors, ...]
) -> Handle:
    return block.engine.apply(function.read(), *map(block.vectors, sets))


def _distances(worker: BlockWorker, block: HeldBlock, own: Brought, vectors: ChosenVectors, *rest: Any) -> Handle:
    return block.engine.distances(block.vectors(vectors), *rest)


def _rows(worker: BlockWorker, block: HeldBlock, own: Brought) -> Matrix:
    return own


def _samples(worker: BlockWorker, block: HeldBlock, own: Brought) -> Samples:
    counts, row_weight = own
    total, mean, variance = np.zeros((3, len(counts)))
    target = Target(mean, variance, *worker.setup.target)
    return Samples(counts, row_weight, block.rows.dtype, total, target)


def _drawn(worker: BlockWorker, block: HeldBlock, own: Brought, counts: SpreadCounts) -> Samples:
    """Samples that the block draws itself."""
    return _samples(worker, block, (counts.of_block(block.number), block.weight))


COMMANDS: dict[str, Callable[..., Any]] = {
    "evaluate": _evaluate,
    "evaluate again": _evaluate_again,
    "weighted": _weighted,
    "weighted again": _weighted_again,
    "put": _put,
    "combine": _combine,
    "apply": _apply,
    "distances": _distances,
    "rows": _rows,
    "samples": _samples,
    "drawn": _drawn,
}


# Questions: what is answered of a block, and how answers of two blocks are added


class MomentSum(NamedTuple):
    """Moments of some blocks, and the centres, which all share."""

    sums: Matrix
    reach: Matrix
    centre: FoundCentre | None


def _add(a: Matrix, b: Matrix) -> Matrix:
    """The sum, in the memory of the first: nobody reads that again. What came over a network is read-only."""
    with np.errstate(all="ignore"):
        return np.add(a, b, out=a if a.flags.writeable else None)


def _add_moments(a: MomentSum, b: MomentSum) -> MomentSum:
    with np.errstate(all="ignore"):
        return MomentSum(_add(a.sums, b.sums), np.maximum(a.reach, b.reach), a.centre)


def _moments(
    worker: BlockWorker, block: HeldBlock, own: Any, roots: Ids, cuts: list[int], samples: Samples, expect_more: bool
) -> MomentSum:
    centre = worker.centre
    assert centre is not None
    sums, reach = np.empty((3, roots.size, samples.total.size)), np.empty(roots.size)
    for first, stop in pairwise(cuts):
        own_centre = FoundCentre(centre.shift[first:stop], centre.scale[first:stop])
        found = block.engine.moments_about(
            own_centre, worker.forest, roots[first:stop], samples, expect_more=expect_more
        )
        sums[:, first:stop] = found.first, found.cross, found.second
        reach[first:stop] = found.reach
    return MomentSum(sums, reach, centre)


def _exact_moments(worker: BlockWorker, block: HeldBlock, own: Any, roots: Ids, *rest: Any) -> MomentSum:
    found = block.engine.exact_moments(worker.forest, roots, *rest)
    return MomentSum(np.stack([found.first, found.cross, found.second]), found.reach, None)


class Weighed(NamedTuple):
    """Of some rows, for each sample or vector: weight, weighted mean, and squares about it."""

    weight: Matrix
    mean: Matrix
    squares: Matrix

    def with_rows(self, other: Weighed) -> Weighed:
        """Of the rows of both, by the formula of Chan, Golub and LeVeque."""
        weight = self.weight + other.weight
        with np.errstate(all="ignore"):
            share = np.where(weight > 0, other.weight / weight, 0.0)
            away = np.where(self.weight > 0, other.mean - self.mean, other.mean)
            mean = np.where(other.weight > 0, self.mean + np.where(self.weight > 0, away * share, away), self.mean)
            between = np.where((self.weight > 0) & (other.weight > 0), away * away * (self.weight * share), 0.0)
            return Weighed(weight, mean, self.squares + other.squares + between)


def _target(worker: BlockWorker, block: HeldBlock, own: Any, samples: Samples) -> Weighed:
    """Of the standardised target on each sample."""
    centre, scale = worker.setup.target
    values = (block.rows.y - centre) / scale
    found = Weighed(*np.zeros((3, len(samples.counts))))
    for j in range(len(samples.counts)):
        w = samples.of_rows(slice(None), j).astype(np.float64, copy=False)
        found.weight[j] = w.sum()
        if found.weight[j] > 0:
            found.mean[j] = product(w, values) / found.weight[j]
            found.squares[j] = product(w, (values - found.mean[j]) ** 2)
    return found


class SummaryOfRows(NamedTuple):
    """What is known of vectors on some rows; the projection is of distances from the mean."""

    low: Matrix
    high: Matrix
    weighed: Weighed
    projection: Matrix
    direction: float


def _summaries(
    worker: BlockWorker, block: HeldBlock, own: Any, vectors: Handle, weight: Matrix, direction: Matrix
) -> SummaryOfRows:
    found = block.engine.summaries(vectors, weight, direction)
    total = weight.sum()
    squares = found.spread**2 * total if total > 0 else np.zeros(len(vectors))
    mean = found.mean if total > 0 else np.zeros(len(vectors))
    weighed = Weighed(np.full(len(vectors), total), mean, squares)
    along = float(direction.sum())
    with np.errstate(all="ignore"):
        # Rows of weight zero have no mean: their projection is of distances from 0.
        projection = found.projection if total > 0 else found.projection + found.mean * along
    return SummaryOfRows(found.low, found.high, weighed, projection, along)


def add_summaries(a: SummaryOfRows, b: SummaryOfRows) -> SummaryOfRows:
    """Of the rows of both."""
    weighed = a.weighed.with_rows(b.weighed)
    with np.errstate(all="ignore"):
        low, high = np.minimum(a.low, b.low), np.maximum(a.high, b.high)
        projection = a.projection + (a.weighed.mean - weighed.mean) * a.direction
        projection = projection + b.projection + (b.weighed.mean - weighed.mean) * b.direction
    return SummaryOfRows(low, high, weighed, projection, a.direction + b.direction)


def _plain(name: str) -> Callable[..., Any]:
    """A question about programs that the block's engine answers."""

    def ask(worker: BlockWorker, block: HeldBlock, own: Any, roots: Ids, *rest: Any) -> Any:
        return getattr(block.engine, name)(worker.forest, roots, *rest)

    return ask


def _of_vectors(name: str) -> Callable[..., Any]:
    """A question about vectors that the block's engine answers."""

    def ask(worker: BlockWorker, block: HeldBlock, own: Any, *arguments: Any) -> Any:
        return getattr(block.engine, name)(*arguments)

    return ask


def _errors(
    worker: BlockWorker,
    block: HeldBlock,
    own: Any,
    roots: Ids,
    scaling: Any,
    samples: Samples,
    loss: Pickled,
    *rest: Any,
) -> Matrix:
    return block.engine.errors(worker.forest, roots, scaling, samples, loss.read(), *rest)


def _outputs(worker: BlockWorker, block: HeldBlock, own: Any, roots: Ids) -> Any:
    """On the rows of this block that are wanted, if any are."""
    return None if own is None else block.engine.outputs(worker.forest, roots, own)


def _targets(worker: BlockWorker, block: HeldBlock, own: Any) -> Any:
    """On the rows of this block that are wanted, if any are."""
    return None if own is None else block.rows.y[own]


def _weighted_targets(worker: BlockWorker, block: HeldBlock, own: Any) -> Any:
    """And sample weights."""
    if own is None:
        return None
    y = block.rows.y[own]
    return np.stack([y, np.ones(y.size) if block.weight is None else block.weight[own]])


def _sums(
    worker: BlockWorker, block: HeldBlock, own: Any, function: Pickled, weights: Any, sets: tuple[ChosenVectors, ...]
) -> Matrix:
    return block.engine.sums(function.read(), *map(block.vectors, sets), weights=weights)


def _forget(worker: BlockWorker, block: HeldBlock, own: Any) -> None:
    block.engine.forget()
    worker.panel.forget()


QUESTIONS: dict[str, Callable[..., Any]] = {
    "moments": _moments,
    "exact moments": _exact_moments,
    "errors": _errors,
    "outputs": _outputs,
    "weighted sums": _plain("weighted_sums"),
    "target": _target,
    "fetch": _of_vectors("fetch"),
    "sums": _sums,
    "products": _of_vectors("products"),
    "squares": _of_vectors("squares"),
    "summaries": _summaries,
    "targets": _targets,
    "weighted targets": _weighted_targets,
    "forget": _forget,
}
# How answers of two blocks become one; a block without rows has none.
SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "moments": _add_moments,
    "exact moments": _add_moments,
    "errors": _add,
    "target": Weighed.with_rows,
    "sums": _add,
    "products": _add,
    "squares": _add,
    "summaries": add_summaries,
}


def adding(question: str) -> Callable[[Any, Any], Any]:
    """What adds two answers, either of which may be none."""
    add_two = SUMS[question]
    return lambda a, b: add_two(a, b) if a is not None and b is not None else a if b is None else b
