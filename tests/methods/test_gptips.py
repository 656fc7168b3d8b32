"""GPTIPS: every generation against its naive twin, and what is special about it."""

from functools import partial

import numpy as np
import pytest

from symgrove import GPTIPSRegressor
from symgrove.rng import stream
from tests.making import method_of
from tests.naive import gptips as naive
from tests.strategies import random_data, uproot

ARITY = {"mul": 2, "sub": 2, "add": 2, "pdiv": 2, "log": 1, "exp": 1, "sqrt": 1, "square": 1, "cube": 1}
ARITY |= {"sin": 1, "cos": 1}
SETTINGS = {
    "defaults": {},
    "changes": {"p_crossover": 0.1, "p_mutation": 0.8, "p_feature_mutation": 0.3, "p_constant_mutation": 0.4},
    "whole_genes": {"p_crossover": 0.95, "p_mutation": 0.05, "p_whole_genes": 0.9, "p_gene": 0.2, "max_genes": 3},
    "low": {"max_depth": 2, "max_mutation_depth": 3, "constant_range": None, "elite_fraction": 0.0},
    "one_gene": {"max_genes": 1, "with_three": ["mul"], "elite_fraction": 0.5},
}


def individuals(state, rows):
    return [[uproot(state.forest, gene) for gene in row if gene >= 0] for row in rows]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", [*SETTINGS, "mgptips", "small_genes"])
def test_every_generation_is_that_of_the_naive_twin(name, seed):
    X, y = random_data(seed, n_rows=40)
    weight = None if seed == 1 else np.random.default_rng(0).uniform(0.5, 2, len(y))
    make = getattr(GPTIPSRegressor, name, partial(GPTIPSRegressor, **SETTINGS.get(name, {})))
    estimator = make(population_size=30)
    if name == "small_genes":  # with more genes some depend on others, and errors on what is taken for zero
        estimator.set_params(genes_per_feature=2)
    settings = estimator.get_params()
    if estimator.genes_per_feature:
        settings["max_genes"] = estimator.genes_per_feature * X.shape[1]
    twin = naive.GPTIPS([(f, ARITY[f]) for f in estimator.functions], estimator._with_three(), X.shape[1], settings)
    with method_of(estimator, X, y, seed, weight=weight) as method:
        state = method.init()
        expected = twin.first(stream(seed, "init"), 30)
        best = np.inf
        for generation in range(6):
            own = individuals(state, state.population)
            assert own == expected
            expected_errors = [naive.error(genes, X, y, weight) for genes in own]
            np.testing.assert_allclose(state.errors, expected_errors, rtol=1e-6)
            best = min(best, state.errors.min())
            assert state.elites.error[0] == best
            (genes,) = individuals(state, state.best)
            assert naive.error(genes, X, y, weight) == pytest.approx(best, rel=1e-6)
            expected = twin.following(stream(seed, "variation", generation), own, state.errors.tolist())
            state = method.step(state)


def test_the_elite_is_the_weighted_sum_of_the_best_genes():
    X, y = random_data(3, n_rows=80)
    with method_of(GPTIPSRegressor(population_size=40), X, y, seed=0) as method:
        state = method.init()
        for _ in range(5):
            state = method.step(state)
        outputs = method.engine.outputs(state.forest, state.elites.root)[0]
        tree, terms = uproot(state.forest, state.elites.root[0]), []
        while tree[0] == "add":  # term after term, without brackets
            _, tree, (times, coefficient, gene) = tree
            assert (times, coefficient[0]) == ("mul", "constant")
            terms.append(gene)
        assert tree[0] == "constant"
        assert sorted(terms) == sorted(individuals(state, state.best)[0])
    assert np.mean((y - outputs) ** 2) == pytest.approx(state.elites.error[0], rel=1e-9)


def test_the_best_is_the_simplest_of_those_with_its_error():
    X, y = random_data(4)
    with method_of(GPTIPSRegressor(population_size=20), X, y, seed=0) as method:
        state = method.init()
        (genes,) = individuals(state, state.best)
        equal = individuals(state, state.population[state.errors == state.elites.error[0]])
        assert complexity(genes) == min(map(complexity, equal))


def complexity(individual):
    return sum(naive.complexity(gene, ("add", "mul")) for gene in individual)


def test_genes_keep_their_limits():
    X, y = random_data(5)
    model = GPTIPSRegressor.small_genes(population_size=30, max_depth=4)
    with method_of(model, X, y, seed=0) as method:
        state = method.init()
        for _ in range(8):
            state = method.step(state)
            genes = [gene for own in individuals(state, state.population) for gene in own]
            assert max(map(naive.depth, genes)) <= 4
            assert max(len(naive.nodes(gene)) for gene in genes) <= 5


def test_a_function_with_three_operands_counts_once():
    X, y = random_data(6, n_rows=60)
    with method_of(GPTIPSRegressor(population_size=50), X, y, seed=0) as method:
        state = method.init()
        genes = np.unique(state.population[state.population >= 0])
        measured = method.genes.measure(state.forest, genes)
        for k, gene in enumerate(uproot(state.forest, root) for root in genes):
            tree = naive.read(gene, ("add", "mul"))
            assert measured.depth[k] == naive.depth(tree) <= 4
            assert measured.size[k] == len(naive.nodes(tree))
            assert measured.complexity[k] == naive.complexity(gene, ("add", "mul"))
        assert state.forest.height(genes).max() > 3


def test_few_possible_genes_make_small_individuals():
    X = np.arange(20.0)[:, None]
    model = GPTIPSRegressor(max_depth=1, max_mutation_depth=1, constant_range=None, population_size=10, generations=3)
    model.set_params(random_state=0).fit(X, 3 * X[:, 0] + 1)
    assert model.history_["mean_genes"][0] == 1.0
    np.testing.assert_allclose(model.predict(X), 3 * X[:, 0] + 1)


def test_what_is_not_finite_is_never_the_best():
    X, y = random_data(7)
    X[0, 0] = 1e140
    model = GPTIPSRegressor(functions=("cube", "mul"), with_three=["mul"], population_size=40)
    with method_of(model, X, y, seed=0) as method:
        state = method.init()
        assert np.isinf(state.errors).any()
        for _ in range(4):
            state = method.step(state)
            assert np.isfinite(state.elites.error).all()
            assert np.isfinite(method.engine.outputs(state.forest, state.elites.root)).all()


def test_functions_of_three_operands_follow_the_functions():
    X, y = random_data(2)
    for functions, expected in ((("sub", "sin"), ()), (("sub", "mul"), ("mul",))):
        model = GPTIPSRegressor(functions=functions, population_size=20, generations=2, random_state=0).fit(X, y)
        assert model._with_three() == expected
