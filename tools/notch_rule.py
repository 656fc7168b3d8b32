"""How often the notch rule calls two medians different although they are of the same distribution.

Two times 40 runs are drawn; their medians agree when they differ by at most 1.57 · √(q₁² + q₂²) / √40, with the
interquartile ranges of the runs (`symgrove.experiments.statistics`). Run it with: python tools/notch_rule.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symgrove.experiments.statistics import agrees, summarise

SEED, N_PAIRS, N_RUNS = 0, 20_000, 40
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(size=N_RUNS),
    "log-normal (sigma 0.5)": lambda rng: rng.lognormal(sigma=0.5, size=N_RUNS),
    "Student's t, 3 degrees of freedom": lambda rng: rng.standard_t(3, size=N_RUNS),
    "uniform": lambda rng: rng.uniform(size=N_RUNS),
    "accuracy on 63 rows (binomial, 0.75)": lambda rng: rng.binomial(63, 0.75, size=N_RUNS) / 63,
}


def share_that_differs(draw: Callable[[np.random.Generator], np.ndarray], rng: np.random.Generator) -> float:
    """Share of pairs of samples of the same distribution whose medians the rule calls different."""
    n_different = 0
    for _ in range(N_PAIRS):
        ours, theirs = summarise(draw(rng)), summarise(draw(rng))
        n_different += not agrees(ours, theirs.median, theirs.iqr, N_RUNS)
    return n_different / N_PAIRS


def main() -> None:
    """Print a line for each distribution."""
    rng = np.random.default_rng(SEED)
    print(f"{N_PAIRS} pairs of {N_RUNS} runs, seed {SEED}: share that differs by chance")
    for name, draw in DISTRIBUTIONS.items():
        print(f"{name:40s}{share_that_differs(draw, rng):.1%}")


if __name__ == "__main__":
    main()
