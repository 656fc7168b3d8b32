"""
Beyond the data
===============

Trees stay where they have seen rows, and so does Grove on purpose: its predictions are kept within the range of the
training rows. A law goes on, at its own risk: right if it is the law, anything if it is not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from symgrove import GroveRegressor, LawRegressor


def growth(t):
    """Logistic growth, seen up to its middle."""
    return 10 / (1 + np.exp(-(t - 5)))


rng = np.random.default_rng(3)
seen = rng.uniform(0, 5.5, 80)[:, None]
size = growth(seen[:, 0]) + 0.1 * rng.normal(size=80)
time = np.linspace(0, 12, 300)[:, None]

models = {
    "Law": LawRegressor(random_state=0).fit(seen, size),
    "Grove": GroveRegressor(generations=20, n_estimators=10, strength="fixed", random_state=0).fit(seen, size),
    "boosted trees": HistGradientBoostingRegressor(random_state=0).fit(seen, size),
}
print("Law:", models["Law"].ensemble_[0].rounded().replace("x0", "t"))

# %%
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.axvspan(0, 5.5, color="0.93")
ax.plot(time, growth(time), color="0.6", lw=4, label="truth")
for (name, model), colour in zip(models.items(), ("#009E73", "#0072B2", "#D55E00"), strict=True):
    ax.plot(time, model.predict(time), color=colour, label=name)
ax.plot(seen, size, "k.", ms=4, label="seen")
ax.set(xlabel="time", ylabel="size", ylim=(-1, 25))
ax.legend(frameon=False)

# %%
# Here the law is among the formulas that are searched, and was found from its first half. One cannot count on that:
# other formulas of the front are nearly as good where there were rows, and say something else where there were none.
# Look at them before you believe one.

front = models["Law"].front_
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.axvspan(0, 5.5, color="0.93")
for point in list(front)[-6:]:
    ax.plot(time, point.predict(time), lw=1, label=f"{point.size} nodes")
ax.plot(seen, size, "k.", ms=4)
ax.set(xlabel="time", ylabel="size", ylim=(-1, 25), title="formulas of the front")
ax.legend(frameon=False)
