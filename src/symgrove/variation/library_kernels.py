"""Kernels of the library: which subtrees a population has, and the entry closest to what is wanted."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine


@kernel
def scan(columns, roots, max_height, is_seen, stack, out):
    """Distinct nodes of programs up to a height, program after program, each in pre-order; returns how many."""
    n_found = 0
    for root in roots:
        stack[0] = root
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if is_seen[node]:
                continue
            is_seen[node] = True
            if columns.height[node] <= max_height:
                out[n_found] = node
                n_found += 1
            if columns.code[node] > 1:
                if columns.right[node] >= 0:
                    stack[top] = columns.right[node]
                    top += 1
                stack[top] = columns.left[node]
                top += 1
    return n_found


@subroutine
def distance_below(limit, values, count, weight, entry, constant):
    """Weighted sum of squared distances to the closest acceptable values, of an entry or of a constant if it is empty.

    Once it is above the limit, any number above it.
    """
    total = 0.0
    for k in range(count.size):
        if count[k] <= 0 or weight[k] == 0:
            continue
        x = entry[k] if entry.size > 0 else constant
        nearest = abs(x - values[k, 0])
        for j in range(1, count[k]):
            nearest = min(nearest, abs(x - values[k, j]))
        total += weight[k] * nearest * nearest
        if total > limit:
            return total
    return total


@kernel
def find_nearest(values, count, weight, entries, sizes, heights, max_size, max_height, best, constant):
    """For each node the entry closest to what is wanted, or the acceptable value that is the closest constant.

    `best` is the entry, or -1 if the constant is closer; entries come in order of size, and the first of equals wins.
    """
    nothing = np.empty(0)
    for i in range(best.size):
        best[i] = -1
        limit = np.inf
        for e in range(entries.shape[0]):
            if sizes[e] > max_size[i] or heights[e] > max_height[i]:
                continue
            distance = distance_below(limit, values[i], count[i], weight[i], entries[e], 0.0)
            if distance < limit:
                limit = distance
                best[i] = e
        for k in range(count.shape[1]):
            if weight[i, k] == 0:
                continue
            for j in range(count[i, k]):
                distance = distance_below(limit, values[i], count[i], weight[i], nothing, values[i, k, j])
                if distance < limit:
                    limit = distance
                    best[i] = -1
                    constant[i] = values[i, k, j]
