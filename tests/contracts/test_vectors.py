"""What every engine promises of vectors that stay where the rows are, compared with the oracle."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgrove import CpuEngine, Forest, make_dataset
from tests.contracts.test_engines import EXACT, distinct_roots, engine_maker, engines
from tests.naive import programs as naive_programs
from tests.naive import vectors as naive
from tests.strategies import ALL, programs, random_data

# Around the sizes of blocks.
N_ROWS = [1, 5, 1023, 1024, 1025, 2500]


@pytest.fixture(scope="module", params=engines())
def make_engine(request):
    yield from engine_maker(request)


@pytest.fixture(scope="module", params=["float64", "float32"])
def dtype(request):
    return request.param


def engine_and_rows(make_engine, n_rows, n_vectors=9, seed=0, dtype="float64"):
    """An engine, and vectors of the host and of the engine."""
    X, y = random_data(seed, n_rows, dtype=dtype)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_vectors, n_rows)) * 10.0 ** rng.integers(-3, 4, size=(n_vectors, 1))
    engine = make_engine(make_dataset(X, y, dtype))
    return engine, rows, engine.put(rows), rng


@settings(max_examples=10)
@given(
    population=st.lists(programs(functions=EXACT), min_size=1, max_size=10), n_rows=st.sampled_from([1, 40, 600, 9000])
)
def test_evaluated_vectors_are_the_outputs(make_engine, dtype, population, n_rows):
    forest = Forest(3, ALL)
    roots, population = distinct_roots(forest, population)
    X, y = random_data(1, n_rows, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    expected = np.array([naive_programs.evaluate(program, X) for program in population])
    for _ in range(3):  # computed, then found, then found after a collection
        np.testing.assert_array_equal(engine.fetch(engine.evaluate(forest, roots, keep=True)), expected)
        np.testing.assert_array_equal(engine.fetch(engine.evaluate(forest, roots)), expected)
        engine.collected(forest, forest.collect(np.arange(len(forest))))


def test_kept_vectors_are_not_computed_again(make_engine):
    X, y = random_data(1, 3000)
    engine = make_engine(make_dataset(X, y))
    forest = Forest(3, ALL)
    roots = np.array([forest.apply("mul", forest.feature(i), forest.feature((i + 1) % 3)) for i in range(3)])
    engine.evaluate(forest, roots, keep=True)
    n_computed = engine.n_computed
    engine.evaluate(forest, roots[::-1], keep=True)
    assert engine.n_computed == n_computed
    engine.evaluate(forest, roots)
    assert engine.n_computed > n_computed  # copies are steps too


def test_more_vectors_than_fit_are_still_right():
    X, y = random_data(1, 5000)
    engine = CpuEngine(make_dataset(X, y), ALL, memory_budget=3_000_000)  # room for some fifty vectors
    forest = Forest(3, ALL)
    roots = np.array([forest.apply("add", forest.feature(i % 3), forest.constant(i)) for i in range(150)])
    for _ in range(2):
        kept = engine.evaluate(forest, roots, keep=True)
        np.testing.assert_array_equal(engine.fetch(kept), X[:, np.arange(150) % 3].T + np.arange(150)[:, None])
        engine.collected(forest, forest.collect(np.arange(len(forest))))
    some = engine.evaluate(forest, roots[:20], keep=True)
    np.testing.assert_array_equal(engine.fetch(some), X[:, np.arange(20) % 3].T + np.arange(20)[:, None])


def test_handles_are_chosen_joined_and_standardised(make_engine, dtype):
    engine, rows, vectors, _ = engine_and_rows(make_engine, 40, dtype=dtype)
    assert len(vectors) == 9
    np.testing.assert_array_equal(engine.fetch(vectors[[3, 3, 0]]), rows[[3, 3, 0]])
    both = vectors[[1]] + vectors[[8, 2]]
    np.testing.assert_array_equal(engine.fetch(both), rows[[1, 8, 2]])
    centre, spread = rows.mean(axis=1), rows.std(axis=1)
    z = vectors.standardized(centre, spread)
    np.testing.assert_allclose(engine.fetch(z), (rows - centre[:, None]) / spread[:, None], rtol=1e-12, atol=1e-12)
    again = z.standardized(np.full(9, 2.0), np.full(9, 4.0))
    np.testing.assert_allclose(engine.fetch(again), (engine.fetch(z) - 2) / 4, rtol=1e-11, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), n_rows=st.sampled_from(N_ROWS), is_weighted=st.booleans())
def test_products_are_weighted_sums(make_engine, data, n_rows, is_weighted):
    engine, rows, vectors, rng = engine_and_rows(make_engine, n_rows)
    n_products, n_left, n_right = (data.draw(st.integers(1, 6)) for _ in range(3))
    left_index = rng.integers(-1, 9, size=(n_products, n_left))
    right_index = rng.integers(-1, 9, size=(n_products, n_right))
    weights = rng.integers(0, 3, size=(n_products, n_rows)).astype(float) if is_weighted else None
    found = engine.products(vectors, vectors, engine.put(weights) if is_weighted else None, left_index, right_index)
    expected = naive.products(rows, rows, weights, left_index, right_index)
    size = np.sqrt((rows**2).sum(axis=1))
    tolerance = 1e-13 * np.where(left_index < 0, 0, size[left_index])[:, :, None] * size[right_index][:, None, :]
    assert (np.abs(found - expected) <= 3 * tolerance).all()


def test_products_without_an_index_are_of_all_vectors(make_engine):
    engine, rows, vectors, rng = engine_and_rows(make_engine, 1500, n_vectors=150)
    few = vectors[np.arange(7)]
    found = engine.products(few, vectors)
    assert found.shape == (1, 7, 150)
    np.testing.assert_allclose(found[0], rows[:7] @ rows.T, rtol=1e-9, atol=1e-6)
    weights = rng.random((3, 1500))
    found = engine.products(few, vectors, engine.put(weights))
    np.testing.assert_allclose(found, np.einsum("jn,an,bn->jab", weights, rows[:7], rows), rtol=1e-9, atol=1e-6)
    assert engine.products(few[[]], vectors).shape == (1, 0, 150)
    # Of vectors with themselves.
    np.testing.assert_allclose(engine.products(vectors, vectors)[0], rows @ rows.T, rtol=1e-9, atol=1e-6)
    for n in (5, 32, 53, 64, 65, 96, 101, 128, 129):
        index = rng.integers(-1, 150, size=(3, n))
        found = engine.products(vectors, vectors, engine.put(weights), index, index)
        own = np.where(index[:, :, None] < 0, 0.0, rows[index])
        np.testing.assert_allclose(found, (own * weights[:, None]) @ own.transpose(0, 2, 1), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("n", [1, 6, 40, 103])
def test_products_of_vectors_of_both_precisions(make_engine, dtype, n):
    """Those that were evaluated, standardised, beside one of the host."""
    engine, _, ones, _ = engine_and_rows(make_engine, 700, n_vectors=1, dtype=dtype)
    forest = Forest(3, ALL)
    roots = np.array([forest.apply("mul", forest.feature(i % 3), forest.constant(1.0 + i)) for i in range(n)])
    vectors = ones + engine.evaluate(forest, roots).standardized(np.linspace(-1, 1, n), np.linspace(1, 2, n))
    rows = engine.fetch(vectors)
    index, weights = np.arange(n + 1)[None], np.arange(700.0)[None] % 3
    for weight, own in (None, rows), (engine.put(weights), rows * weights):
        np.testing.assert_allclose(engine.products(vectors, vectors, weight, index, index)[0], own @ rows.T, rtol=1e-9)
        found = engine.products(vectors, vectors, weight, index[:, -1:], index)
        np.testing.assert_allclose(found[0, 0], rows @ own[-1], rtol=1e-9)


def hostile_rows(n_rows):
    rows = np.random.default_rng(0).normal(size=(6, n_rows))
    rows[1, 7], rows[2, 7], rows[3, 7] = np.inf, np.nan, -np.inf
    rows[4] *= 1e150
    rows[5, 7] = 1e308
    return rows


@pytest.mark.parametrize("n_rows", [30, 3000])
def test_rows_of_weight_zero_do_not_enter(make_engine, n_rows):
    rows = hostile_rows(n_rows)
    engine, *_ = engine_and_rows(make_engine, n_rows)
    vectors = engine.put(rows)
    weights = np.random.default_rng(1).random((2, n_rows))
    weights[0, 7] = 0
    index = np.tile(np.arange(6), (2, 1))
    found = engine.products(vectors, vectors, engine.put(weights), index, index)
    expected = naive.products(rows, rows, weights, index, index)
    size = np.sqrt((np.delete(rows, 7, axis=1) ** 2).sum(axis=1))
    with np.errstate(all="ignore"):
        assert (np.abs(found - expected)[0] <= 1e-12 * size[:, None] * size).all()
    assert np.isfinite(found[0][:4]).all()
    assert not np.isfinite(found[1][1:4]).any()  # there it weighs
    squares = engine.squares(vectors, engine.put(weights), index)
    np.testing.assert_allclose(squares[0], np.diag(expected[0]), rtol=1e-12)
    np.testing.assert_array_equal(np.isfinite(engine.squares(vectors, engine.put(weights))), np.isfinite(squares))
    sums = engine.sums(lambda x: x, vectors, weights=engine.put(weights[[0] * 6]))
    np.testing.assert_allclose(sums, [naive.weighted_sum(row, weights[0]) for row in rows], rtol=1e-9)


LIMIT = 0.75


def bent(x):
    return np.where(x > LIMIT, LIMIT, np.clip(x, -LIMIT, 2.0)) ** 2


def by_function(scale, inner=bent):
    """Functions of functions and of numbers from outside, which may change from one call to the next."""
    return {
        "nested": lambda w, x: np.maximum(w, 0.1) * inner(x + scale * w) ** 3.0,
        "whole arrays": lambda w, x: np.add(scale * w, x, dtype=np.float64),  # cannot be written in C
    }


@pytest.mark.parametrize("name", ["nested", "whole arrays"])
def test_functions_may_call_others_and_hold_numbers(make_engine, dtype, name):
    n_rows = 2500
    engine = make_engine(make_dataset(*random_data(0, n_rows, dtype=dtype)))
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(2, 3, n_rows))
    weight = rng.random((3, n_rows)) * (rng.random((3, n_rows)) > 0.3)
    own = [engine.put(rows) for rows in (w, x)]
    for scale in (0.5, 2.0, np.float32(-1.5)):
        function = by_function(scale)[name]
        expected = function(w, x)
        np.testing.assert_allclose(engine.fetch(engine.apply(function, *own)), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(engine.sums(function, *own), expected.sum(axis=1), rtol=1e-12)
        found = engine.sums(function, *own, weights=engine.put(weight))
        np.testing.assert_allclose(found, (weight * expected).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("n_rows", N_ROWS)
def test_squares_combinations_functions_and_sums(make_engine, dtype, n_rows):
    engine, rows, vectors, rng = engine_and_rows(make_engine, n_rows, dtype=dtype)
    weights = rng.random((4, n_rows))
    on_engine = engine.put(weights)
    np.testing.assert_allclose(engine.squares(vectors, on_engine), weights @ (rows**2).T, rtol=1e-12)
    index = rng.integers(-1, 9, size=(4, 5))
    expected = np.where(index < 0, 0.0, np.take_along_axis(weights @ (rows**2).T, index, axis=1))
    np.testing.assert_allclose(engine.squares(vectors, on_engine, index), expected, rtol=1e-12)
    coefficients = rng.normal(size=(4, 5)) * rng.integers(0, 2, size=(4, 5))
    found = engine.fetch(engine.combine(coefficients, vectors, index))
    expected = [naive.combination(c, rows, i) for c, i in zip(coefficients, index, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    all_of_them = rng.normal(size=(2, 9))
    np.testing.assert_allclose(
        engine.fetch(engine.combine(all_of_them, vectors)), all_of_them @ rows, rtol=1e-9, atol=1e-9
    )
    made = engine.apply(lambda w, x: np.exp(-w) * x, on_engine, vectors[[5, 1, 1, 0]])
    np.testing.assert_allclose(engine.fetch(made), np.exp(-weights) * rows[[5, 1, 1, 0]], rtol=1e-14)
    expected = (weights * np.abs(rows[:4])).sum(axis=1)
    np.testing.assert_allclose(engine.sums(np.abs, vectors[np.arange(4)], weights=on_engine), expected, rtol=1e-12)
    np.testing.assert_allclose(engine.sums(np.abs, vectors), np.abs(rows).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("n_rows", N_ROWS)
def test_distances(make_engine, n_rows):
    engine, rows, vectors, rng = engine_and_rows(make_engine, n_rows)
    for n_dimensions in (1, 3, 4, 7):
        index = rng.integers(-2, 9, size=(5, n_dimensions))
        centres, factors = rng.normal(size=(5, n_dimensions)), rng.normal(size=(5, n_dimensions, n_dimensions))
        factors[::2] = np.tril(factors[::2])
        found = engine.fetch(engine.distances(vectors, index, centres, factors))
        expected = [naive.distance(rows, *each) for each in zip(index, centres, factors, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="do not go with"):
        engine.distances(vectors, index, centres[:, 1:], factors)


def test_a_vector_with_coefficient_zero_does_not_enter(make_engine):
    engine, *_ = engine_and_rows(make_engine, 30)
    vectors = engine.put(hostile_rows(30))
    found = engine.fetch(engine.combine(np.array([[2.0, 0.0]]), vectors, np.array([[0, 2]])))
    np.testing.assert_array_equal(found[0], 2 * hostile_rows(30)[0])


@pytest.mark.parametrize("n_rows", [3, 2047, 2048, 2049, 7000])
def test_summaries_say_what_is_known(make_engine, dtype, n_rows):
    forest = Forest(3, ALL)
    X, y = random_data(2, n_rows, dtype=dtype)
    X[:, 0] += 1000  # digits must not be lost
    engine = make_engine(make_dataset(X, y, dtype))
    rng = np.random.default_rng(0)
    weight, direction = rng.integers(0, 3, size=n_rows) / n_rows, rng.normal(size=n_rows)
    weight[0] = 1.0
    roots = np.array([forest.apply("mul", forest.feature(1), forest.feature(2)), forest.feature(0)])
    vectors = engine.evaluate(forest, roots)
    outputs = engine.outputs(forest, roots).astype(np.float64)
    for handle, values in (
        (vectors, outputs),
        (vectors.standardized(np.ones(2), np.full(2, -3.0)), (outputs - 1) / -3),
    ):
        found = engine.summaries(handle, weight, direction)
        expected = np.array([naive.summary(own, weight, direction) for own in values]).T
        np.testing.assert_allclose(np.array(found)[:4], expected[:4], rtol=1e-9, atol=1e-12)
        scale = expected[3] * np.linalg.norm(direction) + 1e-12 * np.abs(expected[2])
        assert (np.abs(found.projection - expected[4]) <= 1e-9 * scale + 1e-9).all()


def test_summaries_show_what_is_not_finite(make_engine):
    engine, *_ = engine_and_rows(make_engine, 3000)
    found = engine.summaries(engine.put(hostile_rows(3000)), np.full(3000, 1 / 3000), np.ones(3000))
    is_finite = np.isfinite(found.low) & np.isfinite(found.high)
    assert is_finite.tolist() == [True, False, False, False, True, True]
    negative_nan = np.zeros((1, 3000))
    negative_nan[0, 2999] = -np.nan
    found = engine.summaries(engine.put(negative_nan), np.full(3000, 1 / 3000), np.ones(3000))
    assert not np.isfinite(found.low + found.high)[0]


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    X, y = random_data(3, 5000, dtype="float32")
    rows, weights = rng.normal(size=(200, 5000)), rng.random((7, 5000))
    index, coefficients = rng.integers(0, 200, size=(7, 30)), rng.normal(size=(7, 30))
    results = []
    for n_threads in (1, 2, 3):
        engine = CpuEngine(make_dataset(X, y, "float32"), ALL, n_threads=n_threads)
        vectors, on_engine = engine.put(rows), engine.put(weights)
        results.append(
            [
                engine.products(vectors, vectors, on_engine, index, index),
                engine.products(on_engine, vectors),
                engine.squares(vectors, on_engine, index),
                engine.fetch(engine.combine(coefficients, vectors, index)),
                engine.fetch(engine.apply(np.exp, vectors)),
                engine.fetch(
                    engine.distances(vectors, index, coefficients, coefficients[:, :, None] * coefficients[0])
                ),
                engine.sums(np.exp, vectors),
                *engine.summaries(vectors, weights[0], weights[1]),
            ]
        )
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_number_of_threads_changes_no_bit_however_small_the_budget():
    """What is kept decides how programs are cut into batches, and that decides the last bits."""
    X, y = random_data(3, 4096)
    counts = np.random.default_rng(0).integers(0, 3, size=(5, 4096))
    for budget in (4_300_000, 5_000_000, 6_000_000):
        results = []
        for n_threads in (1, 4):
            forest = Forest(3, ALL)
            small = [forest.apply("mul", forest.feature(i % 3), forest.constant(i)) for i in range(110)]
            deep = []
            for i in range(40):
                node = small[i]
                for other in small[i + 1 : i + 60]:
                    node = forest.apply("add", node, other)
                deep.append(node)
            engine = CpuEngine(make_dataset(X, y), ALL, n_threads=n_threads, memory_budget=budget)
            samples = engine.prepare(counts)
            engine.moments(forest, np.array(small), samples, expect_more=True)
            results.append(engine.moments(forest, np.array(deep), samples))
            engine.close()
        for a, b in zip(results[0][1:], results[1][1:], strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_forgotten_comes_again_and_other_vectors_stay(make_engine):
    engine, rows, vectors, _ = engine_and_rows(make_engine, 3000)
    made = engine.combine(np.ones((1, 9)), vectors), engine.apply(np.abs, vectors)
    before = [engine.fetch(handle) for handle in made]
    forest = Forest(3, ALL)
    roots = np.array([forest.apply("square", forest.feature(1)), forest.feature(2)])
    expected = engine.fetch(engine.evaluate(forest, roots, keep=True))
    for free in (engine.forget, engine.close):
        free()
        for handle, known in zip(made, before, strict=True):
            np.testing.assert_array_equal(engine.fetch(handle), known)
        np.testing.assert_array_equal(engine.fetch(vectors), rows)
        np.testing.assert_array_equal(engine.fetch(engine.evaluate(forest, roots, keep=True)), expected)


def test_rows_of_another_shape_are_refused(make_engine):
    engine, *_ = engine_and_rows(make_engine, 30)
    with pytest.raises(ValueError, match=r"rows must have shape \(n_vectors, 30\), got \(2, 29\)"):
        engine.put(np.ones((2, 29)))


def test_work_on_vectors_can_be_ended(make_engine):
    engine, _, vectors, _ = engine_and_rows(make_engine, 5000)

    def check():
        raise TimeoutError

    engine.watch(check)
    for call in (lambda: engine.products(vectors, vectors), lambda: engine.sums(np.abs, vectors)):
        with pytest.raises(TimeoutError):
            call()
    engine.watch(None)
    assert engine.products(vectors, vectors).shape == (1, 9, 9)


def test_bad_indices_and_sets_are_refused(make_engine):
    engine, _, vectors, _ = engine_and_rows(make_engine, 30)
    with pytest.raises(ValueError, match="an index must be a matrix of positions below 9"):
        engine.products(vectors, vectors, None, np.array([[9]]), np.array([[0]]))
    with pytest.raises(ValueError, match="equally many products, got"):
        engine.products(vectors, vectors, vectors[[0]], np.array([[1], [2]]), None)
    with pytest.raises(ValueError, match=r"coefficients of shape \(1, 2\) do not go with \(1, 9\)"):
        engine.combine(np.ones((1, 2)), vectors)
    with pytest.raises(ValueError, match=r"equally many vectors, got \[9, 2\]"):
        engine.apply(np.add, vectors, vectors[[0, 1]])
    for shapes in ((31, 30), (30, 29)):
        with pytest.raises(ValueError, match=r"weight and direction must have shape \(30,\), got"):
            engine.summaries(vectors, *map(np.ones, shapes))
    with pytest.raises(ValueError, match="an index must hold whole numbers, got float64"):
        engine.combine(np.ones((1, 1)), vectors, np.array([[1.5]]))
    with pytest.raises(ValueError, match="a mask of 9 vectors must have as many entries"):
        vectors[np.ones(8, dtype=bool)]
    other, _, longer, _ = engine_and_rows(make_engine, 40)
    with pytest.raises(ValueError, match="different rows"):
        engine.products(vectors, longer)
    del other


def test_a_mask_chooses_vectors(make_engine):
    engine, rows, vectors, _ = engine_and_rows(make_engine, 30)
    mask = np.arange(9) % 2 == 0
    np.testing.assert_array_equal(engine.fetch(vectors[mask]), rows[mask])


def test_a_handle_keeps_what_it_stands_for(make_engine):
    X, y = random_data(1, 3000)
    engine, forest = make_engine(make_dataset(X, y)), Forest(3, ALL)
    roots = np.array([forest.feature(0), forest.apply("square", forest.feature(1))])
    kept = engine.evaluate(forest, roots, keep=True)
    fetch = type(engine).fetch
    del engine
    junk = [np.full(3000, 7.0) for _ in range(50)]
    np.testing.assert_array_equal(fetch(None, kept), [X[:, 0], X[:, 1] ** 2])
    del junk


@pytest.mark.parametrize("n_threads", [1, 2])
def test_functions_that_overflow_do_not_warn(n_threads):
    X, y = random_data(3, 5000)
    engine = CpuEngine(make_dataset(X, y), ALL, n_threads=n_threads)
    huge = engine.put(np.full((40, 5000), 1e6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(engine.sums(np.exp, huge)).all()
        assert np.isinf(engine.fetch(engine.apply(np.exp, huge))).all()
