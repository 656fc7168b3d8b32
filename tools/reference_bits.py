"""What every estimator computes, as hashes, to see whether a change of the code changes a single bit.

    python tools/reference_bits.py before.json              before the change
    python tools/reference_bits.py after.json before.json   after it: says what differs

Small fits of every estimator: several seeds, float64 and float32, one and two threads, resumed runs, more rows than a
panel. Bits depend on the machine and on the versions of NumPy and Numba, so both files must come from the same ones.
About three minutes. To compare two checkouts in one environment, set PYTHONPATH to the `src` of each.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_friedman1

import symgrove as sg
from symgrove import estimators

Hashes = dict[str, str]
SMALL = {"population_size": 56, "generations": 6, "n_estimators": 6, "max_size": 40}
SMALL_GROVE = {"population_size": 60, "generations": 12, "n_estimators": 6, "max_terms": 12}


def digest(*values: Any) -> str:
    """A hash of arrays, with type and shape, or of texts."""
    found = hashlib.sha256()
    for value in values:
        array = np.ascontiguousarray(value)
        found.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()[:16]


def describe(model: Any, X: np.ndarray) -> Hashes:
    """Predictions, probabilities or intervals, formulas, and the model file."""
    found = {
        "predict": digest(model.predict(X)),
        "members": digest(model.predict_members(X)),
        "importances": digest(model.feature_importances_),
        "formulas": digest("\n".join(member.formula for member in model.ensemble_)),
    }
    if hasattr(model, "predict_proba"):
        found["probabilities"] = digest(model.predict_proba(X))
    elif model._intervals.known:
        found["intervals"] = digest(model.predict_interval(X[:20], coverage=0.8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        ensembles = json.loads(path.read_text())["ensembles"]
        found["file"] = digest(json.dumps(ensembles, sort_keys=True))
        found["loaded"] = digest(sg.load(path).predict(X))
    return found


def settings_of(kind: Any) -> dict[str, Any]:
    """Small settings that the estimator knows."""
    known = kind().get_params(deep=False)
    wanted = SMALL_GROVE if "Grove" in kind.__name__ else SMALL
    return {name: value for name, value in wanted.items() if name in known}


def data_of(kind: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows by name of the task."""
    if not hasattr(kind, "predict_proba"):
        return {"regression": make_friedman1(150, noise=0.5, random_state=3)}
    return {
        "two classes": make_classification(160, 6, n_informative=4, n_classes=2, random_state=3),
        "three classes": make_classification(150, 6, n_informative=4, n_classes=3, random_state=4),
    }


def resumed(kind: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """A model whose run was stopped half way and resumed from its checkpoint."""
    settings = settings_of(kind)
    with tempfile.TemporaryDirectory() as folder:
        own = {**settings, "random_state": 0, "checkpoint": Path(folder) / "run.npz"}
        kind(**{**own, "generations": settings["generations"] // 2}).fit(X, y)
        return kind(**own).fit(X, y)


def record() -> dict[str, Hashes]:
    """All hashes, by estimator, task, seed, dtype and number of threads."""
    found: dict[str, Hashes] = {}
    for name in estimators.ESTIMATORS:
        kind = getattr(estimators, name)
        settings = settings_of(kind)
        for task, (X, y) in data_of(kind).items():
            for seed, dtype, n_jobs in ((0, "float64", 1), (0, "float64", 2), (1, "float64", 1), (0, "float32", 2)):
                print(name, task, seed, dtype, n_jobs, flush=True)
                model = kind(**settings, random_state=seed, dtype=dtype, n_jobs=n_jobs).fit(X, y)
                found[f"{name}, {task}, seed {seed}, {dtype}, {n_jobs} threads"] = describe(model, X)
            found[f"{name}, {task}, resumed"] = describe(resumed(kind, X, y), X)
            calibrated = kind(**settings, random_state=0, calibration=0.3).fit(X, y)
            found[f"{name}, {task}, calibrated"] = describe(calibrated, X)
    X, y = make_friedman1(5000, noise=0.5, random_state=3)
    for kind in (sg.TwoSEGPRegressor, sg.GroveRegressor):
        for n_jobs in (1, 2):
            model = kind(**{**settings_of(kind), "generations": 4}, random_state=0, n_jobs=n_jobs).fit(X, y)
            found[f"{kind.__name__}, 5000 rows, {n_jobs} threads"] = describe(model, X)
    return found


def main(file: Path, before: Path | None) -> int:
    """Record, and compare with an earlier record if there is one; 1 if anything differs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = record()
    file.write_text(json.dumps(found, indent=1) + "\n")
    if before is None:
        return 0
    known = json.loads(before.read_text())
    different = [
        f"{run}: {name}" for run in known for name in known[run] if found.get(run, {}).get(name) != known[run][name]
    ]
    print("\n".join(different))
    print(f"{len(different)} of {sum(map(len, known.values()))} differ")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else None))
