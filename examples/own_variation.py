"""A variation of one's own: point mutation, which exchanges one operator of a program for another."""

import numpy as np
from sklearn.datasets import make_friedman1

import symgrove as sg

BINARY = ("add", "sub", "mul", "div")


def point_mutation(forest, parents, donors, rng):
    """A child of every parent; a parent without an operator of two operands gets its donor's place."""
    return np.array([mutated(forest, int(p), int(d), rng) for p, d in zip(parents, donors, strict=True)])


def mutated(forest, root, donor, rng):
    places = [node for node in forest.reachable([root]) if forest.name(node) in BINARY]
    if not places:
        return donor
    chosen, operator = rng.choice(places), BINARY[rng.integers(len(BINARY))]
    new_of = {}
    for node in forest.reachable([root]):  # operands come before what uses them
        operands = [new_of[child] for child in forest.children(node)]
        name = operator if node == chosen else forest.name(node)
        new_of[node] = forest.apply(name, *operands) if operands else node
    return new_of[root]


if __name__ == "__main__":
    X, y = make_friedman1(200, random_state=0)
    settings = {"n_estimators": 5, "population_size": 100, "generations": 20, "random_state": 0}
    model = sg.TwoSEGPRegressor(**settings, variation=point_mutation).fit(X, y)
    print(f"R² {model.score(X, y):.2f}")
