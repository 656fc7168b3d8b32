"""Stops, one by one."""

import numpy as np
import pytest

from symgrove.evolution.stopping import MaxEvaluations, MaxGenerations, Progress, Stagnation, TargetError


def progress(generation=0, n_evaluations=0, errors=(1.0,)):
    values = {"generation": generation, "n_evaluations": n_evaluations, "errors": np.array(errors)}
    return Progress(generation, values, 0.0)


@pytest.mark.parametrize(
    ("stop", "below", "reached", "beyond"),
    [
        (MaxGenerations(5), {"generation": 4}, {"generation": 5}, {"generation": 6}),
        (MaxEvaluations(500), {"n_evaluations": 499}, {"n_evaluations": 500}, {"n_evaluations": 900}),
        (TargetError(0.5), {"errors": (0.1, 0.91)}, {"errors": (0.1, 0.9)}, {"errors": (0.1, 0.2)}),
    ],
)
def test_a_limit_stops_when_it_is_reached(stop, below, reached, beyond):
    assert [stop(progress(**values)) for values in (below, reached, beyond)] == [False, True, True]


def test_a_target_is_not_reached_by_errors_that_are_no_numbers():
    assert not TargetError(0.5)(progress(errors=(0.1, np.nan)))
    assert not TargetError(0.5)(progress(errors=(0.1, np.inf)))


def test_stops_give_the_names_that_users_read():
    stops = (MaxGenerations(1), MaxEvaluations(1), TargetError(1.0), stagnation([], 1))
    assert [stop.name for stop in stops] == ["generations", "max_evaluations", "target_error", "early_stopping"]


def stagnation(errors, patience):
    """Stagnation of these errors, one for each generation; a snapshot is the generation it was taken at."""
    measured = []

    def measure(state):
        measured.append(state)
        return errors[state]

    stop = Stagnation(measure, patience, lambda state: {"best.at": np.array([state]), "twice": np.full(3, 2 * state)})
    stop.measured = measured
    return stop


def asked(stop, generations):
    return [stop(progress(generation)) for generation in generations]


@pytest.mark.parametrize(
    ("errors", "patience", "stops_at", "best_at"),
    [
        ([5.0, 6.0, 6.0, 6.0], 3, 3, 0),
        ([5.0, 4.0, 4.5, 4.0, 1.0], 3, 4, 4),  # the same again is no improvement
        ([5.0, 4.0, 4.5, 4.0, 4.0], 3, 4, 1),
        ([5.0, 4.0, 3.0, 3.1, 3.1], 2, 4, 2),
        ([np.inf, np.inf, 3.0, 4.0], 1, 1, 0),
    ],
)
def test_stagnation_stops_after_generations_without_improvement(errors, patience, stops_at, best_at):
    stop = stagnation(errors, patience)
    n_asked = stops_at + 1
    assert asked(stop, range(n_asked))[:-1] == [False] * stops_at
    assert stop.best_generation == best_at
    assert stop.best_error == errors[best_at]
    np.testing.assert_array_equal(stop.best["best.at"], [best_at])
    assert asked(stop, [stops_at]) == [stops_at - best_at >= patience]


def test_a_generation_that_comes_by_again_is_measured_once():
    stop = stagnation([3.0, 2.0, 5.0], 1)
    assert asked(stop, [0, 0, 1, 1, 2, 2]) == [False, False, False, False, True, True]
    assert stop.measured == [0, 1, 2]


@pytest.mark.parametrize("n_before", range(7))
def test_stagnation_goes_on_from_what_was_saved(n_before):
    errors = [5.0, 4.0, 4.5, 3.5, 3.6, 3.7, 3.8]
    whole = stagnation(errors, 3)
    expected = asked(whole, range(7))
    first, second = stagnation(errors, 3), stagnation(errors, 3)
    told = asked(first, range(n_before))
    second.from_arrays(first.to_arrays())
    # A resumed run comes by its last generation again.
    told_again = asked(second, range(max(n_before - 1, 0), 7))
    assert told[:-1] + told_again == expected
    assert second.measured == list(range(n_before, 7))
    assert (second.best_error, second.best_generation) == (whole.best_error, whole.best_generation) == (3.5, 3)
    assert second.best.keys() == {"best.at", "twice"}
    np.testing.assert_array_equal(second.best["twice"], [6, 6, 6])


def test_stagnation_that_was_never_asked_is_saved_as_that():
    first, second = stagnation([1.0], 1), stagnation([1.0], 1)
    second.from_arrays(first.to_arrays())
    assert second.best is None
    assert asked(second, [0]) == [False]
    assert second.measured == [0]
