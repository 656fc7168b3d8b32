"""Watching fits from outside: whoever wants to see more of a fit than lines of progress.

    with watched_by(watcher):
        estimator.fit(X, y)

The watcher is called at every generation and step of every fit inside, on the thread of the fit, whose clock runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from symgrove.evolution.remaining import Left


class Moment(NamedTuple):
    """A fit at some moment.

    Attributes
    ----------
    what : str
        What is being done, such as "generation 7/100".
    seconds : float
        Since the fit began.
    left : Left or None
        Seconds that it may still take, if anything is known.
    errors : ShownErrors or None
        Of the members (estimators/told.py), or of the best formulas of every size; None before there are any.
    found : callable or None
        Makes what has been found so far, which takes a while: the `Model` of an evolution, or the list of
        `FrontPoint`s of a search.
    """

    what: str
    seconds: float
    left: Left | None
    errors: Any
    found: Callable[[], Any] | None


Watcher = Callable[[Moment], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Have a watcher told of fits."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def current_watcher() -> Watcher | None:
    """Who is watching, if anybody."""
    return _watcher.get()
