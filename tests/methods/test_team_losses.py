"""Losses of teams: values and derivatives from their definitions, and teams that minimise them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.fitness.named_losses import Deviation, Poisson, Squared, make_loss
from symgrove.methods.grove.losses import SMOOTHED, team_loss
from symgrove.methods.grove.weights import reweighted_stack
from tests.naive import losses as naive

SCALE = 2.0
# By name: the loss in units of the target, and its twin on a target divided by SCALE, p a team's sum.
LOSSES = {
    "squared": (Squared(), lambda t, p: naive.squared(t, p) / 2),
    "absolute": (Deviation("absolute"), lambda t, p: naive.huber(t, p, SMOOTHED) / SMOOTHED),
    "quantile": (
        Deviation("quantile", 0.8, 0.2),
        lambda t, p: (0.8 if t > p else 0.2) * naive.huber(t, p, SMOOTHED) / SMOOTHED,
    ),
    "huber": (Deviation("huber", delta=1.0), lambda t, p: naive.huber(t, p, 1.0 / SCALE)),
    "poisson": (Poisson(), lambda t, p: naive.poisson(t, np.exp(p)) / 2),
    "logistic": (None, lambda t, p: np.logaddexp(0, p) - t * p),
}


@pytest.mark.parametrize("name", LOSSES)
@given(seed=st.integers(0, 10**6))
def test_values_and_derivatives_are_those_of_the_definition(name, seed):
    rng = np.random.default_rng(seed)
    t, p, w = float(rng.integers(0, 2) if name == "logistic" else rng.poisson(1.5)), rng.normal(), rng.random()
    named, twin = LOSSES[name]
    loss = team_loss(named, SCALE)
    double = 2 if name == "squared" else 1  # whose value is never compared with the penalty
    assert loss.value(t, p) == pytest.approx(double * twin(t, p), abs=1e-12)
    if abs(abs(t - p) - SMOOTHED) < 1e-3 or abs(t - p) < 1e-3:
        return  # where the loss bends
    slope = naive.first_derivative(lambda a: twin(t, a), p, 1e-5)
    assert loss.score(w, t, p) == pytest.approx(-w * slope, abs=1e-6)
    if name in ("poisson", "logistic"):
        curvature = naive.second_derivative(lambda a: twin(t, a), p, 1e-4)
        assert loss.curvature(w, t, p) == pytest.approx(w * curvature, abs=1e-5)
    elif name != "squared":  # of the parabola through p with the same slope and its vertex at the target
        assert loss.curvature(w, t, p) == pytest.approx(w * slope / (p - t), rel=1e-4)


@pytest.mark.parametrize("name", ["absolute", "quantile", "huber"])
@given(seed=st.integers(0, 10**6))
def test_the_parabola_is_nowhere_below_the_loss(name, seed):
    """So a step to its lowest point cannot make the loss worse."""
    rng = np.random.default_rng(seed)
    t, p, other = rng.normal(size=3) * rng.choice([0.01, 1.0], size=3)
    if (t > p) != (t > other) and name == "quantile":
        return  # on the other side, the factor is another
    loss = team_loss(LOSSES[name][0], SCALE)
    parabola = loss.value(t, p) - loss.score(1.0, t, p) * (other - p) + loss.curvature(1.0, t, p) * (other - p) ** 2 / 2
    assert loss.value(t, other) <= parabola + 1e-9


def test_a_large_logarithm_does_not_overflow():
    loss = team_loss(Poisson(), 1.0)
    values = loss.value(np.ones(3), np.array([20.0, 1e3, 1e6]))
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()
    assert np.isfinite(loss.curvature(1.0, 1.0, 1e6))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("absolute", "float64"), ("huber", "float64"), ("quantile", "float32"), ("poisson", "float64")],
)
def test_a_team_comes_close_to_its_best_coefficients(name, dtype):
    """Against a refit from scratch of the penalised loss, by a program for any function."""
    X, y = make_friedman1(150, noise=1.0, random_state=0)
    y = np.round(np.maximum(y, 0)) if name == "poisson" else y
    settings = {"n_estimators": 1, "sampling": 1.0, "generations": 60, "max_terms": 3, "population_size": 80}
    model = sg.GroveRegressor(
        **settings, strength="fixed", clip=False, ridge=0.1, loss=name, quantile=0.8, dtype=dtype, random_state=3
    ).fit(X, y)
    teams = model.model_.levels[0]
    ((_, values),) = teams.term_values(X)
    named = make_loss(name, 0.8, None, y, None)
    median = np.sort(y)[74]
    centre, scale = (0.0, y.mean()) if name == "poisson" else (median, 1.4826 * np.sort(np.abs(y - median))[74])
    loss = team_loss(named, scale)
    penalty = 0.1 * 150 * loss.curvature_share

    def objective(c):
        return loss.value((y - centre) / scale, c[0] + c[1:] @ values).sum() + penalty / 2 * c[1:] @ c[1:]

    unit, shift = (1.0, np.log(scale)) if name == "poisson" else (scale, centre)
    own = np.append((teams.intercept - shift) / unit, teams.coefficients / unit)
    best = min(minimize(objective, start).fun for start in (own, np.zeros(own.size)))
    assert objective(own) < best * 1.02


@pytest.mark.parametrize("name", ["absolute", "huber", "quantile", "poisson"])
def test_a_stack_is_weighed_by_its_loss(name):
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(size=400))
    y = rng.poisson(mean).astype(float)
    levels = np.stack([mean * np.exp(0.3 * rng.normal(size=400)), mean**0.5, 2.5 * mean])
    loss, weight = make_loss(name, 0.9, None, y, None), rng.random(400)
    base = loss.constant(y, weight)
    found = reweighted_stack(levels, y, base, weight, loss)

    def mean_loss(a):
        return np.average(loss.of_rows(y, base + a @ (levels - base)), weights=weight)

    assert (found >= 0).all()
    assert found.sum() <= 1 + 1e-6
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 11)] * 3), axis=-1).reshape(-1, 3)
    assert mean_loss(found) <= min(mean_loss(a) for a in grid if a.sum() <= 1 + 1e-9) * 1.01
