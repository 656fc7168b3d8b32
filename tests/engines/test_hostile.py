"""Numbers at the edge of what floats hold, users who share or mix things up, and functions that misbehave."""

import copy
import pickle
import threading

import numpy as np
import pytest

from symgrove import (
    ClassificationError,
    CpuEngine,
    Forest,
    MeanSquaredError,
    PrimitiveSet,
    RandomPrograms,
    bootstrap_counts,
    make_dataset,
    parse,
    primitive,
    score,
)
from tests.engines.test_scoring import N_ROWS, assert_matches, counts, make_outputs, score_columns
from tests.naive import fitness as naive
from tests.strategies import ALL, random_data


@pytest.mark.parametrize("outlier", [1e120, 1e160, 1e250, 1e300])
def test_outliers_near_the_end_of_float64_on_rows_of_weight_zero(outlier):
    o, y = make_outputs()
    o[3] = outlier
    without = counts.copy()
    without[:, 3] = 0
    assert_matches(score_columns([o], y, without, MeanSquaredError()), [o], y, without, rtol=1e-9)


@pytest.mark.parametrize(("dtype", "outlier"), [("float32", 1e22), ("float32", 1e37), ("float64", 1e165)])
def test_squares_that_underflow_are_noticed(dtype, outlier):
    """More than half of the outputs are equal, so that the scale comes from the largest one."""
    o, y = make_outputs()
    o = np.maximum(o - 1, 0).astype(dtype).astype(float)
    o[3] = outlier
    without = counts.copy()
    without[:, 3] = 0
    scores = score_columns([o], y, without, MeanSquaredError(), dtype)
    o = o.astype(dtype).astype(float)
    assert_matches(scores, [o], y, without, rtol=1e-9 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize(("dtype", "offset"), [("float32", 1e4), ("float32", 1e8), ("float64", 1e10)])
def test_samples_whose_targets_are_far_from_the_others(dtype, offset):
    o, y = make_outputs()
    o = o.astype(dtype).astype(float)
    y[:100] += offset
    far = np.zeros((1, N_ROWS), dtype=int)
    far[0, :100] = 1
    scores = score_columns([o], y, far, MeanSquaredError(), dtype)
    np.testing.assert_allclose(scores.errors[0, 0], naive.scaled_squared_error(o, y, far[0]), rtol=1e-4)


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
def test_nearly_perfect_programs_on_targets_with_an_offset_in_float32(offset):
    o, _ = make_outputs()
    o = o.astype(np.float32).astype(float)
    y = o + 0.02 * np.random.default_rng(7).normal(size=N_ROWS) + offset
    scores = score_columns([o], y, counts, MeanSquaredError(), "float32")
    expected = [naive.scaled_squared_error(o, y, w) for w in counts]
    np.testing.assert_allclose(scores.errors[0], expected, rtol=0.02)


def test_targets_too_large_to_square_give_inf_and_no_crash():
    o, y = make_outputs()
    scores = score_columns([o], y * 1e160, counts, MeanSquaredError())
    assert np.isposinf(scores.errors).all()


@pytest.mark.parametrize("scaling", [True, False])
def test_sample_weights_count_in_classification_and_without_scaling(scaling):
    o, y = make_outputs()
    labels = (y > np.median(y)).astype(float)
    weight = np.random.default_rng(1).random(N_ROWS)
    scores = score_columns([o], labels, counts, ClassificationError(scaling), weight=weight)
    for j, w in enumerate(counts * weight):
        slope, intercept = naive.linear_scaling(o, labels, w) if scaling else (1.0, 0.0)
        expected = naive.classification_error(o, labels, w, slope, intercept)
        np.testing.assert_allclose(scores.errors[0, j], expected, rtol=1e-12)
    plain = score_columns([o], y, counts, MeanSquaredError(linear_scaling=False), weight=weight)
    expected = [naive.squared_error(o, y, w) for w in counts * weight]
    np.testing.assert_allclose(plain.errors[0], expected, rtol=1e-9)


def test_an_output_of_exactly_one_half_is_class_zero():
    o = np.array([0.5, 0.5, 1.0, 0.0])
    scores = score_columns([o], np.array([0.0, 1.0, 1.0, 0.0]), np.ones((1, 4)), ClassificationError(False))
    assert scores.errors[0, 0] == 0.25


@pytest.mark.parametrize("labels", [(1.0, 2.0), (-1.0, 1.0), (0.0, 2.0)])
def test_labels_other_than_zero_and_one_are_refused(labels):
    o, y = make_outputs()
    with pytest.raises(ValueError, match="needs targets of 0 and 1"):
        score_columns([o], np.where(y > 0, *labels), counts, ClassificationError())


@pytest.mark.parametrize("tiny", [1e-50, 1e39, 1e300])
def test_only_ratios_of_sample_weights_matter(tiny):
    o, y = make_outputs()
    expected = score_columns([o], y, counts, MeanSquaredError(), "float32").errors
    scores = score_columns([o], y, counts, MeanSquaredError(), "float32", weight=np.full(N_ROWS, tiny))
    np.testing.assert_allclose(scores.errors, expected, rtol=1e-5)


def test_a_node_whose_operands_are_one_and_the_same():
    X, y = random_data(0, 50)
    forest = Forest(3, ALL)
    root = parse(forest, "(x0 + x1) * (x0 + x1) - sqrt(x1 * x2) * sqrt(x1 * x2) + (x0 - x2)")
    s, t = X[:, 0] + X[:, 1], np.sqrt(np.abs(X[:, 1] * X[:, 2]))
    expected = s * s - t * t + (X[:, 0] - X[:, 2])
    np.testing.assert_array_equal(CpuEngine(make_dataset(X, y), ALL).outputs(forest, [root])[0], expected)


def test_a_range_of_rows_is_not_taken_for_all_rows():
    X, y = random_data(0, 50)
    forest = Forest(3, ALL)
    root = parse(forest, "sqrt(x0 + x1)")
    engine = CpuEngine(make_dataset(X, y), ALL)
    for rows in (slice(0, 10), slice(20, 30), None, slice(5, 6), None):
        expected = np.sqrt(np.abs(X[:, 0] + X[:, 1]))[rows or slice(None)]
        np.testing.assert_array_equal(engine.outputs(forest, [root], rows)[0], expected)
        engine.collected(forest, forest.collect([root]))
        root = len(forest) - 1


def test_kept_vectors_are_used_after_a_collection_and_freed_when_their_nodes_die():
    X, y = random_data(0, 50)
    primitives = PrimitiveSet()
    forest = Forest(3, primitives)
    engine = CpuEngine(make_dataset(X, y), primitives)
    for round_ in range(50):
        root = parse(forest, f"sqrt(x0 + {round_ + 0.5}) * log(x1 - {round_})")
        for _ in range(3):
            engine.outputs(forest, [root])
            ids = forest.collect([root])
            engine.collected(forest, ids)
            root = int(ids[root])
        before = engine.n_computed
        engine.outputs(forest, [root])
        assert engine.n_computed - before == 1  # the copy of the kept root
    assert (engine._store.addresses_of(np.arange(len(forest))) != 0).sum() == 5
    assert len(engine._store._free) + 5 == engine._store.n_vectors


def test_engines_refuse_forests_and_samples_that_are_not_theirs():
    X, y = random_data(0, 50)
    engine = CpuEngine(make_dataset(X, y), PrimitiveSet())
    wide = Forest(7)
    with pytest.raises(ValueError, match="the forest has 7 features, the data 3"):
        engine.outputs(wide, [wide.feature(6)])
    for primitives in (PrimitiveSet(epsilon=1e-3), PrimitiveSet(("add", primitive(lambda x: x * 2.0, name="twice")))):
        other = Forest(3, primitives)
        with pytest.raises(ValueError, match="same primitives and epsilon"):
            engine.outputs(other, [other.feature(0)])
    own = Forest(3, PrimitiveSet())
    short = CpuEngine(make_dataset(X[:20], y[:20]), PrimitiveSet()).prepare(np.ones((2, 20)))
    with pytest.raises(ValueError, match="samples have 20 rows, the data 50"):
        engine.moments(own, [own.feature(0)], short)
    with pytest.raises(ValueError, match="without steps"):
        engine.outputs(own, [0], slice(0, 10, 2))
    with pytest.raises(TypeError, match="takes a Dataset"):
        CpuEngine(X, PrimitiveSet())


def test_threads_may_share_an_engine():
    X, y = random_data(0, 5000)
    forest = Forest(3, ALL)
    roots = RandomPrograms(forest).ramped_half_and_half(forest, 80, np.random.default_rng(0))
    engine = CpuEngine(make_dataset(X, y), ALL, n_threads=2)
    samples = engine.prepare(bootstrap_counts(5000, 5, seed=0))
    groups = [np.sort(np.random.default_rng(k).choice(roots, 30, replace=False)) for k in range(4)]
    expected = [score(engine, forest, group, samples, MeanSquaredError()).errors for group in groups]
    wrong = []

    def work(k):
        for _ in range(10):
            if not np.array_equal(score(engine, forest, groups[k], samples, MeanSquaredError()).errors, expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_forests_and_sources_work_like_the_originals(duplicate):
    forest = Forest(2)
    forest.constant(7.0)
    twin = duplicate(forest)
    assert twin.constant(7.0) == 0
    assert twin.constant(0.0) == 1
    source = RandomPrograms(forest)
    forests = Forest(2), Forest(2)
    first, second = (
        own.ramped_half_and_half(f, 50, np.random.default_rng(0))
        for own, f in zip((source, duplicate(source)), forests, strict=True)
    )
    np.testing.assert_array_equal(first, second)
    assert len(forests[0]) == len(forests[1])


def test_data_that_the_caller_changes_later_do_not_matter():
    X = np.asfortranarray(np.ones((5, 2)))
    y = np.arange(5.0)
    data = make_dataset(X, y)
    X[:], y[:] = 0, 0
    assert data.columns.all()
    np.testing.assert_array_equal(data.y, np.arange(5.0))


def some_path_returns_nothing(x):
    if x > 0:
        return x


def returns_an_array(x):
    return np.array([x, 1.0])


@pytest.mark.parametrize("function", [some_path_returns_nothing, returns_an_array])
def test_user_functions_must_return_a_number_on_every_path(function):
    with pytest.raises(ValueError, match="must return one number on every path"):
        CpuEngine(make_dataset(np.ones((3, 1)), np.ones(3)), PrimitiveSet((primitive(function),)))


def test_the_reason_why_a_user_function_cannot_be_compiled_is_shown():
    def broken(x):
        return undefined_name + x  # noqa: F821

    with pytest.raises(ValueError, match="undefined_name"):
        CpuEngine(make_dataset(np.ones((3, 1)), np.ones(3)), PrimitiveSet((primitive(broken),)))
