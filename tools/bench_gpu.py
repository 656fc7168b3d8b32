"""Measure the CUDA engine on this machine's card, part by part; prints a table, and writes rows of it to a file.

python tools/bench_gpu.py [--out FILE] [part ...]
"""

from __future__ import annotations

import cProfile
import json
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import symgrove as sg
from symgrove.engines.cuda import CardPlan, CudaEngine
from symgrove.engines.cuda_card import the_card
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.grove.configuration import FOR_CLASSIFICATION, FOR_REGRESSION

N_ROWS, N_FEATURES = 1 << 20, 20
PROGRAMS, SAMPLES = 500, 50


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


def population(engine: CudaEngine | sg.CpuEngine) -> tuple[sg.Forest, Any]:
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


def fitted(estimator: Any, n_rows: int = N_ROWS) -> dict[str, Any]:
    """Seconds and memory of a fit, and its error on other rows."""
    X, y = friedman(n_rows)
    test, expected = friedman(20_000, 1)
    if hasattr(estimator, "predict_proba"):
        middle = np.median(y)
        y, expected = y > middle, expected > middle
    pool = the_card().arrays.get_default_memory_pool()
    pool.free_all_blocks()
    profile = cProfile.Profile()
    is_profiled = estimator.generations <= 10
    start = time.perf_counter()
    if is_profiled:
        profile.enable()
    estimator.fit(X, y)
    profile.disable()
    seconds = time.perf_counter() - start
    if is_profiled:
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(25)
    error = float(np.mean((estimator.predict(test) - expected) ** 2))
    return {
        "s": seconds,
        "generations": estimator.n_generations_,
        "GB of the card": pool.total_bytes() / 1e9,
        "test error": error,
    }


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


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "bandwidth": bandwidth,
    "evaluation": evaluation,
    "agreement": agreement,
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
    "Grove, classes, all rows": grove(AllRowsOfClasses),
    "Grove, classes": grove(sg.GroveClassifier),
}


def main(arguments: list[str]) -> None:
    """Run the parts that are named, or all."""
    out = Path(arguments[arguments.index("--out") + 1]) if "--out" in arguments else None
    names = [a for a in arguments if a in PARTS] or list(PARTS)
    print(the_card().name, flush=True)
    for name in names:
        start = time.perf_counter()
        try:
            found = PARTS[name]()
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}"[:2000]}
        found["seconds of the part"] = time.perf_counter() - start
        print(name, json.dumps(found, indent=1), flush=True)
        if out is not None:
            with out.open("a") as file:
                file.write(json.dumps({"part": name, **found}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
