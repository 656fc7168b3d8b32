"""
A loss of your own
==================

What is minimised may be any function of the target and the prediction on one row. Here being late costs three times
as much as being early; and three quantiles by name, for comparison.
"""

import matplotlib.pyplot as plt
import numpy as np

from symgrove import GroveRegressor, TwoSEGPRegressor


def late_is_worse(y, prediction):
    """Three for each unit too high, one for each too low."""
    return 3 * (prediction - y) if prediction > y else y - prediction


rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 5, 400))
X, y = x[:, None], np.sin(2 * x) + x + rng.exponential(0.3 + 0.2 * x)

own = TwoSEGPRegressor(loss=late_is_worse, linear_scaling=False, population_size=300, generations=40, random_state=0)
own.fit(X, y)
print(f"{np.mean(y < own.predict(X)):.0%} of the rows are below; the best is 25 %")

# %%
# Losses by name are in Grove too: the mean, and three quantiles.
small = {"generations": 15, "n_estimators": 20, "max_terms": 6, "max_size": 9, "strength": "fixed", "random_state": 0}
quantiles = {q: GroveRegressor(**small, loss="quantile", quantile=q).fit(X, y).predict(X) for q in (0.1, 0.5, 0.9)}

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(x, y, ".", color="0.75")
for q, values in quantiles.items():
    ax.plot(x, values, color="#0072B2", lw=1, label="quantiles 0.1, 0.5, 0.9 (Grove)" if q == 0.5 else None)
ax.plot(x, own.predict(X), color="#D55E00", lw=2, label="late is worse (2SEGP)")
ax.legend(frameon=False)
