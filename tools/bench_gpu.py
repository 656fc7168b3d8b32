"""Measure the CUDA engine on this machine's card, part by part: rows of JSON, printed and added to a file.

python tools/bench_gpu.py [--out docs/results/gpu.jsonl] [--limit SECONDS] [part ...]

With a limit, each part is a process of its own, which is ended after so many seconds.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import symgrove as sg
from symgrove.engines.cuda import CardPlan, CudaEngine
from symgrove.engines.cuda_card import missing_for_cuda, the_card
from symgrove.engines.dask_cuda import DaskCudaEngine
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.grove import strength
from symgrove.methods.grove.configuration import FOR_CLASSIFICATION, FOR_REGRESSION
from symgrove.methods.grove.folds import FoldRows
from symgrove.methods.grove.strength import StrengthSearch, Surroundings

N_ROWS, N_FEATURES = 1 << 20, 20
PROGRAMS, SAMPLES = 500, 50
ROWS_OF_MEDIANS, SEEDS, BOOTSTRAPS = 20_000, 10, 10_000
# What a fit that chooses its strength is made of; some are parts of others.
PHASES = (
    (Surroundings, "run_to"),
    (FoldRows, "ensembles"),
    (strength, "predict_teams"),
    (strength, "predict_populations"),
    (strength, "fit_populations"),
    (strength, "weigh"),
    (strength, "make_evolutions"),
    (StrengthSearch, "choose"),
    (StrengthSearch, "stack"),
)


def friedman(n_rows: int, seed: int = 0, n_features: int = N_FEATURES) -> tuple[Any, Any]:
    """Friedman's first function, with noise of standard deviation 1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.standard_normal(n_rows)


def milliseconds(work: Callable[[], Any], n_times: int = 10) -> float:
    """Median time of some work on the card, after two runs that do not count."""
    cuda = the_card().arrays.cuda
    found = []
    for i in range(n_times + 2):
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        if i >= 2:
            found.append(cuda.get_elapsed_time(start, stop))
    return float(np.median(found))


def bandwidth() -> dict[str, Any]:
    """Bytes a second of a copy, read and written."""
    arrays = the_card().arrays
    a = arrays.random.random(1 << 29, dtype=np.float32)
    b = arrays.empty_like(a)
    ms = milliseconds(lambda: arrays.copyto(b, a))
    return {"TB/s": 2 * a.nbytes / ms / 1e9}


def population(engine: CudaEngine | DaskCudaEngine | sg.CpuEngine) -> tuple[sg.Forest, Any]:
    """A random forest of the paper."""
    forest = sg.Forest(engine.n_features, engine.primitives)
    make = RandomPrograms(forest)
    roots = make.ramped_half_and_half(forest, PROGRAMS, np.random.default_rng(0))
    return forest, np.unique(roots)


def evaluation() -> dict[str, Any]:
    """Node evaluations a second, all steps of a population in one launch."""
    X, y = friedman(N_ROWS)
    found: dict[str, Any] = {}
    for dtype in ("float32", "float64"):
        with CudaEngine(sg.make_dataset(X, y, dtype), sg.PrimitiveSet()) as engine:
            forest, roots = population(engine)
            order = engine._in_order(forest, roots, None)
            plan: CardPlan = engine._plan(forest, roots[order], False)
            rows = engine._new_rows(plan.n_roots)
            stride = rows.shape[1] * rows.dtype.itemsize
            place = engine.card.address(rows) + stride * np.arange(plan.n_roots)
            n_steps = plan.schedule.n_steps
            found[f"{dtype} steps"], found[f"{dtype} scratch"] = n_steps, plan.n_scratch
            for n_shared in (0, 4, 8, 12):
                engine.most_shared_rows = n_shared
                ms = milliseconds(lambda: engine._compute(plan, 0, N_ROWS, place), 5)  # noqa: B023
                found[f"{dtype} {n_shared} shared: ms"] = ms
                found[f"{dtype} {n_shared} shared: 1e9 nodes/s"] = n_steps * N_ROWS / ms / 1e6
    return found


