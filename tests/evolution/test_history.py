"""The history of a run: rows in, columns out."""

import numpy as np
import pytest

from symgrove.evolution.history import History
from symgrove.evolution.stopping import Progress


def progress(generation, seconds=0.0, **values):
    return Progress(None, {"generation": generation, **values}, seconds)


def filled(*probed):
    """A history of one generation for each of these probed values."""
    history = History()
    for generation, values in enumerate(probed):
        history.append(progress(generation, errors=np.full(2, generation)), values)
    return history


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column)


def test_a_run_without_generations_has_no_columns():
    assert History().as_arrays() == {}


def test_rows_become_columns_whose_first_axis_is_the_generation():
    found = filled({"share": 0.5, "counts": [1, 2, 3]}, {"share": 0.25, "counts": [4, 5, 6]}).as_arrays()
    same(
        found,
        {
            "generation": [0, 1],
            "errors": [[0, 0], [1, 1]],
            "seconds": [0, 0],
            "share": [0.5, 0.25],
            "counts": [[1, 2, 3], [4, 5, 6]],
        },
    )


def test_a_generation_is_not_recorded_twice():
    history = History()
    for generation, seconds in ((0, 1.0), (1, 2.0), (1, 7.0), (0, 8.0), (2, 9.0)):
        history.append(progress(generation, seconds), {})
    same(history.as_arrays(), {"generation": [0, 1, 2], "seconds": [1.0, 2.0, 9.0]})


def test_seconds_go_on_from_those_of_the_run_that_is_resumed():
    history = History({"generation": np.array([0, 1]), "seconds": np.array([0.5, 4.0])})
    for generation, seconds in ((1, 0.25), (2, 1.0), (3, 3.0)):
        history.append(progress(generation, seconds), {})
    same(history.as_arrays(), {"generation": [0, 1, 2, 3], "seconds": [0.5, 4.0, 5.0, 7.0]})


def test_what_is_saved_is_the_same_history():
    first = filled({"a": 1.0}, {}, {"a": 3.0, "b": [1.0, 2.0]})
    same(History(first.as_arrays()).as_arrays(), first.as_arrays())


def test_probes_that_say_nothing_leave_gaps_of_their_shape():
    found = filled({}, {"a": 7, "b": np.ones((2, 3))}, {}).as_arrays()
    np.testing.assert_array_equal(found["a"], [np.nan, 7.0, np.nan])
    assert found["b"].shape == (3, 2, 3)
    np.testing.assert_array_equal(np.isnan(found["b"]).all(axis=(1, 2)), [True, False, True])


@pytest.mark.parametrize("value", [True, 3, 2.5, np.float32(1.5), [1, 2], np.zeros((2, 0)), np.nan])
def test_numbers_of_any_kind_are_recorded(value):
    np.testing.assert_array_equal(filled({"x": value}).as_arrays()["x"], [value])


@pytest.mark.parametrize("value", [None, "high", b"high", 1j, [1, None], {"a": 1}, np.datetime64("2020-01-01")])
def test_what_is_no_number_is_refused_with_its_name_and_value(value):
    history = filled({})
    with pytest.raises(ValueError, match=r"a callback returned 'x' = .*; values for the history must be numbers"):
        history.append(progress(1, errors=np.zeros(2)), {"fine": 1.0, "x": value})
    assert history.as_arrays()["generation"].tolist() == [0]


@pytest.mark.parametrize("name", ["generation", "errors", "seconds"])
def test_names_that_the_history_has_already_are_refused(name):
    with pytest.raises(ValueError, match=f"a callback returned '{name}', which the history has already; use another"):
        filled({name: 1.0})


@pytest.mark.parametrize("is_resumed", [False, True])
def test_another_shape_than_before_is_refused_also_after_a_gap(is_resumed):
    history = filled({"x": [1.0, 2.0]}, {})
    history = History(history.as_arrays()) if is_resumed else history
    with pytest.raises(ValueError, match=r"'x' of shape \(3,\), before it was \(2,\)"):
        history.append(progress(2, errors=np.zeros(2)), {"x": [1.0, 2.0, 3.0]})
