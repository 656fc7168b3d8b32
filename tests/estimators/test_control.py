"""Stopping, resuming, watching: max_time, Ctrl-C, checkpoints, warm starts, callbacks, threads."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from symgrove import IndependentGPRegressor, TwoSEGPClassifier, TwoSEGPRegressor, primitive, truncation
from symgrove.evolution import checkpoint as checkpoints
from symgrove.methods import held_out as held_out_rows
from symgrove.methods import two_segp
from symgrove.methods.problem import Rows, split
from symgrove.models.task import Regression
from tests.making import QuickGrove

SMALL = {"population_size": 60, "n_estimators": 6, "generations": 12, "random_state": 3}


@pytest.fixture(scope="module")
def data():
    return make_friedman1(150, random_state=0)


def same_model(a, b, X):
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert [m.program for m in a.ensemble_] == [m.program for m in b.ensemble_]
    np.testing.assert_array_equal(a.history_["errors"], b.history_["errors"])


def test_a_warm_start_does_not_overwrite_the_checkpoint_of_another_run(tmp_path, data):
    file = tmp_path / "run.npz"
    TwoSEGPRegressor(**{**SMALL, "random_state": 5}, checkpoint=file).fit(*data)
    before = file.read_bytes()
    model = TwoSEGPRegressor(**SMALL, warm_start=True).fit(*data)
    with pytest.raises(ValueError, match="other data or parameters"):
        model.set_params(checkpoint=file, generations=20).fit(*data)
    assert file.read_bytes() == before


def test_of_a_warm_start_and_a_checkpoint_the_later_generation_counts(tmp_path, data):
    file = tmp_path / "run.npz"
    TwoSEGPRegressor(**SMALL, checkpoint=file).fit(*data)
    model = TwoSEGPRegressor(**{**SMALL, "generations": 3}, warm_start=True).fit(*data)
    generations = []
    model.set_params(checkpoint=file, generations=14, callbacks=lambda p: generations.append(p.values["generation"]))
    model.fit(*data)
    assert generations == [12, 13, 14]


def test_a_checkpoint_tells_estimators_and_functions_apart(tmp_path, data):
    X, y = data
    y = (y > y.mean()).astype(float)
    file = tmp_path / "run.npz"

    def g(x):
        return x * x

    first = g
    TwoSEGPRegressor(**SMALL, checkpoint=file, functions=("add", primitive(first))).fit(X, y)

    def g(x):
        return -x

    for other in (
        TwoSEGPRegressor(**SMALL, checkpoint=file, functions=("add", primitive(g))),
        TwoSEGPClassifier(**SMALL, checkpoint=file, functions=("add", primitive(first))),
    ):
        with pytest.raises(ValueError, match="other data or parameters"):
            other.fit(X, y)
    same = {name: np.int64(v) if isinstance(v, int) else v for name, v in SMALL.items()}
    TwoSEGPRegressor(**same, checkpoint=file, functions=("add", primitive(first))).fit(X, y)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(data):
    X, y = data
    labels = np.where(y > y.mean(), "high", "low")
    model = TwoSEGPClassifier(**SMALL).fit(X, labels)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :4], ["q"] * 150)
    np.testing.assert_array_equal(model.predict(X), expected)

    def interrupt_twice(progress):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    fresh = TwoSEGPRegressor(**SMALL, callbacks=interrupt_twice)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@pytest.mark.parametrize("change", ["data", "parameter", "damage", "version", "not a checkpoint"])
def test_a_checkpoint_that_does_not_fit_is_refused_and_left_alone(tmp_path, data, change):
    X, y = data
    file = tmp_path / "run.npz"
    TwoSEGPRegressor(**SMALL, checkpoint=file).fit(X, y)
    settings = dict(SMALL)
    if change == "data":
        y = y + 1
    elif change == "parameter":
        settings["max_size"] = 77
    elif change == "damage":
        file.write_bytes(file.read_bytes()[:-500])
    elif change == "version":
        arrays, meta = checkpoints.load(file, _mark_of(file))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoints, "VERSION", 99)
            checkpoints.save(file, arrays, meta)
    else:
        file.write_text("my thesis")
    before = file.read_bytes()
    message = {"data": "other data or parameters", "parameter": "other data or parameters", "version": "newer symgrove"}
    with pytest.raises(ValueError, match=message.get(change, "cannot be read")):
        TwoSEGPRegressor(**settings, checkpoint=file).fit(X, y)
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["run.npz"]


def _mark_of(file):
    with np.load(file) as archive:
        return json.loads(str(archive["meta"]))["fingerprint"]


KILLED = """
import sys, numpy as np
from sklearn.datasets import make_friedman1
import symgrove.evolution.run as run
from symgrove import TwoSEGPRegressor
run.SECONDS_BETWEEN_CHECKPOINTS = 0.0
X, y = make_friedman1(150, random_state=0)
model = TwoSEGPRegressor(population_size=60, n_estimators=6, generations=60, random_state=3, checkpoint=sys.argv[1])
print("ready", flush=True)
model.fit(X, y)
print("done", flush=True)
"""


@pytest.mark.parametrize("n_kills", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_killed_at_random_moments_and_resumed_it_is_the_same_model(tmp_path, data, n_kills):
    X, y = data
    file = tmp_path / "run.npz"
    rng = np.random.default_rng(n_kills)
    for _ in range(n_kills):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(file)], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.02, 2.0 / n_kills))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for leftover in tmp_path.glob("*.part"):  # what a kill leaves behind is never taken for a checkpoint
            leftover.unlink()
    settings = {**SMALL, "generations": 60}
    resumed = TwoSEGPRegressor(**settings, checkpoint=file).fit(X, y)
    same_model(resumed, TwoSEGPRegressor(**settings).fit(X, y), X)


def test_ctrl_c_while_the_initial_population_is_scored_leaves_a_fitted_model(data, monkeypatch):
    init = two_segp.TwoSEGP.init

    def interrupted_init(self):
        if len(self.samples.weights[0]) == 150:  # not while compiling
            os.kill(os.getpid(), signal.SIGINT)
        return init(self)

    monkeypatch.setattr(two_segp.TwoSEGP, "init", interrupted_init)
    model = TwoSEGPRegressor(**SMALL).fit(*data)
    assert (model.stop_reason_, model.n_generations_) == ("interrupted", 0)
    assert np.isfinite(model.predict(data[0])).all()


@pytest.mark.parametrize("kind", [TwoSEGPRegressor, QuickGrove, IndependentGPRegressor])
def test_ctrl_c_after_the_last_generation_lets_the_model_be_finished(data, monkeypatch, kind):
    finish = kind._set_fitted
    monkeypatch.setattr(
        kind, "_set_fitted", lambda self, *rest: os.kill(os.getpid(), signal.SIGINT) or finish(self, *rest)
    )
    model = kind(**{**SMALL, "generations": 2}).fit(*data)
    assert model.n_generations_ == 2
    assert np.isfinite(model.predict(data[0])).all()


@pytest.mark.parametrize("kind", [TwoSEGPRegressor, QuickGrove])
def test_a_checkpoint_that_cannot_be_written_does_not_end_the_fit(tmp_path, data, monkeypatch, kind):
    X, y = data
    file = tmp_path / "run.npz"
    settings = {**SMALL, "generations": 4, "population_size": 30, "n_estimators": 3}
    kind(**{**settings, "generations": 2}, checkpoint=file).fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr("symgrove.evolution.run.SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.warns(UserWarning, match=r"run.npz.*No space left on device"):
            model = kind(**settings, checkpoint=file).fit(X, y)
    whole = kind(**settings).fit(X, y)
    again = kind(**settings, checkpoint=file).fit(X, y)  # from the file as it was
    for other in (model, again):
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))


def test_a_second_ctrl_c_gives_up(data):
    X, y = data

    def interrupt_twice(progress):
        if progress.values["generation"] == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        TwoSEGPRegressor(**SMALL, callbacks=interrupt_twice).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_within_cross_validation_ctrl_c_stops_everything(data):
    def interrupt(progress):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        cross_val_score(TwoSEGPRegressor(**SMALL, callbacks=interrupt), *data, error_score="raise")


def test_outside_the_main_thread_nothing_is_done_about_signals(data):
    result = []
    thread = threading.Thread(target=lambda: result.append(TwoSEGPRegressor(**SMALL).fit(*data)))
    thread.start()
    thread.join()
    assert result[0].n_generations_ == 12


def test_max_time_ends_the_run_also_within_a_generation():
    X, y = make_friedman1(60_000, random_state=0)
    model = TwoSEGPRegressor(generations=10_000, max_time=1.5, random_state=0, population_size=200, n_estimators=20)
    model.fit(X, y)
    assert model.stop_reason_ == "max_time"
    assert np.isfinite(model.predict(X[:100])).all()


def test_early_stopping_returns_the_best_ensemble_on_rows_that_evolution_never_saw(data, monkeypatch):
    X, _ = data
    noise = np.random.default_rng(0).normal(size=150)  # nothing to learn: later ensembles are no better
    measured = []
    measure = held_out_rows.HeldOutError.__call__

    def spy(self, state):
        measured.append(measure(self, state))
        return measured[-1]

    monkeypatch.setattr(held_out_rows.HeldOutError, "__call__", spy)
    settings = {**SMALL, "generations": 200, "early_stopping": True, "n_generations_no_change": 5}
    model = TwoSEGPRegressor(**settings, validation_fraction=0.4).fit(X, noise)
    assert (model.stop_reason_, model.n_generations_) == ("early_stopping", len(measured) - 1)
    assert np.argmin(measured) == len(measured) - 6
    everything = Rows(X, noise[None], None, np.arange(150))
    training, held_out = split(everything, 0.4, 3, "validation", Regression())
    assert (len(training.X), len(held_out.X)) == (90, 60)
    error = np.mean((model.predict(held_out.X) - held_out.targets[0]) ** 2)
    np.testing.assert_allclose(error, min(measured), rtol=1e-9)
    assert model.oob_prediction_.shape == (150,)
    assert np.isnan(model.oob_prediction_[held_out.positions]).all()


def test_a_selection_of_ones_own(data):
    model = TwoSEGPRegressor(**SMALL, selection=lambda errors, n, rng: truncation(errors.mean(axis=1), n)).fit(*data)
    assert model.n_generations_ == 12


@pytest.mark.parametrize(
    "selection",
    [lambda errors, n, rng: [0] * (n - 1), lambda errors, n, rng: [len(errors)] * n, lambda errors, n, rng: [0.5] * n],
)
def test_a_selection_that_returns_nonsense_gets_a_clear_error(data, selection):
    with pytest.raises(ValueError, match="selection must return 60 indices from 0 to 119"):
        TwoSEGPRegressor(**SMALL, selection=selection).fit(*data)


def test_a_selection_of_ones_own_is_not_called_to_compile(data):
    calls = []

    def spy(errors, n, rng):
        calls.append(errors.shape)
        return truncation(errors.mean(axis=1), n)

    TwoSEGPRegressor(**SMALL, functions=("add", "max"), selection=spy).fit(*data)
    assert calls == [(120, 6)] * 12


class KeepFirst:
    def __init__(self, n):
        self.n = n

    def __call__(self, errors, n_selected, rng):
        return np.arange(n_selected) % (self.n + len(errors) // 2)


def closure_with(n):
    return lambda errors, n_selected, rng: np.arange(n_selected) % (n + len(errors) // 2)


@pytest.mark.parametrize("make", [KeepFirst, closure_with, lambda n: partial(_with_offset, offset=n)])
def test_a_checkpoint_tells_selections_apart_by_what_they_hold(tmp_path, data, make):
    file = tmp_path / "run.npz"
    settings = {**SMALL, "checkpoint": file, "generations": 1}
    same, again, other = make(3), make(3), make(4)
    TwoSEGPRegressor(**settings, selection=same).fit(*data)
    TwoSEGPRegressor(**settings, selection=again).fit(*data)
    with pytest.raises(ValueError, match="other data or parameters"):
        TwoSEGPRegressor(**settings, selection=other).fit(*data)


def _with_offset(errors, n_selected, rng, offset):
    return np.arange(n_selected) % (offset + len(errors) // 2)


def test_a_run_with_a_random_state_object_can_be_resumed(tmp_path, data):
    file = tmp_path / "run.npz"
    first, second = (
        TwoSEGPRegressor(**{**SMALL, "random_state": np.random.RandomState(s)}, checkpoint=file).fit(*data)
        for s in (0, 1)
    )
    same_model(second, first, data[0])


def test_probes_see_the_population_and_their_columns_are_in_the_checkpoint(tmp_path, data):
    def share_of_most_frequent(progress):
        counts = np.unique(progress.state[0].population, return_counts=True)[1]
        return {"most_frequent": counts.max() / counts.sum()} if progress.values["generation"] % 2 else None

    settings = {**SMALL, "generations": 4, "checkpoint": tmp_path / "run.npz"}
    found = TwoSEGPRegressor(**settings, callbacks=share_of_most_frequent).fit(*data).history_["most_frequent"]
    np.testing.assert_array_equal(np.isnan(found), [True, False, True, False, True])
    assert ((found[1::2] > 0) & (found[1::2] <= 1)).all()
    again = TwoSEGPRegressor(**settings).fit(*data)
    np.testing.assert_array_equal(again.history_["most_frequent"], found)


def test_progress_goes_to_stderr_as_lines_without_a_terminal(capsys, data):
    TwoSEGPRegressor(**SMALL, verbose=1).fit(*data)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "TwoSEGPRegressor: generation 12/12  training RMSE" in captured.err
    TwoSEGPRegressor(**SMALL).fit(*data)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_classifier", [False, True])
def test_scikit_learns_monitor_can_score_every_generation(data, is_classifier):
    callbacks = pytest.importorskip("sklearn.callback")
    X, y = pd.DataFrame(data[0]).rename(columns="c{}".format), data[1]
    monitor = callbacks.ScoringMonitor(scoring="accuracy" if is_classifier else "r2")
    make = TwoSEGPClassifier if is_classifier else TwoSEGPRegressor
    model = make(**SMALL).set_callbacks(monitor)
    model.fit(X, np.where(y > y.mean(), "high", "low") if is_classifier else y)
    scores = monitor.get_logs().data_as_pandas["accuracy" if is_classifier else "r2"]
    assert len(scores) == 12
    np.testing.assert_allclose(
        scores.iloc[-1], model.score(X, np.where(y > y.mean(), "high", "low") if is_classifier else y)
    )


def test_scikit_learns_callbacks_are_told_of_every_generation(data):
    pytest.importorskip("sklearn.callback")

    class Recorder:
        def __init__(self):
            self.events = []

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.events.append(context.task_name)
            return context.task_id == 3

    recorder = Recorder()
    model = TwoSEGPClassifier(**SMALL).set_callbacks(recorder)
    model.fit(data[0], data[1] > data[1].mean())
    assert recorder.events == ["setup", *["generation"] * 4, "fit", "teardown"]
    assert (model.stop_reason_, model.n_generations_) == ("callback", 4)
