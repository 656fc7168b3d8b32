"""eGP on lists of lists of trees, with the same random draws as the package.

A tree is (prefix list, subset, error); a forest is a list of trees.
"""

import numpy as np

from tests.naive import variation
from tests.naive.aggregation import vote
from tests.naive.programs import evaluate, from_tokens

INIT_HEIGHT, MAX_HEIGHT = 5, 16


class Run:
    """What does not change: data, subsets as masks of rows and lists of features, and settings."""

    def __init__(self, X, y, functions, masks, features, population_size, most_trees, size, weighting, weight):
        self.X, self.y, self.functions, self.masks, self.features = X, y, functions, masks, features
        self.n, self.most_trees, self.size = population_size, most_trees, size
        self.weighting, self.weight = weighting, weight
        self.subsets = sorted(i % len(masks) for i in range(population_size))

    def scored(self, tokens, subset):
        outputs = evaluate(from_tokens(tokens), self.X)
        if not np.isfinite(outputs).all():
            return tokens, subset, float("inf")
        return tokens, subset, self.error_of(outputs > 0.5, self.masks[subset])

    def error_of(self, said, mask):
        return float(self.weight[mask & (said != (self.y == 1))].sum() / self.weight[mask].sum())

    def forest_error(self, forest):
        if any(error == float("inf") for _, _, error in forest):
            return float("inf")
        outputs = np.array([evaluate(from_tokens(tokens), self.X) for tokens, _, _ in forest])
        if self.weighting == "margin":
            share = sum(outputs) / len(forest)
        elif self.weighting == "none":
            share = np.mean(outputs > 0.5, axis=0)
        else:
            accuracies = [1.0 - error for _, _, error in forest]
            weights = [a / max(accuracies) for a in accuracies]
            share = np.array([vote(row, 0.0, weights) for row in (outputs > 0.5).T.astype(float).tolist()])
        return self.error_of(share > 0.5, np.ones(len(self.y), dtype=bool))

    def ranked(self, trees):
        """In order of subset, error, size."""
        return sorted(trees, key=lambda tree: (tree[1], tree[2], len(tree[0])))

    def tournament(self, errors, n, rng):
        drawn = rng.integers(len(errors), size=(n, self.size))
        return [min(row, key=lambda i: errors[i]) for row in drawn.tolist()]

    def next_trees(self, trees, rng):
        found = []
        for subset, features in enumerate(self.features):
            own = [tree[0] for tree in trees if tree[1] == subset]
            children = own[:1]
            while len(children) < len(own):
                n_missing = len(own) - len(children)
                drawn = rng.integers(len(own), size=(2, n_missing, self.size)).min(axis=2)
                mothers, fathers = ([own[i] for i in row] for row in drawn)
                limits = MAX_HEIGHT, self.functions, features, INIT_HEIGHT, 0.5
                children += variation.swap_or_mutate(rng, mothers, fathers, 0.5, *limits)[:n_missing]
            found += [self.scored(tokens, subset) for tokens in children]
        return self.ranked(found)

    def first_forests(self, trees, rng):
        lengths = 1 + rng.integers(self.most_trees, size=self.n)
        winners = self.tournament([tree[2] for tree in trees], self.n * self.most_trees, rng)
        rows = [winners[i * self.most_trees : (i + 1) * self.most_trees] for i in range(self.n)]
        return [[trees[i] for i in row[:length]] for row, length in zip(rows, lengths, strict=True)]

    def next_forests(self, forests, errors, trees, rng):
        n = self.n - 1
        chosen = self.tournament(errors, 2 * n, rng)
        donors = self.tournament([tree[2] for tree in trees], n, rng)
        is_crossed = rng.random(n) < 0.5
        coins = rng.random((n, 2 * self.most_trees)) < 0.5
        kinds, places = rng.integers(3, size=n), rng.random(n)
        children = []
        for i in range(n):
            mother, father = forests[chosen[i]], forests[chosen[n + i]]
            if is_crossed[i]:
                heads = coins[i, : self.most_trees], coins[i, self.most_trees :]
                child = [t for own, side in zip((mother, father), heads, strict=True) for t, c in zip(own, side) if c]  # noqa: B905
                children.append(child[: self.most_trees] or mother)
                continue
            child, place = list(mother), int(places[i] * len(mother))
            if kinds[i] == 0 and len(child) < self.most_trees:
                child.append(trees[donors[i]])
            elif kinds[i] == 1 and len(child) > 1:
                del child[place]
            else:
                child[place] = trees[donors[i]]
            children.append(child)
        return children

    def pruned(self, forest):
        error = self.forest_error(forest)
        while len(forest) > 1:
            shorter = [forest[:i] + forest[i + 1 :] for i in range(len(forest))]
            errors = [self.forest_error(f) for f in shorter]
            if min(errors) > error:
                break
            error = min(errors)
            forest = shorter[errors.index(error)]
        return forest, error


def run(own, generations, stream):
    """Yield (trees, forests, errors of the forests) before the first and after each generation; the best is first."""
    rng = stream("init")
    drawn = [
        variation.grow(rng, own.functions, own.features[s], None, INIT_HEIGHT, 1, p_function=0.5) for s in own.subsets
    ]
    trees = own.ranked([own.scored(*tree) for tree in zip(drawn, own.subsets, strict=True)])
    forests = own.first_forests(trees, stream("first lists"))
    errors = [own.forest_error(forest) for forest in forests]
    forests[0], errors[0] = own.pruned(forests[errors.index(min(errors))])
    yield trees, forests, errors
    for generation in range(generations):
        trees = own.next_trees(trees, stream("variation", generation))
        forests = forests[:1] + own.next_forests(forests, errors, trees, stream("lists", generation))
        errors = errors[:1] + [own.forest_error(forest) for forest in forests[1:]]
        if min(errors) < errors[0]:
            forests[0], errors[0] = own.pruned(forests[errors.index(min(errors))])
        yield trees, forests, errors
