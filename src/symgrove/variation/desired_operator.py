"""Random desired operator: a node of each program is replaced by what its program lacks most.

    choose a node; the outputs wanted at the root are the target, less intercept and divided by slope
    push them down to the node by inverting the functions on the way (backpropagation.py)
    the library's subtree that is closest to them, with the best slope and intercept, takes the node's place

Wieloch and Krawiec 2013, Pawlak, Wieloch and Krawiec 2015; with scaling in the search: Virgolin, Alderliesten and
Bosman 2019.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Forest, Ids
from symgrove.variation import backpropagation_kernels
from symgrove.variation.backpropagation import (
    ANY,
    IMPOSSIBLE,
    MOST_VALUES,
    Paths,
    Wanted,
    choose_paths,
    rules_of,
    siblings_on,
    wanted_at,
)
from symgrove.variation.library import Library
from symgrove.variation.library_search import (
    SCALING_SIZE,
    BranchLimits,
    Match,
    best_scaled,
    nearest,
    standardized,
    sums_of,
)

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
# Numbers for each node that are alive at a time: of each case, besides siblings and wanted values; of each entry.
N_ARRAYS = 10
N_PRODUCTS = 10


@dataclass(frozen=True)
class RandomDesiredOperator:
    """Makes one child of every parent.

    Attributes
    ----------
    engine
        Evaluates programs.
    rows : int array or None
        Cases that are looked at; None: all rows.
    weight : (n_samples, n_cases)
        Of each case in each sample.
    max_size, max_height : int
        Of children: substitutes that would make them larger are not looked at.
    scales : bool
        Whether substitutes get a slope and an intercept.
    drops_impossible : bool
        Cases that no value of the node can put right do not count; else their program stays as it is.
    drops_any : bool
        Cases that any value of the node leaves right do not count; else only a constant may take the node's place.
    is_public : bool
        Whether functions are inverted as in the public code, with its errors.
    memory : int
        Bytes for what is computed at a time.
    """

    engine: Engine
    rows: Index | None
    weight: Matrix
    max_size: int
    max_height: int
    scales: bool
    drops_impossible: bool
    drops_any: bool
    is_public: bool
    memory: int

    def __call__(
        self,
        forest: Forest,
        parents: Ids,
        rng: np.random.Generator,
        library: Library,
        scaling: Scaling,
        sample_of: Index,
    ) -> Ids:
        """Children of the parents, which have a slope, an intercept and a sample each; some are their parents."""
        paths = choose_paths(forest, parents, rng)
        room = self._room(forest, parents, paths)
        has_scaling = np.isfinite(scaling.slope) & np.isfinite(scaling.intercept) & (scaling.slope != 0)
        entries = standardized(library) if self.scales else None
        sums = None if entries is None else sums_of(self.weight, entries)
        children = parents.copy()
        for some in self._batches(np.flatnonzero(has_scaling & (room.size >= 1)), paths, library.root.size):
            own = Paths(*(np.ascontiguousarray(field[some]) for field in paths))
            wanted = self._wanted(forest, own, scaling.slope[some], scaling.intercept[some])
            weight, can_do, may_search = self._cases(wanted, sample_of[some])
            left = BranchLimits(np.where(may_search, room.size[some], 0), room.height[some])
            if entries is None or sums is None:
                match = nearest(library, wanted, weight, left)
            else:
                is_whole = np.asarray((wanted.n_values > 0).all(axis=1))
                known = sums[0][sample_of[some]], sums[1][sample_of[some]]
                match = best_scaled(entries, wanted.values[:, :, 0], weight, known, is_whole, left)
            done = np.flatnonzero(can_do & np.isfinite(match.intercept))
            children[some[done]] = self._insert(forest, own, match, library, done)
        return children

    def outputs(self, forest: Forest, nodes: Ids) -> Matrix:
        """Outputs of nodes on the cases, (n_nodes, n_cases)."""
        if nodes.size == 0:
            return np.empty((0, self.weight.shape[1]))
        return self.engine.outputs(forest, nodes, self.rows).astype(np.float64, copy=False)

    def _batches(self, parents: Index, paths: Paths, n_entries: int) -> Iterator[Index]:
        """Parents, so many at a time that the memory suffices."""
        n_values = 1 if self.scales else MOST_VALUES
        n_numbers = self.weight.shape[1] * (2 * paths.node.shape[1] + n_values + N_ARRAYS) + N_PRODUCTS * n_entries
        n_at_once = max(1, self.memory // (8 * n_numbers))
        for start in range(0, parents.size, n_at_once):
            yield parents[start : start + n_at_once]

    def _wanted(self, forest: Forest, paths: Paths, slope: Matrix, intercept: Matrix) -> Wanted:
        """What the nodes should have so that their programs, once scaled, have the target."""
        target = self.engine.target if self.rows is None else self.engine.target[self.rows]
        with np.errstate(all="ignore"):
            at_root = (target - intercept[:, None]) / slope[:, None]
        rules = rules_of(forest.primitives, is_public=self.is_public)
        siblings = siblings_on(forest, paths, is_public=self.is_public)
        distinct = np.unique(siblings[siblings >= 0])
        outputs = self.outputs(forest, distinct)
        n_values = 1 if self.scales else MOST_VALUES
        return wanted_at(forest, rules, paths, siblings, at_root, distinct, outputs, n_values)

    def _cases(self, wanted: Wanted, sample_of: Index) -> tuple[Matrix, Mask, Mask]:
        """Weights of the cases that count, whether a node can be replaced, and whether by entries of the library."""
        weight = self.weight[sample_of]
        in_sample = weight > 0
        weight[wanted.n_values <= 0] = 0.0
        can_do = np.asarray(weight.any(axis=1))
        if not self.drops_impossible:
            can_do &= ~((wanted.n_values == IMPOSSIBLE) & in_sample).any(axis=1)
        may_search = np.ones(can_do.size, dtype=np.bool_)
        if not self.drops_any:
            may_search = ~((wanted.n_values == ANY) & in_sample).any(axis=1)
        weight[~can_do, 0] = 1.0  # these are left alone, but sums need a weight
        return weight, can_do, may_search

    def _room(self, forest: Forest, parents: Ids, paths: Paths) -> BranchLimits:
        """How large and high a substitute may be."""
        node = paths.node[np.arange(parents.size), paths.depth]
        size = self.max_size - (forest.size(parents).astype(np.int64) - forest.size(node))
        return BranchLimits(size, self.max_height - paths.depth - 1)  # the authors' comparison is strict

    def _insert(self, forest: Forest, paths: Paths, match: Match, library: Library, done: Index) -> Ids:
        """Programs with their substitutes in place, of those that are `done`."""
        paths = Paths(*(field[done] for field in paths))
        match = Match(match.entry[done], match.slope[done], match.intercept[done])
        add, mul = (forest.primitives[name].code for name in ("add", "mul"))
        root = np.append(library.root, -1)[match.entry]
        children = np.empty(root.size, dtype=np.int64)
        forest.reserve(root.size * (paths.node.shape[1] + SCALING_SIZE))
        backpropagation_kernels.insert(forest.columns, paths, root, match.slope, match.intercept, add, mul, children)
        return children
