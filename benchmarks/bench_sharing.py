"""What the shared graph saves in a real evolution, and how a generation's time depends on the size of programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.evolution import make_asn_run
from benchmarks.table import Line

SEEDS = (0, 1, 2, 3, 4)
BINS = ((40, 65), (100, 150), (150, 250), (250, 350), (350, 450), (450, 500))  # mean number of nodes


def lines() -> Iterator[Line]:
    """Runs with the paper's settings; the median run for savings, the slowest sizes for growth."""
    ratios, functions, seconds, sizes = [], [], [], []
    make_asn_run("float32", 99)[0].step()  # compile
    for seed in SEEDS:
        run, name = make_asn_run("float32", seed)
        for _ in range(100):
            run.step()
        ratios.append(run.nominal / run.n_computed)
        functions.append(run.nominal_functions / run.n_computed)
        seconds.append(run.seconds)
        sizes.append(run.mean_size)
    each = ", ".join(f"{r:.1f}" for r in ratios)
    detail = f"{name}, paper settings, median of {each}; without leaves {np.median(functions):.1f}"
    yield Line("nodes of new programs over nodes computed", float(np.median(ratios)), ">= 15", detail)
    total = float(np.median(np.sum(seconds, axis=1)))
    yield Line("seconds of such a run (float32)", total, "", "not a ratio: varies with the machine")
    times = [
        float(np.median(np.array(seconds)[(np.array(sizes) >= low) & (np.array(sizes) < high)])) for low, high in BINS
    ]
    detail = ", ".join(f"{low}-{high} nodes {1e3 * t:.1f} ms" for (low, high), t in zip(BINS, times, strict=True))
    yield Line("a generation at the slowest mean size over one at ~50", max(times) / times[0], "<= 2.0", detail)
