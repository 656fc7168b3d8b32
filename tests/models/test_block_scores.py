from functools import reduce
from operator import add

import numpy as np
import pytest

from symgrove.models.block_scores import ScoreSums
from symgrove.models.task import Classification, Regression

RNG = np.random.default_rng(0)


def in_blocks(task, prediction, targets, weight):
    cuts = [slice(0, 3), slice(3, 4), slice(4, 90)]
    parts = [(prediction[:, own], targets[:, own], None if weight is None else weight[own]) for own in cuts]
    return reduce(add, (ScoreSums.of(task, *part) for part in parts)).score


@pytest.mark.parametrize("weight", [None, RNG.random(90)])
@pytest.mark.parametrize("task", [Regression(), Regression(("a", "b")), Classification(np.arange(3))])
def test_scores_of_blocks_are_those_of_all_rows(task, weight):
    shape = task.n_targets, 90
    prediction, targets = RNG.random(shape), RNG.random(shape)
    if task.classes is not None:
        targets = np.eye(3)[RNG.integers(3, size=90)].T.copy()
    prediction[:, [3, 7]] = np.nan
    expected = task.out_of_bag_score(prediction, targets, weight)
    assert in_blocks(task, prediction, targets, weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("known", [0, 1, 90])
def test_what_has_no_score(known):
    prediction, targets = RNG.random((1, 90)), np.full((1, 90), 3.0)
    prediction[:, known:] = np.nan
    assert np.isnan(in_blocks(Regression(), prediction, targets, None))
    if not known:
        assert np.isnan(in_blocks(Classification(np.arange(2)), prediction, np.zeros((1, 90)), None))
