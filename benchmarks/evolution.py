"""2SEGP, one generation at a time, with a clock and counters: what the benchmarks evolve with."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from symgrove import CpuEngine, Forest, TwoSEGPRegressor
from symgrove.methods.gp import GPState
from symgrove.methods.problem import Problem, Rows
from symgrove.methods.two_segp import TwoSEGP
from symgrove.models.task import Regression
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

    method: TwoSEGP
    state: GPState | None = None
    seconds: list[float] = field(default_factory=list)
    mean_size: list[float] = field(default_factory=list)
    nominal: int = 0  # nodes of the programs that had to be evaluated, as trees
    nominal_functions: int = 0  # the same without leaves

    @property
    def engine(self) -> CpuEngine:
        return self.method.engine

    def start(self) -> None:
        self.state = self.method.init()
        self._n_computed_at_start = self.engine.n_computed

    def step(self) -> None:
        assert self.state is not None
        known = self.state.population
        start = time.perf_counter()
        advanced = self.method.advance(self.state)
        middle = time.perf_counter()
        offspring = self.method.vary(
            self.state.forest, known, stream(self.method.seed, "variation", self.state.generation)
        )
        self._count(advanced.forest, np.setdiff1d(offspring, known))
        resumed = time.perf_counter()
        self.state = self.method.settle(advanced)
        self.seconds.append(middle - start + time.perf_counter() - resumed)
        self.mean_size.append(float(self.state.forest.size(self.state.population).mean()))

    def _count(self, forest: Forest, roots: np.ndarray) -> None:
        """Count the nodes that an evaluation of whole trees would have computed."""
        columns = forest.columns
        n_functions = np.zeros(len(forest), dtype=np.int64)
        for node in range(len(forest)):
            if columns.code[node] > 1:
                right = columns.right[node]
                n_functions[node] = 1 + n_functions[columns.left[node]] + (n_functions[right] if right >= 0 else 0)
        self.nominal += int(forest.size(roots).sum())
        self.nominal_functions += int(n_functions[roots].sum())

    @property
    def n_computed(self) -> int:
        return self.engine.n_computed - self._n_computed_at_start


def make_run(X: np.ndarray, y: np.ndarray, seed: int = 0, **parameters: object) -> Run:
    """A run of 2SEGP on these rows; the engine is closed when the process ends."""
    estimator = TwoSEGPRegressor(standardize=False, **parameters)  # type: ignore[arg-type]
    problem = Problem(Rows(X, y[None], None, np.arange(len(X))), Regression(), seed)
    return Run(estimator.make_method(problem).parts[0])


def make_asn_run(dtype: str, seed: int = 0) -> tuple[Run, str]:
    """A started run with the paper's settings on ASN, and the name of the data."""
    X, y, name = load_asn(seed)
    run = make_run(X, y, seed, dtype=dtype)
    run.start()
    return run, name
