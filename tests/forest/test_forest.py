import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrove import CpuEngine, Forest, make_dataset
from tests.naive import programs as naive
from tests.strategies import ALL, plant, programs, random_data, uproot


@given(st.lists(programs(), min_size=1, max_size=8))
def test_planting_and_uprooting_gives_the_same_programs(population):
    forest = Forest(3, ALL)
    roots = [plant(forest, program) for program in population]
    assert [uproot(forest, root) for root in roots] == population
    assert forest.size(roots).tolist() == [naive.size(p) for p in population]
    assert forest.height(roots).tolist() == [naive.height(p) for p in population]


@given(st.lists(programs(), min_size=1, max_size=8))
def test_equal_programs_have_equal_ids_and_children_come_first(population):
    forest = Forest(3, ALL)
    roots = [plant(forest, program) for program in population]
    n_nodes = len(forest)
    assert [plant(forest, program) for program in population] == roots
    assert len(forest) == n_nodes
    keys = {repr(uproot(forest, node)) for node in range(n_nodes)}
    assert len(keys) == n_nodes
    for node in range(n_nodes):
        assert all(child < node for child in forest.children(node))


@given(st.lists(programs(), min_size=2, max_size=8), st.data())
def test_collect_changes_no_program_and_no_output(population, data):
    forest = Forest(3, ALL)
    roots = np.array([plant(forest, program) for program in population])
    X, y = random_data(0)
    engine = CpuEngine(make_dataset(X, y), ALL)
    kept = data.draw(st.lists(st.sampled_from(range(len(roots))), min_size=1))
    for _ in range(3):  # the second evaluation fills vectors, the third reads them
        before = engine.outputs(forest, np.unique(roots[kept]))
        engine.collected(forest, forest.collect(np.arange(len(forest))))
    ids = forest.collect(roots[kept])
    engine.collected(forest, ids)
    after = ids[np.unique(roots[kept])]
    np.testing.assert_array_equal(engine.outputs(forest, after), before)
    assert [uproot(forest, ids[roots[k]]) for k in kept] == [population[k] for k in kept]
    assert len(forest) == len(forest.reachable(after))
    assert forest.size(ids[roots[kept]]).tolist() == [naive.size(population[k]) for k in kept]
    assert forest.height(ids[roots[kept]]).tolist() == [naive.height(population[k]) for k in kept]
    assert (np.sort(ids[ids >= 0]) == np.arange(len(forest))).all()
    # The table still finds every node.
    assert [plant(forest, population[k]) for k in kept] == [ids[roots[k]] for k in kept]


@given(programs())
def test_tokens_round_trip(program):
    forest = Forest(3, ALL)
    root = plant(forest, program)
    assert forest.intern_tokens(forest.tokens(root)) == root


def test_constants_are_told_apart_by_their_bits():
    forest = Forest(1)
    assert forest.constant(0.0) != forest.constant(-0.0)
    assert forest.constant(0.1) == forest.constant(0.1)
    assert forest.constant(0.1) != forest.constant(np.nextafter(0.1, 1))


def test_a_large_forest_grows_and_keeps_its_nodes():
    forest = Forest(2)
    ids = [forest.constant(float(i)) for i in range(5000)]
    assert ids == list(range(5000))
    assert [forest.constant(float(i)) for i in range(5000)] == ids


def test_sizes_of_programs_too_large_to_count_saturate():
    forest = Forest(1)
    node = forest.feature(0)
    for _ in range(200):
        node = forest.apply("add", node, node)
    assert len(forest) == 201
    assert forest.size(node) == 2**31 - 1
    assert forest.height(node) == 200


def test_truncate_undoes_what_was_appended():
    forest = Forest(2)
    first = forest.apply("add", forest.feature(0), forest.feature(1))
    length = len(forest)
    second = forest.apply("mul", first, first)
    ids = forest.truncate(length)
    assert len(forest) == length
    assert ids.tolist() == [*range(length), -1]
    assert forest.apply("sub", first, first) == second
    assert forest.apply("mul", first, first) == second + 1


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda f: f.feature(2), "feature 2 does not exist; features are 0 to 1"),
        (lambda f: f.constant(np.inf), "constants must be finite"),
        (lambda f: f.apply("add", 0), "'add' takes 2 operands, got 1"),
        (lambda f: f.apply("sqrt", 0, 0), "'sqrt' takes 1 operands, got 2"),
        (lambda f: f.apply("pow", 0, 0), "unknown primitive 'pow'"),
        (lambda f: f.apply("sqrt", 99), "node 99 does not exist"),
        (lambda f: f.collect([99]), "node 99 does not exist"),
        (lambda f: f.size([-1]), "node -1 does not exist"),
        (lambda f: f.size([0.5]), "node ids must be whole numbers"),
        (lambda f: f.feature(1.5), "index must be a whole number"),
        (lambda f: f.truncate(99), "cannot truncate"),
        (lambda f: Forest(0), "n_features must be a whole number of at least 1"),
    ],
)
def test_bad_calls_get_a_clear_error(act, message):
    forest = Forest(2)
    forest.feature(0)
    with pytest.raises(ValueError, match=message):
        act(forest)
