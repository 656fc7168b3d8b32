"""The CPU engine's own promises: bits and threads, blocks, memory, vectors, processes."""

import multiprocessing
import tracemalloc

import numpy as np
import pytest

from symgrove import (
    ClassificationError,
    CpuEngine,
    Forest,
    MeanSquaredError,
    PrimitiveSet,
    RandomPrograms,
    SubtreeVariation,
    bootstrap_counts,
    make_dataset,
    partitioned_truncation,
    score,
)
from symgrove.engines import cpu, workspace
from tests.strategies import random_data

PRIMITIVES = PrimitiveSet()


def evolve(engine, samples, n_generations=4, population_size=100, seed=0):
    """A few generations of variation and survival; returns the errors of all generations."""
    forest = Forest(engine.data.n_features, PRIMITIVES)
    source = RandomPrograms(forest)
    vary = SubtreeVariation(source, max_size=100)
    rng = np.random.default_rng(seed)
    population = source.ramped_half_and_half(forest, population_size, rng)
    history = []
    for _ in range(n_generations):
        both = np.concatenate([population, vary(forest, population, rng)])
        errors = score(engine, forest, both, samples, MeanSquaredError()).errors
        history.append(errors)
        population = both[partitioned_truncation(errors, population_size, rng)]
        ids = forest.collect(population)
        engine.collected(forest, ids)
        population = ids[population]
    return history


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("budget", [None, 30_000_000])
def test_same_bits_for_any_number_of_threads(dtype, budget):
    X, y = random_data(0, 20_000, dtype=dtype)
    counts = bootstrap_counts(20_000, 5, seed=0)
    results = []
    for n_threads in (1, 2, 7):
        with CpuEngine(make_dataset(X, y, dtype), PRIMITIVES, n_threads, budget) as engine:
            results.append(evolve(engine, engine.prepare(counts)))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 2e-3)])
def test_block_sizes_change_errors_only_within_a_tolerance(monkeypatch, dtype, tolerance):
    X, y = random_data(1, 3000, dtype=dtype)
    counts = bootstrap_counts(3000, 5, seed=0)
    results = []
    for block_rows in (512, 100, 64):
        for module in (cpu, workspace):
            monkeypatch.setattr(module, "BLOCK_ROWS", block_rows)
            monkeypatch.setattr(module, "PANEL_ROWS", 3 * block_rows)
        with CpuEngine(make_dataset(X, y, dtype), PRIMITIVES) as engine:
            results.append(evolve(engine, engine.prepare(counts), n_generations=1)[0])
    for other in results[1:]:
        np.testing.assert_array_equal(np.isinf(other), np.isinf(results[0]))
        np.testing.assert_allclose(other, results[0], rtol=tolerance)


@pytest.mark.parametrize(
    ("n_threads", "budget", "n_samples"), [(1, 6_400_000, 5), (8, 25_600_000, 5), (2, 128_000_000, 200)]
)
def test_memory_stays_within_the_budget(n_threads, budget, n_samples):
    X, y = random_data(2, 20_000)
    data = make_dataset(X, y)
    with CpuEngine(data, PRIMITIVES, n_threads, budget) as engine:
        samples = engine.prepare(bootstrap_counts(20_000, n_samples, seed=0))
        evolve(engine, samples, n_generations=1, population_size=10)  # compile outside the measurement
        engine.close()
        tracemalloc.start()
        evolve(engine, samples, n_generations=3, population_size=200)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        n_vectors = engine._store.n_vectors
    assert peak < budget
    # And it is used: by vectors of 160 kB.
    assert n_vectors >= 10


def test_a_budget_too_small_for_one_program_gets_a_clear_error():
    X, y = random_data(3, 2000)
    engine = CpuEngine(make_dataset(X, y), PRIMITIVES, memory_budget=10_000)
    forest = Forest(3, PRIMITIVES)
    with pytest.raises(ValueError, match=r"memory_budget=10000 bytes is too small .* at least \d+"):
        engine.moments(forest, [forest.feature(0)], engine.prepare(np.ones((1, 2000))))


def test_the_needed_bytes_that_the_error_names_suffice():
    X, y = random_data(3, 2000)
    forest = Forest(3, PRIMITIVES)
    root = forest.apply("add", forest.feature(0), forest.feature(1))
    with pytest.raises(ValueError, match="at least") as caught:
        CpuEngine(make_dataset(X, y), PRIMITIVES, memory_budget=100).outputs(forest, [root], slice(0, 1999))
    needed = int(str(caught.value).rsplit(" ", 1)[1].rstrip("."))
    engine = CpuEngine(make_dataset(X, y), PRIMITIVES, memory_budget=needed)
    assert engine.outputs(forest, [root], slice(0, 1999)).shape == (1, 1999)


def test_only_nodes_that_are_not_known_are_computed():
    X, y = random_data(4)
    forest = Forest(3, PRIMITIVES)
    engine = CpuEngine(make_dataset(X, y), PRIMITIVES)
    common = forest.apply("mul", forest.feature(0), forest.feature(1))
    first = forest.apply("sqrt", common)
    computed = []
    for roots in ([first], [first], [first], [first], [forest.apply("log", common)]):
        before = engine.n_computed
        engine.outputs(forest, roots)
        computed.append(engine.n_computed - before)
        if len(computed) == 2:
            engine.collected(forest, forest.collect(np.arange(len(forest))))
    # Two nodes, twice; after a collection they are kept, with one copy of the root; only the copy; only the new root.
    assert computed == [2, 2, 3, 1, 1]


