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
# Both found the law. The difference is in what else was looked at; the fronts, without units and with them:
without.front_

# %%
with_units.front_

# %%
# Five times further out than was measured:

far = pd.DataFrame(rng.uniform(5, 25, size=(3, 300)).T, columns=["v0", "a", "s"])
true_far = np.sqrt(far["v0"] ** 2 + 2 * far["a"] * far["s"])
fig, axes = plt.subplots(1, 2, figsize=(7.5, 3.6), layout="constrained", sharey=True)
for ax, model, title in zip(axes, (without, with_units), ("without units", "with units"), strict=True):
    ax.axline((0, 0), slope=1, color="0.7")
    ax.plot(true_far, model.predict(far), ".", color="#D55E00", label="five times further out")
    ax.plot(true, model.predict(X), ".", color="#0072B2", label="where it was measured")
    ax.set(xlabel="true speed, m/s", title=title)
axes[0].set_ylabel("formula")
axes[0].legend(frameon=False)
