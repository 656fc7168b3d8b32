"""Checkpoints: whole or not at all, and never a crash for what is not one."""

import io
import os
import subprocess
import sys
import zipfile

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


def test_every_flipped_bit_is_an_error_or_harmless(file):
    """Also in the header of an array, which says how many values to read."""
    whole = file.read_bytes()
    expected, _ = checkpoint.load(file, "f")
    messages = []
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        file.write_bytes(damaged)
        try:
            arrays, _ = checkpoint.load(file, "f")
        except ValueError as error:
            messages.append(str(error))
        else:
            assert {n: a.tobytes() for n, a in arrays.items()} == {n: a.tobytes() for n, a in expected.items()}
    assert len(messages) > 0.8 * len(whole)
    assert all(message.startswith(f"checkpoint {str(file)!r}") for message in messages)


@pytest.mark.parametrize("shape", [(60,), (10**15,), (-5,)])
def test_shapes_that_the_values_do_not_have_are_refused(file, shape):
    values = np.arange(50.0)
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("c.npy", stream.getvalue() + values.tobytes())
    with pytest.raises(ValueError, match="cannot be read"):
        checkpoint.load(file, "f")


def test_archives_that_unpack_to_more_are_refused(file):
    with zipfile.ZipFile(file, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("c.npy", bytes(10**6))
    with pytest.raises(ValueError, match="not one that was saved"):
        checkpoint.load(file, "f")


LEFT_BEHIND = """
import os, signal, sys
from symgrove._files import atomic_write
with atomic_write(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_write_removes_what_kills_have_left(file):
    for _ in range(2):
        subprocess.run([sys.executable, "-c", LEFT_BEHIND, str(file)], check=False)
    (left,) = file.parent.glob("*.part")
    mine = file.with_name(left.name.replace(left.name.split("-")[1], str(os.getpid())))
    mine.touch()
    other = file.with_name("run.npz.note.part")
    other.touch()
    checkpoint.save(file, {"a": np.zeros(2)}, {"fingerprint": "f"})
    assert sorted(f.name for f in file.parent.iterdir()) == sorted([file.name, mine.name, other.name])


def test_a_write_that_fails_is_a_warning_that_names_the_file(file, monkeypatch):
    monkeypatch.setattr(checkpoint, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.warns(UserWarning, match=r"run.npz.*No space left.*goes on"):
        assert not checkpoint.save_or_warn(file, {}, {})
