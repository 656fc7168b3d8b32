"""A 2SEGP run put together from the engine's layers, with a clock and counters: what the benchmarks evolve with."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from symgrove import (
    CpuEngine,
    Forest,
    MeanSquaredError,
    PrimitiveSet,
    RandomPrograms,
    SubtreeVariation,
    bootstrap_counts,
    make_dataset,
    partitioned_truncation,
    score,
)
from symgrove.rng import stream


def load_asn(seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Training part of Airfoil Self-Noise, z-scored, if `SYMGROVE_DATA` or ../shared/data has it; else made-up data."""
    for folder in (os.environ.get("SYMGROVE_DATA"), Path(__file__).parents[2] / "shared" / "data"):
        if folder and (file := Path(folder) / "asn.csv").exists():
            table = np.loadtxt(file, delimiter=",")
            name = "ASN"
            break
    else:
        x = np.random.default_rng(0).random((1503, 5))
        friedman = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
        table = np.column_stack([x, friedman])
        name = "Friedman 1 (no asn.csv found)"
    rows = np.random.default_rng(seed).permutation(len(table))[: int(0.7 * len(table))]
    X, y = table[rows, :-1], table[rows, -1]
    return (X - X.mean(axis=0)) / X.std(axis=0), y, name


@dataclass
class Run:
    """One evolution; `seconds` and `mean_size` have an entry for each generation."""

    engine: CpuEngine
    forest: Forest
    n_samples: int = 50
    population_size: int = 500
    max_size: int = 500
    seed: int = 0
    seconds: list[float] = field(default_factory=list)
    mean_size: list[float] = field(default_factory=list)
    nominal: int = 0  # nodes of the programs that had to be evaluated, as trees
    nominal_functions: int = 0  # the same without leaves

    def __post_init__(self) -> None:
        self.source = RandomPrograms(self.forest)
        self.vary = SubtreeVariation(self.source, max_size=self.max_size)
        self.samples = self.engine.prepare(bootstrap_counts(self.engine.data.n_rows, self.n_samples, self.seed))

    def start(self) -> None:
        self.population = self.source.ramped_half_and_half(self.population_size, stream(self.seed, "init"))
        self.errors = score(self.engine, self.forest, self.population, self.samples, MeanSquaredError()).errors
        self.n_computed_at_start = self.engine.n_computed

    def step(self, generation: int) -> None:
        start = time.perf_counter()
        offspring = self.vary(self.population, stream(self.seed, "variation", generation))
        roots, position = np.unique(np.concatenate([self.population, offspring]), return_inverse=True)
        errors = np.empty((roots.size, self.n_samples))
        errors[position[: self.population_size]] = self.errors
        is_new = ~np.isin(roots, self.population)
        errors[is_new] = score(self.engine, self.forest, roots[is_new], self.samples, MeanSquaredError()).errors
        selected = partitioned_truncation(
            errors[position], self.population_size, stream(self.seed, "selection", generation)
        )
        new = roots[is_new]
        survivors = roots[position[selected]]
        self.errors = errors[position[selected]]
        seconds = time.perf_counter() - start
        self._count(new)
        start = time.perf_counter()
        ids = self.forest.collect(survivors)
        self.engine.collected(self.forest, ids)
        self.population = ids[survivors]
        self.seconds.append(seconds + time.perf_counter() - start)
        self.mean_size.append(float(self.forest.size(self.population).mean()))

    def _count(self, roots: np.ndarray) -> None:
        """Count the nodes that an evaluation of whole trees would have computed."""
        columns = self.forest.columns
        n_functions = np.zeros(len(self.forest), dtype=np.int64)
        for node in range(len(self.forest)):
            if columns.code[node] > 1:
                right = columns.right[node]
                n_functions[node] = 1 + n_functions[columns.left[node]] + (n_functions[right] if right >= 0 else 0)
        self.nominal += int(self.forest.size(roots).sum())
        self.nominal_functions += int(n_functions[roots].sum())

    @property
    def n_computed(self) -> int:
        return self.engine.n_computed - self.n_computed_at_start


def make_run(dtype: str, seed: int = 0, **settings: int) -> tuple[Run, str]:
    """A run with the paper's settings on ASN, and the name of the data."""
    X, y, name = load_asn(seed)
    primitives = PrimitiveSet()
    engine = CpuEngine(make_dataset(X, y, dtype), primitives)
    run = Run(engine, Forest(X.shape[1], primitives), seed=seed, **settings)
    run.start()
    return run, name
