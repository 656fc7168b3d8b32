"""GP-GOMEA one change at a time, on lists of genes, with the same random draws as the package.

A gene is (name, arity) of a function or (("feature", i) or ("constant", v), 0), as in prefix lists.
"""

import math

import numpy as np

from tests.naive.programs import from_tokens
from tests.naive.two_segp import errors_of


def template(height, arity):
    """Positions in prefix order: a list of the positions of the operands of each."""
    operands = []

    def add(depth):
        own = len(operands)
        operands.append([])
        if depth < height:
            operands[own] = [add(depth + 1) for _ in range(arity)]
        return own

    add(0)
    return operands


def draw(rng, n, operands, functions, n_features, constants):
    """A population: the first half full, else functions with a chance of one half."""
    n_terminals = n_features + (constants is not None)
    shape = n, len(operands)
    terminals, chosen = (
        rng.integers(n_terminals, size=shape, dtype=np.int32),
        rng.integers(len(functions), size=shape, dtype=np.int32),
    )
    coins = rng.random((n - n // 2, len(operands)))
    population = []
    for i in range(n):
        genes = []
        for p, below in enumerate(operands):
            if below and (i < n // 2 or coins[i - n // 2, p] < 0.5):
                genes.append(functions[chosen[i, p]])
            else:
                genes.append((("feature", int(terminals[i, p])), 0))
        population.append(genes)
    if constants is not None:
        places = [
            (i, p) for i in range(n) for p in range(len(operands)) if population[i][p] == (("feature", n_features), 0)
        ]
        values = rng.uniform(*constants, size=len(places))
        for (i, p), value in zip(places, values, strict=True):
            population[i][p] = (("constant", float(np.round(value, 3) + 0.0)), 0)
    return population


def active(genes, operands):
    """Positions of the program, in prefix order."""
    found, waiting = [], [0]
    while waiting:
        p = waiting.pop()
        found.append(p)
        waiting += list(reversed(operands[p][: genes[p][1]]))
    return found


def program(genes, operands):
    """The program as a prefix list."""
    return [genes[p] for p in active(genes, operands)]


def symbols(population):
    """Genes in which constants beyond the first hundred distinct ones are the nearest of those."""
    first = []
    for genes in population:
        for gene in genes:
            if gene[0][0] == "constant" and gene not in first and len(first) < 100:
                first.append(gene)
    values = sorted(gene[0][1] for gene in first)

    def symbol(gene):
        if gene[0][0] != "constant" or gene in first:
            return gene
        return (("constant", min(values, key=lambda v: abs(v - gene[0][1]))), 0)

    return [[symbol(gene) for gene in genes] for genes in population]


def entropy(values):
    """Shannon entropy of a list, natural logarithm."""
    shares = [values.count(value) / len(values) for value in set(values)]
    return -sum(share * math.log(share) for share in shares)


def entropies(population):
    """Of every position and every pair, as a dictionary."""
    columns = list(zip(*symbols(population), strict=True))
    n = len(columns)
    return {
        (i, j): entropy(list(columns[i]) if i == j else list(zip(columns[i], columns[j], strict=True)))
        for i in range(n)
        for j in range(i, n)
    }


def information(now, first):
    """Bias-corrected mutual information of every pair."""
    ratio = {pair: now[pair] / first[pair] if first[pair] > 1e-12 else 0.0 for pair in now}
    return {(i, j): ratio[i, i] + ratio[j, j] - 2 * ratio[i, j] for i, j in now if i != j}


def linkage_tree(similarity, starts):
    """Clusters in the order in which they are merged, of positions 0 .. n - 1; similarity is a matrix.

    Similarity of clusters is the mean over pairs of their positions.
    """
    n = len(similarity)
    slots = [[p] for p in range(n)]
    merged, chain = [], []

    def mean(a, b):
        return sum(similarity[p][q] for p in slots[a] for q in slots[b]) / (len(slots[a]) * len(slots[b]))

    for m in range(n - 1):
        left = [s for s in range(n) if slots[s]]
        if not chain:
            chain = [left[min(int(starts[m] * len(left)), len(left) - 1)]]
        while True:
            own, previous = chain[-1], chain[-2] if len(chain) > 2 else -1
            others = [s for s in left if s != own]
            best = max(mean(own, s) for s in others)
            near = [s for s in others if abs(mean(own, s) - best) < 1e-12]
            found = previous if previous in near else min(near, key=lambda s: len(slots[s]))
            if len(chain) > 1 and found == chain[-2]:
                break
            chain.append(found)
        a, b = sorted(chain[-2:])
        chain = chain[:-2]
        slots[a], slots[b] = slots[a] + slots[b], []
        merged.append(slots[a])
    return merged


def sets_of(similarity, n, rng):
    """Single positions in random order, then merged sets without the last."""
    order = [int(p) for p in rng.permutation(n)]
    starts = rng.random(n)
    matrix = [[similarity[min(p, q), max(p, q)] if p != q else 0.0 for q in order] for p in order]
    return [[p] for p in order] + [[order[k] for k in own] for own in linkage_tree(matrix, starts)[:-1]]


def try_all(genes, errors, chosen, donors_of, sets, order, operands, score, offer, is_better):
    """One trial after the other: the first of every chosen individual, then the second, and so on; in place.

    `is_better(new, old, i)` says whether a trial is kept; those that `donors_of(i, r)` gives nothing for are done.
    """
    changed = set()
    for r in range(len(sets)):
        for i in chosen:
            donor = donors_of(i, r, changed)
            if donor is None:
                continue
            trial = list(genes[i])
            for p in sets[order[i, r]]:
                trial[p] = donor[p]
            if program(trial, operands) == program(genes[i], operands):
                genes[i] = trial
                continue
            new = score(trial)
            offer(trial, new)
            if is_better(new, errors[i], i):
                genes[i], errors[i] = trial, new
                changed.add(i)
    return changed


def force(genes, errors, chosen, elites, sets, order, operands, score, offer):
    """Forced improvement, in place: genes of the elite, until strictly better, or all of them."""
    donors, n_samples = [list(own) for own, _ in elites], len(elites)
    changed = try_all(
        genes,
        errors,
        chosen,
        lambda i, r, done: None if i in done else donors[i % n_samples],
        sets,
        order,
        operands,
        score,
        offer,
        lambda new, old, i: new[i % n_samples] < old[i % n_samples],
    )
    for i in chosen:
        if i not in changed:
            genes[i] = list(donors[i % n_samples])
            errors[i] = score(genes[i])


def lowest(errors):
    """Mean over the samples of the lowest errors."""
    return sum(min(row[j] for row in errors) for j in range(len(errors[0]))) / len(errors[0])


def run(X, y, counts, functions, population_size, generations, stream, height, scales=True, forces=False):
    """Yield (population of genes, elites) before the first and after each generation; an elite is (genes, error)."""
    operands, constants = template(height, max(arity for _, arity in functions)), (-5.0, 5.0)
    n_samples = len(counts)

    def score(genes):
        return [row[0] for row in errors_of([program(genes, operands)], X, y, counts, scales)[0]]

    population = draw(stream("init"), population_size, operands, functions, X.shape[1], constants)
    errors = [score(genes) for genes in population]
    elites = [min(zip(population, (e[j] for e in errors), strict=True), key=lambda e: e[1]) for j in range(n_samples)]
    first = entropies(population)
    yield population, list(elites), operands
    n_idle = 0
    for generation in range(generations):
        rng = stream("mixing", generation, 0)
        sets = sets_of(information(entropies(population), first), len(operands), rng)
        order = rng.permuted(np.tile(np.arange(len(sets), dtype=np.int16), (population_size, 1)), axis=1)
        donors = rng.integers(population_size, size=order.shape, dtype=np.int32)
        best_before = lowest(errors)

        def offer(genes, own, elites=elites):
            for j in range(n_samples):
                if own[j] < elites[j][1]:
                    elites[j] = (list(genes), own[j])

        offspring, offspring_errors = [list(genes) for genes in population], list(errors)
        changed = try_all(
            offspring,
            offspring_errors,
            range(population_size),
            lambda i, r, done, parents=population, of=donors: parents[of[i, r]],
            sets,
            order,
            operands,
            score,
            offer,
            lambda new, old, i: new[i % n_samples] <= old[i % n_samples],
        )
        if forces:
            is_idle = n_idle > 1 + math.log10(population_size)
            chosen = [i for i in range(population_size) if is_idle or i not in changed]
            force(offspring, offspring_errors, chosen, elites, sets, order, operands, score, offer)
        n_idle = 0 if lowest(offspring_errors) < best_before else n_idle + 1
        population, errors = offspring, offspring_errors
        yield population, list(elites), operands


def texts(population, operands):
    """Programs as nested tuples."""
    return [from_tokens(program(genes, operands)) for genes in population]
