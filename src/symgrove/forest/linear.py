"""Programs as weighted sums: the terms that a program adds up, each once, and a program of given terms.

Sums, differences and products with a constant are taken apart, however deep they are nested and shared; what is left
are terms. Equal terms have equal ids, so their weights are added: nothing is lost but rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest import linear_kernels
from symgrove.forest.forest import Forest, Ids


class WeightedSum(NamedTuple):
    """A constant, and ids of terms with their weights, in the order in which a walk through the program meets them."""

    terms: Ids
    weights: NDArray[np.float64]
    constant: float


class _Codes(NamedTuple):
    """Codes of what is taken apart."""

    add: int
    sub: int
    mul: int
    neg: int
    step: int


def _codes(forest: Forest) -> _Codes:
    return _Codes(*(forest.primitives[name].code for name in _Codes._fields))


def as_weighted_sum(forest: Forest, root: int) -> WeightedSum:
    """Terms of a program."""
    n = int(root) + 1  # parts have smaller ids
    stack, order, out = np.empty(2 * n + 2, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    weight = np.zeros(n)
    state = np.zeros(n, dtype=np.int8)
    n_terms, constant = linear_kernels.find_terms(
        forest.columns, _codes(forest), int(root), stack, order, state, weight, out
    )
    terms = out[:n_terms].copy()
    return WeightedSum(terms, weight[terms], float(constant))


def add_weighted_sum(forest: Forest, own: WeightedSum) -> int:
    """Root of a program that adds up these terms, neighbours first, so that it is as low as can be."""
    forest.reserve(3 * own.terms.size + 1)
    parts = np.empty(own.terms.size + 1, dtype=np.int64)
    return int(linear_kernels.add_up(forest.columns, _codes(forest), *own, parts))


def add_plain_sum(forest: Forest, own: WeightedSum) -> int:
    """Root of a program that adds these terms one by one, the constant last: it is written without brackets."""
    total = -1
    for term, weight in zip(own.terms.tolist(), own.weights.tolist(), strict=True):
        is_taken_off = weight < 0 and total >= 0
        part = forest.apply("mul", forest.constant(-weight if is_taken_off else weight), term)
        total = part if total < 0 else forest.apply("sub" if is_taken_off else "add", total, part)
    constant = forest.constant(own.constant)
    return constant if total < 0 else forest.apply("add", total, constant)


def add_sums_in_order(
    forest: Forest,
    terms: Ids,
    weights: NDArray[np.float64],
    constants: NDArray[np.float64],
    threshold: float | None = None,
) -> Ids:
    """Roots of programs that add up weighted terms from left to right, beginning with a constant unless it is 0.

    Of a matrix of terms, padded with -1, each row is a sum of at least one term. With a threshold, a term counts as 1
    where it is above that, else as 0: a vote.
    """
    limit = -1 if threshold is None else forest.constant(threshold)
    forest.reserve(4 * terms.size + terms.shape[0])
    out = np.empty(terms.shape[0], dtype=np.int64)
    linear_kernels.add_in_order(forest.columns, _codes(forest), limit, terms, weights, constants, out)
    return out


def reduced(forest: Forest, root: int) -> int:
    """An equal program, but for rounding, that has every term of its sum once; itself if a weight overflows."""
    own = as_weighted_sum(forest, root)
    is_finite = np.isfinite(own.weights).all() and np.isfinite(own.constant)
    return add_weighted_sum(forest, own) if is_finite else int(root)
