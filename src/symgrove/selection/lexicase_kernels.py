"""Kernel of lexicase selection: filter a pool of programs case by case, in random order."""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine
from symgrove.forest.random_kernels import below


@subroutine
def keep_best(errors, tolerance, pool, n_pool):
    """Keep the programs of the pool within `tolerance` of its lowest error, in order; returns how many."""
    best = np.inf
    for i in range(n_pool):
        best = min(best, errors[pool[i]])
    n_kept = 0
    for i in range(n_pool):
        if errors[pool[i]] <= best + tolerance:
            pool[n_kept] = pool[i]
            n_kept += 1
    return n_kept


@kernel
def select(errors, tolerance, cases, case_tolerance, sample_of, rng, pool, order, out):
    """A program for every place: first those near the best of its sample, then filtered by cases in random order.

    `errors` is (n_samples, n_programs), `cases` is (n_cases, n_programs). `pool` and `order` are scratch; `order` must
    hold the numbers of the cases in any order.
    """
    n_programs = errors.shape[1]
    n_cases = cases.shape[0]
    for place in range(out.size):
        for p in range(n_programs):
            pool[p] = p
        sample = sample_of[place]
        n_pool = keep_best(errors[sample], tolerance[sample], pool, n_programs)
        for c in range(n_cases):
            if n_pool == 1:
                break
            k = c + below(rng, n_cases - c)
            order[c], order[k] = order[k], order[c]
            n_pool = keep_best(cases[order[c]], case_tolerance[order[c]], pool, n_pool)
        out[place] = pool[below(rng, n_pool)]
