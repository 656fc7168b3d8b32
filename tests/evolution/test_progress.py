"""Progress without a terminal, and how long a fit still takes."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from symgrove import GroveClassifier, GroveRegressor, TwoSEGPRegressor
from symgrove.evolution import displays
from symgrove.evolution.progress import Reporter
from symgrove.evolution.remaining import Cost, Left, OneEvolution, Pace, Prospect, Stage, in_words
from symgrove.evolution.stopping import Progress
from symgrove.methods.grove.configuration import ManyRows
from symgrove.methods.grove.strength import COEFFICIENTS


def told(capsys, generation=5, max_time=None, is_bound=False):
    """What is said after generations of 10 s each."""
    now = iter([0.0, *np.repeat(10.0 * np.arange(generation + 1), 2), 999.0])
    with Reporter("x", OneEvolution(10, is_bound), max_time, clock=lambda: next(now)) as reporter:
        for g in range(generation + 1):
            reporter(Progress(None, {"generation": g, "errors": np.ones(3)}, 0.0))
        return capsys.readouterr().err.splitlines()[-1]


def test_time_left_is_that_of_the_generations_to_come(capsys):
    assert told(capsys).endswith("generation 5/10  best 1  median 1  50.0 s, about 67 s left")  # programs grow
    assert told(capsys, is_bound=True).endswith("50.0 s, at most 67 s left")
    assert told(capsys, max_time=70.0).endswith("50.0 s, about 20 s left")


def test_what_nobody_knows_is_a_range():
    pace = Pace({"main": Cost(), "other": Cost(share=3.0)})
    likely, long = Prospect(0.5, [Stage("main", 2, 4)]), Prospect(0.5, [Stage("main", 2, 4), Stage("other", 0, 10)])
    assert pace.left([likely, long]) is None
    for g in range(1, 3):
        pace.note("main", g, 1.0)
    left = pace.left([likely, long])
    np.testing.assert_allclose(left, (8.0, 2.0, 32.0))  # the other is not measured yet: three times as long
    assert in_words(left) == "2 to 32 s left"
    assert in_words(left.within(3.0)) == "about 3 s left"
    assert in_words(Left(60.0, 20.0, 600.0)) == "20 s to 10 min left"
    assert in_words(Left(0.1, 0.0, 0.2)) == "about 1 s left"  # never 0
    pace.note("other", 1, 0.5)
    np.testing.assert_allclose(pace.left([long]).most, 2.0 + 5.0)


def left_of(lines):
    """Seconds that had passed, and those that were said to be left, from when to when."""
    for line in lines:
        found = re.search(r"([\d.]+) s, (?:about |(\d+) to )?(\d+) s left", line)
        if found:
            yield float(found[1]), float(found[2] or found[3]), float(found[3])


class ManyRowsRegressor(GroveRegressor):
    configuration = replace(GroveRegressor.configuration, many=ManyRows(fewest_rows=150, rows_of_a_turn=50))


@pytest.mark.parametrize(
    ("estimator", "n_rows"),
    [(GroveRegressor, 40), (GroveRegressor, 120), (GroveClassifier, 120), (ManyRowsRegressor, 150)],
)
def test_time_left_counts_the_choice_of_the_strength(estimator, n_rows, capsys, monkeypatch):
    """Of fits in which generations take as long as their work, whatever the machine does at the moment."""
    X, y = make_friedman1(n_rows, random_state=0)
    clock = [0.0]
    monkeypatch.setattr(displays, "SECONDS_BETWEEN_LINES", 0.0)

    class Clocked(Reporter):
        def _observe(self, name, *what):
            clock[0] += 10 * self.outlook.costs[name].share
            super()._observe(name, *what)

        def say(self, what, begins=None):
            super().say(what, begins)
            if begins == COEFFICIENTS:
                clock[0] += 10 * self.outlook.costs[begins].share

    monkeypatch.setattr("symgrove.estimators.base.Reporter", lambda *own: Clocked(*own, clock=lambda: clock[0]))
    small = {"generations": 20, "population_size": 30, "n_estimators": 4, "n_populations": 2, "max_terms": 10}
    y = y > 14 if estimator is GroveClassifier else y
    estimator(**small, random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    step = "coefficients on all rows" if estimator is ManyRowsRegressor else "choosing the strength"
    assert f"{estimator.__name__}: {step}" in "".join(lines)
    said = [(clock[0] - seconds, least, most) for seconds, least, most in left_of(lines) if seconds > 0.2 * clock[0]]
    assert len(said) > 10
    for true, least, most in said[:-1]:
        assert least <= 2 * true + 1, (true, least, most)
        assert most >= 0.5 * true - 1, (true, least, most)


def test_progress_does_not_change_results(capsys, monkeypatch):
    monkeypatch.setattr(displays, "SECONDS_BETWEEN_LINES", 0.0)
    X, y = make_friedman1(60, random_state=0)
    for estimator in (GroveRegressor, TwoSEGPRegressor):
        small = {"generations": 11, "population_size": 20, "n_estimators": 2, "random_state": 0}
        said = [estimator(**small, verbose=verbose).fit(X, y).predict(X) for verbose in (0, 1)]
        np.testing.assert_array_equal(*said)
        assert len(capsys.readouterr().err.splitlines()) > 12


def test_fits_without_generations_show_progress_too(capsys):
    X, y = make_friedman1(60, random_state=0)
    GroveRegressor(generations=0, verbose=1, population_size=20, n_estimators=2, random_state=0).fit(X, y)
    assert "generation 0/0" in capsys.readouterr().err
