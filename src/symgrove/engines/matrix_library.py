"""One thread for NumPy's matrix library while an engine uses it.

The limit belongs to the whole process, so engines in several threads count themselves in and out: the last one out
restores what was there. With more threads, the last bits of products could differ.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneThread:
    """Context that any number of threads may enter."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._library: Any = None  # finding it takes milliseconds, so it is done once
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._library is None:
                self._library = ThreadpoolController().select(user_api="blas")
            if self._n_inside == 0:
                self._limit = self._library.limit(limits=1)
                self._limit.__enter__()
            self._n_inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limit.__exit__(None, None, None)


one_matrix_thread = _OneThread()
