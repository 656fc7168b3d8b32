"""Whole fits of the methods on ASN with their own settings, against 2SEGP and against classic GP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from joblib import parallel_config

from benchmarks.evolution import load_asn
from benchmarks.table import Line, best_of
from symgrove import (
    ClassicGPRegressor,
    DivNichGPRegressor,
    EFSRegressor,
    EGPClassifier,
    GOMEARegressor,
    GPTIPSRegressor,
    GSGPRegressor,
    IndependentGPRegressor,
    M3GPClassifier,
    M3GPRegressor,
    RDORegressor,
    SpatialGPRegressor,
    TwoSEGPRegressor,
)

SEEDS = (0, 1, 2)
N_MEMBERS = 4


def against_classic() -> Iterator[Line]:
    """The paper's "nearly free" ensembles, and what of the difference are the products with the samples' weights."""
    X, y, name = load_asn(0)
    for dtype in ("float64", "float32"):
        total = np.zeros(2)
        for seed in SEEDS:
            models = [kind(dtype=dtype, random_state=seed) for kind in (ClassicGPRegressor, TwoSEGPRegressor)]
            for model in models:
                model.set_params(generations=1).fit(X, y)  # compile
                model.set_params(generations=100)
            total += best_of(3, *(lambda m=model: m.fit(X, y) for model in models))  # type: ignore[misc]
        one, fifty = total / len(SEEDS)
        products = 100 * _seconds_of_products(len(X), dtype)
        detail = (
            f"{name}, {len(SEEDS)} seeds: {fifty:.2f} s and {one:.2f} s; "
            f"the products of 100 generations alone take {products:.2f} s"
        )
        yield Line(f"2SEGP with 50 members over classic GP, {dtype}", fifty / one, "<= 1.5", detail)


def _seconds_of_products(n_rows: int, dtype: str) -> float:
    """Time of the three matrix products of a generation: 470 new programs, 50 samples."""
    rng = np.random.default_rng(0)
    values, weights = rng.random((470, n_rows)).astype(dtype), rng.random((100, n_rows)).astype(dtype)
    return best_of(20, lambda: (values @ weights.T, values @ weights[:50].T))[0]


def against_two_segp() -> Iterator[Line]:
    X, y, name = load_asn(0)
    kinds = (
        TwoSEGPRegressor,
        DivNichGPRegressor,
        SpatialGPRegressor,
        ClassicGPRegressor,
        GSGPRegressor,
        EFSRegressor,
        GPTIPSRegressor,
    )
    models = [kind(random_state=0) for kind in kinds]
    times = best_of(3, *(lambda m=model: m.fit(X, y) for model in models))  # type: ignore[misc]
    for kind, seconds in zip(kinds[1:], times[1:], strict=True):
        yield Line(f"{kind.__name__} over 2SEGP", seconds / times[0], "<= 4", f"{name}: {seconds:.2f} s")


def desired_operator() -> Iterator[Line]:
    X, y, name = load_asn(0)
    seconds = best_of(2, lambda: RDORegressor(random_state=0).fit(X, y))[0]
    detail = f"{name}: {500 * 100 / seconds:.0f} children a second"
    yield Line("RDORegressor, seconds of a fit", seconds, "<= 60", detail)


def trees_and_forests() -> Iterator[Line]:
    X, y, name = load_asn(0)
    seconds = best_of(2, lambda: EGPClassifier(random_state=0).fit(X, y > np.median(y)))[0]
    yield Line("EGPClassifier, seconds of a fit", seconds, "<= 15", f"{name}, above or below the median")


def dimensions() -> Iterator[Line]:
    X, y, name = load_asn(0)
    for model, target in ((M3GPRegressor(random_state=0), y), (M3GPClassifier(random_state=0), y > np.median(y))):
        seconds = best_of(2, lambda m=model, t=target: m.fit(X, t))[0]  # type: ignore[misc]
        detail = f"{name}: {model.history_['mean_dimensions'][-1]:.1f} dimensions in the end"
        yield Line(f"{type(model).__name__}, seconds of a fit", seconds, "<= 30", detail)


def optimal_mixing() -> Iterator[Line]:
    """A tenth of the paper's preset; a whole fit is some fifteen times as long, because programs grow."""
    X, y, name = load_asn(0)
    model = GOMEARegressor(population_size=2500, generations=2, random_state=0)
    seconds = best_of(2, lambda: model.fit(X, y))[0]
    n = int(model.history_["n_evaluations"][-1])
    yield Line(
        "GOMEARegressor, seconds of a tenth of a fit", seconds, "<= 12", f"{name}: {n / seconds:.0f} changes a second"
    )


def independent() -> Iterator[Line]:
    X, y, name = load_asn(0)
    one = ClassicGPRegressor(random_state=0)
    many, pairs = (IndependentGPRegressor(n_estimators=N_MEMBERS, random_state=0, n_jobs=n) for n in (1, 2))
    with parallel_config(backend="loky"):
        times = best_of(3, lambda: one.fit(X, y), lambda: many.fit(X, y), lambda: pairs.fit(X, y))
    detail = f"{name}: {times[1]:.2f} s"
    ratio = times[1] / (N_MEMBERS * times[0])
    yield Line(f"{N_MEMBERS} independent runs over {N_MEMBERS} times classic GP", ratio, "<= 1.3", detail)
    yield Line("the same, one worker over two", times[1] / times[2], ">= 1.5", f"{times[2]:.2f} s")


def lines() -> Iterator[Line]:
    yield from against_classic()
    yield from against_two_segp()
    yield from desired_operator()
    yield from trees_and_forests()
    yield from dimensions()
    yield from optimal_mixing()
    yield from independent()
