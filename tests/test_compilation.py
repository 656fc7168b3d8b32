"""Compiling and its cache, each in processes of their own: cold and warm, two at once, no cache folder, stale code."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

import symgrove
from symgrove._jit import _one_at_a_time

PACKAGE = Path(symgrove.__file__).parent
ANNOUNCEMENT = "symgrove: compiling"
SCRIPT = """
import numpy as np, symgrove
p = symgrove.PrimitiveSet(("add", "log"))
f = symgrove.Forest(2, p)
data = symgrove.make_dataset(np.arange(1.0, 9).reshape(4, 2), np.arange(4.0))
root = symgrove.parse(f, "log(x0) + x1")
print(symgrove.__file__, symgrove.CpuEngine(data, p).outputs(f, [root])[0].round(3).tolist())
"""
RESULT = "[2.0, 5.099, 7.609, 9.946]"


@pytest.fixture
def copy(tmp_path):
    """A copy of the package without compiled code, whose cache starts empty."""
    shutil.copytree(PACKAGE, tmp_path / "symgrove", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def start(folder, script=SCRIPT, **environment):
    variables = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    variables |= {"PYTHONPATH": str(folder), **environment}
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.Popen(
        command, env=variables, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process, folder):
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert out.startswith(str(folder))
    assert RESULT in out
    return err


@pytest.mark.slow
def test_two_processes_compile_at_once_and_later_ones_load_the_result(copy):
    both = [start(copy), start(copy)]
    for process in both:
        assert finish(process, copy).count(ANNOUNCEMENT) == 1
    # User primitives are compiled in every process, because they cannot be cached, and without a word.
    own = SCRIPT.replace('("add", "log")', '("add", "log", symgrove.primitive(lambda x: x * 2.0, name="twice"))')
    later = [start(copy), start(copy, own)]
    assert [finish(process, copy) for process in later] == ["", ""]
    # Numba alone looks only at the file of the calling function and would run the old code of its subroutines.
    file = copy / "symgrove" / "engines" / "vector_math_kernels.py"
    text = file.read_text()
    changed = text.replace("    return y\n", "    return y + 1.0\n")
    assert changed != text
    file.write_text(changed)
    out, err = start(copy).communicate(timeout=240)
    assert "[3.0, 6.099, 8.609, 10.946]" in out, err


def test_a_cache_folder_that_cannot_be_written_is_no_obstacle(copy):
    for folder in (copy / "symgrove", *(copy / "symgrove").iterdir()):
        if folder.is_dir():
            (folder / "__pycache__").write_text("a file where the cache folder would be")
    blocked = str(copy / "symgrove" / "__pycache__" / "nowhere")
    places = {"HOME": blocked, "XDG_CACHE_HOME": blocked, "IPYTHONDIR": blocked, "PYTHONDONTWRITEBYTECODE": "1"}
    assert finish(start(copy, **places), copy).count(ANNOUNCEMENT) == 1


def test_nobody_reads_the_cache_between_index_and_machine_code(tmp_path, monkeypatch):
    """Numba writes the index first; whoever read then would get an older version's machine code."""
    file = IndexDataCacheFile(str(tmp_path), "kernel", "old")
    file.save("key", "old code")
    file = IndexDataCacheFile(str(tmp_path), "kernel", "new")
    is_half_done, found = threading.Event(), []
    original = file._save_data

    def save_slowly(*arguments):
        is_half_done.set()
        time.sleep(0.5)
        original(*arguments)

    monkeypatch.setattr(file, "_save_data", save_slowly)
    save, load = (_one_at_a_time(file, method) for method in (file.save, file.load))
    writer = threading.Thread(target=save, args=("key", "new code"))
    writer.start()
    is_half_done.wait()
    assert file.load("key") == "old code"  # what would happen
    found.append(load("key"))
    writer.join()
    assert found == ["new code"]


def test_an_index_with_a_type_that_is_gone_is_made_anew(tmp_path, monkeypatch):
    """Kernels take named tuples, and a newer version may have renamed one."""
    file = IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    file.save("key", "old code")
    original = file._load_index

    def load_index():
        if Path(file._index_path).exists() and not has_new:
            raise AttributeError("Can't get attribute 'Gone'")
        return original()

    has_new = False
    monkeypatch.setattr(file, "_load_index", load_index)
    load, save = (_one_at_a_time(file, method) for method in (file.load, file.save))
    assert load("key") is None
    save("key", "new code")
    has_new = True
    assert load("key") == "new code"
