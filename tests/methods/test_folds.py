"""Evolutions on folds: rows that a fold holds out have no part in it, nor in the limits of what it predicts."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.methods.grove.configuration import Folds
from symgrove.methods.grove.folds import (
    FoldRows,
    fit_populations,
    for_folds,
    predict_populations,
    predict_teams,
    rows_of_folds,
)
from symgrove.methods.problem import Problem, Rows
from symgrove.models.task import Regression
from tests.naive import pooling as naive

FEW = {"population_size": 60, "n_estimators": 4, "n_populations": 2, "max_terms": 6, "max_size": 7, "dtype": "float64"}


def settings_and_regime(rows, **parameters):
    model = sg.GroveRegressor(**{**FEW, **parameters})
    problem = Problem(rows, Regression(), 0)
    return model._team_settings(problem), for_folds(model._main_regime(6, len(rows.X)), Folds())


def said_of(rows, folds, **parameters):
    """Ensembles of the folds after six generations, and their predictions of the rows held out."""
    settings, regime = settings_and_regime(rows, **parameters)
    with folds.evolutions(settings, regime, 5) as method:
        state = method.init()
        for _ in range(6):
            state = method.step(state)
        each = [*folds.ensembles(settings, method, state)]
    return settings, each, predict_teams(settings, folds, each)


def signs():
    """A target of as many 1 as -1: whatever their order, mean and spread have the same bits."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    return X, np.where(np.argsort(np.argsort(X[:, 0] + X[:, 1] * X[:, 2])) >= 30, 1.0, -1.0)


def test_the_target_of_rows_held_out_has_no_part_in_the_fold():
    X, y = signs()
    other = y.copy()
    own = rows_of_folds(Rows(X, y[None], None, np.arange(60)), 0, Folds(), is_logistic=False).held_out[1]
    other[own] = y[own][::-1]
    assert not np.array_equal(other, y)
    said = []
    for target in (y, other):
        rows = Rows(X, target[None], None, np.arange(60))
        folds = rows_of_folds(rows, 0, Folds(), is_logistic=False)
        said.append(said_of(rows, folds)[2].prediction[0])
    np.testing.assert_array_equal(said[0][own], said[1][own])
    rest = np.setdiff1d(np.arange(60), own)
    assert not np.array_equal(said[0][rest], said[1][rest])


def test_folds_hold_out_every_row_once_or_a_fifth_of_many():
    few, many = (Rows(np.zeros((n, 1)), np.zeros((1, n)), None, np.arange(n)) for n in (53, 700))
    folds = rows_of_folds(few, 0, Folds(), is_logistic=False)
    assert sorted(np.concatenate(folds.held_out).tolist()) == [*range(53)]
    for own, rest in zip(folds.held_out, folds.rests, strict=True):
        assert sorted([*own.tolist(), *rest.tolist()]) == [*range(53)]
    one = rows_of_folds(many, 0, Folds(), is_logistic=False)
    assert [own.size for own in one.held_out] == [140]
    assert len(one.rows.X) == 560  # nobody needs the others


def test_ensembles_of_folds_are_kept_within_the_rows_that_they_have():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    held_out = np.argsort(y)[-12:]  # the highest values, which nothing else shows
    others = np.setdiff1d(np.arange(60), held_out)
    rows = Rows(X, y[None], None, np.arange(60))
    folds = FoldRows(rows, [held_out, others[::4]])
    _, each, said = said_of(rows, folds)
    assert said.prediction[0, held_out].max() <= y[others].max() < y[held_out].min()
    for (own_rows, teams), rest in zip(each, folds.rests, strict=True):
        np.testing.assert_array_equal(own_rows.X, X[rest])
        Z = teams.standardization.apply(X[rest])
        np.testing.assert_array_equal(teams.features.low, Z.min(axis=0))
        ((_, values),) = teams.term_values(X[rest])
        np.testing.assert_allclose(teams.terms.low, values.min(axis=1))
        np.testing.assert_allclose(teams.terms.high, values.max(axis=1))


@pytest.mark.parametrize("clip", [True, False])
def test_predictions_are_those_of_the_ensembles(clip):
    X, y = make_friedman1(60, n_features=5, random_state=0)
    rows = Rows(X, y[None], None, np.arange(60))
    folds = rows_of_folds(rows, 1, Folds(), is_logistic=False)
    _, each, said = said_of(rows, folds, clip=clip)
    for own, (_, teams) in zip(folds.held_out, each, strict=True):
        np.testing.assert_allclose(said.prediction[0, own], teams.predict(X[own])[0], rtol=1e-12)
        np.testing.assert_allclose(said.spread[own], teams.all_members(X[own]).std(axis=0), rtol=1e-9)


@pytest.mark.parametrize("has_weights", [False, True])
def test_populations_are_ridge_regressions_on_the_terms_of_their_teams(has_weights):
    X, y = make_friedman1(80, n_features=5, random_state=0)
    weight = np.linspace(0.5, 2.0, 80) if has_weights else None
    rows = Rows(X, y[None], weight, np.arange(80))
    folds = rows_of_folds(rows, 1, Folds(), is_logistic=False)
    settings, each, _ = said_of(rows, folds)
    found, penalty = predict_populations(settings, folds, each, 2, 2)
    wider, _ = predict_populations(settings, folds, each, 2, 5)
    np.testing.assert_allclose(wider.spread, 1.4901 * found.spread, rtol=1e-3)  # means of 10^6 draws of 2 and of 5
    losses = {}
    for tried in (0.1, 0.01, 1e-3):
        said = np.zeros(80)
        for own, (rest, teams) in zip(folds.held_out, each, strict=True):
            fitted = fit_populations(settings, teams, rest, 2, tried)
            ((_, values),) = teams.term_values(rest.X)
            for j, half in enumerate(np.array_split(teams.coefficients != 0, 2)):
                terms = half.any(axis=0)
                own_weight = np.ones(len(rest.X)) if weight is None else rest.weight
                expected = naive.ridge(values[terms], rest.targets[0], own_weight, tried)
                np.testing.assert_allclose(fitted.intercept[j], expected[0], rtol=1e-6)
                np.testing.assert_allclose(fitted.coefficients[j, terms], expected[1:], rtol=1e-5, atol=1e-7)
                assert not fitted.coefficients[j, ~terms].any()
            said[own] = fitted.predict(X[own])[0]
        losses[tried] = np.average((said - y) ** 2, weights=weight), said
    assert penalty == min(losses, key=lambda tried: losses[tried][0])
    np.testing.assert_allclose(found.prediction[0], losses[penalty][1], rtol=1e-9)


def test_of_clean_data_populations_enter_the_model_and_of_noise_hardly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    clean = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    settings = {"generations": 15, "n_joining": 4, "n_estimators": 10, "population_size": 150, "random_state": 0}
    model = sg.GroveRegressor(**settings).fit(X, clean)
    assert model.stacking_weights_["main 15, populations"] > 0.1
    levels = dict(zip(model.model_.labels, model.model_.levels, strict=True))
    assert levels["main 15, populations"].n_teams == 5
    noise = sg.GroveRegressor(**settings).fit(X, rng.normal(size=120))
    assert noise.stacking_weights_["main 15, populations"] < 0.3
    assert noise.stacking_weight_sum_ < 0.5
