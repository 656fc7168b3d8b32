import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrove import Forest, PrimitiveSet
from symgrove.variation.mixture import SHARES, MixedVariation
from tests.naive import programs as shapes
from tests.naive import variation as naive
from tests.naive.programs import from_tokens, tokens
from tests.strategies import ALL, plant, programs, uproot

FUNCTIONS = [(p.name, p.arity) for p in ALL.functions]
VALUES = np.array([[0.25, -3.0, 7.5], [0.5, 1.5, 2.5], [10.0, 20.0, 30.0]])
ONLY = {
    name: tuple(float(i == k) for i in range(6))
    for k, name in enumerate(("crossover", "mutation", "perturbation", "join", "new", "hoist"))
}


@given(
    st.lists(st.tuples(programs(max_leaves=6), programs(max_leaves=6)), min_size=1, max_size=10),
    st.integers(0, 10_000),
    st.sampled_from([SHARES, *ONLY.values()]),
    st.sampled_from([25, 60]),
)
def test_children_are_those_of_list_surgery_with_the_same_draws(pairs, seed, shares, max_size):
    pairs = [pair for pair in pairs if max(map(shapes.size, pair)) <= max_size]
    forest = Forest(3, ALL)
    bases, donors = (np.array([plant(forest, p[k]) for p in pairs], dtype=np.int64) for k in (0, 1))
    children = MixedVariation(forest, VALUES, max_size, shares)(forest, bases, donors, np.random.default_rng(seed))
    prefix = [[tokens(p[k]) for p in pairs] for k in (0, 1)]
    rng = np.random.default_rng(seed)
    expected = naive.Mixture(rng, np.cumsum(shares), FUNCTIONS, 3, VALUES, 2, max_size).children(*prefix)
    assert [uproot(forest, child) for child in children] == [from_tokens(t) for t in expected]


@pytest.mark.parametrize(("max_size", "height"), [(1, 0), (2, 0), (3, 1), (6, 1), (7, 2), (25, 2)])
def test_children_and_new_programs_keep_to_the_size(max_size, height):
    forest = Forest(3, PrimitiveSet(("add", "mul", "sqrt")))
    mixture = MixedVariation(forest, VALUES, max_size)
    rng = np.random.default_rng(0)
    population = mixture.new(forest, 300, rng)
    assert forest.height(population).max() == height
    for _ in range(5):
        population = mixture(forest, population, rng.permutation(population), rng)
        assert forest.size(population).max() <= max_size
    assert np.unique(population).size > 3


def test_constants_come_from_the_data_and_from_a_normal_distribution():
    forest = Forest(3, PrimitiveSet(("add",)))
    mixture = MixedVariation(forest, VALUES, 3)
    pairs = [uproot(forest, root)[1:] for root in mixture.new(forest, 4000, np.random.default_rng(0))]
    drawn = np.array([leaf[1] for pair in pairs for leaf in pair if leaf[0] == "constant"])
    others = drawn[~np.isin(drawn, VALUES)]
    assert set(VALUES.ravel()) <= set(drawn)
    assert others.std() == pytest.approx(1.5, rel=0.1)
    beside = [(dict(pair)["feature"], dict(pair)["constant"]) for pair in pairs if len(dict(pair)) == 2]
    known = [(feature, value) for feature, value in beside if value in VALUES]
    assert len(known) == pytest.approx(0.5 * len(beside), rel=0.1)
    assert all(value in VALUES[feature] for feature, value in known)


def test_unary_functions_alone_work():
    forest = Forest(3, PrimitiveSet(("sqrt", "log1p")))
    mixture = MixedVariation(forest, VALUES, 5)
    rng = np.random.default_rng(0)
    population = mixture.new(forest, 100, rng)
    assert forest.size(mixture(forest, population, population, rng)).max() <= 5


def test_bad_sizes_get_a_clear_error():
    with pytest.raises(ValueError, match="max_size must be"):
        MixedVariation(Forest(3), VALUES, 0)
