"""The loop with a method that only counts: who is asked when, why it ends, and what a cut leaves behind."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from symgrove.evolution.history import History
from symgrove.evolution.loop import Control, evolve
from symgrove.evolution.stopping import MaxGenerations


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    fake = Clock()
    monkeypatch.setattr(time, "perf_counter", fake)
    return fake


class Counter:
    """The state is the number of the generation; `made` is what steps leave behind, and `log` who was called."""

    def __init__(self, during=lambda method, state: None):
        self.during = during
        self.made = []
        self.check = None
        self.log = []

    def step(self, state):
        assert state < 50, "nothing has stopped the loop"
        self.log.append(f"step {state}")
        self.made.append(f"half of {state + 1}")
        self.during(self, state)
        self.made[-1] = state + 1
        return state + 1

    def rollback(self, state):
        self.log.append(f"rollback {state}")
        del self.made[state:]
        return state

    def watch(self, check):
        self.log.append("watch" if check else "unwatch")
        self.check = check

    def describe(self, state):
        self.log.append(f"describe {state}")
        return {"generation": state, "n_evaluations": 10 * state, "errors": np.full(2, 8.0 - state)}


class Says:
    """A stop or an observer that says the same each time, and remembers whom it was told of."""

    def __init__(self, answer, name="own"):
        self.answer = answer
        self.name = name
        self.told = []

    def __call__(self, progress):
        self.told.append(progress.state)
        return self.answer


def taking(clock, seconds):
    """Steps of so many seconds, within which nobody asks for the time."""

    def during(method, state):
        clock.now += seconds

    return during


def taking_and_checking(clock, seconds):
    """The same, with an engine that asks after each second whether there is time left."""

    def during(method, state):
        for _ in range(seconds):
            clock.now += 1.0
            method.check()

    return during


def generations(control):
    return control.history.as_arrays()["generation"].tolist()


def test_each_generation_is_described_judged_told_and_only_then_stepped_from():
    method = Counter()

    def stop(progress):
        method.log.append(f"stop {progress.state}")
        return progress.state == 1

    def observer(progress):
        method.log.append(f"observer {progress.state}")

    stop.name = "enough"
    assert evolve(method, 0, Control(stops=[stop], observers=[observer])) == (1, "enough")
    before, after = (["describe 0", "stop 0", "observer 0"], ["describe 1", "stop 1", "observer 1"])
    assert method.log == [*before, "unwatch", "step 0", "unwatch", *after]


def test_who_is_told_sees_state_values_and_seconds(clock):
    seen = []
    clock.now = 3.0
    control = Control(stops=[MaxGenerations(1)], observers=[seen.append], start=1.0)
    evolve(Counter(taking(clock, 5.0)), 0, control)
    assert [(p.state, p.values["n_evaluations"], p.seconds) for p in seen] == [(0, 0, 2.0), (1, 10, 7.0)]
    np.testing.assert_array_equal(control.history.as_arrays()["seconds"], [2.0, 7.0])


def test_a_stop_at_the_start_leaves_the_first_state():
    method = Counter()
    assert evolve(method, 0, Control(stops=[MaxGenerations(0)])) == (0, "generations")
    assert method.made == []


@pytest.mark.parametrize(
    ("stops", "observers", "is_interrupted", "reason"),
    [
        (["first", "second"], [True], True, "first"),
        ([None, "second"], [True], True, "second"),
        ([], [None, True], True, "callback"),
        ([], [], True, "interrupted"),
        ([], [], False, "max_time"),
    ],
)
def test_stops_come_before_callbacks_before_ctrl_c_before_time(clock, stops, observers, is_interrupted, reason):
    asked = [Says(name is not None, name) for name in stops]
    told = [Says(answer) for answer in observers]
    control = Control(
        stops=asked,
        observers=told,
        interrupt=SimpleNamespace(is_requested=is_interrupted),
        max_time=1.0,
        start=0.0,
    )
    clock.now = 2.0
    assert evolve(Counter(), 0, control) == (0, reason)
    assert all(one.told == [0] for one in (*asked, *told))
    assert generations(control) == [0]


def test_everyone_is_told_though_another_said_stop():
    first, last = Says(True), Says({"seen": 1.0})
    control = Control(stops=[Says(True), Says(True)], observers=[first, last])
    evolve(Counter(), 0, control)
    assert [one.told for one in (*control.stops, first, last)] == [[0]] * 4
    np.testing.assert_array_equal(control.history.as_arrays()["seen"], [1.0])


@pytest.mark.parametrize("answer", [None, False, {}, {"a": 0.0}, {"a": 1.0}])
def test_only_true_is_a_wish_to_stop(answer):
    control = Control(stops=[MaxGenerations(2)], observers=[Says(answer)])
    assert evolve(Counter(), 0, control) == (2, "generations")


def test_probes_become_columns_of_the_history():
    control = Control(
        stops=[MaxGenerations(2)],
        observers=[lambda p: {"twice": 2 * p.state}, lambda p: {"odd": 1.0} if p.state % 2 else None],
    )
    evolve(Counter(), 0, control)
    found = control.history.as_arrays()
    np.testing.assert_array_equal(found["twice"], [0, 2, 4])
    np.testing.assert_array_equal(found["odd"], [np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(found["errors"], [[8.0, 8.0], [7.0, 7.0], [6.0, 6.0]])


def test_no_generation_is_begun_for_which_there_is_no_time(clock):
    # After three steps of 3 s there is 1 s left, and half a generation follows the loop.
    method = Counter(taking(clock, 3.0))
    assert evolve(method, 0, Control(max_time=10.0, start=0.0)) == (3, "max_time")
    assert method.log[-3:] == ["step 2", "unwatch", "describe 3"]


def test_room_for_what_follows_is_half_of_the_longest_generation(clock):
    durations = iter([4.0, 1.0, 1.0, 1.0, 1.0])
    method = Counter(lambda *_: setattr(clock, "now", clock.now + next(durations)))
    # 4, 5, 6 s are followed by room for 2 s within 8.5 s; 7 s are not.
    assert evolve(method, 0, Control(max_time=8.5, start=0.0)) == (4, "max_time")


def test_what_came_before_the_loop_counts_as_a_generation(clock):
    clock.now = 8.0
    assert evolve(Counter(), 0, Control(max_time=11.0, start=0.0)) == (0, "max_time")
    clock.now = 108.0
    assert evolve(Counter(taking(clock, 1.0)), 0, Control(max_time=11.0, start=107.0)) == (10, "max_time")


def test_a_step_that_time_cuts_short_is_rolled_back(clock):
    clock.now = 4.0
    method = Counter(taking_and_checking(clock, 3))
    control = Control(max_time=10.0, start=0.0)
    # The alarm is set to 10 - 4 / 2 = 8 s; the second step is at 9 s when it hears it.
    assert evolve(method, 0, control) == (1, "max_time")
    assert clock.now == 9.0
    assert method.made == [1]
    assert method.log[-3:] == ["step 1", "rollback 1", "unwatch"]
    assert method.check is None
    assert generations(control) == [0, 1]


def test_without_a_limit_no_alarm_is_set(clock):
    alarms = []
    method = Counter(lambda method, state: alarms.append(method.check))
    evolve(method, 0, Control(stops=[MaxGenerations(2)]))
    assert alarms == [None, None]


def test_ctrl_c_within_a_step_rolls_back_and_goes_on_to_the_caller(clock):
    def during(method, state):
        if state == 2:
            raise KeyboardInterrupt

    method = Counter(during)
    control = Control(max_time=10.0, start=0.0)
    with pytest.raises(KeyboardInterrupt):
        evolve(method, 0, control)
    assert method.made == [1, 2]
    assert method.log[-3:] == ["step 2", "rollback 2", "unwatch"]
    assert generations(control) == [0, 1, 2]


def test_the_alarm_is_removed_after_an_error_of_the_method(clock):
    def during(method, state):
        assert method.check is not None
        raise ZeroDivisionError

    method = Counter(during)
    with pytest.raises(ZeroDivisionError):
        evolve(method, 0, Control(max_time=10.0, start=0.0))
    assert method.check is None


def test_ctrl_c_between_steps_stops_after_the_generation():
    interrupt = SimpleNamespace(is_requested=False)

    def during(method, state):
        interrupt.is_requested = state == 1

    method = Counter(during)
    assert evolve(method, 0, Control(interrupt=interrupt)) == (2, "interrupted")
    assert method.made == [1, 2]


def test_a_resumed_run_records_only_what_is_new_and_its_seconds_go_on(clock):
    whole = Control(stops=[MaxGenerations(4)], start=0.0)
    evolve(Counter(taking(clock, 2.0)), 0, whole)
    clock.now = 0.0
    first = Control(stops=[MaxGenerations(2)], start=0.0)
    state, _ = evolve(Counter(taking(clock, 2.0)), 0, first)
    clock.now = 1000.0
    second = Control(stops=[MaxGenerations(4)], history=History(first.history.as_arrays()), start=1000.0)
    assert evolve(Counter(taking(clock, 2.0)), state, second) == (4, "generations")
    for name, column in whole.history.as_arrays().items():
        np.testing.assert_array_equal(second.history.as_arrays()[name], column)


def test_a_probe_that_cannot_be_recorded_ends_the_run():
    method = Counter()
    with pytest.raises(ValueError, match="a callback returned 'x' = 'high'; values for the history must be numbers"):
        evolve(method, 0, Control(observers=[lambda p: {"x": "high"}]))
    assert method.made == []


def test_the_clock_of_a_run_starts_when_its_control_is_made():
    before = time.perf_counter()
    assert before <= Control().start <= time.perf_counter()
