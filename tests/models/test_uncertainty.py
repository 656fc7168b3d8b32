"""Scores, widths, mixtures and corrections against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from sklearn.metrics import log_loss

from symgrove.models.conformal import ConformalScores, Widths, fit_widths, make_scores, rows_needed
from symgrove.models.mixture import Mixture, Noise, fit_noise
from symgrove.models.probabilities import FLOOR, Correction, fit_correction
from tests.naive import uncertainty as naive

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(NUMBERS, min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_factor_is_the_smallest_that_covers_enough(values, coverage):
    scores = ConformalScores(Widths(1.0, 0.0), np.sort(values))
    assert scores.factor(coverage) == naive.conformal_factor(values, coverage)


@pytest.mark.parametrize(("n_rows", "coverage", "place"), [(9, 0.9, 9), (19, 0.95, 19), (8, 0.9, None), (99, 0.1, 10)])
def test_factor_at_the_edges(n_rows, coverage, place):
    """(n + 1) * coverage is whole here, but not as a floating-point number."""
    factor = ConformalScores(Widths(1.0, 0.0), np.arange(1.0, n_rows + 1)).factor(coverage)
    assert factor == (math.inf if place is None else place)
    assert (n_rows >= rows_needed(coverage)) == (place is not None)


@given(st.lists(NUMBERS, min_size=1, max_size=40), st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5))
def test_quantiles_never_cross(values, levels):
    scores = ConformalScores(Widths(1.0, 0.0), np.sort(values))
    found = [scores.quantile(level) for level in sorted(levels)]
    assert found == sorted(found)


def test_a_new_row_is_inside_as_often_as_promised():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(2000):
        residuals, spread = rng.standard_t(3, size=30), rng.uniform(0, 2, size=30)
        residuals *= 0.5 + spread
        scores = make_scores(residuals[1:], spread[1:], Widths(0.3, 0.7))
        inside.append(abs(residuals[0]) <= scores.factor(0.8) * scores.widths.of(spread[:1])[0])
    assert abs(np.mean(inside) - 0.8) < 0.03


def test_widths_follow_the_spread_where_it_tells():
    rng = np.random.default_rng(0)
    spread = rng.uniform(0, 2, size=4000)
    widths = fit_widths((0.5 + 3 * spread) * rng.normal(size=4000), spread)
    assert widths.slope / widths.floor == pytest.approx(6, rel=0.3)
    assert fit_widths(rng.normal(size=4000), spread).slope < 0.05


@pytest.mark.parametrize("residuals", [[], [0.0, 0.0], [np.nan, np.inf], [1e300, -1e300]])
def test_widths_are_usable_whatever_the_residuals(residuals):
    widths = fit_widths(np.array(residuals), np.zeros(len(residuals)))
    assert widths.floor > 0
    assert np.isfinite(widths.floor)
    assert (widths.of(np.array([0.0, 1e308])) > 0).all()


def test_residuals_that_are_not_finite_make_intervals_infinite():
    scores = make_scores(np.array([np.nan, 1.0]), np.zeros(2), Widths(1.0, 0.0))
    assert scores.factor(0.3) == 1.0
    assert scores.factor(0.6) == math.inf


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=5),
    st.floats(-5, 5),
    st.floats(0, 3),
    st.floats(0.05, 3),
    st.floats(-10, 10),
)
def test_mixture_density(members, prediction, stretch, noise, value):
    spread = np.sqrt(np.mean((np.array(members) - prediction) ** 2, keepdims=True))
    found = Noise(stretch, noise).mixture(np.array([prediction]), np.array(members)[:, None], spread)
    expected = naive.log_density(value, prediction, members, stretch, noise) if _is_near(found, value) else None
    if expected is not None:
        assert found.log_density(np.array([value]))[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def _is_near(mixture, value):
    """Far out, the definition's densities are zero in double precision."""
    return np.min(np.abs(value - mixture.centres)) < 30 * mixture.deviation[0]


def test_mixture_is_a_distribution():
    mixture = Mixture(np.array([[0.0, 1.0], [2.0, 1.5]]), np.array([0.5, 1.0]))
    density = integrate.quad(lambda y: np.exp(mixture.log_density(np.array([y, y]))[0]), -20, 20)[0]
    assert density == pytest.approx(1)
    for level in (0.01, 0.5, 0.975):
        assert mixture.cdf(mixture.quantile(level)) == pytest.approx(level)
    drawn = mixture.sample(40_000, 0)
    assert drawn.mean(axis=0) == pytest.approx(mixture.mean, abs=0.03)
    assert drawn.std(axis=0) == pytest.approx(mixture.std, abs=0.03)
    with pytest.raises(ValueError, match="between 0 and 1"):
        mixture.quantile(1.0)


def test_a_larger_spread_than_that_of_the_members_counts():
    found = Noise(2.0, 0.5).mixture(np.zeros(1), np.array([[-1.0], [1.0]]), np.array([3.0]))
    assert found.std == pytest.approx(np.sqrt(0.25 + 4 * 9))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_noise_has_the_scale_of_the_residuals(scale):
    residuals = np.random.default_rng(0).normal(size=500)
    plain, scaled = fit_noise(residuals, np.zeros(500)), fit_noise(scale * residuals, np.zeros(500))
    assert scaled.deviation / scale == pytest.approx(plain.deviation)


def test_noise_is_found():
    rng = np.random.default_rng(0)
    spread = rng.uniform(0, 3, size=5000)
    noise = fit_noise(np.sqrt(4 * spread**2 + 0.25) * rng.normal(size=5000), spread)
    assert noise.stretch == pytest.approx(2, rel=0.1)
    assert noise.deviation == pytest.approx(0.5, rel=0.3)
    assert fit_noise(np.zeros(3), np.zeros(3)).deviation > 0


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=4),
    st.floats(0, 5),
    st.lists(st.floats(0.1, 5), min_size=4, max_size=4),
)
def test_corrected_shares(shares, power, weights):
    weights = weights[: len(shares)]
    found = Correction(power, np.array(weights)).apply(np.array([shares]))[0]
    assert found == pytest.approx(naive.corrected(shares, power, weights, FLOOR))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_correction_undoes_overconfidence(n_classes):
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(4000, n_classes))
    true = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(n_classes, p=p) for p in true])
    sure = true**3 / (true**3).sum(axis=1, keepdims=True)
    correction = fit_correction(sure[:2000], labels[:2000])
    losses = [log_loss(labels[2000:], shares[2000:]) for shares in (true, correction.apply(sure), sure)]
    assert losses[0] - 0.01 < losses[1] < losses[0] + 0.02 < losses[2]


def test_correction_of_rows_that_are_all_right_is_finite():
    shares = np.tile([[1.0, 0.0], [0.0, 1.0]], (20, 1))
    found = fit_correction(shares, np.tile([0, 1], 20)).apply(shares)
    assert (found > 0).all()
    assert found[0, 0] > 0.99
