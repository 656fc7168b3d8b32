"""Rows of which every generation draws a new bootstrap sample, and those of them on which programs are looked at.

Scores are sums over all rows. Niches and the choice of an ensemble need predictions on single rows: of rows that are
here, all are looked at, as far as there is room; of rows elsewhere a bounded number, drawn at random once for a run.
What a sample drew of these is as random as what it drew of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.bootstrap import bootstrap_sample
from symgrove.fitness.moments import Matrix, Samples
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.memory import rows_looked_at
from symgrove.methods.problem import Places
from symgrove.rng import stream

if TYPE_CHECKING:
    from symgrove.engines.dask import DaskEngine
    from symgrove.methods.programs import TargetSetup

# Of the memory budget, which is mostly the engine's: for the vectors that niches are told by, and for predictions on
# the way there, of which a few copies are alive at the same time.
VECTOR_SHARE = 0.25
OUTPUT_SHARE = 0.1
N_COPIES = 4


class LookedAt(NamedTuple):
    """Some rows by place, ascending, with their target and sample weights."""

    rows: Places
    target: Matrix
    weight: Matrix


class ResampledRows(Protocol):
    """Samples are numbered by the generation."""

    @property
    def n_looked_at(self) -> int:
        """Rows on which outputs are made."""
        ...

    def sample(self, generation: int) -> Samples:
        """What programs are scored on."""
        ...

    def drawn(self, generation: int, n_programs: int) -> tuple[Places, NDArray[np.integer]]:
        """Rows that the sample drew, ascending, and how often: as many as there is room for with so many programs."""
        ...

    def left_out(self, generation: int) -> LookedAt:
        """Rows that the sample did not draw; if there is none, all."""
        ...

    def outputs(self, forest: Forest, roots: Ids, rows: Places) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Outputs of distinct programs on ascending rows, in parts that take little memory, each with its places."""
        ...


def n_affordable(engine: Engine, length: int) -> int:
    """How many vectors of this length may be at hand, each in a few copies."""
    return max(1, int(OUTPUT_SHARE * engine.memory_budget / (N_COPIES * 8 * length)))


@dataclass(frozen=True)
class RowsHere:
    """All rows are in the memory of this process."""

    engine: Engine
    weight: Matrix | None
    sample_seed: int
    seed: int

    @property
    def n_looked_at(self) -> int:
        return self.engine.n_rows

    def sample(self, generation: int) -> Samples:
        return self.engine.prepare(self._counts(generation)[None, :], self.weight)

    def drawn(self, generation: int, n_programs: int) -> tuple[Places, NDArray[np.integer]]:
        counts = self._counts(generation)
        rows = np.flatnonzero(counts)
        n_most = int(VECTOR_SHARE * self.engine.memory_budget / (8 * max(n_programs, 1)))
        if rows.size > n_most:
            rng = stream(self.seed, "niche rows", generation)
            rows = np.sort(rng.choice(rows, size=max(n_most, 1), replace=False))
        return rows, counts[rows]

    def left_out(self, generation: int) -> LookedAt:
        rows = np.flatnonzero(self._counts(generation) == 0)
        rows = rows if rows.size else np.arange(self.engine.n_rows)
        weight = np.ones(rows.size) if self.weight is None else self.weight[rows]
        return LookedAt(rows, self.engine.target[rows], weight)

    def outputs(self, forest: Forest, roots: Ids, rows: Places) -> Iterator[tuple[slice, NDArray[Any]]]:
        n_rows = self.engine.n_rows
        n_at_once = n_affordable(self.engine, max(roots.size, 1))
        for start in range(0, n_rows, n_at_once):
            stop = min(start + n_at_once, n_rows)
            inside = slice(*np.searchsorted(rows, [start, stop]))
            yield inside, self.engine.outputs(forest, roots, slice(start, stop))[:, rows[inside] - start]

    def _counts(self, generation: int) -> NDArray[np.int32]:
        return bootstrap_sample(self.engine.n_rows, self.sample_seed, generation)


class _Drawn(NamedTuple):
    """A sample, and how often it drew the rows that are looked at."""

    sample: Samples
    counts: NDArray[np.intp]


@dataclass(frozen=True)
class RowsElsewhere:
    """Rows are in blocks on workers.

    Attributes
    ----------
    sizes : tuple of int
        Rows of each block.
    looked_at : (n_looked_at,)
        Ascending, with room for the vectors of all programs on all of them.
    """

    engine: DaskEngine
    sizes: tuple[int, ...]
    sample_seed: int
    looked_at: Places
    _last: dict[int, _Drawn] = field(default_factory=dict, repr=False, compare=False)

    @property
    def n_looked_at(self) -> int:
        return self.looked_at.size

    def sample(self, generation: int) -> Samples:
        return self._drawn(generation).sample

    def drawn(self, generation: int, n_programs: int) -> tuple[Places, NDArray[np.integer]]:
        counts = self._drawn(generation).counts
        return self.looked_at[counts > 0], counts[counts > 0]

    def left_out(self, generation: int) -> LookedAt:
        is_left_out = self._drawn(generation).counts == 0
        chosen = is_left_out if is_left_out.any() else slice(None)
        target, weight = self._known
        return LookedAt(self.looked_at[chosen], target[chosen], weight[chosen])

    def outputs(self, forest: Forest, roots: Ids, rows: Places) -> Iterator[tuple[slice, NDArray[Any]]]:
        # At once: a question may be a pass over all rows.
        yield slice(None), self.engine.outputs(forest, roots, rows)

    def _drawn(self, generation: int) -> _Drawn:
        """The last one is kept, because to prepare it is a question too."""
        if generation not in self._last:
            self._last.clear()  # before, so that workers have two at most
            counts = SpreadCounts(self.sizes, self.sample_seed, (generation,))
            self._last[generation] = _Drawn(self.engine.prepare(counts), counts.of_rows(self.looked_at)[0])
        return self._last[generation]

    @cached_property
    def _known(self) -> tuple[Matrix, Matrix]:
        return self.engine.weighted_target_of(self.looked_at)


def resampled_rows(target: TargetSetup, n_programs: int) -> ResampledRows:
    """The rows of a target; `n_programs` are looked at together."""
    engine, there = target.engine, target.elsewhere
    if there is None:
        return RowsHere(engine, target.weight, target.sample_seed, target.seed)
    n_looked_at = rows_looked_at(engine.n_rows, vectors_looked_at(n_programs), engine.memory_budget)
    rng = stream(target.sample_seed, "rows looked at")
    looked_at = np.sort(rng.choice(engine.n_rows, size=n_looked_at, replace=False))
    return RowsElsewhere(cast("DaskEngine", engine), there.sizes, target.sample_seed, looked_at)


def vectors_looked_at(n_programs: int) -> int:
    """Vectors over rows that are alive at the same time while programs are looked at."""
    return (1 + N_COPIES) * n_programs
