"""Progress without a terminal, and how long a fit still takes."""

import io
import re
import sys
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from symgrove import (
    ClassicGPClassifier,
    ClassicGPRegressor,
    GPTIPSRegressor,
    GroveClassifier,
    GroveRegressor,
    TwoSEGPRegressor,
)
from symgrove.evolution import displays, progress
from symgrove.evolution.progress import Reporter
from symgrove.evolution.remaining import Cost, Left, OneEvolution, Pace, Prospect, Stage, in_words
from symgrove.evolution.stopping import Progress
from symgrove.methods.grove.configuration import ManyRows
from symgrove.methods.grove.strength import COEFFICIENTS


class Told:
    """What is told of every generation."""

    n_formulas = 0

    def errors(self, values):
        return f"RMSE {values['errors'].min():g}"

    def formula(self, state, *, as_mathml):
        self.n_formulas += 1
        return state


def told(capsys, generation=5, max_time=None, is_bound=False):
    """What is said after generations of 10 s each."""
    now = [0.0]
    with Reporter("x", OneEvolution(10, is_bound), max_time, clock=lambda: now[0]) as reporter:
        reporter.told = Told()
        for g in range(generation + 1):
            now[0] = 10.0 * g
            reporter(Progress("x0 * 2", {"generation": g, "errors": np.ones(3)}, 0.0))
        return capsys.readouterr().err.splitlines()[-1]


def test_time_left_is_that_of_the_generations_to_come(capsys):
    assert told(capsys) == "x: generation 5/10  RMSE 1  50.0 s, about 50 s left  x0 * 2"
    assert "50.0 s, at most 50 s left" in told(capsys, is_bound=True)
    assert "50.0 s, about 20 s left" in told(capsys, max_time=70.0)


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
    assert Cost(full=10.0).of(5) == 1.5  # as terms become more
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

    monkeypatch.setattr(
        "symgrove.estimators.told.Reporter", lambda *own, **more: Clocked(*own, clock=lambda: clock[0], **more)
    )
    small = {"generations": 20, "population_size": 10, "n_estimators": 2, "n_populations": 1, "max_terms": 10}
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
    for name in ("BEFORE_FORMULAS", "BETWEEN_FORMULAS"):
        monkeypatch.setattr(progress, name, 0.0)
    monkeypatch.setattr(progress, "SHARE_FOR_FORMULAS", 1e9)
    X, y = make_friedman1(110, random_state=0)
    for estimator in (GroveRegressor, TwoSEGPRegressor):
        small = {"generations": 11, "population_size": 20, "n_estimators": 2, "random_state": 0}
        said = [estimator(**small, verbose=verbose).fit(X, y).predict(X) for verbose in (0, 1)]
        np.testing.assert_array_equal(*said)
        lines = capsys.readouterr().err.splitlines()
        assert sum(re.search(r" s(, .* left)?  \S", line) is not None for line in lines) > 9  # a formula
        assert all(len(line) < 200 for line in lines)


def test_errors_have_their_name_and_unit(capsys):
    X, y = make_friedman1(60, random_state=0)
    for estimator, own, target, expected in (
        (GPTIPSRegressor, {}, y, r"training RMSE ([\d.]+) \(in units of y\)"),
        (ClassicGPRegressor, {"loss": "absolute"}, y, r"training mean absolute error ([\d.]+) \(in units of y\)"),
        (ClassicGPClassifier, {}, y > 14, r"training wrong labels ([\d.]+)%"),
        (
            GroveRegressor,
            {"n_estimators": 1, "sampling": 1.0, "strength": "fixed"},
            1e3 * y,
            r"training RMSE ([\d.]+) ",
        ),
    ):
        model = estimator(**own, generations=3, population_size=30, random_state=0, verbose=1).fit(X, target)
        said = float(re.search(expected, capsys.readouterr().err.splitlines()[-1])[1])
        residual = np.asarray(model.predict(X), dtype=float) - target
        true = np.sqrt(np.mean(residual**2)) if "RMSE" in expected else np.mean(np.abs(residual))
        np.testing.assert_allclose(said, 100 * true if "%" in expected else true, rtol=0.03)


def test_formulas_take_a_small_share_of_the_time():
    now, told = [0.0], Told()

    def formula(state, *, as_mathml):
        now[0] += 0.1
        return Told.formula(told, state, as_mathml=as_mathml)

    told.formula = formula
    with Reporter("x", OneEvolution(1000), clock=lambda: now[0]) as reporter:
        reporter.told = told
        for g in range(1000):
            now[0] += 0.1
            reporter(Progress("x0", {"generation": g, "errors": np.ones(3)}, 0.0))
    assert 10 < told.n_formulas < 25  # a tenth of a second each, in a hundred


def test_a_terminal_shows_one_line_whatever_its_width(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    now = [0.0]
    with Reporter("x", OneEvolution(10), clock=lambda: now[0]) as reporter:
        reporter.told = Told()
        now[0] = 1.0
        reporter(Progress("[bold]" + "x0 * 2 + " * 50, {"generation": 5, "errors": np.ones(3)}, 0.0))
        reporter._display._bar.refresh()
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sys.stderr.getvalue())
    frames = [frame for frame in re.split(r"[\r\n]+", shown) if "generation 5" in frame]
    assert all(len(frame) <= 70 for frame in frames)
    assert any("[bold]x0" in frame and frame.rstrip().endswith("…") for frame in frames)
    assert "\n" not in shown.strip()


def test_notebooks_have_a_bar_of_their_own(monkeypatch, capsys):
    shown = []
    handle = SimpleNamespace(update=shown.append)
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    own = {"HTML": str, "display": lambda html, display_id: shown.append(html) or handle}
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(**own))
    monkeypatch.setattr(progress, "BEFORE_FORMULAS", 0.0)
    monkeypatch.setattr(displays, "SECONDS_BETWEEN_UPDATES", 0.0)
    X, y = make_friedman1(60, random_state=0)
    small = {"generations": 3, "population_size": 20, "n_estimators": 2, "random_state": 0, "verbose": 1}
    TwoSEGPRegressor(**small).fit(pd.DataFrame(X).rename(columns="<c&{}".format), y)
    bars = [ET.fromstring(html).find("progress") for html in shown]  # well-formed
    assert [float(bar.get("value")) for bar in bars[:1] + bars[-1:]] == [0.0, 1.0]
    assert any("<math>" in html and "generation 2/3" in html for html in shown)
    assert capsys.readouterr().err == ""

    def fail(progress):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        TwoSEGPRegressor(**small, callbacks=fail).fit(X, y)
    assert "broken off" in shown[-1]


def test_fits_without_generations_show_progress_too(capsys):
    X, y = make_friedman1(60, random_state=0)
    GroveRegressor(generations=0, verbose=1, population_size=20, n_estimators=2, random_state=0).fit(X, y)
    assert "generation 0/0" in capsys.readouterr().err
