"""Which run a fit goes on with: what makes a run what it is, which of two has come further, and what failure leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from symgrove._workers import as_list
from symgrove.evolution.checkpoint import Saved

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

# Parameters that may differ between a checkpoint and the run that resumes it.
_CONTROL = {
    "generations",
    "max_time",
    "max_evaluations",
    "target_error",
    "checkpoint",
    "warm_start",
    "callbacks",
    "n_jobs",
    "verbose",
    "memory_budget",
    "prune",
    "categorical_features",  # the fingerprint has what is made of it
}
# Names of the counters of a run, and of one of several independent ones.
_COUNTERS = re.compile(r"(\d+/)?state/(\d+\.)?counters")


@contextmanager
def unchanged_on_failure(estimator: Estimator) -> Iterator[None]:
    """A fit that fails, also by Ctrl-C, leaves the estimator as it was."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def seed_of(random_state: Any) -> int:
    """The seed of a fit."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def comparable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that make a run what it is; functions by name."""
    kept = {name: value for name, value in parameters.items() if name not in _CONTROL}
    functions: list[Any] = as_list(kept["functions"])
    kept["functions"] = [getattr(f, "function", f) or f.name for f in functions]
    if "loss" in kept:
        kept["loss"] = getattr(kept["loss"], "function", kept["loss"])
    if kept.get("target_transform") is None:  # as it was before there were any
        kept.pop("target_transform", None)
    if not isinstance(kept["random_state"], (int, np.integer, type(None))):
        kept["random_state"] = "generator"  # its seed is drawn once and saved
    return kept


def further(kept: Saved | None, stored: Saved | None, mark: str) -> Saved | None:
    """Of the run of the last fit and that of a checkpoint, the one that has come further."""
    if kept is not None and kept[1]["fingerprint"] != mark:
        raise ValueError(
            "warm_start=True goes on with the run of the last fit, but data or parameters differ from it. Give "
            "the same, or set warm_start=False."
        )
    if kept is None or stored is None:
        return kept or stored
    return stored if generation_of(stored) > generation_of(kept) else kept


def generation_of(saved: Saved) -> int:
    """How far a saved run has come; a damaged one is as good as nothing, and is refused when it is read."""
    counters = [array for name, array in saved[0].items() if _COUNTERS.fullmatch(name)]
    is_readable = all(array.ndim == 1 and array.size and array.dtype.kind in "iu" for array in counters)
    return sum(int(array[0]) for array in counters) if counters and is_readable else -1
