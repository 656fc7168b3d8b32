"""SS+BE on a list of cells, with the same random draws as the package."""

import math

import numpy as np

from tests.naive import fitness, variation
from tests.naive.programs import evaluate, from_tokens
from tests.naive.two_segp import errors_of


def neighbourhood(cell, rows, columns):
    """The cell and those around it, row by row, on a torus."""
    row, column = divmod(cell, columns)
    return [((row + i) % rows) * columns + (column + j) % columns for i in (-1, 0, 1) for j in (-1, 0, 1)]


def tournaments(keys, rows, columns, sample_of, scores, excluded=None):
    """For every cell, the better on its sample of two neighbours drawn without replacement."""
    winners = []
    for cell, key in enumerate(keys):
        around = neighbourhood(cell, rows, columns)
        places = [p for p in range(9) if excluded is None or around[p] != excluded[cell]]
        drawn = [around[p] for p in sorted(places, key=lambda p: key[p])[:2]]
        winners.append(min(drawn, key=lambda c: scores[c][sample_of[cell]][0]))
    return winners


def out_of_bag_error(tokens, score, X, y, counts, weight):
    error, slope, intercept = score
    if not math.isfinite(error):
        return math.inf
    return fitness.squared_error(evaluate(from_tokens(tokens), X), y, (counts == 0) * weight, slope, intercept)


def run(X, y, counts, functions, shape, generations, stream, use_out_of_bag, scales, weight):
    """Yield (cells, members) before the first and after each generation; a member is (program, criterion)."""
    settings = (functions, X.shape[1], (-5.0, 5.0))
    n_cells = shape[0] * shape[1]
    sample_of = stream("cells").permutation(np.arange(n_cells) % len(counts)).tolist()
    population = variation.ramped_half_and_half(stream("init"), *settings, n_cells, minimum=0)
    cells = [population[i] for i in stream("placement").permutation(n_cells)]
    scores = errors_of(cells, X, y, counts * weight, scales)
    members = [(None, math.inf)] * len(counts)

    def offer(cell):
        j = sample_of[cell]
        criterion = scores[cell][j][0]
        if use_out_of_bag:
            criterion = out_of_bag_error(cells[cell], scores[cell][j], X, y, counts[j], weight)
        program, best = members[j]
        if criterion < best or (criterion == best and program and len(cells[cell]) < len(program)):
            members[j] = (cells[cell], criterion)

    for cell in range(n_cells):
        offer(cell)
    yield list(cells), list(members)
    for generation in range(generations):
        rng = stream("selection", generation)
        mothers = tournaments(rng.random((n_cells, 9)), *shape, sample_of, scores)
        fathers = tournaments(rng.random((n_cells, 9)), *shape, sample_of, scores, excluded=mothers)
        children = variation.vary(
            stream("variation", generation),
            [cells[c] for c in mothers],
            0.5,
            0.5,
            40,
            *settings,
            height=4,
            minimum=0,
            donors=[cells[c] for c in fathers],
            substitutes=cells,
        )
        child_scores = errors_of(children, X, y, counts * weight, scales)
        moved = []
        for cell, j in enumerate(sample_of):
            old, new = scores[cell][j][0], child_scores[cell][j][0]
            if new < old or (new == old and len(children[cell]) < len(cells[cell])):
                moved.append(cell)
        for cell in moved:
            cells[cell], scores[cell] = children[cell], child_scores[cell]
        for cell in moved:
            offer(cell)
        yield list(cells), list(members)
