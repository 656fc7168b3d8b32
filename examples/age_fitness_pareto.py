"""Age-fitness Pareto optimisation (Schmidt and Lipson 2010), as a selection and a variation of one's own.

Young programs survive beside old ones that are better; a new random program joins in every generation.
"""

import numpy as np
from sklearn.datasets import make_friedman1

import symgrove as sg


def age_fitness(candidates, n_selected, rng):
    """Tournaments of two: who is neither older nor worse wins; if neither is, chance decides."""
    error = candidates.errors.mean(axis=1)
    first, second = rng.integers(error.size, size=(2, n_selected))
    first_wins = (error[first] <= error[second]) & (candidates.ages[first] <= candidates.ages[second])
    second_wins = (error[second] <= error[first]) & (candidates.ages[second] <= candidates.ages[first])
    return np.where(first_wins | (~second_wins & (rng.random(n_selected) < 0.5)), first, second)


def with_newcomer(forest, parents, donors, rng):
    """Subtree crossover and mutation, but the first child is made from scratch, and so has age 0."""
    source = sg.RandomPrograms(forest)
    children = sg.SubtreeVariation(source)(forest, parents, rng, donors)
    children[0] = source.grow(forest, 4, rng)
    return children, np.arange(children.size) == 0


if __name__ == "__main__":
    X, y = make_friedman1(200, random_state=0)
    settings = {"n_estimators": 5, "population_size": 100, "generations": 30, "random_state": 0}
    model = sg.TwoSEGPRegressor(**settings, selection=age_fitness, variation=with_newcomer).fit(X, y)
    print(f"R² {model.score(X, y):.2f}")
