"""Tables of how often intervals hold what they promise, and how wide they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symgrove.experiments.mapie_forest import COVERAGES
from symgrove.experiments.runner import Row
from symgrove.experiments.study import Study
from symgrove.experiments.tables import Page, values_of


def page_of_intervals(study: Study, rows: Mapping[str, Row], tasks: Mapping[str, str], n_runs: int | None) -> Page:
    """For each coverage, the share of test rows inside, and the mean width, over all splits."""
    shown = []
    n_splits = 0
    for i, coverage in enumerate(COVERAGES):
        lines = [["method", *(name.upper() for name in study.datasets)]]
        for method in study.methods:
            cells = []
            for dataset in study.datasets:
                inside, n_failed = values_of(study, method, dataset, "inside", rows, tasks, n_runs)
                width, _ = values_of(study, method, dataset, "width", rows, tasks, n_runs)
                n_splits = max(n_splits, len(inside))
                failed = f" {n_failed} failed" if n_failed else ""
                numbers = (
                    f"{np.mean([v[i] for v in inside]):.1%}, {np.mean([v[i] for v in width]):.3g}" if inside else ""
                )
                cells.append(numbers + failed)
            if any(cells):
                lines.append([method.label, *cells])
        shown.append((f"{coverage:.0%}", lines))
    legend = f"Share of the test rows inside the intervals, and mean width, over {n_splits} splits."
    return Page(study.title, [legend, *filter(None, [study.text])], shown, [])
