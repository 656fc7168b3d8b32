"""Standard GP on lists of prefix lists, with the same random draws as the package."""

import numpy as np

from tests.naive import variation
from tests.naive.programs import evaluate, from_tokens


def error_of(tokens, X, y):
    o = evaluate(from_tokens(tokens), X)
    return float(np.mean((o > 0) != (y == 1))) if np.isfinite(o).all() else float("inf")


def run(X, y, functions, population_size, generations, stream, tournament_size=5, init_height=5, max_height=16):
    """Yield (population from best to worst, best, its error) before the first and after each generation."""
    rng = stream("init")
    n_features = X.shape[1]
    population = [
        variation.grow(rng, functions, n_features, None, init_height, 1, p_function=0.5) for _ in range(population_size)
    ]
    best = (None, (float("inf"), 0))
    for generation in range(generations + 1):
        keys = {i: (error_of(p, X, y), len(p)) for i, p in enumerate(population)}
        order = sorted(keys, key=lambda i: keys[i])
        population = [population[i] for i in order]
        if keys[order[0]] < best[1]:
            best = population[0], keys[order[0]]
        yield population, best[0], best[1][0]
        rng = stream("variation", generation)
        following = population[:1]
        while len(following) < population_size:
            n_missing = population_size - len(following)
            drawn = rng.integers(population_size, size=(2, n_missing, tournament_size)).min(axis=2)
            mothers, fathers = ([population[i] for i in row] for row in drawn)
            following += variation.swap_or_mutate(
                rng, mothers, fathers, 0.5, max_height, functions, n_features, init_height, 0.5
            )[:n_missing]
        population = following
