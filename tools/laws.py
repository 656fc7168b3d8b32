"""How many of the Feynman equations LawRegressor finds, from a table of them.

    python tools/laws.py equations.csv --half tuning --noise 0 0.001 0.01 --rows 10000

The table has a line for each equation: id, formula (Python, NumPy's functions), ranges (name:low:high, separated by
blanks), half (tuning or judged). Rows are drawn uniformly; noise is normal, a share of the target's root mean square.

Found: on 2,000 rows without noise from ranges 1.5 times wider, where both have values, the prediction is the truth up
to a factor or an offset, with a relative root mean squared error below 1e-6; with noise, after its constants were
fitted on rows without noise, and if the fit as it was is within five times the noise. One row for each run goes to
docs/results/laws.jsonl; those that are there are not made again.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from symgrove import LawRegressor
from symgrove.experiments.runner import append_row, circumstances
from symgrove.forest.forest import Forest

ROWS = Path(__file__).parents[1] / "docs" / "results" / "laws.jsonl"
N_WIDE, N_CLEAN, WIDER = 2000, 3000, 1.5
EXACT, BAD = 1e-6, 1e3
KNOWN = {**vars(np), "ln": np.log, "pi": np.pi}
Row = dict[str, Any]


def draw(line: dict[str, str], n_rows: int, seed: int, wider: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of an equation where it has a value."""
    names, low, high = zip(*(each.split(":") for each in line["ranges"].split()), strict=True)
    ends = np.array([low, high], dtype=float)
    middle, half = ends.mean(axis=0), wider * np.ptp(ends, axis=0) / 2
    X = np.random.default_rng(seed).uniform(middle - half, middle + half, size=(n_rows, len(names)))
    with np.errstate(all="ignore"):
        y = eval(line["formula"], KNOWN, dict(zip(names, X.T, strict=True))) * np.ones(n_rows)
    is_finite = np.isfinite(y)
    return X[is_finite], y[is_finite]


def relative_error(predicted: np.ndarray, y: np.ndarray) -> float:
    """Up to a factor or an offset, where both have values; infinite if the prediction has few."""
    known = np.isfinite(predicted)
    if known.mean() < 0.98:
        return np.inf
    predicted, y = predicted[known], y[known]
    factor = (predicted * y).sum() / ((predicted**2).sum() + 1e-300)
    of_factor = np.sqrt(np.mean((y - factor * predicted) ** 2) / np.mean(y**2))
    return float(min(of_factor, np.std(y - predicted) / (np.std(y) + 1e-300)))


class Formula:
    """The formula of a model, whose constants can be changed; exponents stay as they are."""

    def __init__(self, model: LawRegressor) -> None:
        ensemble = model.model_.ensembles[0]  # type: ignore[attr-defined]
        self.forest: Forest = ensemble.forest
        self.root = int(ensemble.programs[0])
        nodes = self.forest.reachable([self.root])
        fixed = {self.forest.children(node)[1] for node in nodes if self.forest.name(node) == "power"}
        self.nodes = nodes
        constants = [node for node in nodes if self.forest.name(node) == "constant" and node not in fixed]
        # What the search made a simple number is no free constant any more.
        self.places = [node for node in constants if (12 * float(self.forest.columns.value[node])) % 1]
        self.constants = self.forest.columns.value[self.places].astype(float)

    def __call__(self, X: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """Values on rows."""
        values: dict[int, Any] = dict(zip(self.places, constants, strict=True))
        with np.errstate(all="ignore"):
            for node in self.nodes:
                name = self.forest.name(node)
                if name == "feature":
                    values[node] = X[:, int(self.forest.columns.left[node])]
                elif name == "constant":
                    values.setdefault(node, float(self.forest.columns.value[node]))
                else:
                    operands = [values[child] for child in self.forest.children(node)]
                    values[node] = self.forest.primitives[name].meaning(operands[0], operands[-1], 0.0)
        return np.asarray(values[self.root] * np.ones(len(X)))

    def fitted(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Constants that suit other rows."""
        if not self.constants.size:
            return self.constants
        scale = np.std(y) + 1e-300

        def residuals(constants: np.ndarray) -> np.ndarray:
            return np.clip(np.nan_to_num((self(X, constants) - y) / scale, nan=BAD), -BAD, BAD)

        return np.asarray(least_squares(residuals, self.constants, x_scale=np.abs(self.constants) + 1e-3).x)


def run(line: dict[str, str], noise: float, n_rows: int, max_time: float | None) -> Row:
    """One fit and whether it has found the law."""
    X, y = draw(line, n_rows, 0)
    size = np.sqrt(np.mean(y**2))
    given = y + noise * size * np.random.default_rng(1).normal(size=y.size)
    start = time.process_time()
    model = LawRegressor(random_state=0, max_time=max_time).fit(X, given)
    seconds = time.process_time() - start
    formula, (X_wide, y_wide), (X_clean, y_clean) = Formula(model), draw(line, N_WIDE, 2, WIDER), draw(line, N_CLEAN, 3)
    constants = formula.fitted(X_clean, y_clean) if noise else formula.constants
    error = relative_error(formula(X_wide, constants), y_wide)
    noisy = relative_error(formula(X_clean, formula.constants), y_clean)
    return {
        "law": line["id"],
        "half": line["half"],
        "noise": noise,
        "rows": n_rows,
        "found": bool(error < EXACT and (not noise or noisy < 5 * noise)),
        "error": error,
        "error_as_it_was": noisy,
        "seconds": round(seconds, 3),
        "reason": model.stop_reason_,
        "size": next(point.size for point in model.front_ if point.formula == model.formula()),
        "formula": model.formula(),
        **circumstances(),
    }


def read() -> dict[tuple[str, float, int], Row]:
    """Rows that are there."""
    rows = [json.loads(text) for text in ROWS.read_text().splitlines()] if ROWS.exists() else []
    return {(row["law"], row["noise"], row["rows"]): row for row in rows}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--half", default="tuning", choices=("tuning", "judged"))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--max-time", type=float)
    own = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [line for line in csv.DictReader(own.table.open()) if line["half"] == own.half]
    for noise in own.noise:
        for line in lines:
            if (line["id"], noise, own.rows) not in read():
                row = run(line, noise, own.rows, own.max_time)
                append_row(ROWS, row)
                print(
                    f"{row['law']} {noise:g} {'found' if row['found'] else '-'} {row['seconds']} s {row['formula']:.90}"
                )
        rows = [row for (_, n, k), row in read().items() if (n, k, row["half"]) == (noise, own.rows, own.half)]
        seconds = [row["seconds"] for row in rows]
        print(
            f"{own.half}, noise {noise:g}, {own.rows} rows: {sum(row['found'] for row in rows)} of {len(rows)} found; "
            f"seconds: median {np.median(seconds):.2f}, mean {np.mean(seconds):.2f}, most {np.max(seconds):.2f}"
        )


if __name__ == "__main__":
    main()