def agreement() -> dict[str, Any]:
    """Errors of a population on all samples, beside the CPU engine's."""
    X, y = friedman(N_ROWS)
    found: dict[str, Any] = {}
    counts = sg.bootstrap_counts(N_ROWS, SAMPLES, 0, np.uint8)
    for dtype in ("float32", "float64"):
        data = sg.make_dataset(X, y, dtype)
        errors = []
        for engine in (CudaEngine(data, sg.PrimitiveSet()), sg.CpuEngine(data, sg.PrimitiveSet(), n_threads=16)):
            with engine:
                forest, roots = population(engine)
                start = time.perf_counter()
                samples = engine.prepare(counts)
                prepared = time.perf_counter()
                errors.append(sg.score(engine, forest, roots, samples, sg.MeanSquaredError()).errors)
                scored = time.perf_counter()
                errors[-1] = sg.score(engine, forest, roots, samples, sg.MeanSquaredError()).errors
                name = f"{dtype} {type(engine).__name__}"
                found[f"{name} prepare s"] = prepared - start
                found[f"{name} first score s"] = scored - prepared
                found[f"{name} score s"] = time.perf_counter() - scored
        a, b = errors
        both = np.isfinite(a) & np.isfinite(b)
        found[f"{dtype} relative difference"] = float((np.abs(a - b) / b)[both].max())
        found[f"{dtype} finite"] = [int(np.isfinite(a).sum()), int(np.isfinite(b).sum())]
    return found


