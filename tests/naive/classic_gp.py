"""Classic GP on lists of prefix lists, with the same random draws as the package."""

from tests.naive import selection, variation
from tests.naive.two_segp import errors_of


def run(X, y, functions, population_size, generations, stream, tournament_size, counts, max_size=500):
    """Yield (population, best, its error) before the first and after each generation; `counts` is the one sample."""
    settings = (functions, X.shape[1], (-5.0, 5.0))
    population = variation.ramped_half_and_half(stream("init"), *settings, population_size, minimum=0)
    errors = [row[0][0] for row in errors_of(population, X, y, [counts])]
    best = min(range(population_size), key=lambda i: errors[i])
    best = population[best], errors[best]
    yield population, *best
    for generation in range(generations):
        rng = stream("variation", generation)
        offspring = variation.vary(rng, population, 0.5, 0.5, max_size, *settings, minimum=0)
        child_errors = [row[0][0] for row in errors_of(offspring, X, y, [counts])]
        for child, error in zip(offspring, child_errors, strict=True):
            if error < best[1]:
                best = child, error
        both, both_errors = population + offspring, errors + child_errors
        chosen = selection.tournaments(both_errors, population_size, tournament_size, stream("selection", generation))
        population, errors = [both[i] for i in chosen], [both_errors[i] for i in chosen]
        yield population, *best
