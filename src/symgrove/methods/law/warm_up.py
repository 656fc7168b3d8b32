"""Compile the kernels of a search, or load them from the cache, so that `max_time` does not count it."""

from __future__ import annotations

from functools import cache

import numpy as np

from symgrove.methods.law.fitted_programs import FittedPrograms
from symgrove.methods.law.formulas import RowSet
from symgrove.methods.law.pair_kernels import scan_affine, scan_pairs
from symgrove.methods.law.pairs import BestPairs
from symgrove.methods.law.signomial_kernels import fit_signomial
from symgrove.variation.mixture import MixedVariation


@cache
def compile_kernels() -> None:
    """Call each once, with arrays as a search has them."""
    two = np.eye(2)
    fit_signomial(two, np.ones(2), np.ones(2), np.ones(1), np.zeros((1, 2)), 1, 0.0)
    small, common = np.zeros((2, 2), dtype=np.float32), np.zeros(2, dtype=np.float32)
    best = BestPairs(1, 2.0)
    best.scan(scan_pairs, (small, common, common, common, common), 2, 0)
    best.scan(scan_affine, (small, small, small, np.ones(2), np.zeros(2), np.ones(2)), 2, 0)
    programs = FittedPrograms(RowSet(two, np.ones(2)), ("add",))
    root = programs.forest.apply("add", programs.forest.feature(0), programs.forest.constant(1.0))
    roots = np.array([root])
    programs.with_constants(roots, programs.fit(roots, 1).constants)
    programs.with_replaced(roots, roots, roots)
    programs.sizes(roots)
    programs.slopes(root, two)
    vary = MixedVariation(programs.forest, two)
    vary(programs.forest, roots, roots, np.random.default_rng(0))
    vary.new(programs.forest, 1, np.random.default_rng(0))
