"""The linkage tree: which positions of a template should change together (GP-GOMEA).

Positions whose genes depend on each other, by mutual information over the population, are merged first. Random
populations have mutual information too, between positions with few different genes: entropies are divided by those of
the first population, so that every pair of positions begins with 0 (Virgolin et al. 2021, bias correction).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove.variation import linkage_kernels
from symgrove.variation.template import Genes, Matrix, Sets

MOST_CONSTANTS = 100
SMALLEST_ENTROPY = 1e-12  # below, it is 0 but for rounding


def as_symbols(genes: Genes, constants: Matrix, first_constant: int) -> NDArray[np.int32]:
    """Genes in which constants beyond the first hundred are the nearest of those."""
    flat = genes.ravel()
    distinct, first = np.unique(flat[flat >= first_constant], return_index=True)
    if distinct.size <= MOST_CONSTANTS:
        return genes
    kept = np.sort(distinct[np.argsort(first)[:MOST_CONSTANTS]])
    kept = kept[np.argsort(constants[kept - first_constant])]
    values, others = constants[kept - first_constant], constants[distinct - first_constant]
    above = np.clip(np.searchsorted(values, others), 1, kept.size - 1)
    is_below = others - values[above - 1] <= values[above] - others
    symbol_of = np.arange(first_constant + constants.size, dtype=np.int32)
    symbol_of[distinct] = kept[above - is_below]
    return symbol_of[genes]


def entropies(symbols: NDArray[np.int32]) -> Matrix:
    """Entropies of the positions of a population, on the diagonal, and of pairs of them, above it."""
    n, n_positions = symbols.shape
    by_position = np.empty((n_positions, n), dtype=np.int32)
    for position in range(n_positions):  # numbers of its own, so that the table of pairs stays small
        by_position[position] = np.unique(symbols[:, position], return_inverse=True)[1].ravel()
    n_symbols = int(by_position.max()) + 1
    counts = np.arange(n + 1.0)
    counts[1:] *= np.log(counts[1:])
    table = np.zeros(n_symbols**2, dtype=np.int32)
    found = np.zeros((n_positions, n_positions))
    linkage_kernels.find_entropies(by_position, n_symbols, np.diff(counts), table, found)
    return found


def mutual_information(own: Matrix, first: Matrix) -> Matrix:
    """Of all pairs of positions, from entropies over those of the first population, which are all 1 and 2 at first."""
    ratio = np.divide(own, first, out=np.zeros_like(own), where=first > SMALLEST_ENTROPY)
    single = np.diag(ratio)
    found = np.triu(single[:, None] + single - 2.0 * ratio, 1)
    similarity: Matrix = found + found.T
    return similarity


def linkage_sets(similarity: Matrix, rng: np.random.Generator) -> Sets:
    """Single positions, and every set that average linkage merges, but for the set of all."""
    n = len(similarity)
    order = rng.permutation(n)  # among equals the first is merged, so it must be a random one
    mergers = np.empty((n - 1, 2), dtype=np.int64)
    linkage_kernels.build_tree(similarity[np.ix_(order, order)], rng.random(n), mergers)
    sets = [[int(position)] for position in order]
    for first, second in mergers[:-1].tolist():
        sets.append(sets[first] + sets[second])
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    return Sets(np.array([position for own in sets for position in own], dtype=np.int32), offsets)
