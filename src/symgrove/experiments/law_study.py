"""The study of laws: which equations each method finds again, with what noise, from how many rows, in what time.

A run is one fit; its row says whether the formula is the law by either rule (`found.py`). Equations that the search was
tuned on and those that it is judged on are never run by the same command.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from threadpoolctl import threadpool_limits

from symgrove.experiments.law_methods import METHODS, Searcher
from symgrove.experiments.laws import FEYNMAN, Equation, collections, titles
from symgrove.experiments.names import LAWS, LAWS_FILE
from symgrove.experiments.paper import Results, write_page
from symgrove.experiments.runner import NoRowsError, Row, circumstances, do_missing, read_rows
from symgrove.experiments.tables import Page

N_TEST = 2000  # rows of the test where a collection does not say how many
NOISES, OWN_NOISES = (0.0, 0.001, 0.01, 0.1), (0.0, 0.01)
ROWS = (100, 10_000)
MAX_TIME = 60.0
TITLE = "Laws found again"


class LawRun(NamedTuple):
    """One fit. `n_rows` is None for an equation that says itself how many rows it is learned from."""

    equation: Equation
    method: str
    noise: float
    n_rows: int | None
    max_time: float
    seed: int

    @property
    def key(self) -> str:
        """What identifies a run: equal runs have equal results, but for the time."""
        truth = [self.equation.collection, self.equation.name, self.equation.formula, *map(list, self.equation.ranges)]
        known = [truth, self.equation.n_rows, self.method, self.noise, self.n_rows, self.max_time, self.seed]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class LawStudy:
    """What is to be run.

    Attributes
    ----------
    half : str
        Equations of this half, and those that are in none.
    wanted : sequence of str
        Collections, or single equations; all if empty.
    methods : sequence of str
        Those that can run here, if empty.
    noises : sequence of float, optional
        Shares of the target's root mean square; by default four for Feynman's equations, two for others.
    rows : sequence of int
        For collections that do not say how many.
    n_runs : int
        Draws of rows and noise, and seeds of methods.
    """

    half: str = "tuning"
    wanted: Sequence[str] = ()
    methods: Sequence[str] = ()
    noises: Sequence[float] | None = None
    rows: Sequence[int] = ROWS
    max_time: float = MAX_TIME
    n_runs: int = 1

    def plan(self, known: Mapping[str, Sequence[Equation]]) -> list[LawRun]:
        """All runs, or a clear error."""
        planned = []
        methods = self._methods()
        for seed in range(self.n_runs):
            for equation in self._chosen(known):
                noises = self.noises if self.noises is not None else NOISES if _is_long(equation) else OWN_NOISES
                for n_rows in self.rows if equation.n_rows is None and not _is_grid(equation) else (None,):
                    for noise in noises:
                        planned += [LawRun(equation, name, noise, n_rows, self.max_time, seed) for name in methods]
        return planned

    def _chosen(self, known: Mapping[str, Sequence[Equation]]) -> list[Equation]:
        """Equations of the wanted collections and names, in this half."""
        everything = [equation for own in known.values() for equation in own]
        names = {*known, *(equation.name for equation in everything)}
        unknown = [name for name in self.wanted if name not in names]
        if unknown:
            raise ValueError(f"there is no collection or equation {unknown[0]!r}; collections are {', '.join(known)}.")
        wanted = self.wanted or list(known)
        named = [own for own in everything if own.collection in wanted or own.name in wanted]
        chosen = [own for own in named if own.half in ("", self.half)]
        if not chosen:
            raise ValueError(
                f"no equation of {', '.join(wanted)} is in the {self.half} half. The collections of the package, and "
                "half of Feynman's equations, are judged once, when the search is settled: --half judged. Feynman's "
                "equations are read from feynman.csv, in the folder of --data-dir or SYMGROVE_DATA."
            )
        return chosen

    def _methods(self) -> list[str]:
        """Methods that can run; one that was asked for and cannot is an error."""
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown:
            raise ValueError(f"there is no method {unknown[0]!r}; methods are {', '.join(METHODS)}.")
        reasons = not_here()
        for name in self.methods:
            if name in reasons:
                raise ValueError(
                    f"{name} cannot run here: {reasons[name]}. Install it: pip install {METHODS[name].package}."
                )
        return list(self.methods) or [name for name in METHODS if name not in reasons]


def _is_long(equation: Equation) -> bool:
    return equation.collection == FEYNMAN


def _is_grid(equation: Equation) -> bool:
    return equation.ranges[0].step is not None


def not_here() -> dict[str, str]:
    """Methods that cannot run here, and why."""
    reasons = {name: method.why_not() for name, method in METHODS.items()}
    return {name: why for name, why in reasons.items() if why}


def run_laws(
    study: LawStudy,
    out: Path,
    *,
    n_jobs: int | None = None,
    data_dir: Path | None = None,
    own: Sequence[Path] = (),
    show: Callable[[int, int, float], None] | None = None,
    again: bool = False,
    only_show: bool = False,
) -> Results:
    """Do the runs of a study that are missing in `out`, and write the page of all runs that are there."""
    file = out / LAWS_FILE
    if only_show:
        found = rows = read_rows(file)
    else:
        _check_sympy()
        planned = study.plan(collections(data_dir, own, study.wanted))
        rows = do_missing(planned, delayed(run_law), file, n_jobs, show, again=again)
        found = {run.key: rows[run.key] for run in planned}
    if not rows:
        raise NoRowsError(f"{str(out)!r} has no runs of laws; run the study first, or name another folder.")
    return Results(found, write_page(page_of_laws(list(rows.values())), out, LAWS))


def _check_sympy() -> None:
    try:
        importlib.import_module("sympy")
    except ImportError:
        raise ValueError("the study laws needs SymPy: pip install 'symgrove[laws]'.") from None


def run_law(run: LawRun) -> Row:
    """Fit once, and judge; what goes wrong is in `error`."""
    truth = run.equation
    row: Row = {
        "key": run.key,
        "collection": truth.collection,
        "half": truth.half,
        "law": truth.name,
        "method": run.method,
        "version": METHODS[run.method].version(),
        "noise": run.noise,
        "rows": run.n_rows,
        "max_time": run.max_time,
        "run": run.seed,
        "error": None,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = {**row, **_measure(run), **circumstances()}
        json.dumps(whole, allow_nan=False)
        return whole
    except Exception as error:
        return {**row, "error": f"{type(error).__name__}: {error}", **circumstances()}


def _measure(run: LawRun) -> Row:
    from symgrove.experiments import found

    truth = run.equation
    X, y = truth.training_rows(run.n_rows or truth.n_rows, run.seed)
    size = np.sqrt(np.mean(y**2))
    given = y + run.noise * size * np.random.default_rng((run.seed, 4)).normal(size=y.size)
    searcher = METHODS[run.method].make(run.seed, run.max_time)
    with threadpool_limits(1):
        seconds, processor, memory = _fit(searcher, X, given)
    formula = searcher.formula(truth.symbols())
    values = found.judge_values(formula, truth, run.noise, run.seed)
    X_test, y_test = truth.test_rows(truth.n_test or N_TEST, run.seed)
    said = found.values_of(formula, X_test, truth.symbols())
    return {
        "n_rows": len(y),
        "found": values.is_found,
        "found_by_symbols": found.judge_symbols(formula, truth, run.seed),
        "relative_error": _or_none(values.error),
        "relative_error_as_it_was": _or_none(values.error_as_it_was),
        "r2": _or_none(1 - np.mean((said - y_test) ** 2) / np.var(y_test)),
        "seconds": round(seconds, 3),
        "processor_seconds": round(processor, 3),
        "memory": None if memory is None else round(memory / 2**20, 1),
        "reason": searcher.reason,
        "size": found.size_of(formula),
        "formula": str(formula),
    }


def _or_none(value: Any) -> float | None:
    """A number that JSON has."""
    return float(value) if np.isfinite(value) else None


def _fit(searcher: Searcher, X: Any, y: Any) -> tuple[float, float, int | None]:
    """Seconds by the clock and of the processor, and bytes at the peak beyond those before, where Linux tells."""
    _give_back()
    before = _resident("VmRSS", is_reset=True)
    start, start_of_processor = time.perf_counter(), time.process_time()
    searcher.fit(X, y)
    seconds, processor = time.perf_counter() - start, time.process_time() - start_of_processor
    peak = _resident("VmHWM")
    return seconds, processor, None if peak is None or before is None else peak - before


def _give_back() -> None:
    """What earlier fits have left must not hide what this one takes."""
    gc.collect()
    if sys.platform == "linux":
        with suppress(AttributeError):  # not in every C library
            ctypes.CDLL(None).malloc_trim(0)


def _resident(name: str, *, is_reset: bool = False) -> int | None:
    """Resident memory of this process in bytes, now or at its peak since the last reset."""
    if sys.platform != "linux":
        return None
    try:
        if is_reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name)))
    except (OSError, StopIteration):  # a container may forbid it
        return None


def page_of_laws(rows: Sequence[Row]) -> Page:
    """For each collection and half, noise, number of rows and method: how many were found, and at what cost."""
    known = titles()
    order = [*known, *dict.fromkeys(row["collection"] for row in rows if row["collection"] not in known)]
    shown = []
    for name in order:
        for half in sorted({row["half"] for row in rows if row["collection"] == name}):
            own = [row for row in rows if (row["collection"], row["half"]) == (name, half)]
            caption = known[name][0] if name in known else name.capitalize()
            shown.append((f"{caption}{f', {half} half' if name == FEYNMAN else ''}", _lines(own)))
    sources = [f"{known[name][0]}: {known[name][1]}" for name in known if any(r["collection"] == name for r in rows)]
    ran = {row["method"] for row in rows}
    missing = [f"{METHODS[name].label} was not run: {why}." for name, why in not_here().items() if name not in ran]
    versions = sorted({f"{row['method']} {row['version']}" for row in rows if row["version"]})
    legend = (
        "Found: on rows without noise, from ranges 1.5 times wider, the formula is the truth up to a factor or an "
        "offset, with a relative root mean squared error below 1e-6; with noise, after its constants were fitted on "
        "rows without noise, and if the fit as it was is within five times the noise. By symbols: SymPy simplifies "
        "formula minus truth, or formula over truth, to a constant, constants rounded to three decimals (SRBench); in "
        "brackets how often it had not decided after a minute."
    )
    cost = (
        "Seconds of the processor, one core, so that other work on the machine does not count; the limit is by the "
        "clock. Memory of the fit beyond what the process had before, the most of all."
    )
    return Page(
        TITLE, [legend, cost], shown, [*sources, *([f"Versions: {', '.join(versions)}."] * bool(versions)), *missing]
    )


def _lines(rows: Sequence[Row]) -> list[list[str]]:
    """A table of a collection."""
    header = ["method", "noise", "rows", "limit, s", "runs", "found", "by symbols", "seconds, median", "most", "MiB"]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["noise"], row["rows"] or 0, row["max_time"], row["method"]), []).append(row)
    places = {name: place for place, name in enumerate(METHODS)}
    keys = sorted(groups, key=lambda key: (*key[:3], places.get(key[3], len(places))))
    return [header, *(_line(key, groups[key]) for key in keys)]


def _line(key: tuple[Any, ...], rows: Sequence[Row]) -> list[str]:
    noise, n_rows, max_time, method = key
    done = [row for row in rows if row["error"] is None]
    failed = f", {len(rows) - len(done)} failed" if len(done) < len(rows) else ""
    label = METHODS[method].label if method in METHODS else method
    start = [label, f"{noise:g}", f"{n_rows:,}" if n_rows else "its own", f"{max_time:g}", f"{len(rows)}{failed}"]
    if not done:
        return [*start, "", "", "", "", ""]

    def share(name: str) -> str:
        n_found = sum(row[name] is True for row in done)
        return f"{n_found} ({n_found / len(rows):.0%})"

    undecided = sum(row["found_by_symbols"] is None for row in done)
    by_symbols = share("found_by_symbols") + (f" [{undecided}]" if undecided else "")
    seconds = [row["processor_seconds"] for row in done]
    memory = max((row["memory"] for row in done if row["memory"] is not None), default=None)
    peak = "" if memory is None else f"{memory:.0f}"
    return [*start, share("found"), by_symbols, f"{np.median(seconds):.2f}", f"{max(seconds):.1f}", peak]
