"""`make fidelity`: the paper's 2SEGP numbers against ours, 40 splits for each data set, the paper's settings.

Data come from the folder in SYMGROVE_DATA, or ../shared/data. Every run is a line of build/fidelity.csv; started again,
it goes on where it stopped. A cell agrees when the medians differ by at most 1.57 * sqrt(q1^2 + q2^2) / sqrt(40), q
being the interquartile ranges (the notch rule). Arguments: names of data sets; all by default.
"""

from __future__ import annotations

import csv
import os
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from symgrove import TwoSEGPClassifier, TwoSEGPRegressor

ROOT = Path(__file__).parent.parent
N_SPLITS = 40
REGRESSION = ("asn", "ccs", "enc", "enh")
CLASSIFICATION = ("bcw", "heart", "iono", "sonar", "parks")
RESULTS = ROOT / "build" / "fidelity.csv"


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and label, which is the last column."""
    folder = Path(os.environ.get("SYMGROVE_DATA", ROOT.parent / "shared" / "data"))
    file = folder / f"{name}.csv"
    if not file.exists():
        raise SystemExit(f"{file} does not exist; set SYMGROVE_DATA to the folder with the paper's data sets")
    table = np.loadtxt(file, delimiter=",")
    return table[:, :-1], table[:, -1]


def cells(names: list[str]) -> Iterator[tuple[str, str]]:
    """Data set and method; without scaling only for classification, as in the paper."""
    for name in names:
        yield name, "2segp"
        if name in CLASSIFICATION:
            yield name, "2segp_no_ls"


def run(name: str, method: str, split: int) -> tuple[float, float]:
    """Train and test figure: root mean squared error or accuracy."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=split)
    if name in REGRESSION:
        regressor = TwoSEGPRegressor(random_state=split).fit(X_train, y_train)
        errors = [y_train - regressor.predict(X_train), y_test - regressor.predict(X_test)]
        return float(np.sqrt(np.mean(errors[0] ** 2))), float(np.sqrt(np.mean(errors[1] ** 2)))
    classifier = TwoSEGPClassifier(random_state=split, linear_scaling=method == "2segp").fit(X_train, y_train)
    return float(classifier.score(X_train, y_train)), float(classifier.score(X_test, y_test))


def read() -> dict[tuple[str, str, int], tuple[float, float]]:
    """Runs that are done."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as stream:
        return {(r[0], r[1], int(r[2])): (float(r[3]), float(r[4])) for r in csv.reader(stream) if len(r) == 6}


def report(name: str, method: str, runs: dict[tuple[str, str, int], tuple[float, float]]) -> None:
    """Print the verdict on train and test figures of a cell."""
    published = tomllib.loads((ROOT / "tools" / "published.toml").read_text())[method][name]
    values = np.array([runs[name, method, split] for split in range(N_SPLITS)])
    for k, part in enumerate(("train", "test")):
        low, median, high = np.percentile(values[:, k], [25, 50, 75])
        theirs, their_range = published[part]
        allowed = 1.57 * np.hypot(high - low, their_range) / np.sqrt(N_SPLITS)
        verdict = "agrees" if abs(median - theirs) <= allowed else "DIFFERS"
        ours = f"{median:.3f} ({high - low:.3f})"
        print(
            f"{name:6} {method:12} {part:6} ours {ours:15} paper {theirs:.3f} ({their_range:.3f})  {verdict}",
            flush=True,
        )


def main(names: list[str]) -> None:
    """Do what is missing, then report, data set by data set."""
    unknown = [name for name in names if name not in REGRESSION + CLASSIFICATION]
    if unknown:
        raise SystemExit(f"unknown data set {unknown[0]!r}; known: {', '.join(REGRESSION + CLASSIFICATION)}")
    RESULTS.parent.mkdir(exist_ok=True)
    runs = read()
    for name, method in cells(names or [*REGRESSION, *CLASSIFICATION]):
        for split in range(N_SPLITS):
            if (name, method, split) not in runs:
                start = time.perf_counter()
                runs[name, method, split] = run(name, method, split)
                row = [name, method, split, *runs[name, method, split], round(time.perf_counter() - start, 3)]
                with RESULTS.open("a", newline="") as stream:
                    csv.writer(stream).writerow(row)
        report(name, method, runs)


main(sys.argv[1:])
