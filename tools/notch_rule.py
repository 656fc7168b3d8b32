"""How often the notch rule calls two medians different although they are of the same distribution.

The paper's 40 runs and ours, 40 or 10, are drawn; their medians agree when they differ by at most
1.57 · √(q₁² / n₁ + q₂² / n₂), with the interquartile ranges of the runs (`symgrove.experiments.statistics`). Run it
with: python tools/notch_rule.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symgrove.experiments.statistics import agrees, summarise

SEED, N_PAIRS, N_PUBLISHED = 0, 20_000, 40
Draw = Callable[[np.random.Generator, int], np.ndarray]
DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "log-normal (sigma 0.5)": lambda rng, n: rng.lognormal(sigma=0.5, size=n),
    "Student's t, 3 degrees of freedom": lambda rng, n: rng.standard_t(3, size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "accuracy on 63 rows (binomial, 0.75)": lambda rng, n: rng.binomial(63, 0.75, size=n) / 63,
}


def share_that_differs(draw: Draw, n_runs: int, rng: np.random.Generator) -> float:
    """Share of pairs of samples of the same distribution whose medians the rule calls different."""
    n_different = 0
    for _ in range(N_PAIRS):
        ours, theirs = summarise(draw(rng, n_runs)), summarise(draw(rng, N_PUBLISHED))
        n_different += not agrees(ours, theirs.median, theirs.iqr, N_PUBLISHED)
    return n_different / N_PAIRS


def main() -> None:
    """Print a line for each distribution."""
    for n_runs in (40, 10):
        rng = np.random.default_rng(SEED)
        print(f"{N_PAIRS} pairs of {n_runs} and {N_PUBLISHED} runs, seed {SEED}: share that differs by chance")
        for name, draw in DISTRIBUTIONS.items():
            print(f"{name:40s}{share_that_differs(draw, n_runs, rng):.1%}")


if __name__ == "__main__":
    main()
