"""Geometric semantic variation: children are the combinations that they are said to be."""

import numpy as np
import pytest

from symgrove import CpuEngine, Forest, RandomPrograms, make_dataset
from symgrove.forest.linear import as_weighted_sum
from symgrove.variation.semantic import SemanticVariation, of_trees
from tests.strategies import TAME, random_data, uproot

N = 60


def made(p_crossover=0.4, p_mutation=0.4, step=0.3, min_height=1):
    """A forest, a population in it, and children."""
    forest = Forest(3, TAME)
    source = RandomPrograms(forest, (-1.0, 1.0), 4)
    rng = np.random.default_rng(0)
    population = source.ramped_half_and_half(forest, 30, rng, (1, 4))
    vary = SemanticVariation(source, p_crossover, p_mutation, step, min_height)
    mothers, fathers = rng.integers(30, size=(2, N))
    fathers[:5] = mothers[:5]
    return forest, population, mothers, fathers, vary(forest, population, mothers, fathers, rng)


def test_children_are_combinations_of_their_parents_and_of_random_programs():
    forest, population, mothers, _, children = made()
    X, y = random_data(0)
    with CpuEngine(make_dataset(X, y), TAME) as engine:

        def outputs(root):
            return engine.outputs(forest, [root])[0] if root >= 0 else np.zeros(len(X))

        for i, root in enumerate(children.roots):
            parts = [*np.append(population, -1)[children.parents[i]], *children.trees[i]]
            expected = sum(c * outputs(part) for c, part in zip(children.coefficients[i], parts, strict=True))
            np.testing.assert_allclose(outputs(root), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(children.parents[:, 0], mothers)


def test_there_are_three_kinds_of_children():
    forest, population, mothers, fathers, children = made()
    is_crossed, is_mutated = children.parents[:, 1] >= 0, children.trees[:, 0] >= 0
    assert not (is_crossed & is_mutated).any()
    assert 10 < is_crossed.sum() < 36
    assert 10 < is_mutated.sum() < 36
    is_copy = ~is_crossed & ~is_mutated
    assert is_copy.any()
    np.testing.assert_array_equal(children.roots[is_copy], population[mothers[is_copy]])
    np.testing.assert_array_equal(children.parents[is_crossed, 1], fathers[is_crossed])
    share = children.coefficients[is_crossed]
    np.testing.assert_allclose(share[:, 0] + share[:, 1], 1)
    assert (share[:, :2] >= 0).all()
    assert np.unique(share[:, 0]).size == is_crossed.sum()
    np.testing.assert_array_equal(children.coefficients[is_mutated], [[1.0, 0.0, 0.3, -0.3]] * is_mutated.sum())
    assert (forest.height(children.trees[is_mutated].ravel()) >= 1).all()


def test_the_child_of_equal_parents_is_the_mother():
    _, population, mothers, _, children = made(p_crossover=1.0, p_mutation=0.0)
    np.testing.assert_array_equal(children.roots[:5], population[mothers[:5]])
    np.testing.assert_array_equal(children.coefficients[:5], [[1.0, 0.0, 0.0, 0.0]] * 5)


def test_a_step_of_zero_changes_nothing():
    _, population, mothers, _, children = made(p_crossover=0.0, p_mutation=1.0, step=0.0)
    np.testing.assert_array_equal(children.roots, population[mothers])
    assert (children.trees == -1).all()


@pytest.mark.parametrize("height", [0, 3])
def test_many_grown_programs_are_those_that_would_come_one_by_one(height):
    forests = [Forest(3, TAME), Forest(3, TAME)]
    source = RandomPrograms(forests[0], (-1.0, 1.0), 6)
    some = source.grow_some(forests[0], 300, height, np.random.default_rng(1), 0)
    rng = np.random.default_rng(1)
    single = [source.grow(forests[1], height, rng, 0) for _ in range(300)]
    assert [uproot(forests[0], a) for a in some] == [uproot(forests[1], b) for b in single]
    assert len(forests[0]) == len(forests[1])


def test_random_programs_are_combinations_of_themselves():
    forest = Forest(2, TAME)
    trees = np.array([forest.feature(0), forest.apply("square", forest.feature(1))])
    found = of_trees(trees)
    np.testing.assert_array_equal(found.roots, trees)
    for i, root in enumerate(trees):
        assert as_weighted_sum(forest, root).terms.tolist() == [root]
        assert found.trees[i].tolist() == [root, -1]
    np.testing.assert_array_equal(found.coefficients, [[0.0, 0.0, 1.0, 0.0]] * 2)
