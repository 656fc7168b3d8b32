"""The library of semantic backpropagation: subtrees of the population with their outputs, as substitutes for nodes.

Programs are scanned in the order of the population, the nodes of each in pre-order; a subtree that is low enough, with
outputs that are finite and not all equal, is an entry. Equal outputs are stored once, with the smallest subtree. The
scan stops when the library is full, so that in the order of the population it has subtrees of few programs.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids
from symgrove.variation import library_kernels

Matrix = NDArray[np.float64]
N_AT_A_TIME = 256  # subtrees whose outputs are looked at together
# Outputs with a spread below this share of the largest count as equal.
SMALLEST_SPREAD = 1e-10


class Library(NamedTuple):
    """Subtrees in order of size, with what the search asks of them: outputs, (n_entries, n_rows), sizes and heights."""

    root: Ids
    outputs: Matrix
    size: NDArray[np.int64]
    height: NDArray[np.int64]


def make_library(
    forest: Forest,
    population: Ids,
    outputs_of: Callable[[Ids], Matrix],
    max_entries: int,
    max_height: int,
    rng: np.random.Generator | None = None,
) -> Library:
    """The library of a population; with a generator, its subtrees are looked at in random order."""
    candidates = subtrees_of(forest, population, max_height)
    if rng is not None:
        candidates = rng.permutation(candidates)
    n_rows = outputs_of(candidates[:0]).shape[1]
    found: dict[bytes, int] = {}
    roots: list[int] = []
    rows: list[Matrix] = []
    for start in range(0, candidates.size, N_AT_A_TIME):
        some = candidates[start : start + N_AT_A_TIME]
        outputs = outputs_of(some)
        sizes = forest.size(some)
        for i in np.flatnonzero(_is_usable(outputs)):
            key = blake2b((outputs[i] + 0.0).tobytes(), digest_size=16).digest()  # no negative zero
            place = found.setdefault(key, len(roots))
            if place == len(roots):
                roots.append(int(some[i]))
                rows.append(outputs[i].copy())
            elif sizes[i] < forest.size(roots[place]):
                roots[place] = int(some[i])
            if len(roots) == max_entries:
                return _in_order_of_size(forest, roots, rows, n_rows)
    return _in_order_of_size(forest, roots, rows, n_rows)


def subtrees_of(forest: Forest, population: Ids, max_height: int) -> Ids:
    """Distinct nodes of programs up to a height, program after program, each in pre-order."""
    found = np.empty(len(forest), dtype=np.int64)
    is_seen = np.zeros(len(forest), dtype=np.bool_)
    stack = np.empty(int(forest.height(population).max()) + 2, dtype=np.int64)
    n_found = library_kernels.scan(forest.columns, population, max_height, is_seen, stack, found)
    return found[:n_found]


def _is_usable(outputs: Matrix) -> NDArray[np.bool_]:
    """Which outputs are finite and differ by more than rounding."""
    low, high = outputs.min(axis=1), outputs.max(axis=1)
    with np.errstate(all="ignore"):
        return (np.isfinite(high - low)) & (high - low > SMALLEST_SPREAD * np.maximum(abs(low), abs(high)))


def _in_order_of_size(forest: Forest, roots: list[int], rows: list[Matrix], n_rows: int) -> Library:
    """The library; of subtrees of equal size, the one that came first stays first."""
    root = np.array(roots, dtype=np.int64)
    size = forest.size(root).astype(np.int64)
    order = np.argsort(size, kind="stable")
    outputs = np.empty((len(rows), n_rows))
    for place, i in enumerate(order):
        outputs[place] = rows[i]
    return Library(root[order], outputs, size[order], forest.height(root)[order].astype(np.int64))
