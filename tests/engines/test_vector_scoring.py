"""Scores of vectors that stay in an engine, against those of programs and the two-pass formulas, in hostile cases."""

import numpy as np
import pytest

from symgrove import CpuEngine, Forest, MeanSquaredError, make_dataset, score
from symgrove.engines.vector_scoring import SampleVectors, score_vectors
from tests.engines.test_scoring import N_ROWS, N_SAMPLES, assert_matches, counts, make_outputs
from tests.naive import fitness as naive
from tests.strategies import ALL


def score_rows(columns, y, loss, weight=None, counts=counts):
    with CpuEngine(make_dataset(np.ones((len(y), 1)), y), ALL) as engine:
        samples = engine.prepare(counts, weight)
        return score_vectors(engine, engine.put(np.array(columns)), SampleVectors.of(engine, samples), loss)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e4])
@pytest.mark.parametrize("scale", [1.0, 1e8, 1e-8, 1e-150, 1e140])
def test_offsets_and_scales_do_not_matter(offset, scale):
    o, y = make_outputs()
    column = (o + offset) * scale
    scores = score_rows([column, -2 * column], y, MeanSquaredError())
    assert_matches(scores, [column, -2 * column], y, counts, rtol=1e-6 if offset == 1e8 else 1e-9)


@pytest.mark.parametrize("outlier", [1e6, 1e12, -1e18])
def test_samples_without_an_outlier_lose_no_digits(outlier):
    o, y = make_outputs()
    column = o + 5
    column[0] = outlier
    assert (counts[:, 0] == 0).any()
    assert_matches(score_rows([column], y, MeanSquaredError()), [column], y, counts, rtol=1e-8)


@pytest.mark.parametrize("noise", [0.0, 1e-7, 1e-12])
def test_nearly_perfect_outputs_have_errors_from_residuals(noise):
    o, y = make_outputs()
    columns = [(y + noise * o) * 2 + 3, y + noise * o]
    scores = score_rows(columns, y, MeanSquaredError())
    unscaled = score_rows(columns, y, MeanSquaredError(linear_scaling=False))
    for j, w in enumerate(counts):
        for p, column in enumerate(columns):
            expected = naive.scaled_squared_error(column, y, w)
            assert scores.errors[p, j] == pytest.approx(expected, rel=1e-3 if noise > 1e-9 else 1, abs=1e-27)
        assert unscaled.errors[1, j] == pytest.approx(naive.squared_error(columns[1], y, w), rel=1e-3, abs=1e-28)
        assert unscaled.errors[0, j] == pytest.approx(naive.squared_error(columns[0], y, w), rel=1e-9)


def test_what_is_not_finite_is_unusable_and_spoils_nothing():
    o, y = make_outputs()
    bad = [o.copy() for _ in range(2)]
    bad[0][7], bad[1][8] = np.nan, -np.inf
    scores = score_rows([bad[0], o, bad[1]], y, MeanSquaredError())
    assert (scores.errors[[0, 2]] == np.inf).all()
    assert_matches(score_rows([o], y, MeanSquaredError()), [o], y, counts, rtol=1e-9)
    np.testing.assert_array_equal(scores.errors[1], score_rows([o], y, MeanSquaredError()).errors[0])


def test_constants_have_slope_zero():
    _, y = make_outputs()
    scores = score_rows([np.full(N_ROWS, 0.1), np.zeros(N_ROWS)], y, MeanSquaredError())
    np.testing.assert_array_equal(scores.scaling.slope, 0)
    for j, w in enumerate(counts):
        np.testing.assert_allclose(scores.errors[:, j], naive.scaled_squared_error(np.zeros(N_ROWS), y, w))


@pytest.mark.parametrize("scales", [True, False])
def test_programs_have_the_same_scores(scales):
    rng = np.random.default_rng(0)
    columns, weight = rng.normal(size=(5, N_ROWS)), rng.random(N_ROWS)
    y = columns[0] - columns[1] + rng.normal(size=N_ROWS)
    loss = MeanSquaredError(linear_scaling=scales)
    found = score_rows(columns, y, loss, weight)
    forest = Forest(5, ALL)
    with CpuEngine(make_dataset(columns.T, y), ALL) as engine:
        expected = score(engine, forest, [forest.feature(i) for i in range(5)], engine.prepare(counts, weight), loss)
    assert found.errors.shape == (5, N_SAMPLES)
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-9)
    np.testing.assert_allclose(found.scaling.slope, expected.scaling.slope, rtol=1e-8)
