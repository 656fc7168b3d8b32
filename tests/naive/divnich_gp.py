"""DivNichGP on lists of prefix lists, with the same random draws as the package."""

import math

import numpy as np

from tests.naive import fitness, selection, variation
from tests.naive.programs import evaluate, from_tokens
from tests.naive.two_segp import errors_of

SAME = 1e-10


def clearing(errors, vectors, radius, niche_size):
    """Walk from best to worst; in the niche of each that is not cleared, all but the best few are."""
    order = sorted(range(len(errors)), key=lambda i: errors[i])
    cleared = list(errors)
    is_cleared = [not math.isfinite(e) for e in errors]
    for a, i in enumerate(order):
        if is_cleared[i]:
            continue
        n_in_niche = 1
        for j in order[a + 1 :]:
            if not is_cleared[j] and math.dist(vectors[i], vectors[j]) < max(radius, SAME):
                n_in_niche += 1
                if n_in_niche > niche_size:
                    is_cleared[j], cleared[j] = True, math.inf
    return cleared


def predictions(population, scores, X, labels):
    """Scaled outputs, or the classes that they say."""
    rows = []
    for tokens, ((error, slope, intercept),) in zip(population, scores, strict=True):
        o = evaluate(from_tokens(tokens), X)
        scaled = intercept + slope * o if math.isfinite(error) else np.full(len(X), np.nan)
        rows.append((scaled > 0.5).astype(float) if labels else scaled)
    return rows


def greedy(population, scores, X, y, counts, order, labels, weight):
    """Members as positions in the population, with or without sorting them first."""
    outputs = predictions(population, scores, X, labels)
    inside = [np.repeat(o, counts) for o in outputs]
    rows = np.flatnonzero(counts == 0)
    usable = [i for i in range(len(population)) if math.isfinite(scores[i][0][0])]
    visited = sorted(usable, key=lambda i: scores[i][0][0]) if order == "best" else usable
    taken, best, seen = [], math.inf, []
    for a, i in enumerate(visited):
        # In list order the last of equals stands for all, from best to worst the first.
        others = list(seen) if order == "best" else visited[a + 1 :]
        seen.append(i)
        if any(math.dist(inside[i], inside[j]) < SAME for j in others):
            continue
        mean = sum(outputs[j][rows] for j in [*taken, i]) / (len(taken) + 1)
        wrong = (mean > 0.5) != (y[rows] == 1) if labels else (mean - y[rows]) ** 2
        error = weight[rows] @ wrong
        if not taken or error < best:
            taken.append(i)
            best = error
    return taken


def run(
    X,
    y,
    functions,
    population_size,
    generations,
    stream,
    draw_counts,
    tournament_size,
    niche_size,
    radius,
    scales,
    labels,
    weight,
):
    """Yield (population, scores, counts) before the first and after each generation."""
    settings = (functions, X.shape[1], (-5.0, 5.0))
    population = variation.ramped_half_and_half(stream("init"), *settings, population_size, minimum=0)
    for generation in range(generations + 1):
        counts = draw_counts(generation)
        error = fitness.classification_error if labels else fitness.squared_error
        scores = errors_of(population, X, y, [counts * weight], scales, error)
        yield population, scores, counts
        vectors = [np.repeat(o, counts) for o in predictions(population, scores, X, labels)]
        errors = clearing([row[0][0] for row in scores], vectors, radius, niche_size)
        chosen = selection.tournaments(errors, population_size, tournament_size, stream("selection", generation))
        rng = stream("variation", generation)
        parents = [population[i] for i in chosen]
        population = variation.vary(rng, parents, 0.475, 0.475, 40, *settings, minimum=0)
