"""`symgrove bench`: how fast this machine is, beside a random forest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, echo, print_json, tell
from symgrove.cli.outputs import check_printable

if TYPE_CHECKING:
    from symgrove.estimators.sklearn_types import Predictor


def bench(
    rows: Annotated[int, typer.Option(min=50, help="Training rows.")] = 1000,
    repeats: Annotated[int, typer.Option(min=1, help="The best of so many is shown.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Time fits and predictions on one core, against a random forest of 500 trees on the same data."""
    with clean_errors():
        check_printable()
        from sklearn.datasets import make_friedman1
        from sklearn.ensemble import RandomForestRegressor

        from symgrove import GroveRegressor, TwoSEGPRegressor

        X, y = make_friedman1(rows, noise=1.0, random_state=0)
        models = {
            "random forest, 500 trees": RandomForestRegressor(500, random_state=0, n_jobs=1),
            "2SEGP, the paper's settings": TwoSEGPRegressor(random_state=0, n_jobs=1),
            "Grove, fixed strength": GroveRegressor(strength="fixed", random_state=0, n_jobs=1),
        }
        tell("compiling or loading kernels")
        for model in list(models.values())[1:]:
            type(model)(population_size=50, n_estimators=5, generations=2).fit(X[:50], y[:50])
        found = {name: _time(model, X, y, repeats) for name, model in models.items()}
        forest = found["random forest, 500 trees"]["fit_s"]
        for times in found.values():
            times["times_the_forest"] = times["fit_s"] / forest
        if as_json:
            print_json({"rows": rows, "models": found})
            return
        echo(f"{rows} rows of Friedman's first problem, one core, best of {repeats}")
        echo(f"{'':30}{'fit, s':>9}{'forest = 1':>12}{'predict, s':>12}")
        for name, t in found.items():
            echo(f"{name:30}{t['fit_s']:9.2f}{t['times_the_forest']:12.2f}{t['predict_s']:12.3f}")


def _time(model: Predictor, X: Any, y: Any, repeats: int) -> dict[str, float]:
    from threadpoolctl import threadpool_limits

    best = {"fit_s": float("inf"), "predict_s": float("inf")}
    with threadpool_limits(1):
        for _ in range(repeats):
            start = time.perf_counter()
            model.fit(X, y)
            middle = time.perf_counter()
            model.predict(X)
            best["fit_s"] = min(best["fit_s"], middle - start)
            best["predict_s"] = min(best["predict_s"], time.perf_counter() - middle)
    return best
