"""Kills at random moments, damaged checkpoints, damaged model files: many, for every estimator (`make test-slow`).

Nothing but the same result, or a ValueError that names the file, may come of them. Counts are printed at the end.
"""

import json
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1

import symgrove as sg
from tests.contracts.test_methods import METHODS, settings_of, target_for

pytestmark = pytest.mark.slow
N_KILLS, N_CHECKPOINTS, N_FILES = 40, 500, 2000
KINDS = list(METHODS)
RESUMING = [i for i, kind in enumerate(KINDS) if "checkpoint" in kind().get_params()]


def share(total, i):
    """How many of all trials the i-th estimator gets."""
    return total // len(KINDS) + (i < total % len(KINDS))


def make(kind, **changed):
    return kind(**settings_of(kind, **changed))


def data_for(kind):
    if hasattr(kind, "predict_proba"):
        return load_iris(return_X_y=True)
    X, y = make_friedman1(120, n_features=5, random_state=0)
    return X, target_for(kind, X, y)


def output(model, X):
    return (model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)).tobytes()


each = pytest.mark.parametrize("i", range(len(KINDS)), ids=[kind.__name__ for kind in KINDS])
each_that_resumes = pytest.mark.parametrize("i", RESUMING, ids=[KINDS[i].__name__ for i in RESUMING])

KILLED = """
import sys
import symgrove.evolution.run as run
from tests.hostile.test_hostile import KINDS, data_for, make
run.SECONDS_BETWEEN_CHECKPOINTS = 0.0
kind = KINDS[int(sys.argv[1])]
X, y = data_for(kind)
make(kind, generations=1).fit(X, y)  # loads the kernels
print("ready", flush=True)
make(kind, generations=40, checkpoint=sys.argv[2]).fit(X, y)
"""


@each_that_resumes
def test_killed_at_random_moments_every_estimator_resumes_to_the_same_model(i, tmp_path, record_property):
    kind, rng, file = KINDS[i], np.random.default_rng(i), tmp_path / "run.npz"
    X, y = data_for(kind)
    make(kind, generations=1).fit(X, y)
    started = time.perf_counter()
    whole = make(kind, generations=40).fit(X, y)
    longest = time.perf_counter() - started
    n_resumed = 0
    for _ in range(share(N_KILLS, i)):
        command = [sys.executable, "-c", KILLED, str(i), str(file)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.02, 2 * longest))  # saving takes time too
        n_resumed += bool(list(tmp_path.glob("run.npz*")))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    resumed = make(kind, generations=40, checkpoint=file).fit(X, y)
    assert output(resumed, X) == output(whole, X)
    assert not list(tmp_path.glob("*.part"))
    record_property("hostile", f"{kind.__name__}: {share(N_KILLS, i)} kills, {n_resumed} with a checkpoint to resume")


def damaged(content, rng):
    """A file with flipped bits, other bytes, a piece that is missing, doubled or cut off."""
    found = bytearray(content)
    kind = rng.integers(5)
    start, stop = np.sort(rng.integers(len(found), size=2))
    if kind == 0:
        for position in rng.integers(len(found), size=rng.integers(1, 4)):
            found[position] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        for position in rng.integers(len(found), size=rng.integers(1, 6)):
            found[position] = int(rng.integers(256))
    elif kind == 2:
        del found[start : min(stop, start + 50)]
    elif kind == 3:
        found[stop:stop] = found[start : min(stop, start + 200)]
    else:
        del found[stop:]
    return bytes(found)


@each_that_resumes
def test_damaged_checkpoints_resume_to_the_same_model_or_are_refused(i, tmp_path, record_property):
    kind, rng, file = KINDS[i], np.random.default_rng(i), tmp_path / "run.npz"
    X, y = data_for(kind)
    expected = output(make(kind, generations=3, checkpoint=file).fit(X, y), X)
    whole = file.read_bytes()
    messages = []
    for _ in range(share(N_CHECKPOINTS, i)):
        content = damaged(whole, rng)
        file.write_bytes(content)
        try:
            model = make(kind, generations=3, checkpoint=file).fit(X, y)
        except ValueError as error:
            messages.append(str(error))
            assert file.read_bytes() == content
        else:
            assert output(model, X) == expected
    assert all(str(file) in message for message in messages)
    assert len(messages) > 0.7 * share(N_CHECKPOINTS, i)
    record_property(
        "hostile", f"{kind.__name__}: {share(N_CHECKPOINTS, i)} damaged checkpoints, {len(messages)} refused"
    )


def places(value, path=()):
    """Paths to all values of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


ODD = [None, True, -1, 0, 1, 2**31, 10**400, 1e308, -1e-308, "", "x", "Infinity", [], {}, [[]], [0], {"own": "f"}]


def changed_document(text, paths, rng):
    """A model file with odd values in a few places."""
    document = json.loads(text)
    for _ in range(rng.integers(1, 4)):
        path = paths[rng.integers(len(paths))]
        inner = document
        try:
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = ODD[rng.integers(len(ODD))]
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            continue
    return json.dumps(document).encode()


@each
def test_damaged_model_files_predict_or_are_refused(i, tmp_path, record_property):
    kind, rng, file = KINDS[i], np.random.default_rng(i), tmp_path / "model.json"
    X, y = data_for(kind)
    make(kind, generations=3, calibration=0.3).fit(X, y).save(file)
    text = file.read_bytes()
    paths = list(places(json.loads(text)))
    n_refused = 0
    for trial in range(share(N_FILES, i)):
        file.write_bytes(damaged(text, rng) if trial % 2 else changed_document(text, paths, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = sg.load(file)
                n_features = model.n_features_in_
                assert len(model.predict(rng.normal(size=(3, n_features)))) == 3
            except ValueError:
                n_refused += 1
    record_property("hostile", f"{kind.__name__}: {share(N_FILES, i)} damaged model files, {n_refused} refused")
