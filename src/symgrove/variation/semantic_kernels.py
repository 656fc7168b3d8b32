"""Kernel of geometric semantic variation: linear combinations as programs."""

from __future__ import annotations

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern


@subroutine
def times(columns, mul, factor, root):
    """A program times a constant."""
    return intern(columns, mul, intern(columns, 1, -1, -1, factor), root, 0.0)


@kernel
def combine(columns, codes, population, made, out):
    """Roots of combinations; the caller has reserved eight nodes for each."""
    add, sub, mul = codes
    for i in range(out.size):
        out[i] = population[made.parents[i, 0]]
        father, first, second = made.parents[i, 1], made.trees[i, 0], made.trees[i, 1]
        if father >= 0:
            mother = times(columns, mul, made.coefficients[i, 0], out[i])
            out[i] = intern(columns, add, mother, times(columns, mul, made.coefficients[i, 1], population[father]), 0.0)
        if first >= 0:
            difference = intern(columns, sub, first, second, 0.0)
            out[i] = intern(columns, add, out[i], times(columns, mul, made.coefficients[i, 2], difference), 0.0)