def test_programs_of_which_more_is_expected_are_computed_once():
    X, y = random_data(4)
    forest = Forest(3, PRIMITIVES)
    engine = CpuEngine(make_dataset(X, (y > y.mean()) * 1.0), PRIMITIVES)
    roots = RandomPrograms(forest).ramped_half_and_half(forest, 50, np.random.default_rng(0))
    samples = engine.prepare(bootstrap_counts(len(y), 3, seed=0))
    engine.moments(forest, roots, samples, expect_more=True)
    n_computed = engine.n_computed
    score(engine, forest, roots, samples, ClassificationError())
    assert engine.n_computed - n_computed == 2 * roots.size  # copies, for the moments and for the mistakes


def test_another_forest_does_not_see_vectors_of_the_last_one():
    X, y = random_data(5)
    engine = CpuEngine(make_dataset(X, y), PRIMITIVES)
    for name, expected in (("add", X[:, 0] + X[:, 1]), ("sub", X[:, 0] - X[:, 1])):
        forest = Forest(3, PRIMITIVES)
        root = forest.apply(name, forest.feature(0), forest.feature(1))
        for _ in range(3):
            np.testing.assert_array_equal(engine.outputs(forest, [root])[0], expected)


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("drop", ["truncate", "collect"])
def test_nodes_that_take_the_place_of_dropped_ones_get_their_own_outputs(is_told, drop):
    X, y = random_data(5)
    engine = CpuEngine(make_dataset(X, y), PRIMITIVES)
    forest = Forest(3, PRIMITIVES)
    a, b = forest.feature(0), forest.feature(1)
    for name, expected in (("add", X[:, 0] + X[:, 1]), ("sub", X[:, 0] - X[:, 1]), ("mul", X[:, 0] * X[:, 1])):
        root = forest.apply(name, a, b)
        assert root == 2
        for _ in range(3):
            np.testing.assert_array_equal(engine.outputs(forest, [root])[0], expected)
            engine.collected(forest, forest.collect(np.arange(len(forest))))
        ids = forest.truncate(2) if drop == "truncate" else forest.collect([a, b])
        if is_told:
            engine.collected(forest, ids)


def test_an_interrupted_evaluation_leaves_the_engine_usable(monkeypatch):
    X, y = random_data(6, 30_000)
    counts = bootstrap_counts(30_000, 5, seed=0)
    with CpuEngine(make_dataset(X, y), PRIMITIVES, n_threads=2) as engine:
        samples = engine.prepare(counts)
        expected = evolve(engine, samples)
    with CpuEngine(make_dataset(X, y), PRIMITIVES, n_threads=2) as engine:
        samples = engine.prepare(counts)
        reduce, n_calls = cpu.MomentPass.reduce, []

        def reduce_until_interrupted(self, *arguments):
            n_calls.append(1)
            if len(n_calls) == 20:
                raise KeyboardInterrupt
            return reduce(self, *arguments)

        monkeypatch.setattr(cpu.MomentPass, "reduce", reduce_until_interrupted)
        with pytest.raises(KeyboardInterrupt):
            evolve(engine, samples)
        monkeypatch.setattr(cpu.MomentPass, "reduce", reduce)
        for a, b in zip(evolve(engine, samples), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def _evolve_in_child(engine, samples, queue):
    queue.put(evolve(engine, samples, n_generations=2))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_worker_can_go_on_with_the_parents_engine():
    X, y = random_data(7, 20_000)
    with CpuEngine(make_dataset(X, y), PRIMITIVES, n_threads=2) as engine:
        samples = engine.prepare(bootstrap_counts(20_000, 5, seed=0))
        expected = evolve(engine, samples, n_generations=2)  # the pool now has threads, which the child will not have
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=_evolve_in_child, args=(engine, samples, queue))
        process.start()
        result = queue.get(timeout=120)
        process.join(timeout=60)
        assert process.exitcode == 0
    for a, b in zip(result, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"n_threads": 0}, "n_threads must be a whole number"), ({"memory_budget": 0}, "memory_budget must be a whole")],
)
def test_bad_parameters_get_a_clear_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        CpuEngine(make_dataset(np.ones((3, 1)), np.ones(3)), PRIMITIVES, **arguments)


def test_room_of_a_workspace_is_used_again():
    own = workspace.Workspace(3, 2, 100, np.dtype(np.float64))
    first = own.room("weights", (4, 10), np.dtype(np.float64))
    assert np.shares_memory(first, own.room("weights", (5, 6), np.dtype(np.float64)))
    assert not np.shares_memory(first, own.room("others", (4, 10), np.dtype(np.float64)))
    larger = own.room("weights", (9, 10), np.dtype(np.float64))
    assert larger.shape == (9, 10)
    assert larger.flags.c_contiguous
    assert own.room("weights", (2, 3), np.dtype(np.float32)).dtype == np.float32


def test_weights_written_to_given_memory_are_those_made_anew():
    counts, row_weight = np.array([[0, 2, 1], [1, 0, 3]], dtype=np.uint8), np.array([0.5, 1.0, 0.25])
    with CpuEngine(make_dataset(np.ones((3, 1)), [1.0, 2.0, 3.0]), PRIMITIVES) as engine:
        for samples in (engine.prepare(counts), engine.prepare(counts, row_weight)):
            out = np.full((2, 2), np.nan)
            assert samples.of_rows(slice(1, 3), out=out) is out
            np.testing.assert_array_equal(out, samples.of_rows(slice(1, 3)))
