import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from symgrove import Forest, RandomPrograms, parse
from symgrove.variation.swap import SwapVariation
from tests.naive import variation as naive
from tests.naive.programs import from_tokens, tokens
from tests.strategies import ALL, plant, programs, uproot

FUNCTIONS = [(p.name, p.arity) for p in ALL.functions]


@given(
    st.lists(st.tuples(programs(max_leaves=12), programs(max_leaves=12)), min_size=1, max_size=10),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([5, 30]),
    st.sampled_from([(0.5, None, None), (None, 0.4, (0.0, 1.0)), (0.5, 1.0, None)]),
)
def test_children_are_those_of_list_surgery_with_the_same_draws(pairs, seed, p_crossover, max_height, rules):
    p_function, p_mutation, constants = rules
    forest = Forest(3, ALL)
    mothers, fathers = (np.array([plant(forest, pair[k]) for pair in pairs]) for k in (0, 1))
    source = RandomPrograms(forest, constants, 5)
    children = SwapVariation(source, p_crossover, max_height, p_function, p_mutation)(
        forest, mothers, fathers, np.random.default_rng(seed)
    )
    prefix = [[tokens(pair[k]) for pair in pairs] for k in (0, 1)]
    rng = np.random.default_rng(seed)
    limits = FUNCTIONS, 3, 5
    expected = naive.swap_or_mutate(rng, *prefix, p_crossover, max_height, *limits, p_function, p_mutation, constants)
    assert [uproot(forest, child) for child in children] == [from_tokens(t) for t in expected]


def test_nodes_are_drawn_uniformly():
    forest = Forest(3, ALL)
    mother = parse(forest, "sqrt(x0 + x0 * (x1 - 2)) / max(log(x2), x0 + x0)")
    mark = parse(forest, "x1")  # a father of one node, so that the first child shows where it went
    n_nodes, n_draws = int(forest.size(mother)), 13_000
    vary = SwapVariation(RandomPrograms(forest, None, 5), 1.0, 50, 0.5)
    children = vary(forest, np.full(n_draws, mother), np.full(n_draws, mark), np.random.default_rng(0))[::2]
    prefix = tokens(uproot(forest, mother))
    expected = {}
    for place in range(n_nodes):
        root = plant(forest, from_tokens(naive.replace_at(prefix, place, [(("feature", 1), 0)])))
        expected[root] = expected.get(root, 0) + n_draws / n_nodes
    observed = [int((children == root).sum()) for root in expected]
    assert sum(observed) == n_draws
    assert chisquare(observed, list(expected.values())).pvalue > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5, 10, 0.5), "p_crossover must be"),
        ((0.5, 3, 0.5), "max_height must be"),
        ((0.5, 10, 0.5, 2.0), "p_mutation must be"),
    ],
)
def test_bad_parameters_get_a_clear_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        SwapVariation(RandomPrograms(Forest(1), None, 5), *arguments)
