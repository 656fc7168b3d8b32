"""`symgrove doctor`: what this machine has, and whether everything works."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated, Any

import typer

from symgrove.cli._common import FAILED, clean_errors, echo, print_json
from symgrove.cli.outputs import check_printable

PACKAGES = (
    "numpy", "scipy", "numba", "scikit-learn", "joblib", "threadpoolctl", "matplotlib", "jinja2", "typer", "rich",
)  # fmt: skip
OPTIONAL = (
    "pandas",
    "pyarrow",
    "sympy",
    "onnx",
    "skl2onnx",
    "openpyxl",
    "catboost",
    "xgboost",
    "lightgbm",
    "mapie",
    "starlette",
    "uvicorn",
)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Show versions, threads, the compile cache and engines (with the GPU), and fit a small model."""
    with clean_errors():
        check_printable()
        found: dict[str, Any] = {
            "symgrove": _version("symgrove"),
            "python": sys.version.split()[0],
            "packages": {name: _version(name) for name in PACKAGES},
            "optional": {name: _version(name) for name in OPTIONAL},
            "threads": _threads(),
            "compile_cache": _cache(),
            "engines": _engines(),
            "small_fit": _small_fit(),
        }
        if as_json:
            print_json(found)
        else:
            _print(found)
        if found["small_fit"]["error"] is not None:
            raise typer.Exit(FAILED)


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _threads() -> dict[str, Any]:
    import numpy as np
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))  # loads the matrix library
    pools = [f"{pool.get('internal_api')}: {pool.get('num_threads')}" for pool in threadpool_info()]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {"cores": cpu_count(), "pools": pools, "environment": {n: os.environ[n] for n in names if n in os.environ}}


def _cache() -> dict[str, Any]:
    from pathlib import Path

    import symgrove

    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(symgrove.__file__).parent)
    files = list(folder.rglob("*.nbi")) if folder.is_dir() else []
    return {
        "folder": str(folder),
        "is_writable": os.access(folder if folder.is_dir() else folder.parent, os.W_OK),
        "compiled_kernels": len(files),
    }


def _engines() -> dict[str, Any]:
    from symgrove.engines.registry import described_engines

    return described_engines()


def _small_fit() -> dict[str, Any]:
    import numpy as np

    from symgrove import TwoSEGPRegressor

    X = np.random.default_rng(0).normal(size=(100, 3))
    start = time.perf_counter()
    found: dict[str, Any]
    try:
        model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, X[:, 0])
        found = {"score": round(float(model.score(X, X[:, 0])), 6), "error": None}
    except Exception as error:  # whatever is broken here is what the user wants to know
        found = {"score": None, "error": f"{type(error).__name__}: {error}"}
    return {**found, "seconds": round(time.perf_counter() - start, 2)}


def _print(found: dict[str, Any]) -> None:
    echo(f"symgrove {found['symgrove']}, Python {found['python']}")
    echo("needed:   " + ", ".join(f"{n} {v or 'MISSING'}" for n, v in found["packages"].items()))
    echo("optional: " + ", ".join(f"{n} {v or '-'}" for n, v in found["optional"].items()))
    threads, cache = found["threads"], found["compile_cache"]
    limits = ", ".join(f"{n}={v}" for n, v in threads["environment"].items()) or "no limits set"
    echo(f"threads:  {threads['cores']} cores; {', '.join(threads['pools'])}; {limits}")
    writable = "writable" if cache["is_writable"] else "NOT WRITABLE: every process compiles anew; set NUMBA_CACHE_DIR"
    echo(f"cache:    {cache['folder']} ({writable}), {cache['compiled_kernels']} compiled kernels")
    for name, text in found["engines"].items():
        echo(f"engine {name}: {text}")
    fit = found["small_fit"]
    echo(f"a small fit: {'R² ' + str(fit['score']) if fit['error'] is None else fit['error']}, {fit['seconds']} s")