@contextmanager
def a_worker_here() -> Iterator[None]:
    """One worker, a thread of this process, with its card."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - other parts need none

    how: dict[str, Any] = {"processes": False, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=1, threads_per_worker=1, **how) as cluster, Client(cluster):
        yield


def one_worker() -> dict[str, Any]:
    """Errors of a population, and fits, on a card as a worker has it, beside those of the CUDA engine."""
    X, y = friedman(N_ROWS)
    test, expected = friedman(20_000, 1)
    counts, budget = sg.bootstrap_counts(N_ROWS, SAMPLES, 0, np.uint8), 16 << 30
    kinds: tuple[Any, ...] = CudaEngine, DaskCudaEngine
    found: dict[str, Any] = {}
    with a_worker_here():
        for dtype in ("float32", "float64"):
            data, errors = sg.make_dataset(X, y, dtype), []
            for kind in kinds:
                with kind(data, sg.PrimitiveSet(), memory_budget=budget) as engine:
                    forest, roots = population(engine)
                    samples = engine.prepare(counts)
                    for turn in ("first score", "score", "again"):
                        start = time.perf_counter()
                        scores = sg.score(engine, forest, roots, samples, sg.MeanSquaredError())
                        found[f"{dtype} {kind.__name__} {turn} s"] = time.perf_counter() - start
                    errors.append(scores.errors)
            a, b = errors
            both = np.isfinite(a) & np.isfinite(b)
            found[f"{dtype} relative difference"] = float((np.abs(a - b) / b)[both].max())
            found[f"{dtype} finite"] = [int(np.isfinite(a).sum()), int(np.isfinite(b).sum())]
            for name in ("cuda", "dask-cuda", "cuda", "dask-cuda"):  # the second of each counts
                model = sg.TwoSEGPRegressor(engine=name, dtype=dtype, random_state=0, memory_budget=budget)
                start = time.perf_counter()
                said = model.fit(X, y).predict(test)
                found[f"{dtype} 2SEGP {name} s"] = time.perf_counter() - start
                found[f"{dtype} 2SEGP {name} test error"] = float(np.mean((said - expected) ** 2))
                found[f"{dtype} 2SEGP {name} predictions"] = said[:3].tolist()
    return found


def products() -> dict[str, Any]:
    """Milliseconds of the products of a generation of teams, with their way to the host; one team's beside CuPy's."""
    X, y = friedman(N_ROWS)
    n_teams, n_slots, n_judged, n_vectors = 50, 103, 24, 800
    rng, found = np.random.default_rng(0), {}
    slots, seen = (rng.integers(n_vectors, size=(n_teams, n)) for n in (n_slots, n_judged))
    itself = np.arange(n_teams)[:, None]
    with CudaEngine(sg.make_dataset(X, y, "float32"), sg.PrimitiveSet()) as engine:
        draw = engine.card.arrays.random.default_rng(0)
        rows = draw.random((n_vectors, N_ROWS), dtype=np.float32)
        weights = draw.random((n_teams, N_ROWS))
        terms, of_teams = engine._vectors_in(rows), engine._vectors_in(weights)
        calls: dict[str, Callable[[], Any]] = {
            "teams with themselves": lambda: engine.products(terms, terms, of_teams, slots, slots),
            "candidates with teams": lambda: engine.products(terms, terms, of_teams, seen, slots),
            "scores with all candidates": lambda: engine.products(of_teams, terms),
            "gradients": lambda: engine.products(of_teams, terms, None, itself, slots),
            "squares": lambda: engine.squares(terms, of_teams, seen),
            "combinations": lambda: engine.combine(slots / n_vectors, terms, slots),
        }
        for name, call in calls.items():
            found[f"{name}: ms"] = milliseconds(call, 5)
        own = rows[engine.card.upload(slots[0])].astype(np.float64)
        expected = engine.card.download((own * weights[0]) @ own.T)
        for name in ("teams with themselves", "gradients"):
            exact = expected if name == "teams with themselves" else engine.card.download(own @ weights[0])
            made = calls[name]()[0]
            found[f"{name}: largest relative difference"] = float(np.abs(made / exact - 1).max())
    return found


@contextmanager
def phases() -> Iterator[dict[str, float]]:
    """Seconds of phases of a fit, filled in and printed as each ends; what they hold before is not waited for."""
    seconds: dict[str, float] = {}
    before = [(owner, name, getattr(owner, name)) for owner, name in PHASES]

    def timed(name: str, work: Callable[..., Any], *given: Any, **more: Any) -> Any:
        start = time.perf_counter()
        found = work(*given, **more)
        found = iter([*found]) if name == "ensembles" else found
        texts = [str(g) for g in given if isinstance(g, (str, int, np.integer))] if name == "run_to" else []
        key = " ".join([name, *texts])
        own = time.perf_counter() - start
        seconds[key] = seconds.get(key, 0.0) + own
        print(f"  {key}: {own:.2f} s", flush=True)
        return found

    for owner, name, work in before:
        setattr(owner, name, _as_method(partial(timed, name, work)))
    try:
        yield seconds
    finally:
        for owner, name, work in before:
            setattr(owner, name, work)


def _as_method(work: Callable[..., Any]) -> Callable[..., Any]:
    """A function, which classes bind to their objects."""
    return lambda *given, **more: work(*given, **more)


@contextmanager
def most_memory() -> Iterator[dict[str, float]]:
    """The most GB in use on the card, looked at every 20 ms, and of this process on the host."""
    found = {"most GB of the card": 0.0}
    runtime, is_over = the_card().arrays.cuda.runtime, threading.Event()

    def look() -> None:
        while not is_over.wait(0.02):
            n_free, n_all = runtime.memGetInfo()
            found["most GB of the card"] = max(found["most GB of the card"], (n_all - n_free) / 1e9)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield found
    finally:
        is_over.set()
        watcher.join()
        found["most GB of the host"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def fitted(estimator: Any, n_rows: int = N_ROWS) -> dict[str, Any]:
    """Seconds and memory of a fit, and its error on other rows."""
    X, y = friedman(n_rows)
    test, expected = friedman(20_000, 1)
    if hasattr(estimator, "predict_proba"):
        middle = np.median(y)
        y, expected = y > middle, expected > middle
    the_card().free_unused()
    profile = cProfile.Profile()
    is_profiled = estimator.generations <= 10
    with phases() as seconds_of, most_memory() as memory:
        start = time.perf_counter()
        if is_profiled:
            profile.enable()
        estimator.fit(X, y)
        profile.disable()
        seconds = time.perf_counter() - start
    if is_profiled:
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(25)
    error = float(np.mean((estimator.predict(test).astype(float) - expected) ** 2))
    return {
        "s": seconds,
        "generations": estimator.n_generations_,
        **memory,
        "test error": error,
        "weights": getattr(estimator, "stacking_weights_", None),
        "phases": seconds_of,
    }


def first_errors() -> dict[str, Any]:
    """Errors of the members after the first generation, on the card and on the CPU."""
    X, y = friedman(ROWS_OF_MEDIANS)
    found: dict[str, Any] = {}
    for dtype in ("float32", "float64"):
        errors = []
        for engine in ("cuda", "cpu"):
            model = AllRows(engine=engine, dtype=dtype, strength="fixed", generations=0, random_state=0, n_jobs=-1)
            stack: Any = model.fit(X, y).model_
            errors.append(stack.levels[0].errors)
        found[f"{dtype}: largest relative difference"] = float(np.abs(errors[0] / errors[1] - 1).max())
        found[f"{dtype}: median error"] = float(np.median(errors[0]))
    return found


def medians(engine: str) -> Iterator[dict[str, Any]]:
    """Test errors of Grove, one seed after the other: of the data and of the fit."""
    for seed in range(SEEDS):
        X, y = friedman(ROWS_OF_MEDIANS, 2 * seed)
        test, expected = friedman(ROWS_OF_MEDIANS, 2 * seed + 1)
        start = time.perf_counter()
        model = sg.GroveRegressor(engine=engine, random_state=seed, n_jobs=-1).fit(X, y)
        seconds = time.perf_counter() - start
        yield {"seed": seed, "s": seconds, "test error": float(np.mean((model.predict(test) - expected) ** 2))}


def difference(path: Path) -> dict[str, Any]:
    """Medians of the errors that a file has of both engines, and a bootstrap interval of their difference."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    errors = []
    for engine in ("cuda", "cpu"):
        own = {row["seed"]: row["test error"] for row in rows if row["part"] == MEDIANS.format(engine)}
        errors.append(np.array([own[seed] for seed in range(SEEDS)]))
    drawn = np.random.default_rng(0).integers(SEEDS, size=(2, BOOTSTRAPS, SEEDS))
    medians_of = [np.median(own[which], axis=1) for own, which in zip(errors, drawn, strict=True)]
    card, cpu = (float(np.median(own)) for own in errors)
    low, high = np.quantile(medians_of[0] - medians_of[1], (0.025, 0.975)).tolist()
    return {"card": card, "CPU": cpu, "difference": card - cpu, "interval": [low, high]}


