"""Independent runs: members on their own, backends of joblib, budgets, Ctrl-C and kills across processes."""

import os
import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from symgrove import IndependentGPClassifier, IndependentGPRegressor, TwoSEGPRegressor
from symgrove.estimators.base import Limits
from symgrove.estimators.independent_runs import n_at_once, share_of_each
from symgrove.evolution import checkpoint as checkpoints
from symgrove.methods.matched_budget import matched_budget

SMALL = {"population_size": 50, "n_estimators": 4, "generations": 6, "random_state": 3}


@pytest.fixture(scope="module")
def data():
    return make_friedman1(150, random_state=0)


@pytest.fixture(scope="module")
def alone(data):
    return IndependentGPRegressor(**SMALL).fit(*data)


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_every_backend_gives_the_same_model(data, alone, backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        model = IndependentGPRegressor(**SMALL).fit(*data)
    np.testing.assert_array_equal(model.predict(data[0]), alone.predict(data[0]))
    np.testing.assert_array_equal(model.history_["errors"], alone.history_["errors"])


def by_sample(model):
    return [m.program for m in sorted(model.ensemble_, key=lambda m: m.samples)]


def test_the_first_members_of_a_larger_ensemble_are_the_smaller_one(data, alone):
    smaller = IndependentGPRegressor(**{**SMALL, "n_estimators": 2}).fit(*data)
    assert by_sample(smaller) == by_sample(alone)[:2]
    np.testing.assert_array_equal(smaller.history_["errors"], alone.history_["errors"][:, :2])


def test_members_are_averaged_and_classifiers_vote(data, alone):
    X, y = data
    ensemble = alone.model_.ensembles[0]
    for _, outputs in ensemble.outputs(X):
        np.testing.assert_allclose(alone.predict(X), ensemble.member_predictions(outputs).mean(axis=0), rtol=1e-9)
    share = IndependentGPClassifier(**SMALL).fit(X, y > 14).predict_proba(X)[:, 1]
    np.testing.assert_allclose(share * 4, np.round(share * 4), atol=1e-9)


def test_a_matched_budget_is_what_members_get(data):
    model = IndependentGPRegressor(**{**SMALL, "n_estimators": 10, "population_size": 100}, match_budget=True).fit(
        *data
    )
    assert (model.population_size_, model.generations_) == matched_budget(10, 100, 6)
    n_programs = model.population_size_ * (1 + model.generations_)
    assert model.history_["n_evaluations"][-1] == 10 * n_programs


def test_limits_are_shared(data):
    model = IndependentGPRegressor(**{**SMALL, "generations": 1000}, max_evaluations=800).fit(*data)
    assert model.history_["n_evaluations"][-1] == 800
    start = time.perf_counter()
    model = IndependentGPRegressor(**{**SMALL, "generations": 10**6}, max_time=1.0).fit(*data)
    assert model.stop_reason_ == "max_time"
    assert len(by_sample(model)) == 4
    assert time.perf_counter() - start < 10


def test_what_callbacks_return_has_an_axis_for_the_members(data):
    def largest(progress):
        return {"largest": float(progress.state[0].errors[:, 0].min())}

    model = IndependentGPRegressor(**SMALL, callbacks=largest).fit(*data)
    assert model.history_["largest"].shape == (7, 4)


def test_members_that_end_early_stay_as_they_were_in_the_history(data):
    def stop_some(progress):
        return progress.values["generation"] >= 2 and progress.values["errors"][0] > np.median(first)

    first = IndependentGPRegressor(**{**SMALL, "generations": 2}).fit(*data).history_["errors"][-1]
    model = IndependentGPRegressor(**SMALL, callbacks=stop_some).fit(*data)
    assert model.stop_reason_ == "callback"
    assert model.history_["errors"].shape == (7, 4)
    late = first > np.median(first)
    np.testing.assert_array_equal(model.history_["errors"][-1][late], first[late])
    assert (model.history_["errors"][-1][~late] <= first[~late]).all()


INTERRUPTED = """
import os, sys, numpy as np
from pathlib import Path
from sklearn.datasets import make_friedman1
from symgrove import IndependentGPRegressor
X, y = make_friedman1(150, random_state=0)
folder = Path(sys.argv[1])
model = IndependentGPRegressor(
    population_size=50,
    n_estimators=4,
    generations=10**6,
    random_state=3,
    n_jobs=2,
    callbacks=lambda progress: (folder / str(os.getpid())).touch(),
)
model.fit(X, y)
print(model.stop_reason_, len(model.ensemble_), np.isfinite(model.predict(X)).all(), flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_leaves_the_members_that_have_begun(tmp_path):
    # A group of its own, as in a terminal: the workers get the signal too.
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(1200):  # until both workers are evolving
        if len(list(tmp_path.iterdir())) == 2:
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted 2 True\n", err


KILLED = """
import sys
from sklearn.datasets import make_friedman1
import symgrove.evolution.run as run
from symgrove import IndependentGPRegressor
run.SECONDS_BETWEEN_CHECKPOINTS = 0.0
X, y = make_friedman1(150, random_state=0)
model = IndependentGPRegressor(
    population_size=50, n_estimators=4, generations=60, random_state=3, checkpoint=sys.argv[1]
)
print("ready", flush=True)
model.fit(X, y)
print("done", flush=True)
"""


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_it_is_the_same_model(tmp_path, data):
    file = tmp_path / "run.npz"
    rng = np.random.default_rng(0)
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(file)], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.3, 1.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    for leftover in tmp_path.glob("*.part"):
        leftover.unlink()
    settings = {**SMALL, "generations": 60}
    resumed = IndependentGPRegressor(**settings, checkpoint=file).fit(*data)
    whole = IndependentGPRegressor(**settings).fit(*data)
    np.testing.assert_array_equal(resumed.predict(data[0]), whole.predict(data[0]))
    assert [f.name for f in tmp_path.iterdir()] == ["run.npz"]


def test_ctrl_c_while_the_workers_start_leaves_a_model(tmp_path):
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            INTERRUPTED.replace("model.fit(X, y)", "print('ready', flush=True); model.fit(X, y)"),
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out.startswith("interrupted") or "KeyboardInterrupt" in err, err
    assert "BrokenProcessPool" not in err.splitlines()[-1:]


def test_files_of_members_of_another_run_are_refused_and_left_alone(tmp_path, data):
    file = tmp_path / "run.npz"
    IndependentGPRegressor(**SMALL, checkpoint=tmp_path / "other.npz").fit(*data)
    (tmp_path / "run.npz.2").write_bytes((tmp_path / "other.npz").read_bytes())
    with pytest.raises(ValueError, match=r"run.npz.2' is of other data or parameters"):
        IndependentGPRegressor(**{**SMALL, "random_state": 9}, checkpoint=file).fit(*data)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["other.npz", "run.npz.2"]


def test_scikit_learns_callbacks_are_told_of_the_fit(data):
    pytest.importorskip("sklearn.callback")
    told = []

    class Told:
        def setup(self, estimator, context):
            told.append("setup")

        def on_fit_task_begin(self, estimator, context, **_):
            told.append("begin")

        def on_fit_task_end(self, estimator, context, **_):
            told.append("end")

        def teardown(self, estimator, context):
            told.append("teardown")

    IndependentGPRegressor(**SMALL).set_callbacks(Told()).fit(*data)
    assert told == ["setup", "begin", "end", "teardown"]


@pytest.mark.parametrize(("n_jobs", "share"), [(1, 0.25), (2, 0.5), (3, 0.5), (4, 1.0), (8, 1.0)])
def test_time_is_shared_by_how_many_run_one_after_another(n_jobs, share, monkeypatch):
    monkeypatch.setattr("symgrove._workers.cpu_count", lambda: 16)
    assert share_of_each(Limits(10, 8.0, 100), 4, n_at_once(n_jobs, 4, "cpu")) == Limits(10, 8.0 * share, 25)


def test_a_matched_budget_with_other_generations_is_another_run(data):
    settings = {**SMALL, "match_budget": True, "warm_start": True}
    model = IndependentGPRegressor(**settings).fit(*data)
    with pytest.raises(ValueError, match="data or parameters differ"):
        model.set_params(generations=12).fit(*data)


def test_values_that_only_some_members_have_leave_gaps(data):
    def sometimes(progress):
        return {"v": 1.0} if progress.values["errors"][0] < limit else None

    limit = np.median(IndependentGPRegressor(**{**SMALL, "generations": 0}).fit(*data).history_["errors"])
    model = IndependentGPRegressor(**{**SMALL, "generations": 0}, callbacks=sometimes).fit(*data)
    assert model.history_["v"].shape == (1, 4)
    assert np.isnan(model.history_["v"]).sum() == 2


@pytest.mark.parametrize(("n_jobs", "n_cores", "expected"), [(30, 8, 2), (1000, 1, 1), (-1, 2, 2), (None, 4, 1)])
def test_no_more_processes_than_members_and_cores(n_jobs, n_cores, expected, monkeypatch):
    monkeypatch.setattr("symgrove._workers.cpu_count", lambda: n_cores)
    assert n_at_once(n_jobs, 2, "cpu") == expected
    assert n_at_once(n_jobs, 2, "dask") == 1  # each has all workers
    assert TwoSEGPRegressor(n_jobs=n_jobs)._n_threads() <= n_cores


def test_a_checkpoint_that_cannot_be_written_costs_nothing(tmp_path, data, monkeypatch):
    X, y = data
    file = tmp_path / "run.npz"
    settings = {**SMALL, "generations": 6}
    IndependentGPRegressor(**{**settings, "generations": 3}, checkpoint=file).fit(X, y)
    before = file.read_bytes()
    save = checkpoints.save
    with monkeypatch.context() as patch:
        full = OSError(28, "No space left on device")

        def fail(path, *rest):
            if str(path) == str(file):
                raise full
            save(path, *rest)

        patch.setattr(checkpoints, "save", fail)
        with pytest.warns(UserWarning, match="No space left on device"):
            model = IndependentGPRegressor(**settings, checkpoint=file).fit(X, y)
    assert file.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1 + settings["n_estimators"]
    again = IndependentGPRegressor(**settings, checkpoint=file).fit(X, y)
    whole = IndependentGPRegressor(**settings).fit(X, y)
    for other in (model, again):
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))
    assert list(tmp_path.iterdir()) == [file]
