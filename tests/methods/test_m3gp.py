"""M3GP against its oracle, generation by generation, and what is special about it."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris

import symgrove as sg
from symgrove.rng import stream
from tests.making import method_of
from tests.naive import class_distances, linear_heads, m3gp
from tests.naive.programs import evaluate, from_tokens, to_tokens
from tests.strategies import random_data, uproot

FUNCTIONS = [("add", 2), ("sub", 2), ("mul", 2), ("pdiv", 2)]
RULES = {"height": 3, "max_height": 5, "max_dimensions": 4, "p_crossover": 0.5, "tournament_size": 3}
SETTINGS = {"population_size": 30, "init_depth": 4, "max_depth": 6, "max_dimensions": 4, "tournament_size": 3}
WEIGHTS = np.random.default_rng(0).integers(1, 4, size=60).astype(float)


def follow(estimator, X, y, seed, weight, score, *, prunes):
    """Compare a run with the oracle; the largest number of dimensions of a best individual."""
    expected = m3gp.run(X, FUNCTIONS, 30, 8, partial(stream, seed), score, {**RULES, "prunes": prunes})
    widest = 0
    with method_of(estimator, X, y, seed, weight=weight) as method:
        state = method.init()
        for generation, (population, error) in enumerate(expected):
            state = method.step(state) if generation else state
            found = [[uproot(state.forest, tree) for tree in own if tree >= 0] for own in state.population]
            assert found == [[from_tokens(tree) for tree in own] for own in population]
            assert state.errors[0] == pytest.approx(error, rel=1e-9)
            widest = max(widest, len(population[0]))
    return widest


# Distances or errors that are equal but for rounding are a toss-up: these seeds have none.
@pytest.mark.parametrize("covariance", ["centred", "uncentred"])
@pytest.mark.parametrize(
    ("seed", "n_classes", "prunes", "is_weighted"),
    [(7, 2, True, False), (8, 3, False, False), (9, 2, False, True), (11, 4, True, True)],
)
def test_classes_by_distances(seed, n_classes, prunes, is_weighted, covariance):
    X, y = random_data(seed, n_rows=60)
    labels = np.argsort(np.argsort(y)) * n_classes // 60
    weight = WEIGHTS if is_weighted else None

    def score(columns):
        return class_distances.error(columns, labels, weight, covariance == "centred")

    estimator = sg.M3GPClassifier(**SETTINGS, prune_best=prunes, covariance=covariance)
    assert follow(estimator, X, labels, seed, weight, score, prunes=prunes) > 1


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_linear_regression_on_dimensions(seed):
    """Each generation from the one before: errors that are equal but for rounding may rank either way.

    Pruning finds nothing to drop here: least squares loses with every dimension.
    """
    X, y = random_data(seed, n_rows=60)
    prunes, weight = seed % 2 == 0, WEIGHTS if seed > 2 else None

    def error(individual):
        columns = [evaluate(tree, X) for tree in individual]
        is_finite = all(np.isfinite(column).all() for column in columns)
        return float(linear_heads.head(columns, y, weight)[2]) if is_finite else np.inf

    widest = 0
    with method_of(sg.M3GPRegressor(**SETTINGS, prune_best=prunes), X, y, seed, weight=weight) as method:
        state, rng = method.init(), stream(seed, "init")
        made = [[m3gp.new_tree(rng, FUNCTIONS, X.shape[1], RULES)] for _ in range(30)]
        for generation in range(9):
            found = [[uproot(state.forest, tree) for tree in own if tree >= 0] for own in state.population]
            expected = [[from_tokens(tree) for tree in own] for own in made]
            assert sorted(found) == sorted(expected)
            np.testing.assert_allclose(state.errors, [error(own) for own in found], rtol=1e-7)
            keys = [
                (e, len(own), sum(len(to_tokens(t)) for t in own)) for e, own in zip(state.errors, found, strict=True)
            ]
            assert keys == sorted(keys)
            widest = max(widest, len(found[0]))
            population = [[to_tokens(tree) for tree in own] for own in found]
            made = m3gp.following(stream(seed, "variation", generation), population, FUNCTIONS, X.shape[1], RULES)
            state = method.step(state)
    assert widest > 1


@pytest.fixture(scope="module", params=[2, 3])
def iris(request):
    X, y = load_iris(return_X_y=True, as_frame=True)
    rows = y >= 3 - request.param
    X, y = X[rows], np.array(["setosa", "versicolor", "virginica"])[y[rows]]
    model = sg.M3GPClassifier(population_size=60, generations=10, target_error=None, random_state=3).fit(X, y)
    return X, y, model


def test_programs_say_what_the_evolution_counted(iris):
    X, y, model = iris
    assert 1 - model.score(X, y) == pytest.approx(model.history_["errors"][-1, 0])
    assert model.score(X, y) > 0.95


def test_the_model_is_shown_as_dimensions_and_distances(iris, tmp_path):
    X, _, model = iris
    lines = model.formula().splitlines()
    n_dimensions = model.history_["n_dimensions"][-1]
    names = [line.split(" = ")[0] for line in lines]
    dimensions = [name for name in names if name.startswith("z_")]
    assert 1 <= len(dimensions) <= n_dimensions  # a dimension that is a feature needs no other name
    assert names[: len(dimensions)] == dimensions
    classes = model.classes_.tolist()
    assert names[len(dimensions) :][: len(classes)] == [f"distance({label})" for label in classes]
    rule = "".join(lines[len(dimensions) + len(classes) :])
    if len(classes) == 2:
        assert f"(distance({classes[0]}) - distance({classes[1]}))" in rule
    assert all(f"distance({label})" in rule for label in classes)
    assert r"z_{1} &= " in model.formula("latex")
    assert rf"\operatorname{{distance}}\left(\mathrm{{{classes[0]}}}\right) &= " in model.formula("latex")
    model.save(tmp_path / "model.json")
    loaded = sg.load(tmp_path / "model.json")
    assert loaded.formula() == model.formula()
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_pruning_drops_what_does_no_harm():
    X, y = random_data(5, n_rows=80)
    labels = (y > np.median(y)).astype(int)
    widths = []
    with method_of(sg.M3GPClassifier(**SETTINGS), X, labels, 5) as method:
        state = method.init()
        for _ in range(10):
            state = method.step(state)
            best = state.population[0][state.population[0] >= 0]
            widths.append(best.size)
            if best.size > 1:  # the last is looked at when the others are settled
                assert method.head.errors(state.forest, best[None, :-1])[0] > state.errors[0]
    assert max(widths) > 1
    assert state.n_evaluations > 11 * 30


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_scores_tell_distances_apart_whatever_their_size(size):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 3)).astype(float)  # classes without spread: distances in units of the data
    y = (X[:, 0] + 2 * X[:, 1]).astype(int)
    model = sg.M3GPClassifier(population_size=50, generations=10, random_state=0).fit(size * X, y)
    assert model.history_["errors"][-1, 0] == 0
    assert model.score(size * X, y) == 1


def test_a_dimension_that_repeats_is_pruned():
    X, y = random_data(5, n_rows=80)
    with method_of(sg.M3GPRegressor(**SETTINGS), X, y, 5) as method:
        state = method.init()
        best = state.population[0, 0]
        twice = np.full((30, 3), -1)
        twice[:, :1], twice[0] = state.population, (best, best, state.forest.feature(0))
        pruned = method._with_pruned_best(replace(state, population=twice))
        left = pruned.population[0][pruned.population[0] >= 0]
        assert best in left
        assert left.size <= 2


@pytest.mark.parametrize(
    ("kind", "entry", "value", "message"),
    [
        ("distance", "place", 9, "names distances from other classes"),
        ("dimension", "node", 10**6, "entry 'node' of item 0 of 'named' must be a whole number from 0 to"),
        ("dimension", "kind", "colour", "must be one of dimension, distance"),
    ],
)
def test_names_in_files_are_checked(iris, tmp_path, kind, entry, value, message):
    file = tmp_path / "model.json"
    iris[2].save(file)
    document = json.loads(file.read_text())
    named = next(own for own in document["ensembles"] if own["named"])["named"]
    next(own for own in named if own["kind"] == kind)[entry] = value
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        sg.load(file)


def test_the_number_of_dimensions_is_limited():
    X, y = random_data(6, n_rows=60)
    for limit in (1, 3):
        model = sg.M3GPRegressor(population_size=40, generations=10, max_dimensions=limit, random_state=0).fit(X, y)
        assert model.history_["n_dimensions"].max() <= limit
        assert (model.history_["mean_dimensions"] <= limit).all()
    assert model.history_["n_dimensions"].max() > 1


def test_early_stopping_holds_rows_out_of_one_evolution_for_all_classes():
    X, y = load_iris(return_X_y=True)
    settings = {"population_size": 40, "target_error": None, "early_stopping": True, "n_generations_no_change": 3}
    model = sg.M3GPClassifier(**settings, random_state=0).fit(X, y)
    assert model.stop_reason_ == "early_stopping"
    assert model.score(X, y) > 0.9