def by_kernel(estimator: Any) -> dict[str, Any]:
    """Milliseconds of each kernel in a fit, one after the other, and how often it ran."""
    card, spent = the_card(), Counter[str]()
    calls = Counter[str]()
    shapes: dict[str, tuple[float, str]] = {}
    launch, cuda = card.launch, card.arrays.cuda

    def timed(source: str, kernel: str, blocks: tuple[int, int], *rest: Any, **more: Any) -> None:
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        launch(source, kernel, blocks, *rest, **more)
        stop.record()
        stop.synchronize()
        ms = cuda.get_elapsed_time(start, stop)
        spent[kernel] += ms
        calls[kernel] += 1
        if ms > shapes.get(kernel, (0.0, ""))[0]:
            numbers = [a for a in rest[1] if isinstance(a, int) and a < 1 << 40]
            shapes[kernel] = ms, f"{blocks} {numbers}"

    card.launch = timed  # type: ignore[method-assign]
    try:
        start = time.perf_counter()
        X, y = friedman(N_ROWS)
        estimator.fit(X, y)
        seconds = time.perf_counter() - start
    finally:
        card.launch = launch  # type: ignore[method-assign]
    return {"s": seconds} | {k: (round(ms), calls[k], shapes[k]) for k, ms in spent.most_common()}


def predicting() -> dict[str, Any]:
    """Predictions of ten million rows by a default Grove, on the card and on the CPU."""
    model = sg.GroveRegressor(engine="cuda", random_state=0, n_jobs=-1)
    found = fitted(model)
    X, _ = friedman(10_000_000, 2)
    said = {}
    for engine in ("cuda", "cuda", "cpu"):
        model.engine = engine
        start = time.perf_counter()
        said[engine] = model.predict(X)
        found[f"{engine}: s of 10 million rows"] = time.perf_counter() - start
    return found | {"largest difference": float(np.abs(said["cuda"] - said["cpu"]).max())}


def two_segp(dtype: str = "float32", **more: Any) -> Callable[[], dict[str, Any]]:
    """2SEGP with the paper's settings."""
    return lambda: fitted(sg.TwoSEGPRegressor(engine="cuda", dtype=dtype, random_state=0, n_jobs=-1, **more))


def grove(kind: Any = sg.GroveRegressor, dtype: str = "float32", **more: Any) -> Callable[[], dict[str, Any]]:
    """Grove, with defaults but for what is given."""
    return lambda: fitted(kind(engine="cuda", dtype=dtype, random_state=0, n_jobs=-1, **more))


