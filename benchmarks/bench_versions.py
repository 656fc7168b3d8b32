"""Fits of an earlier commit over fits of this one, in processes that take turns."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Line

EARLIER = "4e3e4cc"  # the last commit before Grove had vectors that stay in the engine
N_TURNS = 2
HERE = Path(__file__).resolve().parents[1]
# Estimator, what it is fitted on, its settings, and what is wanted.
FITS = (
    ("GroveRegressor", (10_000, 10), "", ">= 8"),
    ("GroveRegressor", (1_000, 10), "", ">= 3"),
    ("GroveRegressor", (10_000, 10), "strength='fixed', generations=60", ">= 1.5"),
    ("GroveRegressor", (1_000, 10), "strength='fixed', generations=60", ">= 0.95"),
    ("GroveClassifier", (1_000, 10), "strength='fixed', generations=60", ">= 0.95"),
    ("TwoSEGPRegressor", (1_000, 10), "generations=100", ">= 0.95"),
    ("TwoSEGPClassifier", (1_000, 10), "generations=50", ">= 0.95"),
    ("ClassicGPRegressor", (1_000, 10), "generations=100", ">= 0.95"),
    ("DivNichGPRegressor", (3_000, 10), "generations=60", ">= 0.95"),
    ("SpatialGPRegressor", (3_000, 10), "generations=60", ">= 0.95"),
)
SCRIPT = """
import sys, time, warnings
from sklearn.datasets import make_friedman1
import symgrove
warnings.simplefilter("ignore")
X, y = make_friedman1({n_rows}, {n_features}, noise=1.0, random_state=0)
if "Classifier" in "{name}":
    y = (y > 14).astype(int)
kind = symgrove.{name}
settings = dict({settings}, random_state=0)
kind(**{{**settings, "generations": 2}}).fit(X[:200], y[:200])  # compile
kind(**{{**settings, "generations": 2}}).fit(X[:6000], y[:6000])  # and what many rows need
start = time.process_time()
kind(**settings).fit(X, y)
print(time.process_time() - start)
"""


def lines() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", EARLIER, "src"], cwd=HERE, capture_output=True, check=False)
        if archive.returncode != 0:
            print(f"versions: git does not have {EARLIER} here, so there is nothing to compare with", file=sys.stderr)
            return
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for name, (n_rows, n_features), settings, wanted in FITS:
            script = SCRIPT.format(name=name, n_rows=n_rows, n_features=n_features, settings=settings)
            earlier, now = (min(times) for times in zip(*_turns(script, Path(folder)), strict=True))
            detail = f"{n_rows:,} x {n_features} rows, {settings}: {earlier:.1f} s and {now:.1f} s"
            yield Line(f"{name}, {EARLIER} over now", earlier / now, wanted, detail)


def _turns(script: str, folder: Path) -> Iterator[tuple[float, float]]:
    for _ in range(N_TURNS):
        earlier, now = (_seconds(script, path / "src") for path in (folder, HERE))
        yield earlier, now


def _seconds(script: str, source: Path) -> float:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    told = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return float(told.stdout)
