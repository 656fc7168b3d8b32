"""Errors, slopes and intercepts against the two-pass formulas, in easy and in hostile cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgrove import ClassificationError, CpuEngine, Forest, MeanSquaredError, bootstrap_counts, make_dataset, score
from tests.naive import fitness as naive
from tests.strategies import ALL

N_ROWS, N_SAMPLES = 900, 6


def score_columns(columns, y, counts, loss, dtype="float64", weight=None):
    """Scores of programs whose outputs are given: each is a feature."""
    data = make_dataset(np.array(columns).T, y, dtype)
    forest = Forest(len(columns), ALL)
    with CpuEngine(data, ALL) as engine:
        samples = engine.prepare(counts, weight)
        return score(engine, forest, [forest.feature(i) for i in range(len(columns))], samples, loss)


def make_outputs(seed=0):
    rng = np.random.default_rng(seed)
    o = rng.normal(size=N_ROWS)
    return o, 3 * o + rng.normal(size=N_ROWS) - 7


def assert_matches(scores, columns, y, weights, rtol):
    for p, o in enumerate(columns):
        for j, w in enumerate(weights):
            slope, intercept = naive.linear_scaling(o, y, w)
            np.testing.assert_allclose(scores.errors[p, j], naive.scaled_squared_error(o, y, w), rtol=rtol)
            np.testing.assert_allclose(scores.scaling.slope[p, j], slope, rtol=rtol)
            size = abs(intercept) + abs(slope) * np.abs(o[w > 0]).max()
            assert abs(scores.scaling.intercept[p, j] - intercept) <= rtol * size


counts = bootstrap_counts(N_ROWS, N_SAMPLES, seed=3)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8, 1e4])
@pytest.mark.parametrize("scale", [1.0, 1e8, 1e-8, 1e-150, 1e140])
def test_offsets_and_scales_of_outputs_do_not_matter(offset, scale):
    o, y = make_outputs()
    column = (o + offset) * scale
    scores = score_columns([column], y, counts, MeanSquaredError())
    assert_matches(scores, [column], y, counts, rtol=1e-6 if offset in (1e8, -1e8) else 1e-9)


def test_an_offset_of_1e8_equals_the_two_pass_formula_on_the_same_rounded_outputs():
    o, y = make_outputs()
    column = o + 1e8
    scores = score_columns([column], y, counts, MeanSquaredError())
    assert_matches(scores, [column], y, counts, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("outlier", [1e6, 1e10, -1e18, 1e30])
@pytest.mark.parametrize("row", [0, 64, 700])
def test_huge_outliers_on_rows_of_weight_zero_do_not_matter(dtype, outlier, row):
    o, y = make_outputs()
    o = o.astype(dtype).astype(float)
    o[row] = outlier
    without = counts.copy()
    without[::2, row] = 0
    scores = score_columns([o, o * 2 + 1], y, without, MeanSquaredError(), dtype)
    clean = np.flatnonzero(without[:, row] == 0)
    taken = scores._replace(
        errors=scores.errors[:, clean], scaling=type(scores.scaling)(*(v[:, clean] for v in scores.scaling))
    )
    columns = [o.astype(dtype), (o * 2 + 1).astype(dtype)]
    assert_matches(
        taken, [c.astype(float) for c in columns], y, without[clean], rtol=1e-9 if dtype == "float64" else 2e-4
    )


@pytest.mark.parametrize("y_outlier", [1e9, -1e12])
def test_huge_targets_on_rows_of_weight_zero_do_not_matter(y_outlier):
    o, y = make_outputs()
    y[13] = y_outlier
    without = counts.copy()
    without[:, 13] = 0
    assert_matches(score_columns([o], y, without, MeanSquaredError()), [o], y, without, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sample_weights_multiply_counts(dtype):
    o, y = make_outputs()
    o = o.astype(dtype).astype(float)
    weight = np.random.default_rng(1).random(N_ROWS).astype(np.float32).astype(float)
    scores = score_columns([o], y, counts, MeanSquaredError(), dtype, weight)
    assert_matches(scores, [o], y, counts * weight, rtol=1e-9 if dtype == "float64" else 1e-4)


def test_counts_equal_gathering_rows():
    o, y = make_outputs()
    scores = score_columns([o], y, counts, MeanSquaredError())
    for j in range(N_SAMPLES):
        gathered_o, gathered_y = naive.gather(o, counts[j]), naive.gather(y, counts[j])
        ones = np.ones(gathered_o.size)
        assert gathered_o.size == N_ROWS
        expected = naive.scaled_squared_error(gathered_o, gathered_y, ones)
        np.testing.assert_allclose(scores.errors[0, j], expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_without_scaling_outputs_are_compared_as_they_are(dtype):
    o, y = make_outputs()
    columns = [o.astype(dtype).astype(float), (y + 1e-3 * o).astype(dtype).astype(float), y.astype(dtype).astype(float)]
    scores = score_columns(columns, y, counts, MeanSquaredError(linear_scaling=False), dtype)
    for p, column in enumerate(columns[:2]):
        expected = [naive.squared_error(column, y, w) for w in counts]
        np.testing.assert_allclose(scores.errors[p], expected, rtol=1e-9 if dtype == "float64" else 1e-3)
    assert (scores.errors[2] <= (0 if dtype == "float64" else 1e-10)).all()
    assert (scores.scaling.slope == 1).all()
    assert (scores.scaling.intercept == 0).all()


def test_nearly_perfect_programs_keep_their_digits():
    o, _ = make_outputs()
    y = 2 * o + 1 + 1e-9 * np.random.default_rng(5).normal(size=N_ROWS)
    scores = score_columns([o], y, counts, MeanSquaredError())
    expected = [naive.scaled_squared_error(o, y, w) for w in counts]
    np.testing.assert_allclose(scores.errors[0], expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scaling", [True, False])
def test_classification_error_counts_rows_on_the_wrong_side(dtype, scaling):
    o, y = make_outputs()
    o = o.astype(dtype).astype(float)
    labels = (y > np.median(y)).astype(float)
    scores = score_columns([o, -o], labels, counts, ClassificationError(scaling), dtype)
    for p, column in enumerate([o, -o]):
        for j, w in enumerate(counts):
            slope, intercept = naive.linear_scaling(column, labels, w) if scaling else (1.0, 0.0)
            expected = naive.classification_error(column, labels, w, slope, intercept)
            assert abs(scores.errors[p, j] - expected) <= (0 if dtype == "float64" else 2.0 / N_ROWS)


@pytest.mark.parametrize("loss", [MeanSquaredError(), ClassificationError()])
def test_constant_outputs_have_slope_zero_and_predict_the_mean(loss):
    _, y = make_outputs()
    labels = (y > 0).astype(float)
    rounding = 0.1 + 1e-17 * (np.arange(N_ROWS) % 5)  # equal to rounding
    scores = score_columns([np.full(N_ROWS, 3.3), rounding, np.zeros(N_ROWS)], labels, counts, loss)
    means = [naive.weighted_mean(labels, w) for w in counts]
    assert (scores.scaling.slope == 0).all()
    np.testing.assert_allclose(scores.scaling.intercept, [means] * 3, rtol=1e-12)
    assert np.isfinite(scores.errors).all()


def test_constant_on_one_sample_only():
    o = np.zeros(N_ROWS)
    o[5] = 1.0
    some = counts.copy()
    some[0, 5], some[1, 5] = 0, 2
    _, y = make_outputs()
    assert_matches(score_columns([o], y, some, MeanSquaredError()), [o], y, some[:], rtol=1e-9)


@pytest.mark.parametrize(
    "loss", [MeanSquaredError(), MeanSquaredError(False), ClassificationError(), ClassificationError(False)]
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_outputs_that_are_not_finite_give_an_error_of_inf_on_every_sample(loss, dtype):
    o, y = make_outputs()
    X = np.stack([o, np.where(np.arange(N_ROWS) == 17, 1e30, 1.0)], axis=1)
    forest = Forest(2, ALL)
    huge = forest.feature(1)
    for _ in range(4):
        huge = forest.apply("cube", huge)  # inf on row 17 only
    minus = forest.apply("sub", huge, huge)  # NaN on row 17 only
    some = counts.copy()
    some[0, 17] = 0
    with CpuEngine(make_dataset(X, (y > 0).astype(float), dtype), ALL) as engine:
        scores = score(engine, forest, [huge, forest.feature(0), minus], engine.prepare(some), loss)
    assert np.isposinf(scores.errors[[0, 2]]).all()
    assert np.isfinite(scores.errors[1]).all()


def test_programs_that_repeat_are_evaluated_once_and_answered_each_time():
    o, y = make_outputs()
    forest = Forest(1, ALL)
    with CpuEngine(make_dataset(o[:, None], y), ALL) as engine:
        root, other = forest.apply("sin", forest.feature(0)), forest.feature(0)
        samples = engine.prepare(counts)
        scores = score(engine, forest, [root, other, root], samples, MeanSquaredError())
        single = score(engine, forest, [root], samples, MeanSquaredError())
    np.testing.assert_array_equal(scores.errors[0], scores.errors[2])
    np.testing.assert_allclose(scores.errors[0], single.errors[0], rtol=1e-12)


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1.0, 1e-8, 1e8]),
    st.floats(-1e8, 1e8),
    st.sampled_from([3, 10, 200, 1200]),
)
def test_random_cases_match_the_two_pass_formula(seed, scale, offset, n_rows):
    rng = np.random.default_rng(seed)
    o = scale * rng.standard_t(2, size=n_rows) + offset * rng.integers(2)
    y = rng.normal(size=n_rows)
    w = bootstrap_counts(n_rows, 3, seed=seed)
    w[:, 0] = 1  # at least two distinct rows
    w[:, 1] = 1
    scores = score_columns([o], y, w, MeanSquaredError())
    for j in range(3):
        expected = naive.scaled_squared_error(o, y, w[j])
        variance = naive.weighted_mean((y - naive.weighted_mean(y, w[j])) ** 2, w[j])
        # Outputs are rounded at eps * |offset|: that much of the fit is noise for any formula.
        noise = 1e-15 * abs(offset) / (np.ptp(o[w[j] > 0]) + 1e-300)
        assert abs(scores.errors[0, j] - expected) <= 1e-9 * expected + (1e-14 + 100 * noise) * variance
