"""Fitness on 50 bootstrap samples: matrix products against gathering rows by index, as the reference does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.table import Line, best_of
from symgrove import CpuEngine, Forest, MeanSquaredError, PrimitiveSet, bootstrap_counts, make_dataset, score

N_PROGRAMS, N_ROWS, N_SAMPLES = 500, 1052, 50


def gathering(outputs: np.ndarray, y: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Scaled squared error of every program on every sample; all programs of a sample at once, in NumPy."""
    errors = np.empty((len(outputs), len(indices)))
    for j, rows in enumerate(indices):
        o, t = outputs[:, rows], y[rows]
        o = o - o.mean(axis=1, keepdims=True)
        t = t - t.mean()
        slope = (o @ t) / np.einsum("ij,ij->i", o, o)
        errors[:, j] = ((t - slope[:, None] * o) ** 2).mean(axis=1)
    return errors


def gathering_one_by_one(outputs: np.ndarray, y: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The same, program by program with all samples of one at once, as the author's code does."""
    t = y[indices]
    t = t - t.mean(axis=1, keepdims=True)
    errors = np.empty((len(outputs), len(indices)))
    for p, output in enumerate(outputs):
        o = output[indices]
        o = o - o.mean(axis=1, keepdims=True)
        slope = (o * t).sum(axis=1) / (o * o).sum(axis=1)
        errors[p] = ((t - slope[:, None] * o) ** 2).mean(axis=1)
    return errors


def lines() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    for dtype, wanted in (("float32", ">= 20"), ("float64", ">= 12")):
        X = rng.normal(size=(N_ROWS, N_PROGRAMS)).astype(dtype)
        y = X[:, :5].sum(axis=1).astype(np.float64) + rng.normal(size=N_ROWS)
        counts = bootstrap_counts(N_ROWS, N_SAMPLES, seed=0)
        indices = np.array([np.repeat(np.arange(N_ROWS), row) for row in counts])
        indices = rng.permuted(indices, axis=1)
        primitives = PrimitiveSet()
        forest = Forest(N_PROGRAMS, primitives)
        roots = np.array([forest.feature(i) for i in range(N_PROGRAMS)])
        engine = CpuEngine(make_dataset(X, y, dtype), primitives)
        samples = engine.prepare(counts)
        outputs, target = np.ascontiguousarray(X.T), y.astype(dtype)
        ours, by_sample, by_program = best_of(
            25,
            lambda: score(engine, forest, roots, samples, MeanSquaredError()),  # noqa: B023
            lambda: gathering(outputs, target, indices),  # noqa: B023
            lambda: gathering_one_by_one(outputs, target, indices),  # noqa: B023
        )
        difference = np.abs(
            score(engine, forest, roots, samples, MeanSquaredError()).errors / gathering(outputs, target, indices) - 1
        ).max()
        detail = f"{1e3 * ours:.1f} ms against {1e3 * by_program:.0f} ms; errors agree to {difference:.0e}"
        yield Line(f"fitness: gathering over ours, {dtype}", by_program / ours, wanted, detail)
        detail = f"{1e3 * by_sample:.0f} ms: gathering all programs of a sample at once"
        yield Line(f"fitness: batched gathering over ours, {dtype}", by_sample / ours, "", detail)
