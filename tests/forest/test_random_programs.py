import numpy as np
import pytest
from scipy.stats import chisquare

from symgrove import Forest, PrimitiveSet, RandomPrograms
from tests.naive import variation as naive
from tests.naive.programs import from_tokens
from tests.strategies import uproot

PAPER = [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("log", 1)]


def rng(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("constants", [(-5.0, 5.0), None])
def test_programs_are_those_of_the_oracle_with_the_same_draws(seed, constants):
    forest = Forest(3)
    source = RandomPrograms(forest, constants)
    ours, theirs = rng(seed), rng(seed)
    for height in range(7):
        full = from_tokens(naive.grow(theirs, PAPER, 3, constants, height, 0, is_full=True))
        assert uproot(forest, source.full(forest, height, ours)) == full
        grown = from_tokens(naive.grow(theirs, PAPER, 3, constants, height, 2))
        assert uproot(forest, source.grow(forest, height, ours)) == grown


@pytest.mark.parametrize("n_programs", [1, 7, 100])
@pytest.mark.parametrize("n_features", [1, 4])
def test_the_initial_population_is_that_of_the_oracle(n_programs, n_features):
    forest = Forest(n_features)
    roots = RandomPrograms(forest).ramped_half_and_half(forest, n_programs, rng(3))
    expected = naive.ramped_half_and_half(rng(3), PAPER, n_features, (-5.0, 5.0), n_programs)
    assert [uproot(forest, root) for root in roots] == [from_tokens(tokens) for tokens in expected]


def test_the_papers_population_has_no_duplicates_and_heights_in_equal_shares():
    forest = Forest(5)
    roots = RandomPrograms(forest).ramped_half_and_half(forest, 500, rng(0))
    assert np.unique(roots).size == 500
    assert forest.height(roots[:250]).tolist() == np.repeat([2, 3, 4, 5, 6], 50).tolist()
    limits = np.repeat([2, 3, 4, 5, 6], 50)
    assert (forest.height(roots[250:]) <= limits).all()
    assert (forest.height(roots[250:]) >= 2).all()


def test_duplicates_are_accepted_once_the_rejections_are_used_up():
    forest = Forest(1, PrimitiveSet(("neg",)))
    roots = RandomPrograms(forest, None).ramped_half_and_half(forest, 20, rng(0))
    assert roots.size == 20
    assert np.unique(roots).size == 5  # neg chains of heights 2 to 6 are all there are


def test_tokens_are_drawn_uniformly_from_the_union_of_terminals_and_functions():
    forest = Forest(4)
    source = RandomPrograms(forest, max_height=1)
    generator = rng(1)
    roots = [source.grow(forest, 1, generator, min_height=0) for _ in range(20_000)]
    names = [forest.name(root) for root in roots]
    names = [f"x{forest.columns.left[r]}" if n == "feature" else n for r, n in zip(roots, names, strict=True)]
    observed = np.unique(names, return_counts=True)[1]
    assert observed.size == 11  # 4 features, the constant, 6 functions
    assert chisquare(observed).pvalue > 1e-3


def test_programs_use_only_the_features_that_they_may():
    forest = Forest(7, PrimitiveSet(("add",)))
    source = RandomPrograms(forest, None, 3, features=[5, 1, 2])
    generator = rng(4)
    drawn = [source.grow(forest, 3, generator) for _ in range(200)] + [source.full(forest, 1, generator)]
    used = [int(forest.columns.left[n]) for root in drawn for n in forest.prefix(root) if forest.name(n) == "feature"]
    features, observed = np.unique(used, return_counts=True)
    assert features.tolist() == [1, 2, 5]
    assert chisquare(observed).pvalue > 1e-3
    with pytest.raises(ValueError, match="made for other features"):
        source.grow(Forest(3, PrimitiveSet(("add",))), 3, generator)


def test_constants_are_uniform_with_three_decimals():
    forest = Forest(1)
    source = RandomPrograms(forest, (-5.0, 5.0), max_height=0)
    generator = rng(2)
    roots = [source.grow(forest, 0, generator) for _ in range(20_000)]
    values = forest.columns.value[[r for r in roots if forest.name(r) == "constant"]]
    assert abs(values.size / 20_000 - 0.5) < 0.02
    np.testing.assert_array_equal(values, np.round(values, 3))
    assert not np.signbit(values[values == 0]).any()
    assert values.min() >= -5
    assert values.max() <= 5
    assert chisquare(np.histogram(values, bins=20, range=(-5, 5))[0]).pvalue > 1e-3


def test_grown_programs_have_the_heights_that_the_rule_gives():
    """Chance that a grown program with minimum 0 is a lone leaf, or has height 1, computed by hand."""
    forest = Forest(5, PrimitiveSet(("add",)))
    source = RandomPrograms(forest, None)
    generator = rng(3)
    heights = forest.height([source.grow(forest, 6, generator, min_height=0) for _ in range(20_000)])
    p_leaf = 5 / 6
    expected = np.array([p_leaf, (1 - p_leaf) * p_leaf**2])
    observed = np.array([(heights == 0).mean(), (heights == 1).mean()])
    np.testing.assert_allclose(observed, expected, atol=0.01)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda f: RandomPrograms(f, (1.0, -1.0)), "constant_range must be"),
        (lambda f: RandomPrograms(f, (0.0, np.inf)), "constant_range must be"),
        (lambda f: RandomPrograms(f, features=[0, 2]), "features must be some of 0 to 1, got"),
        (lambda f: RandomPrograms(f, features=[]), "features must be some of 0 to 1, got"),
        (lambda f: RandomPrograms(f, max_height=40), "can have more than 1048576 nodes"),
        (lambda f: RandomPrograms(f).full(f, 7, rng(0)), "from 0 to max_height=6, got 7"),
        (
            lambda f: RandomPrograms(f).ramped_half_and_half(f, 0, rng(0)),
            "n_programs must be a whole number of at least 1",
        ),
        (lambda f: RandomPrograms(f).ramped_half_and_half(f, 4, rng(0), heights=(4, 2)), "heights must be"),
    ],
)
def test_bad_calls_get_a_clear_error(act, message):
    with pytest.raises(ValueError, match=message):
        act(Forest(2))
