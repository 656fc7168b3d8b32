"""Fronts as sequences, tables and plots; what their points predict is tested with the models."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import symgrove as sg
from symgrove.models.front import Front

mpl.use("agg")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1, 2, size=(60, 2)), columns=["<script>", "b"])
    settings = {"n_estimators": 1, "strength": "fixed", "max_terms": 4, "max_size": 5, "random_state": 0}
    return sg.GroveRegressor(**settings, generations=3).fit(X, X["b"] * X["<script>"] + 0.01 * rng.normal(size=60))


@pytest.fixture(scope="module")
def path(model):
    return model.size_path_


def test_a_front_is_a_sequence_that_knows_its_choice(path):
    assert path.chosen == 0
    assert [*path] == path == Front([*path])
    assert path[1] in path
    assert (path[:2].chosen, path[1:].chosen, path[::-1].chosen) == (0, None, len(path) - 1)
    assert isinstance(path[1:], Front)
    assert path[1:] != path
    with pytest.raises(IndexError):
        path[len(path)]
    with pytest.warns(FutureWarning, match="n_terms is now called n_parts"):
        assert path[0].n_terms == path[0].n_parts


def test_what_is_not_known_has_no_column(path):
    heading, first, *rest = repr(path).splitlines()
    assert heading.split() == ["nodes", "parts", "error", "formula"]
    assert first.startswith("*")
    assert not any(line.startswith("*") for line in rest)
    assert first.split(maxsplit=4)[1:4] == [str(path[0].size), str(path[0].n_parts), f"{path[0].error:.4g}"]
    assert repr(Front()) == "Front([])"


def test_notebooks_show_formulas_as_mathml_and_nothing_of_the_users_as_html(path):
    shown = path._repr_html_()
    assert shown.count("<tr>") == len(path) + 1
    assert shown.count("<math>") == len(path)
    assert "<mtext>&lt;script&gt;</mtext>" in shown
    assert "<script>" not in shown


def test_frames_have_all_digits(path, monkeypatch):
    frame = path.to_frame()
    assert list(frame.columns) == ["size", "n_parts", "error", "is_chosen", "formula", "latex"]
    assert frame["formula"].tolist() == [point.formula for point in path]
    assert frame["is_chosen"].tolist() == [True, *[False] * (len(path) - 1)]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas; install it"):
        path.to_frame()


def test_plots_have_a_ring_around_the_choice(path):
    ax = path.plot()
    errors, ring = ax.get_lines()
    assert errors.get_xdata().tolist() == [point.size for point in path]
    assert errors.get_ydata().tolist() == [point.error for point in path]
    assert (ring.get_xdata(), ring.get_ydata()) == ([path[0].size], [path[0].error])
    assert path[1:].plot(ax) is ax
    assert len(ax.get_lines()) == 3
    mpl.pyplot.close(ax.figure)


def test_several_members_have_no_formula_of_their_own():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 0] ** 2
    fitted = sg.TwoSEGPRegressor(n_estimators=10, population_size=100, generations=4, random_state=0).fit(X, y)
    path = sg.simplify_ensemble(fitted, X, y).path
    assert [point.has_formula for point in path] == [point.n_parts == 1 for point in path]
    assert path[-1].n_parts > 1
    assert repr(path).splitlines()[0].split() == ["nodes", "parts", "error", "held", "out"]
    assert "formula" not in path.to_frame()
    with pytest.raises(ValueError, match="members is not one formula"):
        _ = path[-1].formula
    assert str(path[-1]).startswith("FrontPoint(size=")
    assert path[-1]._repr_html_().startswith("FrontPoint(size=")
