"""Kernels of predictions: in which order nodes are computed, and means of members without the outer ones."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine

# What more nodes read than these is not a reason to compute all of them at once.
FEW_READERS = 8
ROWS_OF_TILE = 64  # so few that a hundred members stay in the first-level cache


@kernel
def trimmed_means(members, n_outer, first, second, out):
    """Means over (n_members, n_rows) without the lowest and highest `n_outer` of each row; NaN counts as high.

    `first` and `second` are a network that sorts: pairs to compare and exchange, in order.
    """
    n_members, n_rows = members.shape
    n_middle = n_members - 2 * n_outer
    tile = np.empty((n_members, ROWS_OF_TILE))
    for start in range(0, n_rows, ROWS_OF_TILE):
        n = min(ROWS_OF_TILE, n_rows - start)
        for j in range(n_members):
            tile[j][:n] = members[j][start : start + n]
        for k in range(first.size):
            low, high = tile[first[k]], tile[second[k]]
            for i in range(ROWS_OF_TILE):
                a, b = low[i], high[i]
                is_wrong = (a > b) | (a != a)
                low[i] = b if is_wrong else a
                high[i] = a if is_wrong else b
        total = out[start : start + n]
        total[:] = 0.0
        for j in range(n_outer, n_outer + n_middle):
            middle = tile[j]
            for i in range(n):
                total[i] += middle[i]
        for i in range(n):
            total[i] /= n_middle


@kernel
def order_nodes(columns, order):
    """An order of all nodes in which they are read soon after they are computed, so that few results exist at once.

    Whatever is needed for a node comes before it, and what else reads the new ones after it.
    """
    n_nodes = order.size
    first, readers = _readers(columns, n_nodes)
    is_done = np.zeros(n_nodes, dtype=np.bool_)
    agenda, waiting = np.empty((2, 3 * n_nodes + 1), dtype=np.int64)
    n_done = 0
    for start in range(n_nodes - 1, -1, -1):
        agenda[0] = start
        n_agenda = 1
        while n_agenda > 0:
            n_agenda -= 1
            n_before = n_done
            n_done = _add_with_operands(columns, agenda[n_agenda], is_done, waiting, order, n_done)
            for new in order[n_before:n_done]:
                if first[new + 1] - first[new] <= FEW_READERS:
                    for node in readers[first[new] : first[new + 1]]:
                        if not is_done[node]:
                            agenda[n_agenda] = node
                            n_agenda += 1


@subroutine
def _add_with_operands(columns, node, is_done, waiting, order, n_done):
    """Add a node to the order, after what it is made of; returns how many are in it."""
    waiting[0] = node
    n_waiting = 1
    while n_waiting > 0:
        node = waiting[n_waiting - 1]
        n_before = n_waiting
        if columns.code[node] > 1 and not is_done[node]:
            for operand in (columns.right[node], columns.left[node]):
                if operand >= 0 and not is_done[operand]:
                    waiting[n_waiting] = operand
                    n_waiting += 1
        if n_waiting == n_before:
            n_waiting -= 1
            if not is_done[node]:
                is_done[node] = True
                order[n_done] = node
                n_done += 1
    return n_done


@subroutine
def _readers(columns, n_nodes):
    """Nodes that a node is an operand of: those of node i are `readers[first[i]:first[i + 1]]`."""
    first = np.zeros(n_nodes + 2, dtype=np.int64)
    for operands in (columns.left, columns.right):
        for node in range(n_nodes):
            if columns.code[node] > 1 and operands[node] >= 0:
                first[operands[node] + 2] += 1
    first = np.cumsum(first)
    readers = np.empty(first[-1], dtype=np.int64)
    for operands in (columns.left, columns.right):
        for node in range(n_nodes):
            if columns.code[node] > 1 and operands[node] >= 0:
                place = first[operands[node] + 1]
                readers[place] = node
                first[operands[node] + 1] = place + 1
    return first, readers
