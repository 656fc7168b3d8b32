"""Losses by name: against their definitions, their best constants, and lines that minimise them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance

from symgrove.fitness.named_losses import LOSSES, Deviation, make_loss, robust_scale, weighted_quantile
from symgrove.fitness.reweighting import Line, best_line
from tests.naive import losses as naive

NAIVE = {
    "squared": naive.squared,
    "absolute": naive.absolute,
    "huber": lambda y, p: naive.huber(y, p, 1.5),
    "quantile": lambda y, p: naive.quantile(y, p, 0.8),
    "poisson": naive.poisson,
}


def made(name):
    return make_loss(name, 0.8, 1.5, np.zeros(1), None)


def rows(seed, n=40):
    rng = np.random.default_rng(seed)
    return rng.poisson(2.0, size=n).astype(float), rng.random(n) * 5 + 0.01, rng.random(n) + 0.1


@pytest.mark.parametrize("name", LOSSES)
@given(seed=st.integers(0, 10**6))
def test_a_loss_is_what_its_definition_says(name, seed):
    y, p, _ = rows(seed)
    assert made(name).name == name
    expected = [NAIVE[name](*pair) for pair in zip(y.tolist(), p.tolist(), strict=True)]
    np.testing.assert_allclose(made(name).of_rows(y, p), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@given(seed=st.integers(0, 10**6))
def test_the_best_constant_has_the_lowest_mean_loss(name, seed):
    y, _, weight = rows(seed)
    loss = made(name)

    def mean(constant):
        return np.average(loss.of_rows(y, np.full(y.size, constant)), weights=weight)

    best = mean(loss.constant(y, weight))
    others = np.linspace(max(y.min(), 0.01), y.max(), 50)
    assert best <= min(map(mean, others)) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "squared"])
def test_least_squares_with_the_weights_of_rows_step_downhill(name):
    """A constant by reweighting: each round lowers the loss, or leaves it."""
    y, _, weight = rows(7, 400)
    loss, constant, before = made(name), 3.7, np.inf
    for _ in range(30):
        now = np.average(loss.of_rows(y, np.full(y.size, constant)), weights=weight)
        assert now <= before * (1 + 1e-4)
        before = now
        constant = np.average(y, weights=weight * loss.row_weights(y, np.full(y.size, constant)))


def test_losses_agree_with_those_of_scikit_learn():
    y, p, weight = rows(3)
    ours = np.average(made("quantile").of_rows(y, p), weights=weight)
    assert ours == pytest.approx(mean_pinball_loss(y, p, alpha=0.8, sample_weight=weight))
    ours = np.average(made("poisson").of_rows(y, p), weights=weight)
    assert ours == pytest.approx(mean_poisson_deviance(y, p, sample_weight=weight))


@given(seed=st.integers(0, 10**6), level=st.floats(0.01, 0.99))
def test_a_weighted_quantile_is_that_of_repeated_values(seed, level):
    rng = np.random.default_rng(seed)
    values, counts = rng.normal(size=30), rng.integers(0, 4, size=30)
    counts[0] = 1
    expected = np.quantile(np.repeat(values, counts), level, method="inverted_cdf")
    assert weighted_quantile(values, counts.astype(float), level) == expected


def test_the_spread_of_a_target_does_not_follow_few_large_values():
    y = np.random.default_rng(0).normal(size=500)
    y[:20] = 1e6
    assert 0.8 < robust_scale(y, None) < 1.3
    assert robust_scale(np.repeat([0.0, 10.0], [90, 10]), None) == pytest.approx(np.sqrt(10.0))
    assert robust_scale(np.full(9, 3.0), None) == 1.0
    assert make_loss("huber", 0.5, None, y, None).delta == pytest.approx(1.345 * robust_scale(y, None))


@pytest.mark.parametrize(
    "loss", [Deviation("absolute"), Deviation("quantile", 0.9, 0.1), Deviation("huber", delta=0.5)]
)
def test_a_line_minimises_the_loss(loss):
    rng = np.random.default_rng(1)
    outputs = rng.normal(size=300)
    y = 2 * outputs + 1 + (1 + np.abs(outputs)) * rng.standard_t(2, size=300)
    weight = rng.integers(0, 3, size=300).astype(float)
    outputs[weight == 0] = np.inf  # rows that do not count
    slope, intercept, error = best_line(outputs, y, weight, loss, Line(1.0, 0.0, np.inf))

    def mean(line):
        used = weight > 0
        return np.average(loss.of_rows(y[used], line[0] + line[1] * outputs[used]), weights=weight[used])

    assert error == pytest.approx(mean([intercept, slope]))
    best = minimize(mean, [intercept, slope], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert error <= best.fun * (1 + 1e-3)
    if not loss.delta:
        used = weight > 0
        share = np.average(y[used] <= intercept + slope * outputs[used] + 1e-9, weights=weight[used])
        assert share == pytest.approx(loss.level, abs=0.02)


def test_a_line_stays_where_outputs_are_not_finite():
    start = Line(1.0, 0.0, 2.0)
    assert best_line(np.array([1.0, np.nan]), np.zeros(2), np.ones(2), Deviation("absolute"), start) == start
    flat = best_line(np.ones(3), np.array([1.0, 2.0, 9.0]), np.ones(3), Deviation("absolute"), Line(0.0, 4.0, np.inf))
    assert flat[:2] == (0.0, 2.0)
