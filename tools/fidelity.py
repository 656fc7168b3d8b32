"""`make fidelity`: the paper's numbers against ours, 40 splits for each data set, the paper's settings.

Data come from the folder in SYMGROVE_DATA, or ../shared/data. Every run is a line of build/fidelity.csv; started again,
it goes on where it stopped. A cell agrees when the medians differ by at most 1.57 * sqrt(q1^2 + q2^2) / sqrt(40), q
being the interquartile ranges (the notch rule). Arguments: names of data sets and methods; the paper's by default.
"""

from __future__ import annotations

import csv
import os
import sys
import time
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

import symgrove as sg

ROOT = Path(__file__).parent.parent
N_SPLITS = 40
REGRESSION = ("asn", "ccs", "enc", "enh")
CLASSIFICATION = ("bcw", "heart", "iono", "sonar", "parks")
RESULTS = ROOT / "build" / "fidelity.csv"
POLYNOMIAL = ("add", "sub", "mul")


class Method(NamedTuple):
    """How a column of the paper is made here; None where the method is not for that task."""

    regressor: Callable[..., Any] | None
    classifier: Callable[..., Any] | None
    published: str | None = None  # its name in published.toml, if not its own
    is_extra: bool = False  # not in the paper: only if asked for


def _selection(name: str, *, is_extra: bool = False) -> Method:
    return Method(partial(sg.TwoSEGPRegressor, selection=name), None, is_extra=is_extra)


METHODS = {
    "2segp": Method(sg.TwoSEGPRegressor, sg.TwoSEGPClassifier),
    "2segp-no-scaling": Method(None, partial(sg.TwoSEGPClassifier, linear_scaling=False)),
    "cgp": Method(sg.ClassicGPRegressor, sg.StandardGPClassifier),
    "cgp-like-for-like": Method(None, sg.ClassicGPClassifier, published="cgp"),
    # As in old versions of the author's library, where a quarter of the children were copies.
    "cgp-more-copies": Method(
        partial(sg.ClassicGPRegressor, p_crossover=0.375, p_mutation=0.375), None, published="cgp", is_extra=True
    ),
    "divnichgp": Method(sg.DivNichGPRegressor, sg.DivNichGPClassifier),
    "divnichgp-min-height-2": Method(
        partial(sg.DivNichGPRegressor, min_grow_depth=2),
        partial(sg.DivNichGPClassifier, min_grow_depth=2),
        published="divnichgp",
        is_extra=True,
    ),
    "divnichgp-best": Method(
        partial(sg.DivNichGPRegressor, greedy_order="best"),
        partial(sg.DivNichGPClassifier, greedy_order="best"),
        published="divnichgp",
        is_extra=True,
    ),
    "ss+be": Method(sg.SpatialGPRegressor, None),
    "ss+be-polynomial": Method(partial(sg.SpatialGPRegressor, functions=POLYNOMIAL), None, published="ss+be"),
    "ss+be-mean": Method(
        partial(sg.SpatialGPRegressor, aggregation="mean", member_error="in_bag"),
        None,
        published="ss+be",
        is_extra=True,
    ),
    "trunc-pwb": _selection("truncation-best"),
    "trunc-pwl": _selection("truncation-worst"),
    "tourn4-pwb": _selection("tournament4-best"),
    "tourn4-pwl": _selection("tournament4-worst"),
    "tourn8-pwb": _selection("tournament8-best"),
    "tourn8-pwl": _selection("tournament8-worst"),
    "partition-tournament": _selection("partition-tournament", is_extra=True),
    "partition-lexicase": _selection("partition-lexicase", is_extra=True),
    "partition-10": _selection("partition-10", is_extra=True),
    **{
        f"independent-{n}": Method(partial(sg.IndependentGPRegressor, n_estimators=n), None, is_extra=True)
        for n in (1, 5, 10)
    },
    **{
        f"independent-{n}-matched": Method(
            partial(sg.IndependentGPRegressor, n_estimators=n, match_budget=True), None, is_extra=True
        )
        for n in (5, 50)
    },
}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and label, which is the last column."""
    folder = Path(os.environ.get("SYMGROVE_DATA", ROOT.parent / "shared" / "data"))
    file = folder / f"{name}.csv"
    if not file.exists():
        raise SystemExit(f"{file} does not exist; set SYMGROVE_DATA to the folder with the paper's data sets")
    table = np.loadtxt(file, delimiter=",")
    return table[:, :-1], table[:, -1]


def run(name: str, method: str, split: int) -> tuple[float, float]:
    """Train and test figure: root mean squared error or accuracy."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=split)
    if name in REGRESSION:
        make = METHODS[method].regressor
        assert make is not None
        model = make(random_state=split).fit(X_train, y_train)
        errors = [y_train - model.predict(X_train), y_test - model.predict(X_test)]
        return float(np.sqrt(np.mean(errors[0] ** 2))), float(np.sqrt(np.mean(errors[1] ** 2)))
    make = METHODS[method].classifier
    assert make is not None
    model = make(random_state=split).fit(X_train, y_train)
    return float(model.score(X_train, y_train)), float(model.score(X_test, y_test))


