"""What every engine promises, compared with the oracle: outputs, moments, errors, collection, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgrove import CpuEngine, Forest, bootstrap_counts, make_dataset, row_loss
from symgrove.engines.base import WeightedTerms
from symgrove.engines.cuda import CudaEngine
from symgrove.engines.cuda_card import missing_for_cuda
from symgrove.engines.dask import DaskEngine
from symgrove.engines.dask_cuda import DaskCudaEngine
from symgrove.fitness.losses import RowLoss
from symgrove.fitness.moments import Centre
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.scaling import Scaling
from symgrove.shards.cluster import missing_for_dask
from tests.engines.played_card import HAS_COMPILER, PlayedCard, workers_with_cards
from tests.naive import fitness as naive_fitness
from tests.naive import programs as naive
from tests.naive import teams as naive_teams
from tests.strategies import ALL, plant, programs, random_data

ENGINES = {
    "cpu": lambda data: CpuEngine(data, ALL),
    "cpu, 2 threads": lambda data: CpuEngine(data, ALL, n_threads=2),
    "cpu, tiny budget": lambda data: CpuEngine(data, ALL, memory_budget=6_000_000),
    "dask": lambda data: DaskEngine(data, ALL),
    "dask-cuda": lambda data: DaskCudaEngine(data, ALL),
    "dask-cuda, played by the CPU": lambda data: DaskCudaEngine(data, ALL),
    "cuda": lambda data: CudaEngine(data, ALL),
    "cuda, played by the CPU": lambda data: CudaEngine(data, ALL, card=PlayedCard()),
    "cuda, played, tiny budget": lambda data: CudaEngine(data, ALL, memory_budget=6_000_000, card=PlayedCard()),
}


SLOW = {"dask-cuda, played by the CPU"}  # half a minute; tests/engines/test_dask_cuda.py is quick


def engines():
    """Parameters of tests; an engine that this machine cannot run is skipped."""
    for name, make in ENGINES.items():
        reason = reason_to_skip(name)
        marks = [pytest.mark.skip(reason=reason)] if reason else []
        yield pytest.param(make, id=name, marks=[*marks, pytest.mark.slow] if name in SLOW else marks)


def reason_to_skip(name):
    """Why this machine cannot run an engine; empty if it can."""
    if "played" in name:
        return "" if HAS_COMPILER else "a card is played by kernels that gcc compiles"
    if name == "dask-cuda":
        return missing_for_cuda() or missing_for_dask()
    return missing_for_cuda() if name == "cuda" else ""


# Outputs of these are exact to the last bit; see tests/forest/test_primitives.py.
EXACT = ("add", "sub", "mul", "div", "aq", "min", "max", "step", "sqrt", "square", "cube", "neg", "abs")


@pytest.fixture(scope="module", params=engines())
def make_engine(request):
    yield from engine_maker(request)


def engine_maker(request):
    """The parameter, within a cluster if it needs one."""
    (name,) = (name for name, make in ENGINES.items() if make is request.param)
    if "dask" not in name:
        yield request.param
        return
    with (
        request.getfixturevalue("dask_client").as_current(),
        workers_with_cards(are_played="played" in name),
    ):
        yield request.param


@pytest.fixture(scope="module", params=["float64", "float32"])
def dtype(request):
    return request.param


def distinct_roots(forest, population):
    """Roots and programs without repetition, in the order of the population (not of ids)."""
    by_root = {}
    for program in population:
        by_root.setdefault(plant(forest, program), program)
    return np.array(list(by_root)), list(by_root.values())


# Many rows only in some examples: they take several chunks.
@settings(max_examples=15)
@given(
    population=st.lists(programs(functions=EXACT), min_size=1, max_size=10), n_rows=st.sampled_from([1, 40, 600, 9000])
)
def test_outputs_are_those_of_the_trees(make_engine, dtype, population, n_rows):
    forest = Forest(3, ALL)
    roots, population = distinct_roots(forest, population)
    X, y = random_data(1, n_rows, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    expected = np.array([naive.evaluate(program, X) for program in population])
    for _ in range(3):  # scratch, then kept vectors are written, then they are read
        np.testing.assert_array_equal(engine.outputs(forest, roots), expected)
        engine.collected(forest, forest.collect(np.arange(len(forest))))
    np.testing.assert_array_equal(engine.outputs(forest, roots, slice(3, 700)), expected[:, 3:700])
    assert engine.outputs(forest, roots, slice(2, 2)).shape == (len(population), 0)


@settings(max_examples=15)
@given(population=st.lists(programs(max_leaves=10), min_size=1, max_size=10))
def test_outputs_of_all_primitives_are_those_of_the_trees_to_rounding(make_engine, population):
    forest = Forest(3, ALL)
    roots, population = distinct_roots(forest, population)
    X, y = random_data(1, 100)
    outputs = make_engine(make_dataset(X, y)).outputs(forest, roots)
    for program, output in zip(population, outputs, strict=True):
        expected = naive.evaluate(program, X)
        # Where a relative change of 1e-15 of the features matters, rounding does.
        with np.errstate(all="ignore"):
            doubt = 100 * np.abs(naive.evaluate(program, X * (1 + 1e-13)) - expected)
            agrees = np.abs(output - expected) <= 1e-9 * (1 + np.abs(expected)) + doubt
        assert (agrees | ~np.isfinite(expected) | ~np.isfinite(doubt)).all()


@settings(max_examples=12, deadline=None)
@given(population=st.lists(programs(functions=EXACT), min_size=1, max_size=10), n_rows=st.sampled_from([1, 40, 2600]))
def test_weighted_sums_are_of_terms_within_limits(make_engine, dtype, population, n_rows):
    forest = Forest(3, ALL)
    # Roots that are infinite, and that are not a number.
    hostile = ("div", ("constant", 1e300), ("constant", 1e-300))
    population = [*population, hostile, ("sub", hostile, hostile)]
    roots, population = distinct_roots(forest, population)
    X, y = random_data(1, n_rows, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    rng = np.random.default_rng(len(roots))
    centre, factor = rng.normal(size=len(roots)), rng.lognormal(size=len(roots))
    limits = np.sort(rng.normal(size=(2, len(roots))), axis=0) * rng.choice([1.0, np.inf], size=len(roots))
    n_entries = rng.integers(0, 4, size=len(roots))
    first = np.concatenate([[0], np.cumsum(n_entries)])
    entries = rng.integers(0, 5, size=first[-1]), rng.normal(size=first[-1])
    terms = WeightedTerms(centre, factor, *limits, first, *entries, 5)
    expected = naive_teams.weighted_sums(engine.outputs(forest, roots), terms)
    found = engine.weighted_sums(forest, roots, terms)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(engine.weighted_sums(forest, roots, terms), found)
    vectors = engine.weighted_vectors(forest, roots, terms)
    engine.evaluate(forest, roots)  # they stay
    np.testing.assert_array_equal(engine.fetch(vectors), found)
    sums = engine.combine(np.ones((1, 5)), vectors)
    np.testing.assert_allclose(engine.fetch(sums)[0], found.sum(axis=0), rtol=1e-12, atol=1e-12)


def test_moments_are_weighted_sums_about_the_centre(make_engine, dtype):
    forest = Forest(3, ALL)
    X, y = random_data(2, 5000, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    samples = engine.prepare(bootstrap_counts(5000, 7, seed=0), np.random.default_rng(0).random(5000))
    roots = np.array([forest.apply("mul", forest.feature(0), forest.feature(1)), forest.feature(2)])
    moments = engine.moments(forest, roots, samples)
    outputs = engine.outputs(forest, roots).astype(np.float64)
    z = (outputs - moments.centre.shift) / moments.centre.scale
    t = (y - samples.target.centre) / samples.target.scale
    w = samples.weights.astype(np.float64)
    size = np.sqrt(w.sum(axis=1))
    tolerance = (1e-11 if dtype == "float64" else 1e-3) * size
    assert (np.abs(moments.first - z @ w.T) < tolerance).all()
    assert (np.abs(moments.cross - (z * t) @ w.T) < tolerance).all()
    assert (np.abs(moments.second - (z * z) @ w.T) < tolerance).all()
    np.testing.assert_allclose(moments.reach, np.abs(outputs - moments.centre.shift).max(axis=1), rtol=1e-6)


def test_exact_moments_skip_rows_of_weight_zero(make_engine, dtype):
    forest = Forest(1, ALL)
    x = np.random.default_rng(0).normal(size=300)
    x[7] = 1e30
    counts = bootstrap_counts(300, 4, seed=1)
    counts[:, 7] = 0
    engine = make_engine(make_dataset(x[:, None], x.clip(-3, 3), dtype))
    samples = engine.prepare(counts)
    centre = Centre(np.zeros((1, 4)), np.ones((1, 4)))
    wanted = np.ones((1, 4), dtype=bool)
    moments = engine.exact_moments(forest, [forest.feature(0)], samples, centre, wanted)
    xs = x.astype(dtype).astype(np.float64)
    xs[7] = 0
    np.testing.assert_allclose(moments.second[0], counts @ xs**2, rtol=1e-12)
    wanted[0, 1:3] = False
    some = engine.exact_moments(forest, [forest.feature(0)], samples, centre, wanted)
    np.testing.assert_array_equal(some.second, np.where(wanted, moments.second, 0.0))
    np.testing.assert_array_equal(some.reach, np.where(wanted, moments.reach, 0.0))


def test_an_engine_says_what_it_holds(make_engine, dtype):
    X, y = random_data(3, 40, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    assert (engine.n_rows, engine.n_features, engine.dtype) == (40, X.shape[1], np.dtype(dtype))
    np.testing.assert_array_equal(engine.target, y)
    np.testing.assert_array_equal(engine.target_of(np.array([5, -1, 5])), y[[5, -1, 5]])
    assert engine.primitives.functions == ALL.functions
    assert engine.memory_budget > 0


def test_outputs_on_some_rows_are_those_of_all(make_engine, dtype):
    forest = Forest(3, ALL)
    X, y = random_data(3, 3000, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    roots = np.unique([forest.apply("mul", forest.feature(i), forest.feature(2 - i)) for i in range(3)])
    rows = np.array([2999, 5, 5, 2048, 0])
    np.testing.assert_array_equal(engine.outputs(forest, roots, rows), engine.outputs(forest, roots)[:, rows])


def test_watching_is_called_within_evaluations_and_may_end_them(make_engine, dtype):
    forest = Forest(3, ALL)
    X, y = random_data(3, 5000, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 2:
            raise TimeoutError

    engine.watch(check)
    with pytest.raises(TimeoutError):
        engine.outputs(forest, [forest.feature(0)])
    engine.watch(None)
    assert engine.outputs(forest, [forest.feature(0)]).shape == (1, 5000)
    assert len(calls) == 2


@pytest.mark.parametrize("kind", list(RowLoss))
def test_errors_are_weighted_sums_of_the_row_loss(make_engine, dtype, kind):
    forest = Forest(3, ALL)
    X, _ = random_data(3, 1300, dtype=dtype)
    y = (X[:, 0] > 0.1).astype(float)
    engine = make_engine(make_dataset(X, y, dtype))
    counts = bootstrap_counts(1300, 9, seed=0)
    samples = engine.prepare(counts)
    roots = [forest.feature(0), forest.feature(1)]
    rng = np.random.default_rng(1)
    scaling = Scaling(rng.normal(size=(2, 9)), rng.normal(size=(2, 9)) + 0.5)
    sums = engine.errors(forest, roots, scaling, samples, kind)
    rule = naive_fitness.squared_error if kind is RowLoss.SQUARED else naive_fitness.classification_error
    for p, root_output in enumerate(engine.outputs(forest, roots)):
        for j in range(9):
            slope, intercept = (np.array(v[p, j], dtype=dtype) for v in scaling)
            expected = rule(root_output, y, counts[j], slope, intercept) * 1300
            if kind is RowLoss.MISCLASSIFIED:
                assert sums[p, j] == round(expected)
            else:
                np.testing.assert_allclose(sums[p, j], expected, rtol=1e-12 if dtype == "float64" else 1e-4)


DEVIATIONS = {
    naive_fitness.absolute: Deviation("absolute"),
    naive_fitness.pinball: Deviation("quantile", 0.9, 0.1),
    naive_fitness.huber: Deviation("huber", delta=1.0),
}


@pytest.mark.parametrize("loss", DEVIATIONS)
@pytest.mark.parametrize("is_own", [True, False])
def test_errors_of_other_losses_are_their_weighted_sums(make_engine, dtype, loss, is_own):
    forest = Forest(3, ALL)
    X, y = random_data(3, 2300, dtype=dtype)
    engine = make_engine(make_dataset(X, y, dtype))
    samples = engine.prepare(bootstrap_counts(2300, 5, seed=0), np.random.default_rng(0).random(2300))
    roots = [forest.feature(1), forest.feature(0)]
    rng = np.random.default_rng(1)
    scaling = Scaling(rng.normal(size=(2, 5)), rng.normal(size=(2, 5)) + 5)
    sums = engine.errors(forest, roots, scaling, samples, row_loss(loss) if is_own else DEVIATIONS[loss])
    for p, output in enumerate(engine.outputs(forest, roots)):
        for j, w in enumerate(samples.weights):
            expected = naive_fitness.mean_loss(loss, output, y, w, scaling.slope[p, j], scaling.intercept[p, j])
            np.testing.assert_allclose(sums[p, j] / samples.total[j], expected, rtol=1e-12)


def test_errors_of_outputs_that_are_not_finite_are_nan(make_engine, dtype):
    forest = Forest(1, ALL)
    huge = forest.constant(1e300 if dtype == "float64" else 3e38)
    root = forest.apply("mul", huge, forest.apply("mul", huge, forest.feature(0)))
    engine = make_engine(make_dataset(np.arange(1.0, 30)[:, None], np.arange(29) % 2, dtype))
    samples = engine.prepare(np.ones((3, 29)))
    scaling = Scaling(np.ones((1, 3)), np.zeros((1, 3)))
    bounded = row_loss(lambda y, prediction: 1.0 if y > prediction else 0.0, name="bounded")
    for each in (*RowLoss, bounded, *DEVIATIONS.values()):
        assert not np.isfinite(engine.errors(forest, [root], scaling, samples, each)).any()
    assert not np.isfinite(engine.moments(forest, [root], samples).reach).any()


def test_bad_calls_get_a_clear_error(make_engine):
    forest = Forest(2, ALL)
    engine = make_engine(make_dataset(np.ones((4, 2)), np.ones(4)))
    root = forest.feature(0)
    with pytest.raises(ValueError, match="roots must be distinct"):
        engine.outputs(forest, [root, root])
    with pytest.raises(ValueError, match="node 5 does not exist; nodes are 0 to 0"):
        engine.outputs(forest, [5])
    with pytest.raises(ValueError, match=r"counts must have shape \(n_samples, 4\)"):
        engine.prepare(np.ones((2, 5)))
    with pytest.raises(ValueError, match="sample 1 has no rows of positive weight"):
        engine.prepare([[1, 1, 1, 1], [0, 0, 0, 2]], [1, 1, 1, 0])


def test_no_roots_give_empty_results(make_engine):
    forest = Forest(1, ALL)
    engine = make_engine(make_dataset(np.ones((4, 1)), np.ones(4)))
    samples = engine.prepare(np.ones((3, 4)))
    assert engine.outputs(forest, []).shape == (0, 4)
    assert engine.moments(forest, [], samples).first.shape == (0, 3)
