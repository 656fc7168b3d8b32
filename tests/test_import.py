"""Importing is cheap and has no side effects."""

import subprocess
import sys

import symgrove


def test_import_compiles_nothing_writes_nothing_and_loads_no_optional_package():
    names = ", ".join(symgrove.__all__)
    code = f"""
import sys
from symgrove import {names}
from symgrove import _jit
from numba.core import event
optional = [m for m in ("matplotlib", "rich", "typer", "polars", "sklearn.callback") if m in sys.modules]
assert not optional, optional
assert not _jit._announcer.is_registered
assert not any(event._registered.values()), "a Numba listener is registered"
import threading
assert threading.active_count() == 1
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_public_name_exists_and_has_a_docstring():
    for name in symgrove.__all__:
        assert getattr(symgrove, name).__doc__
