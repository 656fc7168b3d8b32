"""
A physical law, exactly
=======================

Without noise the search ends when a formula leaves nothing at all, and constants are then written as what they are.
Six laws, and how far what was found is from the truth on new rows.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from symgrove import LawRegressor

LAWS = {
    "gravitation": (["G", "m1", "m2", "r"], lambda G, m1, m2, r: G * m1 * m2 / r**2),
    "ideal gas": (["n", "R", "T", "V"], lambda n, R, T, V: n * R * T / V),
    "thin lens": (["d1", "d2", "n"], lambda d1, d2, n: 1 / (1 / d1 + n / d2)),
    "oscillation": (["x1", "omega", "t"], lambda x1, omega, t: x1 * np.cos(omega * t)),
    "Planck's law": (["f", "T"], lambda f, T: f**3 / (np.exp(f / T) - 1)),
    "distance": (["x1", "x2", "y1", "y2"], lambda x1, x2, y1, y2: np.hypot(x2 - x1, y2 - y1)),
}
rng = np.random.default_rng(0)
rows = []
for name, (columns, law) in LAWS.items():
    X = pd.DataFrame(rng.uniform(1, 5, (300, len(columns))), columns=columns)
    start = time.perf_counter()
    model = LawRegressor(random_state=0, max_time=30).fit(X, law(*X.to_numpy().T))
    new = pd.DataFrame(rng.uniform(1, 5, (300, len(columns))), columns=columns)
    off = np.abs(model.predict(new) / law(*new.to_numpy().T) - 1).max()
    rows.append((name, model.formula(), model.stop_reason_, off, time.perf_counter() - start))
found = pd.DataFrame(rows, columns=["law", "found", "the search ended", "largest relative error", "seconds"])
found

# %%
# The errors are those of arithmetic in double precision. Of 60 equations of Feynman's lectures that the search was
# not tuned on, it finds 54 so: `what it finds <../law.html#what-it-finds>`_.

fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
ax.barh(found["law"], found["largest relative error"], color="#0072B2")
ax.set(xscale="log", xlim=(1e-17, 1), xlabel="largest relative error on new rows")
ax.axvline(2.2e-16, color="0.5", ls=":")
ax.text(3e-16, -0.4, "one unit in the last place", color="0.4", va="center")
for k, formula in enumerate(found["found"]):
    ax.text(1e-8, k, formula, va="center")
