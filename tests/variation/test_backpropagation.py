"""Inversions: exact, complete as far as the oracle is, and pushed down whole programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrove as sg
from symgrove.variation import backpropagation_kernels as kernels
from symgrove.variation.backpropagation import BINARY_RULES, RULES, choose_paths, rules_of, siblings_on, wanted_at
from tests.naive import rdo
from tests.naive.programs import MEANING, tokens
from tests.strategies import ALL, plant, programs, random_data

sizes = st.one_of(st.floats(1e-90, 1e90), st.floats(0.01, 100), st.sampled_from([1e-10, 1.0, 2.0, 80.0, np.exp(80.0)]))
hostile = st.one_of(st.just(0.0), st.builds(lambda size, sign: size * sign, sizes, st.sampled_from([-1.0, 1.0])))
EXACT = [name for name in RULES if not name.startswith("public")]
PLACES = [(name, place) for name in EXACT for place in ((0, 1) if name in BINARY_RULES else (0,))]


def inverted(name, place, t, c, epsilon):
    values, count = np.zeros((1, 2)), np.zeros(1, dtype=np.int64)
    kernels.invert(1 + RULES.index(name), place, np.array([t]), np.array([c]), epsilon, values, count)
    found = values[0, : max(count[0], 0)]
    return "any" if count[0] == kernels.ANY else list(dict.fromkeys(found[np.isfinite(found)].tolist()))


def apply(name, place, value, c, epsilon):
    operands = [np.array([value])] if name not in BINARY_RULES else [np.array([value]), np.array([c])]
    with np.errstate(all="ignore"):
        return MEANING[name](*(operands if place == 0 else operands[::-1]), epsilon)[0]


@pytest.mark.parametrize(("name", "place"), PLACES)
@given(t=hostile, c=hostile, epsilon=st.sampled_from([1e-10, 1e-2, 0.0]))
@settings(max_examples=60, deadline=None)
def test_a_function_of_what_its_inversion_gives_is_what_was_wanted(name, place, t, c, epsilon):
    found = inverted(name, place, t, c, epsilon)
    expected = rdo.invert(name, place, t, c, epsilon)
    if "any" in (found, expected):
        assert found == expected
        assert all(apply(name, place, value, c, epsilon) == t for value in (-3.0, 0.5, 1e6))
        return
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for value in found:
        tolerance = 1e-12 * (abs(t) + (abs(c) if name in ("add", "sub") else 0) + (name in ("log", "sin", "cos")))
        assert abs(apply(name, place, value, c, epsilon) - t) <= tolerance + 1e-180


@pytest.mark.parametrize(
    ("name", "place", "t", "c", "expected"),
    [
        ("sub", 0, 5.0, 2.0, [7.0]),
        ("sub", 1, 5.0, 2.0, [-3.0]),
        ("mul", 0, 0.0, 0.0, "any"),
        ("mul", 1, 1.0, 0.0, []),
        ("div", 1, 0.0, 0.0, "any"),
        ("div", 1, 0.0, 1.0, []),
        ("div", 1, 1e12, 1.0, []),
        ("div", 1, -2.0, 1.0, [-0.5 + 1e-10]),
        ("sqrt", 0, -1.0, 0.0, []),
        ("sqrt", 0, 3.0, 0.0, [9.0, -9.0]),
        ("log", 0, -30.0, 0.0, []),
        ("log", 0, 1000.0, 0.0, []),
        ("min", 0, 3.0, 2.0, []),
        ("max", 1, 3.0, 2.0, [3.0]),
        ("aq", 1, 1.0, 0.5, []),
        ("exp", 0, -1.0, 0.0, []),
    ],
)
def test_cases_that_can_be_checked_by_hand(name, place, t, c, expected):
    found = inverted(name, place, t, c, 1e-10)
    assert found == (expected if expected == "any" else pytest.approx(expected))


@given(program=programs(max_leaves=12), seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_wanted_values_at_a_node_are_those_of_the_oracle(program, seed):
    X, y = random_data(seed, n_rows=12)
    forest = sg.Forest(3, ALL)
    root = np.array([plant(forest, program)])
    paths = choose_paths(forest, root, np.random.default_rng(seed))
    position = position_of(tokens(program), paths)
    siblings = siblings_on(forest, paths)
    distinct = np.unique(siblings[siblings >= 0])
    outputs = sg.CpuEngine(sg.make_dataset(X, y), ALL).outputs(forest, distinct)
    values, count = wanted_at(forest, rules_of(ALL), paths, siblings, y[None, :], distinct, outputs, 8)
    with np.errstate(all="ignore"):
        expected = rdo.wanted_at(tokens(program), position, y, X)
    for k, wanted in enumerate(expected):
        if wanted == "any":
            assert count[0, k] == kernels.ANY
        else:
            np.testing.assert_allclose(values[0, k, : count[0, k]], wanted, rtol=1e-6, atol=1e-9)


def position_of(prefix, paths):
    """Where the end of the first path stands in a prefix list."""
    at = 0
    for side in paths.side[0, : paths.depth[0]]:
        at = rdo.children_of(prefix, at)[side]
    return at


def test_nothing_below_a_function_without_inversion_is_chosen():
    double = sg.primitive(lambda a: 2 * a, name="double")
    primitives = sg.PrimitiveSet(("add", "step", double))
    forest = sg.Forest(2, primitives)
    rules = rules_of(primitives)
    assert [rules[primitives[name].code] > 0 for name in ("add", "step", "double")] == [True, False, False]
    root = sg.parse(forest, "x0 + double(step(x0 + x1, x1) + x0)")
    ends = set()
    for seed in range(50):
        paths = choose_paths(forest, np.array([root]), np.random.default_rng(seed))
        ends.add(forest.name(paths.node[0, paths.depth[0]]))
    assert ends == {"add", "feature", "double"}
