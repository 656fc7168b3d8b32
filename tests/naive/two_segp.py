"""2SEGP on lists of prefix lists, as the paper's pseudocode has it, with the same random draws as the package."""

import numpy as np

from tests.naive import fitness, variation
from tests.naive.programs import evaluate, from_tokens


def errors_of(population, X, y, counts, scales=True, error=fitness.squared_error):
    """Errors, slopes and intercepts of every program on every sample, by the two-pass formulas."""
    rows = []
    for tokens in population:
        o = evaluate(from_tokens(tokens), X)
        row = []
        for w in counts:
            if not np.isfinite(o).all():
                row.append((np.inf, 0.0, 0.0))
                continue
            if not scales:
                row.append((error(o, y, w), 1.0, 0.0))
                continue
            slope, intercept = fitness.linear_scaling(o, y, w)
            row.append((fitness.scaled_squared_error(o, y, w), slope, intercept))
        rows.append(row)
    return rows


def run(X, y, counts, functions, population_size, generations, stream, max_size=500, minimum=0):
    """Yield (population, elites) before the first and after each generation; an elite is (program, error)."""
    n_features = X.shape[1]
    constants = (-5.0, 5.0)
    population = variation.ramped_half_and_half(
        stream("init"), functions, n_features, constants, population_size, minimum=minimum
    )
    scores = errors_of(population, X, y, counts)
    elites = [
        min(zip(population, (s[j][0] for s in scores), strict=True), key=lambda e: e[1]) for j in range(len(counts))
    ]
    yield population, elites
    for generation in range(generations):
        rng = stream("variation", generation)
        offspring = variation.vary(
            rng, population, 0.5, 0.5, max_size, functions, n_features, constants, minimum=minimum
        )
        child_scores = errors_of(offspring, X, y, counts)
        for j in range(len(counts)):
            for child, score in zip(offspring, child_scores, strict=True):
                if score[j][0] < elites[j][1]:
                    elites[j] = (child, score[j][0])
        both, both_scores = population + offspring, scores + child_scores
        chosen = []
        for j in range(len(counts)):
            order = sorted(range(len(both)), key=lambda i: both_scores[i][j][0])
            chosen += order[: population_size // len(counts)]
        population, scores = [both[i] for i in chosen], [both_scores[i] for i in chosen]
        yield population, list(elites)
