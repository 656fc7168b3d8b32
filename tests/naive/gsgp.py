"""GSGP-Red on dicts from trees to weights, with the same random draws as the package."""

import math

import numpy as np

from tests.naive import fitness, selection, variation
from tests.naive.programs import evaluate, from_tokens


def terms_of(program, weight=1.0):
    """Weights by term of a program (nested tuples) times a weight: sums and constant factors taken apart, recursively.

    The constant part has the key None.
    """
    name, *operands = program
    if name == "constant":
        return {None: weight * operands[0]}
    if name in ("add", "sub"):
        sign = 1.0 if name == "add" else -1.0
        return added(terms_of(operands[0], weight), terms_of(operands[1], sign * weight))
    if name == "neg":
        return terms_of(operands[0], -weight)
    if name == "mul" and operands[0][0] == "constant":
        return terms_of(operands[1], weight * operands[0][1])
    if name == "mul" and operands[1][0] == "constant":
        return terms_of(operands[0], weight * operands[1][1])
    return {program: weight}


def added(*sums):
    total = {}
    for own in sums:
        for tree, weight in own.items():
            total[tree] = total.get(tree, 0.0) + weight
    return total


def scaled(factor, own):
    return {tree: factor * weight for tree, weight in own.items()}


def outputs_of(individual, X):
    """The weighted sum itself, tree by tree."""
    return sum((weight * evaluate(tree, X) for tree, weight in individual.items()), np.zeros(len(X)))


def errors_of(individuals, X, y, counts, scales):
    rows = []
    for individual in individuals:
        o = outputs_of(individual, X)
        score = fitness.scaled_squared_error if scales else fitness.squared_error
        rows.append([score(o, y, w) if np.isfinite(o).all() else math.inf for w in counts])
    return rows


def run(X, y, counts, functions, population_size, generations, stream, tournament_size, scales, step):
    """Yield (population, errors, elites) before the first and after each generation; an elite is (individual, error).

    Equal individuals are told by their genealogy, which is the first entry of a pair, the weights are the second.
    """
    settings = (functions, X.shape[1], (-1.0, 1.0))
    trees = variation.ramped_half_and_half(stream("init"), *settings, population_size, minimum=0)
    trees = [from_tokens(tokens) for tokens in trees]
    population = [(tree, {tree: 1.0}) for tree in trees]
    errors = errors_of([own for _, own in population], X, y, counts, scales)
    elites = [
        min(zip(population, (row[j] for row in errors), strict=True), key=lambda e: e[1]) for j in range(len(counts))
    ]
    yield population, errors, list(elites)
    for generation in range(generations):
        rng = stream("variation", generation)
        children = breed(rng, population, errors, settings, len(counts) > 1, tournament_size, step)
        child_errors = errors_of([own for _, own in children], X, y, counts, scales)
        for j in range(len(counts)):
            for child, row in zip(children, child_errors, strict=True):
                if row[j] < elites[j][1]:
                    elites[j] = (child, row[j])
        if len(counts) > 1:
            both, both_errors = population + children, errors + child_errors
            slots = [population_size // len(counts)] * len(counts)
            chosen = selection.partitioned_truncation(both_errors, slots)
            population, errors = [both[i] for i in chosen], [both_errors[i] for i in chosen]
        else:
            best = min(range(population_size), key=lambda i: errors[i][0])
            population, errors = [population[best], *children], [errors[best], *child_errors]
        yield population, errors, list(elites)


def breed(rng, population, errors, settings, is_bagged, tournament_size, step):
    first = [row[0] for row in errors]

    def choose(n):
        if is_bagged:
            return rng.integers(len(population), size=n).tolist()
        return selection.tournaments(first, n, tournament_size, rng)

    mothers = list(range(len(population))) if is_bagged else choose(len(population) - 1)
    fathers = choose(len(mothers))
    for _ in range(16):
        equal = [i for i, (m, f) in enumerate(zip(mothers, fathers, strict=True)) if population[m] == population[f]]
        if not equal:
            break
        for i, father in zip(equal, choose(len(equal)), strict=True):
            fathers[i] = father
    choice, share = rng.random((2, len(mothers))).tolist()
    children = []
    for i, (m, f) in enumerate(zip(mothers, fathers, strict=True)):
        (mother, own), (father, other) = population[m], population[f]
        if choice[i] >= 0.5:
            pair = [from_tokens(variation.grow(rng, *settings, 6, 0)) for _ in range(2)]
            difference = {pair[0]: step}
            difference[pair[1]] = difference.get(pair[1], 0.0) - step
            children.append((("mutated", mother, *pair), added(own, difference)))
        elif population[m] == population[f]:
            children.append(population[m])
        else:
            weights = added(scaled(share[i], own), scaled(1.0 - share[i], other))
            children.append((("crossed", mother, father, share[i]), weights))
    return children
