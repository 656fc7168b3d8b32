"""Progress without a terminal."""

import numpy as np
from sklearn.datasets import make_friedman1

from symgrove import GroveRegressor
from symgrove.evolution.progress import Reporter
from symgrove.evolution.stopping import Progress
from symgrove.methods.problem import Problem, Rows
from symgrove.models.task import Regression


def told(reporter, capsys):
    for generation in (0, 5):
        values = {"generation": generation, "errors": np.ones(3), "n_distinct": 7}
        reporter(Progress(None, values, 10.0 * generation))
    return capsys.readouterr().err.splitlines()[-1]


def test_time_left_counts_what_follows_the_last_generation(capsys):
    assert told(Reporter(10, "x"), capsys).endswith("50.0 s, about 50 s left")
    assert told(Reporter(10, "x", n_more=4.0), capsys).endswith("50.0 s, about 90 s left")


def test_grove_counts_the_choice_of_the_strength():
    X, y = make_friedman1(60, random_state=0)
    auto, fixed = (GroveRegressor(strength=strength, random_state=0) for strength in ("auto", "fixed"))
    problem = Problem(Rows(X, y[None], None, np.arange(60)), Regression(), 0)
    work = [model._work_after(problem, model._limits()) for model in (auto, fixed)]
    assert 50 < work[0] < 300  # of 100 generations; the measured time is about 1.5 times that of the evolution
    assert work[1] == 0
    GroveRegressor(generations=0, verbose=1, population_size=20, n_estimators=2, random_state=0).fit(X, y)
