"""Errors by a loss of one's own: against the naive twin, with and without scaling, and where it is not finite."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgrove import (
    CpuEngine,
    Forest,
    MeanRowLoss,
    MeanSquaredError,
    RandomPrograms,
    bootstrap_counts,
    make_dataset,
    row_loss,
    score,
)
from symgrove.engines import passes
from symgrove.engines.scoring import row_errors
from tests.engines.test_scoring import N_ROWS, counts, make_outputs, score_columns
from tests.naive import fitness as naive
from tests.strategies import ALL, random_data

LOSSES = (naive.absolute, naive.pinball, naive.huber)


def logarithmic(y, prediction):
    """Not finite where the prediction is not positive."""
    return math.log(prediction) + abs(y) / prediction


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(LOSSES),
    scaling=st.booleans(),
    dtype=st.sampled_from(["float64", "float32"]),
    n_rows=st.sampled_from([2, 10, 200, 2500]),
    n_samples=st.sampled_from([1, 3, 7]),
)
def test_errors_are_weighted_means_of_the_loss_of_scaled_outputs(seed, loss, scaling, dtype, n_rows, n_samples):
    rng = np.random.default_rng(seed)
    o = rng.standard_t(3, size=n_rows).astype(dtype).astype(float)
    y = 2 * o + rng.standard_t(2, size=n_rows) - 4
    w = bootstrap_counts(n_rows, n_samples, seed)
    weight = rng.random(n_rows).astype(np.float32).astype(float) + 0.25
    weight /= weight.max()
    scores = score_columns([o], y, w, MeanRowLoss(row_loss(loss), scaling), dtype, weight)
    for j in range(n_samples):
        line = naive.linear_scaling(o, y, w[j] * weight) if scaling else (1.0, 0.0)
        expected = naive.mean_loss(loss, o, y, w[j] * weight, *line)
        # In float32 the line itself, and the weights, are rounded.
        size = naive.mean_loss(naive.absolute, 0 * o, y, w[j] * weight) ** (2 if loss is naive.huber else 1)
        assert abs(scores.errors[0, j] - expected) <= (1e-9 if dtype == "float64" else 1e-3) * (expected + size)


def test_scaling_is_that_of_least_squares():
    o, y = make_outputs()
    own = score_columns([o], y, counts, MeanRowLoss(row_loss(naive.absolute)))
    squared = score_columns([o], y, counts, MeanSquaredError())
    np.testing.assert_array_equal(own.scaling, squared.scaling)
    same = score_columns([o], y, counts, MeanRowLoss(row_loss(lambda y, p: (y - p) ** 2, "square")))
    np.testing.assert_allclose(same.errors, squared.errors, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_loss_that_is_not_finite_makes_a_program_unusable_on_the_samples_with_that_row(dtype):
    o = np.linspace(1, 2, N_ROWS)
    o[700] = -1.0
    some = counts.copy()
    some[:, 700] = [0, 1, 2, 0, 0, 1]
    loss = MeanRowLoss(row_loss(logarithmic), linear_scaling=False)
    errors = score_columns([o, o + 3], o, some, loss, dtype).errors
    np.testing.assert_array_equal(np.isposinf(errors), [[False, True, True, False, False, True], [False] * 6])
    expected = [naive.mean_loss(logarithmic, o, o, w) for w in some[[0, 3, 4]]]
    np.testing.assert_allclose(errors[0, [0, 3, 4]], expected, rtol=1e-12 if dtype == "float64" else 1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_losses_of_either_infinity_never_win(sign):
    o, y = make_outputs()
    loss = row_loss(lambda y, p: sign * np.inf if p > 2.0 else 0.0, "infinite")
    assert np.isposinf(score_columns([o], y, counts, MeanRowLoss(loss, linear_scaling=False)).errors).all()


def test_bits_depend_neither_on_threads_nor_on_tiles(monkeypatch):
    X, y = random_data(0, 9000)
    forest = Forest(3, ALL)
    roots = RandomPrograms(forest).ramped_half_and_half(forest, 40, np.random.default_rng(0))
    results = []
    for n_threads, tile_size in ((1, 256), (2, 256), (3, 7)):
        monkeypatch.setattr(passes, "TILE_SIZE", tile_size)
        with CpuEngine(make_dataset(X, y), ALL, n_threads) as engine:
            samples = engine.prepare(bootstrap_counts(9000, 5, seed=0))
            results.append(score(engine, forest, roots, samples, MeanRowLoss(row_loss(naive.huber))).errors)
    assert np.isfinite(results[0]).any()
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_errors_on_single_rows():
    o, y = make_outputs()
    forest = Forest(1, ALL)
    rows = np.array([3, 500, 17])
    with CpuEngine(make_dataset(o[:, None], y), ALL) as engine:
        samples = engine.prepare(counts[:1])
        root = forest.feature(0)
        loss = MeanRowLoss(row_loss(naive.pinball))
        errors = row_errors(engine, forest, np.array([root, root]), samples, loss, rows)
        slope, intercept = (v[0, 0] for v in score(engine, forest, [root], samples, loss).scaling)
    expected = [naive.pinball(y[i], intercept + slope * o[i]) for i in rows]
    np.testing.assert_allclose(errors, [expected, expected], rtol=1e-13)
