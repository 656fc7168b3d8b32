"""Whole fits of Grove against a random forest of 500 trees on one core."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from benchmarks.evolution import load_asn
from benchmarks.table import Line, best_of
from symgrove import GroveRegressor


def lines() -> Iterator[Line]:
    X, y, name = load_asn(0)
    yield from _against_forest(X, y, name)
    yield from _against_forest(*make_friedman1(150, noise=3.0, random_state=0), "Friedman 1, 150 rows")


def _against_forest(X, y, name: str) -> Iterator[Line]:  # type: ignore[no-untyped-def]
    GroveRegressor(generations=2, random_state=0).fit(X[:50], y[:50])  # compile
    forest = RandomForestRegressor(500, n_jobs=1, random_state=0)
    fixed, auto = (GroveRegressor(strength=strength, random_state=0) for strength in ("fixed", "auto"))
    times = best_of(2, *(lambda m=model: m.fit(X, y) for model in (forest, fixed, auto)))  # type: ignore[misc]
    for label, seconds, wanted in (("fixed strength", times[1], "<= 8"), ("automatic", times[2], "<= 30")):
        detail = f"{name}: {seconds:.1f} s and {times[0]:.2f} s"
        yield Line(f"Grove, {label}, over a random forest", seconds / times[0], wanted, detail)
