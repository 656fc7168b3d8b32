"""Kernel of truncation: the best rows of a column of errors."""

from __future__ import annotations

from symgrove._jit import kernel, subroutine


@subroutine
def is_worse(errors, a, b):
    """Whether row a comes after row b: a larger error, or the same and a higher index."""
    return errors[a] > errors[b] or (errors[a] == errors[b] and a > b)


@subroutine
def sift_down(errors, heap, start, stop):
    """Restore the heap order (worst on top) below `start`."""
    parent = start
    while 2 * parent + 1 < stop:
        child = 2 * parent + 1
        if child + 1 < stop and is_worse(errors, heap[child + 1], heap[child]):
            child += 1
        if not is_worse(errors, heap[child], heap[parent]):
            return
        heap[parent], heap[child] = heap[child], heap[parent]
        parent = child


@subroutine
def select_best(errors, out):
    """Indices of the `out.size` smallest of a vector of errors, best first; ties go to the lower index."""
    n = out.size
    for i in range(n):
        out[i] = i
    for start in range(n // 2 - 1, -1, -1):
        sift_down(errors, out, start, n)
    for i in range(n, errors.size):
        if n > 0 and is_worse(errors, out[0], i):
            out[0] = i
            sift_down(errors, out, 0, n)
    for stop in range(n - 1, 0, -1):
        out[0], out[stop] = out[stop], out[0]
        sift_down(errors, out, 0, stop)


@kernel
def best_rows(errors, out):
    """`select_best` for callers in Python."""
    select_best(errors, out)


@kernel
def best_rows_of_columns(errors, slots, out):
    """The `slots[j]` best rows for every sample j; `errors` is (n_samples, n_programs), `out` holds them one by one."""
    start = 0
    for j in range(slots.size):
        stop = start + slots[j]
        select_best(errors[j], out[start:stop])
        start = stop
