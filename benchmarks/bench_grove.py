"""Grove on one core: whole fits against a random forest of 500 trees, predictions against boosted trees."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from benchmarks.evolution import load_asn
from benchmarks.table import Line, best_of
from symgrove import GroveRegressor


def lines() -> Iterator[Line]:
    X, y, name = load_asn(0)
    yield from _against_forest(X, y, name)
    yield from _against_forest(*make_friedman1(150, noise=3.0, random_state=0), "Friedman 1, 150 rows")
    yield from _predictions()


def _against_forest(X, y, name: str) -> Iterator[Line]:  # type: ignore[no-untyped-def]
    GroveRegressor(generations=2, random_state=0).fit(X[:50], y[:50])  # compile
    forest = RandomForestRegressor(500, n_jobs=1, random_state=0)
    fixed, auto = (GroveRegressor(strength=strength, random_state=0) for strength in ("fixed", "auto"))
    times = best_of(2, *(lambda m=model: m.fit(X, y) for model in (forest, fixed, auto)))  # type: ignore[misc]
    for label, seconds, wanted in (("fixed strength", times[1], "<= 8"), ("automatic", times[2], "<= 30")):
        detail = f"{name}: {seconds:.1f} s and {times[0]:.2f} s"
        yield Line(f"Grove, {label}, over a random forest", seconds / times[0], wanted, detail)


def _predictions() -> Iterator[Line]:
    """A Grove of two levels, on many rows: one pass against tables of terms, and against boosted trees."""
    X, y = make_friedman1(1000, random_state=1)
    model, trees = GroveRegressor(random_state=0).fit(X, y), HistGradientBoostingRegressor(random_state=0).fit(X, y)
    X, _ = make_friedman1(50_000, random_state=2)
    levels = model.model_.levels

    def by_tables() -> None:
        for level in levels:
            level.predict(X)

    tables, grove, boosted = best_of(2, by_tables, lambda: model.predict(X), lambda: trees.predict(X))
    detail = f"{sum(level.programs.size for level in levels)} terms, 50,000 rows: {tables:.2f} s and {grove:.2f} s"
    yield Line("terms in tables over one pass of Grove", tables / grove, ">= 8", detail)
    yield Line("predictions of Grove over boosted trees", grove / boosted, "", f"{grove:.2f} s and {boosted:.2f} s")
