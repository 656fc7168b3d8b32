"""eGP, generation by generation against its oracle, and what is special about it."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from symgrove import EGPClassifier
from symgrove.fitness.bootstrap import subsample_counts
from symgrove.rng import stream
from tests.making import method_of
from tests.naive import egp as naive
from tests.naive.programs import from_tokens
from tests.strategies import random_data, uproot

FUNCTIONS = [("add", 2), ("sub", 2), ("mul", 2), ("pdiv", 2)]
SMALL = {"population_size": 24, "n_subsets": 5, "max_trees": 5, "tournament_size": 3, "feature_fraction": 0.5}
WEIGHTINGS = ("accuracy", "none", "margin")


def labelled(seed, n_rows=40, n_features=6):
    X, y = random_data(seed, n_rows=n_rows, n_features=n_features)
    return X, (y > np.median(y)).astype(float)


def features_of(seed, n_features, share, n_subsets):
    """Sorted indices of the features of each subset."""
    n_chosen = round(share * n_features)
    return [sorted(stream(seed, "features", j).permutation(n_features)[:n_chosen].tolist()) for j in range(n_subsets)]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_generation_is_that_of_the_definition(seed, weighting, is_weighted):
    X, y = labelled(seed)
    weight = 2.0 ** np.random.default_rng(seed).integers(3, size=40) if is_weighted else np.ones(40)
    masks = subsample_counts(40, 5, seed, 0.6) > 0
    own = naive.Run(X, y, FUNCTIONS, masks, features_of(seed, 6, 0.5, 5), 24, 5, 3, weighting, weight)
    with method_of(EGPClassifier(**SMALL, weighting=weighting), X, y, seed, weight=weight) as method:
        state = method.init()
        for generation, (trees, forests, errors) in enumerate(naive.run(own, 8, partial(stream, seed))):
            state = method.step(state) if generation else state
            found = [uproot(state.forest, root) for root in state.population]
            assert found == [from_tokens(tokens) for tokens, _, _ in trees]
            np.testing.assert_array_equal(state.errors, [error for _, _, error in trees])
            np.testing.assert_array_equal(state.list_errors, errors)
            for row, forest in enumerate(forests):
                roots, samples = state.lists.root[row], state.lists.sample[row]
                n_trees = np.count_nonzero(roots >= 0)
                assert [uproot(state.forest, root) for root in roots[:n_trees]] == [
                    from_tokens(tokens) for tokens, _, _ in forest
                ]
                assert samples[:n_trees].tolist() == [subset for _, subset, _ in forest]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_model_says_on_training_rows_what_evolution_scored(weighting):
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(3):
        model = EGPClassifier(population_size=60, generations=6, n_subsets=6, weighting=weighting, random_state=seed)
        model.fit(X, y)
        assert np.mean(model.predict(X) != y) == model.history_["errors"][-1, 0]


def test_trees_keep_to_the_features_and_rows_of_their_subset():
    X, y = labelled(3, n_rows=60, n_features=8)
    wanted = features_of(0, 8, 0.5, 5)
    with method_of(EGPClassifier(**SMALL), X, y, seed=0) as method:
        state = method.init()
        for _ in range(12):
            state = method.step(state)
        forest, best = state.forest, state.lists
        trees = [*zip(state.population, method.sample_of, strict=True)]
        trees += [*zip(best.root[best.root >= 0], best.sample[best.root >= 0], strict=True)]
        for root, subset in trees:
            used = {int(forest.columns.left[n]) for n in forest.reachable([root]) if forest.name(n) == "feature"}
            assert used <= set(wanted[subset])
        members = method.members(state)
        outside = method.outside(state, members)
        assert (outside.sum(axis=1) == 60 - 36).all()
        for own, error, left_out in zip(members.root, members.error, outside, strict=True):
            said = method.engine.outputs(forest, [own])[0] > 0.5
            assert np.mean(said[~left_out] != y[~left_out]) == pytest.approx(error)


def test_the_best_forest_needs_each_of_its_trees():
    X, y = labelled(4, n_rows=80)
    with method_of(EGPClassifier(**{**SMALL, "max_trees": 12}), X, y, seed=1) as method:
        state = method.init()
        longest = 0
        for _ in range(10):
            state = method.step(state)
            n_trees = int(state.lists.length[0])
            longest = max(longest, n_trees)
            for i in range(n_trees if n_trees > 1 else 0):
                is_kept = (state.lists.root[:1] >= 0) & (np.arange(12) != i)
                shorter = state.lists.rows(slice(0, 1)).chosen(is_kept, 12)
                assert method._list_errors(state.forest, shorter)[0] > state.list_errors[0]
            state = method.rollback(state)
        assert longest > 2


def test_unusable_trees_join_no_forest_that_is_chosen():
    X, y = labelled(5)
    X[0, :] = 1e150
    with method_of(EGPClassifier(**{**SMALL, "functions": ("mul", "add")}), X, y, seed=0) as method:
        state = method.init()
        is_unusable = ~np.isfinite(state.errors)
        assert is_unusable.any()
        for _ in range(3):
            state = method.step(state)
        assert np.isfinite(method.members(state).error).all()
        assert np.isfinite(state.list_errors[0])


def test_margins_make_one_formula_without_rows_left_out():
    X, y = labelled(6, n_rows=80)
    model = EGPClassifier(population_size=40, generations=5, n_subsets=5, weighting="margin", random_state=0).fit(X, y)
    assert len(model.ensemble_) == 1
    assert not hasattr(model, "oob_score_")
    model.set_params(weighting="none").fit(X, y)
    assert 0 < model.oob_score_ <= 1
    assert model.model_.ensembles[0].weights is None
