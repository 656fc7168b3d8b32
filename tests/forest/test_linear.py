"""Programs as weighted sums, against taking them apart recursively."""

import numpy as np
import pytest
from hypothesis import given, settings

from symgrove import CpuEngine, Forest, make_dataset
from symgrove.forest.linear import (
    WeightedSum,
    add_plain_sum,
    add_sums_in_order,
    add_weighted_sum,
    as_weighted_sum,
    reduced,
)
from symgrove.forest.text import to_text
from tests.naive.gsgp import terms_of
from tests.strategies import ALL, plant, programs, random_data, uproot

SUMS = ("add", "sub", "mul", "neg", "aq", "square")


def outputs(forest, *roots):
    X, y = random_data(0)
    with CpuEngine(make_dataset(X, y), ALL) as engine:
        return [engine.outputs(forest, [root])[0] for root in roots]


@settings(max_examples=200, deadline=None)
@given(programs(functions=SUMS))
def test_terms_are_those_of_the_recursive_definition(program):
    forest = Forest(3, ALL)
    found = as_weighted_sum(forest, plant(forest, program))
    expected = terms_of(program)
    size = 1e-9 * (1 + max(abs(weight) for weight in expected.values()))
    assert found.constant == pytest.approx(expected.pop(None, 0.0), rel=1e-9, abs=size)
    weights = {uproot(forest, term): weight for term, weight in zip(found.terms, found.weights, strict=True)}
    assert len(weights) == found.terms.size
    for term in weights.keys() | expected.keys():
        assert weights.get(term, 0.0) == pytest.approx(expected.get(term, 0.0), rel=1e-9, abs=size)


@settings(max_examples=100, deadline=None)
@given(programs(functions=SUMS))
def test_a_reduced_program_computes_the_same(program):
    forest = Forest(3, ALL)
    root = plant(forest, program)
    before, after = outputs(forest, root, reduced(forest, root))
    if np.isfinite(before).all():
        terms, weights, _ = as_weighted_sum(forest, root)
        size = sum(abs(w) * np.abs(outputs(forest, t)[0]).max() for t, w in zip(terms, weights, strict=True))
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9 * (1 + size))


def test_shared_parts_are_looked_at_once():
    forest = Forest(1, ALL)
    root = forest.feature(0)
    for _ in range(900):  # as a tree it has 2 ** 900 leaves
        root = forest.apply("add", root, root)
    found = as_weighted_sum(forest, root)
    assert found.terms.tolist() == [forest.feature(0)]
    assert found.weights[0] == 2.0**900
    assert forest.size(reduced(forest, root)) == 3


def test_ids_change_neither_the_order_of_terms_nor_a_bit_of_their_weights():
    sums = []
    for first in ("feature", "square"):  # other nodes first, so that ids are in another order
        forest = Forest(3, ALL)
        if first == "square":
            forest.apply("square", forest.apply("square", forest.feature(2)))
        x = [forest.apply("square", forest.feature(i)) for i in (0, 1, 2)]
        y = [forest.apply("mul", forest.constant(0.1 * (i + 1)), x[i]) for i in range(3)]
        root = forest.apply("sub", forest.apply("add", y[2], y[0]), forest.apply("add", y[1], y[2]))
        root = forest.apply("add", root, forest.apply("mul", forest.constant(0.3), root))
        found = as_weighted_sum(forest, root)
        sums.append([(uproot(forest, t), w) for t, w in zip(found.terms, found.weights, strict=True)])
    assert sums[0] == sums[1]
    assert len(sums[0]) >= 2


def test_sums_are_low_and_without_needless_nodes():
    forest = Forest(100, ALL)
    terms = np.array([forest.feature(i) for i in range(100)])
    root = add_weighted_sum(forest, WeightedSum(terms, np.full(100, 1.0), 0.0))
    assert (forest.size(root), forest.height(root)) == (199, 7)
    nothing = add_weighted_sum(forest, WeightedSum(terms[:0], np.zeros(0), 0.0))
    assert uproot(forest, nothing) == ("constant", 0.0)
    own = add_weighted_sum(forest, WeightedSum(terms[:1], np.array([2.5]), -1.0))
    assert uproot(forest, own) == ("add", ("constant", -1.0), ("mul", ("constant", 2.5), ("feature", 0)))


@pytest.mark.parametrize("threshold", [None, 0.25])
def test_sums_and_votes_are_added_from_left_to_right(threshold):
    X, _ = random_data(0)
    forest = Forest(3, ALL)
    terms = np.array([[forest.feature(i) for i in row] for row in ([0, 1, 2], [2, 0, 1], [1, 1, 0])])
    weights, constants = np.random.default_rng(0).normal(size=(3, 3)), np.array([0.0, 0.7, -1.5])
    terms[1, 2] = terms[2, 0] = -1
    weights[0, 1] = 1.0
    roots = add_sums_in_order(forest, terms, weights, constants, threshold)
    for row, found in enumerate(outputs(forest, *roots)):
        total = np.full(len(X), constants[row])
        for term, weight in zip(terms[row], weights[row], strict=True):
            if term >= 0:
                value = X[:, forest.columns.left[term]]
                total = total + weight * (value if threshold is None else (value > threshold))
        np.testing.assert_array_equal(found, total)
    (plain,) = add_sums_in_order(forest, terms[:1], np.ones((1, 3)), np.zeros(1))
    assert "constant" not in {forest.name(node) for node in forest.reachable([plain])}


def test_a_weight_that_overflows_leaves_the_program_as_it_is():
    forest = Forest(1, ALL)
    root = forest.apply("square", forest.feature(0))
    for _ in range(2):
        root = forest.apply("mul", forest.constant(1e200), root)
    assert reduced(forest, root) == root


def test_a_plain_sum_is_written_without_brackets():
    forest = Forest(3, ALL)
    terms = np.array([forest.feature(i) for i in range(3)])
    root = add_plain_sum(forest, WeightedSum(terms, np.array([-2.0, -3.0, 4.0]), -1.5))
    assert to_text(forest, root) == "-2 * x0 - 3 * x1 + 4 * x2 + -1.5"
    found = as_weighted_sum(forest, root)
    assert dict(zip(found.terms.tolist(), found.weights.tolist(), strict=True)) == dict(
        zip(terms.tolist(), [-2.0, -3.0, 4.0], strict=True)
    )
    assert to_text(forest, add_plain_sum(forest, WeightedSum(terms[:0], np.zeros(0), 2.5))) == "2.5"
