"""The library and its search against the oracle, and the rules that an oracle would share."""

import numpy as np
import pytest

import symgrove as sg
from symgrove.variation.backpropagation import ANY, IMPOSSIBLE, Wanted
from symgrove.variation.library import Library, make_library
from symgrove.variation.library_search import BranchLimits, best_scaled, nearest, standardized, sums_of
from tests.naive import rdo
from tests.naive.programs import tokens
from tests.strategies import uproot

X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.fixture
def forest():
    return sg.Forest(3)


def library_of(forest, texts, max_entries=100, max_height=5, rng=None):
    roots = np.array([sg.parse(forest, text) for text in texts])
    engine = sg.CpuEngine(sg.make_dataset(X, X[:, 0]), forest.primitives)
    return make_library(forest, roots, lambda nodes: engine.outputs(forest, nodes), max_entries, max_height, rng)


def shown(forest, library):
    return [sg.to_text(forest, root) for root in library.root]


def test_entries_are_low_finite_and_not_constant_and_come_in_order_of_size(forest):
    library = library_of(forest, ["(x0 + x1) * 2", "log(x2) + x0 * 3", "x0 - x0", "sqrt(x2)"], max_height=2)
    assert (np.diff(library.size) >= 0).all()
    assert (library.height <= 2).all()
    names = shown(forest, library)
    assert names[:3] == ["x0", "x1", "x2"]
    assert not {"x0 - x0", "2", "3"} & set(names)
    np.testing.assert_array_equal(library.outputs[0], X[:, 0])


def test_of_equal_outputs_the_smallest_subtree_is_stored(forest):
    library = library_of(forest, ["x0 + (x1 - x1)", "x0"])
    assert shown(forest, library) == ["x0", "x1"]


def test_a_full_library_has_subtrees_of_the_first_programs(forest):
    texts = ["(x0 + x2) * x1", "x2 - x1"]
    assert sorted(shown(forest, library_of(forest, texts, max_entries=3))) == ["(x0 + x2) * x1", "x0", "x0 + x2"]
    found = {tuple(shown(forest, library_of(forest, texts, 3, rng=np.random.default_rng(s)))) for s in range(10)}
    assert len(found) > 3


def random_search(seed, n_values):
    """A library, wanted values of which some are any or impossible, weights and room."""
    rng = np.random.default_rng(seed)
    forest = sg.Forest(3)
    texts = ["x0 * x1 + x2", "sqrt(x0) - x1 / x2", "log(x1 + x2 * x0) * x0", "x2 * 3.5 + 1", "(x0 + x1) * (x0 - x1)"]
    library = library_of(forest, texts)
    n_nodes = 8
    values = rng.normal(size=(n_nodes, 20, n_values)) * 10.0 ** rng.integers(-3, 4, size=(n_nodes, 1, 1))
    values[0] = (2 * X[:, 0] * X[:, 1] - 7)[:, None]
    count = rng.integers(1, n_values + 1, size=(n_nodes, 20)).astype(np.int8)
    count[2:, :6] = ANY
    count[4:, 5:9] = IMPOSSIBLE
    weight = rng.integers(0, 3, size=(n_nodes, 20)).astype(float)
    weight[:, 19] = 1.0
    room = BranchLimits(rng.integers(1, 12, size=n_nodes), rng.integers(0, 6, size=n_nodes))
    room.size[0], room.height[0] = 20, 10
    return forest, library, Wanted(values, count), weight, room


def as_lists(wanted, i):
    values, count = wanted.values[i], wanted.n_values[i]
    return [
        "any" if n == ANY else [] if n == IMPOSSIBLE else v[:n].tolist() for v, n in zip(values, count, strict=True)
    ]


def as_tokens(forest, library, match, i):
    if match.entry[i] < 0:
        return [(("constant", match.intercept[i]), 0)]
    found = tokens(uproot(forest, library.root[match.entry[i]]))
    if match.slope[i] != 1:
        found = [("mul", 2), (("constant", match.slope[i]), 0), *found]
    if match.intercept[i] != 0:
        found = [("add", 2), (("constant", match.intercept[i]), 0), *found]
    return found


def assert_same(found, expected):
    assert [t for t, _ in found if t[0] != "constant"] == [t for t, _ in expected if t[0] != "constant"]
    values = [[t[1] for t, _ in program if t[0] == "constant"] for program in (found, expected)]
    np.testing.assert_allclose(*values, rtol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_the_search_with_scaling_is_that_of_the_oracle(seed):
    forest, library, wanted, weight, room = random_search(seed, 1)
    kept = np.where(wanted.n_values > 0, weight, 0.0)
    entries = standardized(library)
    is_whole = (wanted.n_values > 0).all(axis=1)
    match = best_scaled(entries, wanted.values[:, :, 0], kept, sums_of(weight, entries), is_whole, room)
    entry_lists = [(tokens(uproot(forest, root)), o) for root, o in zip(library.root, library.outputs, strict=True)]
    for i in range(len(weight)):
        expected = rdo.best_scaled(as_lists(wanted, i), weight[i], entry_lists, room.size[i], room.height[i])
        assert_same(as_tokens(forest, library, match, i), expected)
    assert uproot(forest, library.root[match.entry[0]]) == ("mul", ("feature", 0), ("feature", 1))
    np.testing.assert_allclose([match.slope[0], match.intercept[0]], [2, -7], rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_search_without_scaling_is_that_of_the_oracle(seed):
    forest, library, wanted, weight, room = random_search(seed, 3)
    match = nearest(library, wanted, np.where(wanted.n_values > 0, weight, 0.0), room)
    entry_lists = [(tokens(uproot(forest, root)), o) for root, o in zip(library.root, library.outputs, strict=True)]
    for i in range(len(weight)):
        expected = rdo.nearest(as_lists(wanted, i), weight[i], entry_lists, room.size[i], room.height[i])
        assert_same(as_tokens(forest, library, match, i), expected)


def test_an_empty_library_leaves_the_constant(forest):
    library = library_of(forest, ["x0 - x0"], max_height=0, max_entries=1)
    empty = Library(*(field[:0] for field in library))
    entries, weight = standardized(empty), np.ones((2, 20))
    query = np.stack([np.full(20, 3.0), X[:, 0]])
    room = BranchLimits(np.array([9, 9]), np.array([9, 9]))
    match = best_scaled(entries, query, weight, sums_of(weight, entries), np.ones(2, dtype=bool), room)
    assert match.entry.tolist() == [-1, -1]
    np.testing.assert_allclose(match.intercept, [3.0, X[:, 0].mean()])


def test_numbers_whose_squares_overflow_are_no_trouble(forest):
    library = library_of(forest, ["x0 * 1e200", "x1"])
    entries, weight = standardized(library), np.ones((1, 20))
    query = (3e250 * X[:, 0] + 1e249)[None, :]
    room = BranchLimits(np.array([9]), np.array([9]))
    match = best_scaled(entries, query, weight, sums_of(weight, entries), np.ones(1, dtype=bool), room)
    assert shown(forest, library)[match.entry[0]] == "x0"
    np.testing.assert_allclose([match.slope[0], match.intercept[0]], [3e250, 1e249], rtol=1e-9)