def read() -> dict[tuple[str, str, int], tuple[float, float]]:
    """Runs that are done."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as stream:
        return {(r[0], r[1], int(r[2])): (float(r[3]), float(r[4])) for r in csv.reader(stream) if len(r) == 6}


def report(name: str, method: str, runs: dict[tuple[str, str, int], tuple[float, float]]) -> None:
    """Print our medians and, where the paper has the cell, the verdict."""
    tables = tomllib.loads((ROOT / "tools" / "published.toml").read_text())
    published = tables.get(METHODS[method].published or method, {}).get(name, {})
    values = np.array([runs[name, method, split] for split in range(N_SPLITS)])
    for k, part in enumerate(("train", "test")):
        low, median, high = np.percentile(values[:, k], [25, 50, 75])
        line = f"{name:6} {method:20} {part:6} ours {f'{median:.3f} ({high - low:.3f})':15}"
        if part in published:
            theirs, their_range = published[part]
            allowed = 1.57 * np.hypot(high - low, their_range) / np.sqrt(N_SPLITS)
            verdict = "agrees" if abs(median - theirs) <= allowed else "DIFFERS"
            line += f" paper {theirs:.3f} ({their_range:.3f})  {verdict}"
        print(line, flush=True)


def cells(wanted: list[str]) -> list[tuple[str, str]]:
    """Data set and method of every cell that was asked for."""
    unknown = [name for name in wanted if name not in REGRESSION + CLASSIFICATION and name not in METHODS]
    if unknown:
        known = ", ".join([*REGRESSION, *CLASSIFICATION, *METHODS])
        raise SystemExit(f"unknown data set or method {unknown[0]!r}; known: {known}")
    names = [name for name in wanted if name not in METHODS] or [*REGRESSION, *CLASSIFICATION]
    methods = [name for name in wanted if name in METHODS] or [n for n, m in METHODS.items() if not m.is_extra]
    return [
        (name, method)
        for method in methods
        for name in names
        if (METHODS[method].regressor if name in REGRESSION else METHODS[method].classifier) is not None
    ]


def main(wanted: list[str]) -> None:
    """Do what is missing, then report, cell by cell."""
    RESULTS.parent.mkdir(exist_ok=True)
    runs = read()
    for name, method in cells(wanted):
        for split in range(N_SPLITS):
            if (name, method, split) not in runs:
                start = time.perf_counter()
                runs[name, method, split] = run(name, method, split)
                row = [name, method, split, *runs[name, method, split], round(time.perf_counter() - start, 3)]
                with RESULTS.open("a", newline="") as stream:
                    csv.writer(stream).writerow(row)
        report(name, method, runs)


main(sys.argv[1:])
