"""How long the fits of each built-in study took, from the committed runs: the table of docs/studies.md.

    python tools/study_times.py docs/results/runs.jsonl

Studies share runs, which count in each of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from symgrove.experiments.names import NAMES
from symgrove.experiments.paper import tasks_of
from symgrove.experiments.runner import read_rows
from symgrove.experiments.study import load_study


def main(file: Path) -> None:
    """A line for each study: runs that are there, of those planned, and minutes of one core."""
    rows = read_rows(file)
    print("| study | runs | minutes on one core |")
    print("|---|---|---|")
    for name in NAMES:
        study = load_study(name)
        planned = {run.key for run in study.plan(None, tasks_of(study, {}))}
        done = [rows[key] for key in planned if key in rows and rows[key]["error"] is None]
        seconds = sum(row["seconds"] for row in done)
        n_runs = f"{len(done)}" if len(done) == len(planned) else f"{len(done)} of {len(planned)}"
        print(f"| {name} | {n_runs} | {seconds / 60:.0f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
