"""
A readable law from noisy data
==============================

Sixty measurements of a pendulum, each off by about three percent, and a column that has nothing to do with it. What
comes out is a formula that one can read, and that holds where nothing was measured.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from symgrove import LawRegressor

rng = np.random.default_rng(1)
table = pd.DataFrame({"length": rng.uniform(0.1, 1.5, 60), "mass": rng.uniform(0.05, 0.5, 60)})
period = 2 * np.pi * np.sqrt(table["length"] / 9.81) * (1 + 0.03 * rng.normal(size=60))

model = LawRegressor(random_state=0).fit(table, period)
print("period =", model.formula(digits=3), "| the search ended with", model.stop_reason_)

# %%
# The mass is not in the formula, as it should be, and the search ended because what is left cannot be told from
# noise. Beside it a random forest, which knows no more than the rows:
from sklearn.ensemble import RandomForestRegressor

forest = RandomForestRegressor(300, random_state=0).fit(table, period)
line = pd.DataFrame({"length": np.linspace(0.02, 4, 300), "mass": 0.2})

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.axvspan(0.1, 1.5, color="0.93", label="where it was measured")
ax.plot(line["length"], 2 * np.pi * np.sqrt(line["length"] / 9.81), color="0.6", lw=4, label="the law of nature")
ax.plot(line["length"], forest.predict(line), color="#D55E00", label="random forest")
ax.plot(line["length"], model.predict(line), color="#0072B2", label=f"found: {model.formula(digits=3)}")
ax.plot(table["length"], period, "k.", label="measured")
ax.set(xlabel="length, m", ylabel="period, s")
ax.legend(frameon=False)

# %%
# The front has the best formula of every size, with its error on rows that the search did not see:
model.front_
