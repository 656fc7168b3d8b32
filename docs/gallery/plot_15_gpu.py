"""
On a card of NVIDIA
===================

`engine="cuda"` is all there is to write. Where this site is built there may be no card: then the numbers are those
that stand beside this file, of an NVIDIA H200 and 16 threads of its host, which were measured for the page on cards.
Run the file on a machine with a card, and it measures and writes its own.
"""

import json
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from symgrove import TwoSEGPRegressor
from symgrove.engines.registry import can_run, described_engines

RECORD = Path("measured_on_a_card.jsonl")


def seconds(engine, n_rows):
    """Of a fit of 2SEGP with Friedman's first function; kernels were compiled by a fit before."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 20))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    model = TwoSEGPRegressor(engine=engine, dtype="float32", generations=20, n_jobs=-1, random_state=0)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        model.fit(X, y + rng.standard_normal(n_rows))
        times.append(time.perf_counter() - start)
    return min(times)


if can_run("cuda"):
    rows = [
        {"rows": n, "engine": engine, "where": described_engines()[engine], "seconds": round(seconds(engine, n), 3)}
        for n in (1_000, 4_000, 16_000, 64_000, 256_000)
        for engine in ("cuda", "cpu")
    ]
    RECORD.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

# %%
rows = [json.loads(line) for line in RECORD.read_text().splitlines()]
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for engine, colour in (("cuda", "#D55E00"), ("cpu", "#0072B2")):
    own = [row for row in rows if row["engine"] == engine]
    ax.plot([row["rows"] for row in own], [row["seconds"] for row in own], "o-", color=colour, label=own[0]["where"])
    print(own[0]["where"], {row["rows"]: row["seconds"] for row in own})
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of a fit of 20 generations")
ax.legend(frameon=False)

# %%
# With few rows, calls of the card take longer than the work. What is the same on both, what is not, and a million
# rows: :doc:`../gpu`.
