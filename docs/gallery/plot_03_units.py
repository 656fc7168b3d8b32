"""
Formulas that are right in units
================================

Say in which units columns are, and only formulas are searched that are right in units: metres are not added to
seconds, and no exponential is taken of a speed. Ten percent of noise are on these speeds.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from symgrove import LawRegressor

rng = np.random.default_rng(6)
X = pd.DataFrame(rng.uniform(1, 5, size=(3, 300)).T, columns=["v0", "a", "s"])
true = np.sqrt(X["v0"] ** 2 + 2 * X["a"] * X["s"])
y = true + 0.1 * true.mean() * rng.normal(size=300)
units = {"v0": "m/s", "a": "m/s^2", "s": "m"}

without = LawRegressor(functions=("exp",), random_state=0).fit(X, y)
with_units = LawRegressor(functions=("exp",), units=units, target_unit="m/s", random_state=0).fit(X, y)
print("without:", without.ensemble_[0].rounded(2))
print("with:   ", with_units.ensemble_[0].rounded(2))

# %%
# Both found the law. But look at what else is on the front. Without units, speeds are added to numbers, and the cube
# root of a product is taken that no physicist would write:
without.front_

# %%
# With units, every formula is one that could be: the longest is another way to mix the two speeds v0 and the root of
# a times s.
with_units.front_

# %%
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for model, colour, label in ((without, "#D55E00", "without units"), (with_units, "#0072B2", "with units")):
    front = model.front_
    ax.plot([p.size for p in front], [p.held_out_error for p in front], "o-", color=colour, label=label)
ax.set(xlabel="nodes", ylabel="error on rows held out, m/s", xlim=(0, 19))
ax.legend(frameon=False, loc="upper right")
