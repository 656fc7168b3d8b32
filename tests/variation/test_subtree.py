import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from symgrove import Forest, RandomPrograms, SubtreeVariation, parse
from symgrove.variation.subtree import choose_nodes
from tests.naive import variation as naive
from tests.naive.programs import from_tokens, positions_by_depth, tokens
from tests.strategies import ALL, plant, programs, uproot

FUNCTIONS = [(p.name, p.arity) for p in ALL.functions]


@given(
    st.lists(programs(max_leaves=15), min_size=1, max_size=12),
    st.integers(0, 10_000),
    st.sampled_from([(1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.3, 0.3)]),
    st.sampled_from([1, 10, 40, 500]),
)
def test_children_are_those_of_list_surgery_with_the_same_draws(population, seed, rates, max_size):
    population = [p for p in population if len(tokens(p)) <= max_size] or [("feature", 0)]
    forest = Forest(3, ALL)
    parents = np.array([plant(forest, program) for program in population])
    vary = SubtreeVariation(RandomPrograms(forest), *rates, max_size=max_size)
    children = vary(forest, parents, np.random.default_rng(seed))
    expected = naive.vary(
        np.random.default_rng(seed), [tokens(p) for p in population], *rates, max_size, FUNCTIONS, 3, (-5.0, 5.0)
    )
    assert [uproot(forest, child) for child in children] == [from_tokens(t) for t in expected]
    assert (forest.size(children) <= max_size).all()


def test_only_the_path_and_the_branch_are_new():
    forest = Forest(5)
    source = RandomPrograms(forest)
    parents = source.ramped_half_and_half(forest, 100, np.random.default_rng(0))
    length = len(forest)
    children = SubtreeVariation(source, p_crossover=1.0, p_mutation=0.0)(forest, parents, np.random.default_rng(1))
    assert len(forest) - length <= forest.height(parents).sum()
    for child, parent in zip(children, parents, strict=True):
        n_new = sum(node >= length for node in forest.reachable([child]))
        assert n_new <= forest.height(parent)


def test_a_child_over_the_limit_is_its_parent_and_leaves_no_nodes():
    forest = Forest(2)
    parent = parse(forest, "x0 + x1")
    length = len(forest)
    vary = SubtreeVariation(RandomPrograms(forest), p_crossover=0.0, p_mutation=1.0, max_size=3)
    children = vary(forest, np.full(50, parent), np.random.default_rng(0))
    clones = children == parent
    assert clones.any()
    assert (forest.size(children) <= 3).all()
    # Whatever was appended belongs to children within the limit.
    assert set(range(length, len(forest))) <= set(forest.reachable(children[~clones]))


def test_a_child_of_exactly_the_limit_is_kept():
    forest = Forest(2)
    parents = np.array([parse(forest, "x0"), parse(forest, "x0 + x1")])
    for limit, rates in ((5, (1.0, 0.0)), (7, (0.0, 1.0))):
        vary = SubtreeVariation(RandomPrograms(forest), *rates, max_size=limit)
        sizes = [forest.size(vary(forest, parents, np.random.default_rng(s))).max() for s in range(200)]
        assert max(sizes) == limit


def test_depths_are_uniform_and_so_are_nodes_within_a_depth():
    forest = Forest(3, ALL)
    root = parse(forest, "sqrt(x0 + x0 * (x1 - 2)) / max(log(x2), x0 + x0)")
    by_depth = positions_by_depth(tokens(uproot(forest, root)))
    n_draws = 40_000
    rows = choose_nodes(forest, root, n_draws, np.random.default_rng(0))
    observed, expected = [], []
    for depth, positions in by_depth.items():
        at_depth = rows[rows[:, 0] == depth]
        counts = np.bincount(at_depth[:, 2], minlength=len(positions))
        assert counts.size == len(positions)
        observed += counts.tolist()
        expected += [n_draws / len(by_depth) / len(positions)] * len(positions)
    assert chisquare(observed, expected).pvalue > 1e-3


def test_shares_of_crossover_mutation_and_copies():
    forest = Forest(3)
    source = RandomPrograms(forest)
    parents = source.ramped_half_and_half(forest, 2000, np.random.default_rng(0))
    copies = SubtreeVariation(source, 0.2, 0.3)(forest, parents, np.random.default_rng(1)) == parents
    # A crossover or mutation returns its parent only by chance.
    assert abs(copies.mean() - 0.5) < 0.05


@pytest.mark.parametrize("rates", [(0.7, 0.5), (-0.1, 0.5), (0.5, 1.2)])
def test_probabilities_that_are_none_get_a_clear_error(rates):
    with pytest.raises(ValueError, match="must be probabilities that sum to at most 1"):
        SubtreeVariation(RandomPrograms(Forest(1)), *rates)


def test_a_size_limit_below_one_gets_a_clear_error():
    with pytest.raises(ValueError, match="max_size must be a whole number of at least 1"):
        SubtreeVariation(RandomPrograms(Forest(1)), max_size=0)
