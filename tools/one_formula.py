"""One formula beside the ensemble that it was taught by, and beside one that was fitted on the target.

Default Grove, `distill` of it with both efforts, and a formula of the same size fitted directly: LawRegressor, or for
two classes a Grove of one team. Three quarters of the rows train, R² or accuracy is of the others. Of every fit also
what it says of itself. Makes docs/results/one-formula.jsonl, where rows that are there are not made again, and the
table in docs/smaller.md:

    python tools/one_formula.py                       half an hour
    python tools/one_formula.py --only-show
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import symgrove as sg
from symgrove.compression.distillation import FUNCTIONS
from symgrove.experiments.datasets import load
from symgrove.experiments.runner import append_row, circumstances
from symgrove.methods.law.warm_up import compile_kernels

ROOT = Path(__file__).parents[1]
ROWS, PAGE = ROOT / "docs" / "results" / "one-formula.jsonl", ROOT / "docs" / "smaller.md"
BEGIN, END = "<!-- made by tools/one_formula.py -->\n", "<!-- end -->\n"
SETS, SEEDS = ("asn", "ccs", "enc", "enh", "bcw", "heart"), (100, 101, 102)
MAX_SIZE = 30
KINDS = {"ensemble": "Grove", "full": "taught", "quick": "taught, quick", "direct": "fitted on the target"}
Array = np.ndarray
Fitted = tuple[Callable[[Array], Array], int, str, float, float]  # predict, nodes, formula, what it says of itself


def distilled(teacher: Any, X: Array, y: Array, effort: str, seed: int) -> Fitted:
    """One formula of a model's predictions."""
    one = sg.distill(teacher, X, y, max_size=MAX_SIZE, effort=effort, random_state=seed)
    formula = one.model.ensemble_[0].rounded()
    return one.model.predict, one.path[one.chosen].size, formula, one.score, one.score_before


def direct(X: Array, y: Array, is_class: bool, seed: int) -> Fitted:
    """One formula of the target."""
    if not is_class:
        law = sg.LawRegressor(functions=FUNCTIONS, max_size=MAX_SIZE, random_state=seed, n_jobs=1).fit(X, y)
        return law.predict, law.front_[law.front_.chosen].size, law.ensemble_[0].rounded(), np.nan, np.nan
    team: dict[str, Any] = {"n_estimators": 1, "sampling": 1.0, "strength": "fixed", "window": 1.0, "n_joining": 4}
    sizes: dict[str, Any] = {"max_terms": MAX_SIZE // 3, "max_size": 9, "generations": 200}
    grove = sg.GroveClassifier(**team, **sizes, random_state=seed, n_jobs=1).fit(X, y)
    point = next(p for p in grove.size_path_ if evolved_size(p.model.members(None)) <= MAX_SIZE)
    size = evolved_size(point.model.members(None))
    return (lambda Z: grove.classes_[(point.predict(Z) > 0.5).astype(int)]), size, point.rounded(), np.nan, np.nan


def evolved_size(members: Sequence[Any]) -> int:
    """Nodes of all terms as they were evolved: of teams, that is cheap, and how the rows count."""
    return sum(member.evolved_size for member in members)


def score_of(said: Array, y: Array, is_class: bool) -> float:
    """Accuracy or R²."""
    return float(np.mean(said == y) if is_class else 1 - np.mean((said - y) ** 2) / np.var(y))


def run(name: str, seed: int) -> dict[str, Any]:
    """All models of a split."""
    data = load(name)
    is_class = data.task == "classification"
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.25, random_state=seed)
    found: dict[str, Any] = {"name": name, "seed": seed, "n_rows": len(y), "is_class": is_class, "models": {}}
    compile_kernels()  # is not part of a run's time
    teacher: list[Any] = []

    def ensemble() -> Fitted:
        kind = sg.GroveClassifier if is_class else sg.GroveRegressor
        model = kind(random_state=seed, n_jobs=1).fit(X, y)
        teacher.append(model)
        return model.predict, evolved_size(model.ensemble_), "", model.validation_score_, np.nan

    models: dict[str, Callable[[], Fitted]] = {
        "ensemble": ensemble,
        "full": lambda: distilled(teacher[0], X, y, "full", seed),
        "quick": lambda: distilled(teacher[0], X, y, "quick", seed),
        "direct": lambda: direct(X, y, is_class, seed),
    }
    for key, fit in models.items():
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            start = time.process_time()  # one thread: what else the machine does counts little
            predict, nodes, formula, says, says_before = fit()
            seconds = time.process_time() - start
        own = {"score": score_of(predict(X_test), y_test, is_class), "nodes": nodes, "seconds": round(seconds, 2)}
        said = {key: None if np.isnan(v) else float(v) for key, v in (("says", says), ("says_before", says_before))}
        found["models"][key] = {**own, **said, "formula": formula}
    return {**found, **circumstances()}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Means over the splits, and how far models are off about themselves."""
    head = "| | " + " | ".join(f"{title}: score | nodes | s" for title in KINDS.values()) + " |\n"
    text = head + "|---|" + "--:|" * 3 * len(KINDS) + "\n"
    for name in SETS:
        own = [row["models"] for row in rows if row["name"] == name]
        if not own:
            continue
        cells = []
        for key in KINDS:
            score, nodes, seconds = (np.mean([m[key][what] for m in own]) for what in ("score", "nodes", "seconds"))
            cells.append(f"{score:.3f} | {nodes:,.0f} | {seconds:.1f}")
        text += f"| {name} | {' | '.join(cells)} |\n"
    return f"{text}\n{sentences(rows)}\n"


def sentences(rows: Sequence[dict[str, Any]]) -> str:
    """What the table does not show."""
    off = [r["models"][key]["says"] - r["models"][key]["score"] for r in rows for key in ("full", "quick")]
    before = [r["models"]["full"]["says_before"] - r["models"]["ensemble"]["score"] for r in rows]
    wins = sum(r["models"]["full"]["score"] > r["models"]["direct"]["score"] for r in rows)
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    return (
        f"Scores are R², of bcw and heart accuracy, on the quarter of the rows that no fit saw, means over {len(rows)} "
        f"splits (seeds {seeds});\nformulas have at most {MAX_SIZE} nodes, of Groves as they were evolved; seconds are "
        f"CPU time. In {wins} of {len(rows)} splits the formula that was taught is better than the\none that was "
        "fitted on the target. "
        f"What `distill` says of formulas (`score`, rows held out) is {_off(off)} on the test rows,\n"
        f"what it says of the ensembles {_off(before)}. Made by `python tools/one_formula.py`, rows in\n"
        "[results/one-formula.jsonl](results/one-formula.jsonl)."
    )


def _off(values: Sequence[float]) -> str:
    """How far a model's own score is from the test score, in the mean, with its standard error."""
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{abs(mean):.3f} ± {error:.3f} {'above' if mean > 0 else 'below'} the score"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only-show", action="store_true", help="no runs")
    given = parser.parse_args()
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    rows = {(row["name"], row["seed"]): row for row in map(json.loads, lines)}
    planned = [(name, seed) for seed in SEEDS for name in SETS]
    for key in planned if not given.only_show else ():
        if key not in rows:
            rows[key] = run(*key)
            append_row(ROWS, rows[key])
            print(key, {k: (round(m["score"], 3), m["says"]) for k, m in rows[key]["models"].items()}, flush=True)
    text = table([rows[key] for key in planned if key in rows])
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(before + BEGIN + text + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
