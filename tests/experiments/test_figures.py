"""Figures as they are printed: nothing hides anything, and lines can be told apart."""

from itertools import combinations, pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from symgrove.experiments import figures, rank_diagram
from symgrove.experiments.comparison import compare_methods
from symgrove.experiments.figures import spread
from symgrove.experiments.heat_maps import of_improvements
from symgrove.experiments.names import NAMES
from symgrove.experiments.paper import tasks_of
from symgrove.experiments.runner import read_rows
from symgrove.experiments.study import load_study

ROWS = Path(__file__).parents[2] / "docs/results/runs.jsonl"
OF_THE_PAPER = [name for name in NAMES if name.startswith("figure")]
RANKS = "ranks of the study grove"


@pytest.fixture(scope="module")
def drawn():
    """The figures of the committed rows, laid out."""
    rows, found = read_rows(ROWS), {}
    study = load_study("grove")
    result = compare_methods(study, rows, tasks_of(study, {}))
    with matplotlib.rc_context(figures.STYLE):
        found[RANKS] = rank_diagram.diagram(Figure, result.ranks[0])
        FigureCanvasAgg(found[RANKS]).draw()
    for name in OF_THE_PAPER:
        study = load_study(name)
        with matplotlib.rc_context(figures.STYLE):
            figure = figures.FIGURES[study.kind](Figure, study, rows, tasks_of(study, {}), None)
            FigureCanvasAgg(figure).draw()
        found[name] = figure
    return found


@pytest.mark.parametrize("name", [*OF_THE_PAPER, RANKS])
def test_legends_stand_outside_the_axes_and_all_is_on_the_page(drawn, name):
    figure = drawn[name]
    width, height = figure.canvas.get_width_height()
    assert figure.get_figwidth() in (figures.ONE_COLUMN, figures.TWO_COLUMNS)
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
        assert 0 <= box.x0 < box.x1 <= width
        assert box.y1 <= height + 1
    assert not any(axes.get_legend() for axes in figure.axes)
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert -1 <= box.x0 < box.x1 <= width + 1
        assert -1 <= box.y0 < box.y1 <= height + 1


@pytest.mark.parametrize("name", [*OF_THE_PAPER, RANKS])
def test_texts_do_not_collide(drawn, name):
    for axes in drawn[name].axes:
        shown = [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        boxes = {text.get_text(): text.get_window_extent() for text in shown if text.get_text()}
        for (a, one), (b, other) in combinations(boxes.items(), 2):
            assert not one.padded(-0.5).overlaps(other.padded(-0.5)), (a, b)


def test_sizes_of_ensembles_are_named_above_the_axes(drawn):
    for axes in drawn["figure-beta"].axes:
        assert [text.get_text() for text in axes.texts] == [*sorted_by_place(axes), "β = "]
        assert {text.get_text() for text in axes.texts} == {"5", "25", "50", "100", "250", "500", "β = "}


def sorted_by_place(axes):
    return [t.get_text() for t in sorted(axes.texts[:-1], key=lambda text: text.get_window_extent().x0)]


def test_lines_differ_in_colour_and_in_dash_and_in_shape(drawn):
    axes = drawn["figure-diversity"].axes[0]
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    assert len(lines) == 6
    for look in ("get_color", "get_marker"):
        assert len({getattr(line, look)() for line in lines}) == 6
    assert len(set(figures.LINES)) == len(figures.LINES) == len(figures.ORDER) == len(set(figures.SHAPES))
    assert axes.get_yscale() == "log"
    assert [a.get_title() for a in drawn["figure-diversity"].axes[:2]] == [
        "share of the ensemble",
        "share of the population",
    ]


def test_the_best_rank_stands_on_the_left_and_every_method_has_its_own(drawn):
    (axes,) = drawn[RANKS].axes
    told = {text.get_text().rsplit("  ", 1)[0]: float(text.get_text().rsplit("  ", 1)[1]) for text in axes.texts}
    marks = sorted(float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() in "os")
    np.testing.assert_allclose(marks, sorted(told.values()), atol=0.005)
    assert {"Grove", "XGBoost", "extra trees"} <= told.keys()
    assert axes.get_xlim()[0] < axes.get_xlim()[1]
    left = {text.get_text() for text in axes.texts if text.get_window_extent().x1 < axes.get_window_extent().x0 + 1}
    assert sorted(told.values())[: len(left)] == sorted(float(text.rsplit("  ", 1)[1]) for text in left)


def test_generations_after_the_first_can_be_told_apart(drawn):
    images = [axes.images[0] for axes in drawn["figure-evolvability"].axes if axes.images]
    for image in images[:2]:
        assert isinstance(image.norm, LogNorm)
        shades = np.asarray(image.norm(np.asarray(image.get_array())))[1:]
        assert np.ptp(shades) > 0.3  # of the whole scale
    ratio = np.asarray(images[2].get_array())
    assert ratio.min() < 0 < ratio.max()
    assert images[2].norm(0) == 0.5


def test_shares_of_nought_are_drawn():
    with matplotlib.rc_context(figures.STYLE):
        figure = of_improvements(Figure, np.array([[0.5, 0.4], [0.0, 0.0]]), np.zeros((2, 2)), 7.0)
        FigureCanvasAgg(figure).draw()
    assert all(np.isfinite(axes.images[0].get_array()).all() for axes in figure.axes if axes.images)


@given(st.lists(st.floats(0, 1), max_size=8).map(sorted), st.floats(0.001, 0.3))
def test_labels_are_moved_apart_no_more_than_needed(places, gap):
    moved = spread(places, gap)
    assert len(moved) == len(places)
    assert all(b - a >= gap * (1 - 1e-9) for a, b in pairwise(moved))
    if all(b - a >= gap for a, b in pairwise(places)):
        np.testing.assert_allclose(moved, places, atol=1e-12)


def test_labels_that_touch_stay_around_their_middle():
    np.testing.assert_allclose(spread([0.1, 0.5, 0.52], 0.1), [0.1, 0.46, 0.56])
