"""Kernels of the linkage tree: entropies of all pairs of positions, and the tree by average linkage."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine

TIE = 1e-12  # similarities that differ by less are equal but for rounding


@kernel
def find_entropies(symbols, n_symbols, gain, table, out):
    """Entropies of positions (on the diagonal) and of pairs of positions (above it).

    `symbols` is (n_positions, n_individuals), `gain[c]` what (c + 1) log (c + 1) is more than c log c, and `table`
    comes and goes with zeros, n_symbols squared of them.
    """
    n_positions, n = symbols.shape
    for i in range(n_positions):
        for j in range(i, n_positions):
            total = 0.0
            for p in range(n):
                cell = symbols[i, p] * n_symbols + symbols[j, p]
                count = table[cell]
                total += gain[count]
                table[cell] = count + 1
            for p in range(n):
                table[symbols[i, p] * n_symbols + symbols[j, p]] = 0
            out[i, j] = np.log(n) - total / n


@subroutine
def nearest(similarity, sizes, slot, previous):
    """The most similar other cluster: among equals the one that we came from, else the smaller, else the first."""
    best = -np.inf
    for other in range(sizes.size):
        if other != slot and sizes[other] > 0:
            best = max(best, similarity[slot, other])
    if previous >= 0 and similarity[slot, previous] >= best - TIE:
        return previous
    found = -1
    for other in range(sizes.size):
        if other == slot or sizes[other] == 0 or similarity[slot, other] < best - TIE:
            continue
        if found < 0 or sizes[other] < sizes[found]:
            found = other
    return found


@subroutine
def nth_cluster(sizes, n):
    """The slot of the n-th cluster that is left."""
    for slot in range(sizes.size):
        if sizes[slot] > 0:
            if n == 0:
                return slot
            n -= 1
    return -1


@kernel
def build_tree(similarity, starts, out):
    """Merge clusters that are each other's nearest, until one is left; `similarity` is written over.

    Cluster k is position k, cluster n_positions + m the m-th merger; `out[m]` are the two that it joins. Chains of
    nearest neighbours begin where `starts`, uniform in [0, 1), say.
    """
    n = similarity.shape[0]
    sizes = np.ones(n, dtype=np.int64)
    cluster = np.arange(n)
    chain = np.empty(n + 1, dtype=np.int64)
    length = 0
    for merger in range(n - 1):
        if length == 0:
            chain[0] = nth_cluster(sizes, min(np.int64(starts[merger] * (n - merger)), n - merger - 1))
            length = 1
        while True:
            # Among equals, a chain turns back only from its third cluster on, so that small ones are merged first.
            previous = chain[length - 2] if length > 2 else -1
            found = nearest(similarity, sizes, chain[length - 1], previous)
            if length > 1 and found == chain[length - 2]:
                break
            chain[length] = found
            length += 1
        first = min(chain[length - 1], chain[length - 2])
        second = max(chain[length - 1], chain[length - 2])
        length -= 2
        out[merger, 0] = cluster[first]
        out[merger, 1] = cluster[second]
        share = sizes[first] / (sizes[first] + sizes[second])
        for other in range(n):
            mean = share * similarity[first, other] + (1.0 - share) * similarity[second, other]
            similarity[first, other] = mean
            similarity[other, first] = mean
        sizes[first] += sizes[second]
        sizes[second] = 0
        cluster[first] = n + merger
