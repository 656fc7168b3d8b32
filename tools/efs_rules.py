"""How EFS chooses its model: the published rule beside the Bayesian information criterion, on small noisy data.

Writes docs/results/efs-rules.jsonl, a line for each fold, and prints mean and lowest R² of each rule. Run it with:

    python tools/efs_rules.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import KFold, cross_val_score

from symgrove import EFSRegressor

ROWS = Path(__file__).parents[1] / "docs" / "results" / "efs-rules.jsonl"
PROBLEMS = {
    "diabetes": load_diabetes(return_X_y=True),
    "Friedman 1, 200 rows, noise 3": make_friedman1(200, noise=3.0, random_state=100),
    "Friedman 1, 500 rows, noise 1": make_friedman1(500, noise=1.0, random_state=101),
    "Friedman 2, 200 rows, noise 100": make_friedman2(200, noise=100.0, random_state=102),
    "Friedman 3, 200 rows, noise 0.2": make_friedman3(200, noise=0.2, random_state=103),
}
N_SEEDS = 2


def main() -> None:
    """Three folds for each seed."""
    rows: list[dict[str, Any]] = []
    for name, (X, y) in PROBLEMS.items():
        for rule in ("published", "bic"):
            for seed in range(N_SEEDS):
                model = EFSRegressor(random_state=seed, selection_rule=rule)
                folds = KFold(3, shuffle=True, random_state=100 + seed)
                for fold, r2 in enumerate(cross_val_score(model, X, y, cv=folds)):
                    rows.append({"data": name, "rule": rule, "seed": seed, "fold": fold, "r2": float(r2)})
            own = [row["r2"] for row in rows if (row["data"], row["rule"]) == (name, rule)]
            print(f"{name:>32} {rule:>10}: R² {np.mean(own):.3f}, lowest {min(own):.3f}", flush=True)
    ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
