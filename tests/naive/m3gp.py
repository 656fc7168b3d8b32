"""M3GP on lists of lists of prefix lists, with the same random draws as the package."""

from tests.naive import variation
from tests.naive.programs import evaluate, from_tokens, positions_by_depth

P_FUNCTION = 0.5


def key_of(individual, X, score):
    """Error, dimensions, nodes."""
    columns = [evaluate(from_tokens(tree), X) for tree in individual]
    return score(columns), len(individual), sum(map(len, individual))


def run(X, functions, population_size, generations, stream, score, rules):
    """Yield (population from best to worst, error of the best) before the first and after each generation."""
    rng, best = stream("init"), None
    population = [[new_tree(rng, functions, X.shape[1], rules)] for _ in range(population_size)]
    for generation in range(generations + 1):
        keys = [key_of(individual, X, score) for individual in population]
        order = sorted(range(population_size), key=lambda i: keys[i])
        population, key = [population[i] for i in order], keys[order[0]]
        if rules["prunes"] and best is not None and key < best:
            population[0], key = pruned(population[0], key, X, score)
        best = key
        yield population, key[0]
        population = following(stream("variation", generation), population, functions, X.shape[1], rules)


def new_tree(rng, functions, n_features, rules):
    return variation.grow(rng, functions, n_features, None, rules["height"], 1, p_function=P_FUNCTION)


def following(rng, population, functions, n_features, rules):
    """The best of a population in order, and children until it is as large again."""
    found = population[:1]
    while len(found) < len(population):
        n_missing = len(population) - len(found)
        drawn = rng.integers(len(population), size=(2, n_missing, rules["tournament_size"])).min(axis=2)
        mothers, fathers = ([population[i] for i in row] for row in drawn)
        found = found + children_of(rng, mothers, fathers, functions, n_features, rules)[:n_missing]
    return found


def pruned(individual, key, X, score):
    for tree in list(individual):
        if len(individual) > 1:
            place = next(i for i, own in enumerate(individual) if own is tree)
            fewer = individual[:place] + individual[place + 1 :]
            found = key_of(fewer, X, score)
            if found[0] <= key[0]:
                individual, key = fewer, found
    return individual, key


def children_of(rng, mothers, fathers, functions, n_features, rules):
    n = len(mothers)
    is_crossed, which = (rng.random(n) < rules["p_crossover"]).tolist(), rng.random(n).tolist()
    kinds = [
        ("swap", "exchange")[int(2 * u)] if crossed else ("mutate", "add", "remove")[int(3 * u)]
        for crossed, u in zip(is_crossed, which, strict=True)
    ]
    places, others = rng.random((2, n)).tolist()
    places = [int(u * len(mother)) for u, mother in zip(places, mothers, strict=True)]
    others = [int(u * len(father)) for u, father in zip(others, fathers, strict=True)]
    made = {}
    for kind in ("swap", "mutate", "add", "exchange", "remove"):
        for i in (i for i in range(n) if kinds[i] == kind):
            mother, father, a, b = list(mothers[i]), list(fathers[i]), places[i], others[i]
            limits = 10**6, functions, n_features, rules["height"], P_FUNCTION
            if kind == "swap":
                mother[a], father[b] = variation.swap_or_mutate(rng, [mother[a]], [father[b]], 1.0, *limits)
            elif kind == "mutate":
                (mother[a],) = variation.swap_or_mutate(rng, [mother[a]], [mother[a]], 0.0, *limits)
            elif kind == "add" and len(mother) < rules["max_dimensions"]:
                mother.append(new_tree(rng, functions, n_features, rules))
            elif kind == "exchange":
                mother[a], father[b] = father[b], mother[a]
            elif kind == "remove" and len(mother) > 1:
                del mother[a]
            made[i] = [mother, father] if kind in ("swap", "exchange") else [mother]

    def fits(individual):
        return all(max(positions_by_depth(tree)) <= rules["max_height"] for tree in individual)

    return [child for i in range(n) for child in made[i] if fits(child)]
