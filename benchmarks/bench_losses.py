"""A row loss of one's own on 50 bootstrap samples: against the built-in second passes, and against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.table import Line, best_of
from symgrove import CpuEngine, Forest, PrimitiveSet, bootstrap_counts, make_dataset, row_loss
from symgrove.fitness.losses import RowLoss
from symgrove.fitness.scaling import Scaling

N_PROGRAMS, N_ROWS, N_SAMPLES = 500, 1052, 50


def absolute(y: float, prediction: float) -> float:
    return abs(y - prediction)


def with_numpy(outputs: np.ndarray, y: np.ndarray, weights: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Weighted sums of absolute errors, program by program with all samples of one at once."""
    sums = np.empty(scaling.slope.shape)
    for p, output in enumerate(outputs):
        scaled = scaling.intercept[p, :, None] + scaling.slope[p, :, None] * output
        sums[p] = np.einsum("ij,ij->i", weights, np.abs(y - scaled))
    return sums


def lines() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    scaling = Scaling(*rng.normal(size=(2, N_PROGRAMS, N_SAMPLES)))
    for dtype in ("float32", "float64"):
        X = rng.normal(size=(N_ROWS, N_PROGRAMS)).astype(dtype)
        y = (X[:, 0] > 0).astype(np.float64)
        primitives = PrimitiveSet()
        forest = Forest(N_PROGRAMS, primitives)
        roots = np.array([forest.feature(i) for i in range(N_PROGRAMS)])
        engine = CpuEngine(make_dataset(X, y, dtype), primitives)
        samples = engine.prepare(bootstrap_counts(N_ROWS, N_SAMPLES, seed=0))
        outputs, weights = X.T.astype(np.float64), samples.weights.astype(np.float64)
        own = row_loss(absolute)
        ours, squared, mistakes, numpy = best_of(
            15,
            lambda: engine.errors(forest, roots, scaling, samples, own),  # noqa: B023
            lambda: engine.errors(forest, roots, scaling, samples, RowLoss.SQUARED),  # noqa: B023
            lambda: engine.errors(forest, roots, scaling, samples, RowLoss.MISCLASSIFIED),  # noqa: B023
            lambda: with_numpy(outputs, y, weights, scaling),  # noqa: B023
        )
        sums = engine.errors(forest, roots, scaling, samples, own)
        difference = np.abs(sums / with_numpy(outputs, y, weights, scaling) - 1).max()
        detail = f"{1e3 * ours:.0f} ms against {1e3 * numpy:.0f} ms; sums agree to {difference:.0e}"
        yield Line(f"losses: NumPy over own absolute error, {dtype}", numpy / ours, ">= 2", detail)
        detail = f"{1e3 * squared:.0f} ms: the built-in second pass"
        yield Line(f"losses: own absolute over squared error, {dtype}", ours / squared, "<= 3", detail)
        detail = f"{1e3 * mistakes:.0f} ms: the built-in second pass"
        yield Line(f"losses: own absolute over mistakes, {dtype}", ours / mistakes, "<= 3", detail)