class AllRows(sg.GroveRegressor):
    """Grove, every generation of it on all rows, however many."""

    configuration = replace(FOR_REGRESSION, many=replace(FOR_REGRESSION.many, fewest_rows=sys.maxsize))


class AllRowsOfClasses(sg.GroveClassifier):
    """The same for classes."""

    configuration = replace(FOR_CLASSIFICATION, many=replace(FOR_CLASSIFICATION.many, fewest_rows=sys.maxsize))


class AllRowsOfTwoClasses(AllRowsOfClasses):
    """Two classes of a number: above and below its median."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """A fit."""
        return super().fit(X, y > np.median(y), sample_weight)


MEDIANS = "Grove, 20,000 rows, {}"
DIFFERENCE = "Grove, 20,000 rows, difference"  # of what the file has
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "gpu.jsonl"
PARTS: dict[str, Callable[[], dict[str, Any] | Iterator[dict[str, Any]]]] = {
    "bandwidth": bandwidth,
    "evaluation": evaluation,
    "agreement": agreement,
    "products": products,
    "one worker": one_worker,
    "2SEGP float32, 5 generations": two_segp(generations=5),
    "2SEGP float32": two_segp(),
    "2SEGP float64": two_segp("float64"),
    "Grove, all rows, fixed strength, 10 generations": grove(AllRows, strength="fixed", generations=10),
    "Grove, all rows, fixed strength": grove(AllRows, strength="fixed"),
    "Grove, all rows": grove(AllRows),
    "Grove by kernel": lambda: by_kernel(AllRows(engine="cuda", strength="fixed", generations=25, random_state=0)),
    "classes by kernel": lambda: by_kernel(
        AllRowsOfTwoClasses(engine="cuda", strength="fixed", generations=20, random_state=0)
    ),
    "Grove, and its predictions": predicting,
    "Grove, classes, all rows, fixed strength": grove(AllRowsOfClasses, strength="fixed"),
    "Grove, classes, all rows": grove(AllRowsOfClasses),
    "Grove, classes": grove(sg.GroveClassifier),
    "Grove, first generation": first_errors,
    MEDIANS.format("cuda"): partial(medians, "cuda"),
    MEDIANS.format("cpu"): partial(medians, "cpu"),
}


def measure(name: str, out: Path) -> None:
    """One part: its rows, printed as they come, and added to the file."""
    start = time.perf_counter()
    try:
        found = difference(out) if name == DIFFERENCE else PARTS[name]()
        card = "none" if missing_for_cuda() else the_card().name
        for row in [found] if isinstance(found, dict) else found:
            _tell(name, {"card": card, **row}, start, out)
    except Exception as error:
        _tell(name, {"failed": f"{type(error).__name__}: {error}"[:2000]}, start, out)


def _tell(name: str, row: dict[str, Any], start: float, out: Path) -> None:
    text = json.dumps({"part": name, **row, "seconds so far": time.perf_counter() - start})
    print(text, flush=True)
    with out.open("a") as file:
        file.write(text + "\n")


def main() -> None:
    """Measure the parts that are named, or all."""
    names = [*PARTS, DIFFERENCE]
    read = argparse.ArgumentParser(description="Measure the CUDA engine on this machine's card.")
    read.add_argument("--out", type=Path, default=RESULTS, help="rows are added to this file")
    read.add_argument("--limit", type=float, help="seconds for each part, which is then a process of its own")
    read.add_argument("parts", nargs="*", metavar="part", help=f"some of: {'; '.join(names)}")
    given = read.parse_args()
    unknown = [name for name in given.parts if name not in names]
    if unknown:
        read.error(f"{', '.join(map(repr, unknown))} is no part; parts are: {'; '.join(names)}")
    for name in given.parts or names:
        if given.limit is None:
            measure(name, given.out)
            continue
        start, own = time.perf_counter(), [sys.executable, __file__, "--out", str(given.out), name]
        try:
            subprocess.run(own, timeout=given.limit, check=False)
        except subprocess.TimeoutExpired:
            _tell(name, {"ended after s": given.limit}, start, given.out)


if __name__ == "__main__":
    main()
