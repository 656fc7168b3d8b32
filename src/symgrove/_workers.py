"""How many threads or processes to use."""

from __future__ import annotations

from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend


def n_workers(n_jobs: int | None) -> int:
    """How many threads or processes joblib would use; on this machine, no more than it has cores."""
    backend = type(get_active_backend()[0])
    is_here = backend.__module__.startswith("joblib.")  # not Dask or another cluster
    wanted = int(effective_n_jobs(n_jobs))
    return min(wanted, cpu_count()) if is_here else wanted


def as_list(value: object) -> list[object]:
    """A value, or several, or None, as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
