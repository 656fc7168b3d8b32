"""A card played by the CPU: the kernels of the CUDA engine, compiled as C, run block by block on arrays of NumPy."""

import ctypes
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from symgrove.engines import dask_cuda

HEADER = Path(__file__).with_name("played_card.h")
HAS_COMPILER = shutil.which("gcc") is not None
FLAGS = ["-std=gnu11", "-Og", "-ffp-contract=off", "-shared", "-fPIC", "-w"]


def _never_written(shape, dtype=np.float64):
    """Memory that shows if it is read before it is written."""
    found = np.empty(shape, dtype=dtype)
    found.reshape(-1).view(np.uint8)[:] = 0xFF  # NaN
    return found


class PlayedCard:
    """Few multiprocessors, so that blocks have several tiles."""

    arrays = SimpleNamespace(**{**vars(np), "empty": _never_written})
    name = "a card played by the CPU"
    n_processors = 2
    shared_bytes = 1 << 18
    total_bytes = 8 << 30

    def address(self, array):
        return array.ctypes.data

    def upload(self, array):
        return np.array(array, order="C")

    def download(self, array):
        return np.array(array, order="C")

    def free_unused(self):
        """NumPy keeps nothing."""

    def launch(self, source, kernel, blocks, n_threads, arguments, shared=0):
        assert shared <= 1 << 18
        assert max(blocks[1], 1) <= 65535, "a card has no more blocks in this direction"
        library = _library(source)
        function = getattr(library, kernel)
        own = [_argument(value) for value in arguments]
        for y in range(blocks[1]):
            for x in range(blocks[0]):
                library.set_block(ctypes.c_longlong(x), ctypes.c_longlong(y), ctypes.c_longlong(blocks[0]), n_threads)
                function(*own)


def _argument(value):
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_longlong(int(value))


@cache
def _library(source):
    folder = Path(tempfile.mkdtemp(prefix="played-card-"))
    text = f'#include "{HEADER}"\n{source}'
    (folder / "kernels.c").write_text(text)
    subprocess.run(["gcc", *FLAGS, "-o", folder / "kernels.so", folder / "kernels.c", "-lm"], check=True)
    library = ctypes.CDLL(str(folder / "kernels.so"))
    shutil.rmtree(folder)
    return library


@contextmanager
def workers_with_cards(*, are_played=True):
    """Workers in this process have cards, and rows are cut into small blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask_cuda.EnginesOnCard, "block_rows", 2048)
        if are_played:
            patch.setattr(dask_cuda, "the_card", PlayedCard)
            patch.setattr(dask_cuda, "missing_for_cuda", str)
        yield
