"""Start-up: compiling on a fresh machine, loading from the cache, importing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import symgrove
from benchmarks.table import Line

PROGRAM = """
import time
start = time.perf_counter()
import numpy as np
import symgrove
imported = time.perf_counter()
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
for dtype in ("float64", "float32"):
    primitives = symgrove.PrimitiveSet(tuple(symgrove.forest.primitives.BUILTIN))
    forest = symgrove.Forest(3, primitives)
    source = symgrove.RandomPrograms(forest)
    roots = source.ramped_half_and_half(forest, 50, rng)
    engine = symgrove.CpuEngine(symgrove.make_dataset(X, (X[:, 0] > 0) * 1.0, dtype), primitives)
    samples = engine.prepare(symgrove.bootstrap_counts(300, 5, seed=0))
    children = symgrove.SubtreeVariation(source)(forest, roots, rng)
    for loss in (symgrove.MeanSquaredError(), symgrove.ClassificationError()):
        errors = symgrove.score(engine, forest, children, samples, loss).errors
    survivors = children[symgrove.partitioned_truncation(errors, 50, rng)]
    engine.collected(forest, forest.collect(survivors))
print(time.perf_counter() - imported)
"""
IMPORT = "{}import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def run(code: str, path: str = "") -> tuple[float, str]:
    variables = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True)
    return float(done.stdout), done.stderr


def lines() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(symgrove.__file__).parent
        shutil.copytree(source, Path(folder) / "symgrove", ignore=shutil.ignore_patterns("__pycache__"))
        cold, said = run(PROGRAM, folder)
        warm, silent = min(run(PROGRAM, folder) for _ in range(3))
    announced = f"announced {said.count('compiling')} time cold, {silent.count('compiling')} warm"
    detail = f"{cold:.1f} s cold (wanted <= 20), {warm:.2f} s warm; all primitives, both dtypes; {announced}"
    yield Line("seconds of compiling on a fresh machine", cold, "<= 20", detail)
    names = ", ".join(symgrove.__all__)
    more, whole, theirs = float("inf"), float("inf"), float("inf")
    for _ in range(7):
        more = min(more, run(IMPORT.format("import sklearn; ", f"from symgrove import {names}"))[0])
        whole = min(whole, run(IMPORT.format("", f"from symgrove import {names}"))[0])
        theirs = min(theirs, run(IMPORT.format("", "import sklearn"))[0])
    detail = f"after scikit-learn is imported; alone {whole:.2f} s, scikit-learn {theirs:.2f} s"
    yield Line("import of all public names, seconds", more, "<= 0.2", detail)
