"""NumPy's matrix library (BLAS) on one thread, so that products have the same bits everywhere.

With more threads the library adds in another order. Its limit belongs to the whole process, and anybody may change it
at any time. So every product that shapes a model or a prediction goes through `on_one_thread` or `product`: they look
afterwards whether the limit still stood, and otherwise compute again, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")
MOST_TRIES = 100  # a library may refuse to be limited


class _Limit:
    """The number of threads of all matrix libraries of the process."""

    @cached_property
    def libraries(self) -> list[Any]:
        """Finding them takes milliseconds, so it is done once."""
        found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
        return found

    def get(self) -> list[int | None]:
        """As it is now; of libraries with a limit for each thread, that of this thread."""
        return [library.get_num_threads() for library in self.libraries]

    def set(self, limits: list[int | None]) -> None:
        """Change it, also where another thread has claimed the right to (threadpoolctl 3.8 and newer)."""
        for library, limit in zip(self.libraries, limits, strict=True):
            disown = getattr(library, "clear_controlling_thread", lambda force: None)
            if limit is not None:  # of a library that does not tell
                disown(force=True)
                library.set_num_threads(limit)
                disown(force=True)

    def is_one(self) -> bool:
        return all(library.get_num_threads() in (1, None) for library in self.libraries)

    def set_one(self) -> list[int | None]:
        """Limit to one thread; what the limit was."""
        before = self.get()
        if not self.is_one():
            self.set([1] * len(before))
        return before


class SingleBlasThread:
    """Context that any number of threads may enter: the last one out restores the limit that the first one found.

    A limit of more than one that somebody else has set meanwhile is left as it is; one of one cannot be told from ours.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._n_times = 0  # that the first one came in
        self._before: list[int | None] = []

    @property
    def held(self) -> int:
        """Zero if nobody is inside, else a number that changes whenever everybody has gone out in between."""
        return self._n_times if self._n_inside else 0

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._n_times += 1
                self._before = limit.set_one()
            self._n_inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and limit.is_one():
                limit.set(self._before)


limit = _Limit()
single_blas_thread = SingleBlasThread()
_one_at_a_time = Lock()


def on_one_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """What a function without side effects returns while the matrix library has one thread."""
    held = single_blas_thread.held
    if held:  # the usual case, within a fit: nothing to change, and a microsecond to see that nobody did
        result = function(*arguments)
        if limit.is_one() and single_blas_thread.held == held:
            return result
    with single_blas_thread:
        if limit.is_one():
            result = function(*arguments)
            if limit.is_one():
                return result
        with _one_at_a_time:
            for _ in range(MOST_TRIES):
                before = limit.set_one()
                try:
                    result = function(*arguments)
                finally:
                    has_held = limit.is_one()
                    if has_held:
                        limit.set(before)
                if has_held:
                    break
            return result


def product(a: Any, b: Any, out: Any = None) -> Any:
    """Matrix product, its sums in the same order always."""
    return on_one_thread(np.matmul, a, b) if out is None else on_one_thread(np.matmul, a, b, out)
