"""Predictions of an ensemble when members are not finite, and of merged members."""

import numpy as np
import pytest

from symgrove import Forest, PrimitiveSet, parse
from symgrove.models.ensemble import COMBINE, clipped, make_ensemble, shares_of, votes_of, weights_for
from symgrove.models.standardization import no_standardization, standardization_of
from tests.naive import aggregation as naive

X = np.array([[1.0], [1e200], [-2.0]])


def ensemble_of(*members, fallback=0.25, aggregation="mean", weights=None):
    """An ensemble of (formula, slope, intercept)."""
    forest = Forest(1, PrimitiveSet(("add", "mul", "sub", "cube")))
    roots = np.array([parse(forest, formula) for formula, _, _ in members])
    slope, intercept = (np.array(values) for values in zip(*((s, i) for _, s, i in members), strict=True))
    rules = fallback, no_standardization(1), aggregation, 0.5, weights
    return make_ensemble(forest, roots, slope, intercept, *rules)


INF, NAN = "cube(x0)", "cube(x0) - cube(x0)"  # at x0 = 1e200


def test_members_that_are_not_finite_on_a_row_do_not_count_there():
    ensemble = ensemble_of((INF, 1.0, 0.0), (NAN, 1.0, 0.0), ("x0 * 0", 1.0, 0.75), (INF, 1.0, 0.0))
    mean = ensemble.predict(X)
    np.testing.assert_allclose(mean, [(1 + 0 + 0.75 + 1) / 4, 0.75, (-8 + 0 + 0.75 - 8) / 4])
    np.testing.assert_allclose(ensemble.vote_share(X), [3 / 4, 1.0, 1 / 4])
    np.testing.assert_allclose(ensemble.mean_clipped(X), [2.75 / 4, 0.75, 0.75 / 4])
    again, spread = ensemble.predict_with_spread(X)
    np.testing.assert_array_equal(again, mean)
    np.testing.assert_allclose(spread, [np.std([1, 0, 0.75, 1]), 0.0, np.std([-8, 0, 0.75, -8])])


def test_where_no_member_is_finite_the_fallback_is_predicted():
    ensemble = ensemble_of((INF, 1.0, 0.0), (NAN, 1.0, 0.0))
    for values in (ensemble.predict(X), ensemble.vote_share(X), ensemble.mean_clipped(X)):
        assert values[1] == 0.25
    assert ensemble.predict_with_spread(X)[1][1] == 0.0


def test_equal_programs_are_stored_once():
    ensemble = ensemble_of(("x0", 1.0, 0.0), ("x0 * x0", 1.0, 0.0), ("x0", 3.0, 2.0))
    assert ensemble.programs.size == 2
    np.testing.assert_allclose(ensemble.predict(X[[0, 2]]), [(1 + 1 + 5) / 3, (-2 + 4 - 4) / 3])


@pytest.mark.parametrize("aggregation", COMBINE)
def test_members_are_combined_as_defined(aggregation):
    rng = np.random.default_rng(0)
    formulas = [INF, NAN, "x0 * 0", "x0", "x0 * x0", "x0", INF, "x0 - 1", "x0 * 0 + 2"]
    weights = np.append(0.0, rng.random(8)) if aggregation == "weighted" else None
    members = [(formula, *rng.normal(size=2)) for formula in formulas]
    for n in range(1, 10):
        some = None if weights is None else np.maximum(weights[:n], n == 1)
        ensemble = ensemble_of(*members[:n], aggregation=aggregation, weights=some)
        said = np.concatenate([ensemble.member_predictions(outputs) for _, outputs in ensemble.outputs(X)], axis=1)
        assert not np.isfinite(said[0]).all()
        wanted = [naive.combine(row, aggregation, 0.25, some) for row in said.T.tolist()]
        np.testing.assert_allclose(ensemble.predict(X), wanted, rtol=1e-12)
        np.testing.assert_array_equal(ensemble.predict_with_spread(X)[0], ensemble.predict(X))
        shown = [naive.combine(row, aggregation, 0.25, some) for row in ensemble.all_members(X).T.tolist()]
        np.testing.assert_allclose(ensemble.predict(X), shown, rtol=1e-12)


@pytest.mark.parametrize(("name", "head"), [("vote_share", votes_of), ("mean_clipped", clipped)])
def test_weighted_votes_are_added_as_defined(name, head):
    rng = np.random.default_rng(0)
    formulas = [INF, NAN, "x0 * 0", "x0", "x0 * x0", "x0", INF, "x0 - 1", "x0 * 0 + 2"]
    members = [(formula, *rng.normal(size=2)) for formula in formulas]
    for n in range(1, 10):
        weights = np.append(rng.random(n - 1), 1.0)
        ensemble = ensemble_of(*members[:n], aggregation="weighted", weights=weights)
        said = np.concatenate([head(ensemble.member_predictions(o)) for _, o in ensemble.outputs(X)], axis=1)
        wanted = [naive.vote(row, 0.25, weights.tolist()) for row in said.T.tolist()]
        np.testing.assert_array_equal(getattr(ensemble, name)(X), wanted)
        padded = np.append(weights, np.zeros(7))
        np.testing.assert_array_equal(shares_of(padded)[:n], shares_of(weights))


@pytest.mark.parametrize("errors", [[2.0, 0.5, np.inf, 1e-3], [2.0, 0.0, np.inf, 0.0], [5e-324, 1.0, 1e308]])
def test_weights_are_one_over_the_errors(errors):
    found, wanted = weights_for("weighted", np.array(errors)), np.array(naive.weights_of(errors[-4:]))
    if np.isfinite(wanted).all():
        np.testing.assert_allclose(found / found.sum(), wanted / wanted.sum())
    assert found.max() == 1.0
    assert np.isfinite(found).all()
    assert weights_for("mean", np.array(errors)) is None
    np.testing.assert_array_equal(weights_for("weighted", np.array([np.inf, np.inf])), [1, 1])
    np.testing.assert_array_equal(weights_for("weighted", np.array([-2.0, 1.0, 0.0])), [1, 0, 1])


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 1.0])])
def test_standardisation_centres_scales_and_leaves_constants_alone(weight):
    data = np.array([[1.0, 0.1], [2.0, 0.1], [6.0, 0.1]])
    standardization = standardization_of(data, weight)
    Z = standardization.apply(data)
    w = np.ones(3) if weight is None else weight
    np.testing.assert_allclose([w @ Z[:, 0], w @ Z[:, 0] ** 2 / w.sum()], [0, 1], atol=1e-12)
    np.testing.assert_allclose(Z[:, 1], 0, atol=1e-15)
    assert standardization.spread[1] == 1.0
