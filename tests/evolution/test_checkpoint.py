"""Checkpoints: whole or not at all, and never a crash for what is not one."""

import numpy as np
import pytest

from symgrove.evolution import checkpoint


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.npz"
    checkpoint.save(path, {"a": np.arange(50.0), "b": np.arange(3)}, {"fingerprint": "f", "seed": 1})
    return path


def test_what_is_saved_is_loaded(file):
    arrays, meta = checkpoint.load(file, "f")
    np.testing.assert_array_equal(arrays["a"], np.arange(50.0))
    assert (meta["seed"], meta["version"]) == (1, checkpoint.VERSION)
    assert checkpoint.load(file.parent / "other.npz", "f") is None


def test_a_save_that_fails_leaves_the_old_file(file, monkeypatch):
    before = file.read_bytes()
    monkeypatch.setattr(checkpoint.os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(file, {"a": np.zeros(9)}, {"fingerprint": "g"})
    assert file.read_bytes() == before
    assert [f.name for f in file.parent.iterdir()] == ["run.npz"]


def test_damage_anywhere_is_an_error_or_harmless(file):
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    messages = []
    for _ in range(300):
        damaged = bytearray(whole)
        for position in rng.integers(len(whole), size=rng.integers(1, 4)):
            damaged[position] = rng.integers(256)
        file.write_bytes(damaged[: rng.integers(1, len(whole) + 1)] if rng.random() < 0.3 else damaged)
        try:
            checkpoint.load(file, "f")
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 150
    assert all(message.startswith("checkpoint") for message in messages)


def test_fingerprints_differ_by_what_matters_only():
    def f(x):
        return x + 1

    def g(x):
        return x + 2

    base = checkpoint.fingerprint({"X": np.zeros(3)}, {"n": 5, "f": f})
    assert base == checkpoint.fingerprint({"X": np.zeros(3)}, {"n": np.int64(5), "f": f})
    assert base != checkpoint.fingerprint({"X": np.zeros(3)}, {"n": 5, "f": g})
    assert base != checkpoint.fingerprint({"X": np.ones(3)}, {"n": 5, "f": f})
    assert base != checkpoint.fingerprint({"X": np.zeros((3, 1))}, {"n": 5, "f": f})
