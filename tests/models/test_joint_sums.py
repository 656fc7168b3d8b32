"""Levels predicted together: the order of nodes, sorted members, and what may be joined."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove import Forest
from symgrove.models import prediction_kernels
from symgrove.models.joint_sums import joint_sums
from symgrove.models.teams import sorting_network
from tests.naive.aggregation import combine
from tests.strategies import ALL, plant, programs

SMALL = {"n_estimators": 8, "max_terms": 5, "max_size": 7, "generations": 6, "strength": "fixed", "random_state": 0}


@pytest.fixture(scope="module")
def levels_and_rows():
    X, y = make_friedman1(100, random_state=0)
    own = [sg.GroveRegressor(**SMALL).set_params(random_state=seed).fit(X, y) for seed in (0, 1)]
    first, second = (model.model_.levels[0] for model in own)
    return [first, first, second], X


@given(st.lists(programs(), min_size=1, max_size=8))
def test_nodes_come_once_each_after_what_they_are_made_of(population):
    forest = Forest(3, ALL)
    for program in population:
        plant(forest, program)
    order = np.empty(len(forest), dtype=np.int64)
    prediction_kernels.order_nodes(forest.columns, order)
    assert sorted(order) == list(range(len(forest)))
    place = np.argsort(order)
    for node in range(len(forest)):
        assert all(place[child] < place[node] for child in forest.children(node))


@pytest.mark.parametrize("n", [4, 5, 13, 50])
def test_trimmed_means_are_those_of_sorted_members(n):
    members = np.random.default_rng(n).normal(size=(n, 130)).round(1)
    found = np.empty(130)
    prediction_kernels.trimmed_means(members, n // 4, *sorting_network(n), found)
    np.testing.assert_allclose(found, [combine(row, "interquartile", 0.0) for row in members.T], rtol=1e-12, atol=1e-14)
    members[1, 0] = np.nan
    prediction_kernels.trimmed_means(members, n // 4, *sorting_network(n), found)
    assert np.isfinite(found).all()  # it is the highest


def test_levels_of_the_same_rows_are_one_pass_over_distinct_programs(levels_and_rows):
    levels, X = levels_and_rows
    (joint,) = joint_sums(levels)
    texts = {sg.to_text(level.forest, root) for level in levels for root in level.programs}
    assert len(joint.programs) == len(texts) < sum(len(level.programs) for level in levels)
    for _, members in joint.members(X):
        for level, own in zip(levels, members, strict=True):
            (_, values), *_ = level.term_values(X)
            np.testing.assert_allclose(own, level.team_predictions(values), rtol=1e-10)


def test_levels_that_read_rows_or_scale_terms_differently_stay_apart(levels_and_rows):
    (level, *_), X = levels_and_rows
    moved = replace(level, standardization=level.standardization._replace(mean=level.standardization.mean + 1))
    assert [joint.places for joint in joint_sums([level, moved, level])] == [(0, 2), (1,)]
    wider = replace(level, spread=2 * level.spread)
    apart = joint_sums([level, wider])
    assert [joint.places for joint in apart] == [(0,), (1,)]
    for joint, own in zip(apart, (level, wider), strict=True):
        (_, values), *_ = own.term_values(X)
        ((_, (members,)),) = joint.members(X)
        np.testing.assert_allclose(members, own.team_predictions(values), rtol=1e-10)
