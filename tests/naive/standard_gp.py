"""Standard GP on lists of prefix lists, with the same random draws as the package."""

import numpy as np

from tests.naive import variation
from tests.naive.programs import evaluate, from_tokens

LATER = {"threshold": 0.0, "tournament_size": 5, "max_height": 16, "p_crossover": 0.5, "p_function": 0.5}
LATER |= {"p_mutation": None, "constants": None, "min_height": 1, "prefers_small": True}
DECEMBER_2019 = {"threshold": 0.5, "tournament_size": 10, "max_height": 14, "p_crossover": 0.9, "p_function": None}
DECEMBER_2019 |= {"p_mutation": 0.1, "constants": (0.0, 1.0), "min_height": 0, "prefers_small": False}


def error_of(tokens, X, y, threshold):
    o = evaluate(from_tokens(tokens), X)
    return float(np.mean((o > threshold) != (y == 1))) if np.isfinite(o).all() else float("inf")


def run(X, y, functions, population_size, generations, stream, rules=LATER, init_height=5):
    """Yield (population from best to worst, best, its error) before the first and after each generation."""
    rng = stream("init")
    n_features = X.shape[1]
    constants, p_function = rules["constants"], rules["p_function"]
    population = [
        variation.grow(rng, functions, n_features, constants, init_height, rules["min_height"], p_function=p_function)
        for _ in range(population_size)
    ]
    best = (None, (float("inf"), 0))
    for generation in range(generations + 1):
        keys = {}
        for i, program in enumerate(population):
            size = len(program) if rules["prefers_small"] else 0
            keys[i] = error_of(program, X, y, rules["threshold"]), size
        order = sorted(keys, key=lambda i: keys[i])
        population = [population[i] for i in order]
        if keys[order[0]] < best[1]:
            best = population[0], keys[order[0]]
        yield population, best[0], best[1][0]
        rng = stream("variation", generation)
        following = population[:1]
        while len(following) < population_size:
            n_missing = population_size - len(following)
            drawn = rng.integers(population_size, size=(2, n_missing, rules["tournament_size"])).min(axis=2)
            mothers, fathers = ([population[i] for i in row] for row in drawn)
            limits = rules["max_height"], functions, n_features, init_height
            following += variation.swap_or_mutate(
                rng, mothers, fathers, rules["p_crossover"], *limits, p_function, rules["p_mutation"], constants
            )[:n_missing]
        population = following
