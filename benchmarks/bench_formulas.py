"""Formulas for reading: how long it takes to make one of 100 nodes shorter, and by how much."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.table import Line
from symgrove import Forest, PrimitiveSet, RandomPrograms
from symgrove.forest.plain_primitives import PLAIN_ROWS
from symgrove.forest.rounding import with_few_digits
from symgrove.forest.shortest import rows_like, shortest
from symgrove.forest.simplify import simplify
from symgrove.forest.values import values_of
from symgrove.forest.written_size import WrittenSizes
from symgrove.models.standardization import Standardization

N_FORMULAS, N_FEATURES, N_NODES = 20, 5, 100
QUANTILES = np.linspace(1, 6, 5)[:, None] * np.ones(N_FEATURES)
KINDS = {
    "protected": ("add", "sub", "mul", "div", "sqrt", "log"),
    "plain": ("add", "sub", "mul", *(given[0] for given, _ in PLAIN_ROWS[:3])),
}


def formulas(functions: tuple[str, ...]) -> Iterator[tuple[Forest, int]]:
    """Sums of random programs on standardised features, as those of Grove are, of about 100 nodes each."""
    rng = np.random.default_rng(0)
    units = Standardization(rng.uniform(1, 5, N_FEATURES), rng.uniform(0.5, 2, N_FEATURES))
    for _ in range(N_FORMULAS):
        forest = Forest(N_FEATURES, PrimitiveSet(functions))
        total = forest.constant(1.5)
        for root in RandomPrograms(forest).ramped_half_and_half(forest, 200, rng).tolist():
            term = units.in_user_units(forest, root)
            if forest.size(term) <= 30 and np.isfinite(values_of(forest, [term], rows_like(QUANTILES, 50))).all():
                factor = forest.constant(float(rng.normal()))
                total = forest.apply("add", total, forest.apply("mul", factor, term))
            if forest.size(total) >= N_NODES:
                break
        yield forest, total


def lines() -> Iterator[Line]:
    for kind, functions in KINDS.items():
        seconds, rounding, before, first, after = [], [], 0, 0, 0
        for forest, root in formulas(functions):
            shortest(forest, root, QUANTILES)
            start = time.perf_counter()
            found = shortest(forest, root, QUANTILES)
            seconds.append(time.perf_counter() - start)
            start = time.perf_counter()
            with_few_digits(forest, found, rows_like(QUANTILES, 200), 0.01)
            rounding.append(time.perf_counter() - start)
            sizes = WrittenSizes(forest)
            before, first, after = (
                total + sizes.of(node)
                for total, node in ((before, root), (first, simplify(forest, root)), (after, found))
            )
        detail = (
            f"slowest of {N_FORMULAS}, median {np.median(seconds):.3f}; rounding {max(rounding):.3f}; "
            f"nodes {before} -> {first} by exact rewrites -> {after}"
        )
        yield Line(f"a short form of 100 nodes, {kind}, seconds", max(seconds), "<= 0.5", detail)
