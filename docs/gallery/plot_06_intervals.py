"""
Intervals that hold, on average
===============================

Keep a quarter of the rows out of the fit, and intervals have the coverage that they promise on average, whatever the
noise. Here the noise grows to the right, which such intervals follow only in part; two models of quantiles do better
there.
"""

import matplotlib.pyplot as plt
import numpy as np

from symgrove import GroveRegressor, inspection


def sample(n, seed):
    """A wave with noise that grows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return x[:, None], np.sin(x) * x + (0.2 + 0.25 * x) * rng.normal(size=n)


X, y = sample(600, 0)
X_new, y_new = sample(3000, 1)
model = GroveRegressor(generations=30, n_estimators=20, calibration=0.25, strength="fixed", random_state=0).fit(X, y)
low, high = model.predict_interval(X_new, coverage=0.9).T
print(f"promised 90 %, found {np.mean((low <= y_new) & (y_new <= high)):.1%} of {len(y_new)} new rows")

# %%
order = np.argsort(X_new[:, 0])
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=(2, 1))
axes[0].fill_between(X_new[order, 0], low[order], high[order], color="#56B4E9", alpha=0.4, label="nine of ten")
axes[0].plot(X_new[order, 0], model.predict(X_new)[order], color="#0072B2", label="prediction")
axes[0].plot(X_new[:400, 0], y_new[:400], "k.", ms=3, label="new rows")
axes[0].legend(frameon=False)
axes[0].set(xlabel="x", ylabel="y")
inspection.CalibrationDisplay.from_estimator(model, X_new, y_new, ax=axes[1])

# %%
# By fifths of x, the coverage is too high where there is little noise and too low where there is much. Two models, of
# the 5 % and the 95 % quantile, learn how the noise grows; their share is not guaranteed, but it is about right
# everywhere.
settings = {"generations": 20, "n_estimators": 10, "max_terms": 10, "strength": "fixed", "random_state": 0}
ends = [GroveRegressor(**settings, loss="quantile", quantile=q).fit(X, y).predict(X_new) for q in (0.05, 0.95)]
shares = {
    name: [part.mean() for part in np.array_split(((lower <= y_new) & (y_new <= upper))[order], 5)]
    for name, (lower, upper) in {"intervals": (low, high), "quantiles": ends}.items()
}
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", width_ratios=(2, 1))
axes[0].plot(X_new[:400, 0], y_new[:400], "k.", ms=3)
for end in ends:
    axes[0].plot(X_new[order, 0], end[order], color="#D55E00")
axes[0].set(xlabel="x", ylabel="y", title="the 5 % and the 95 % quantile")
axes[1].axhline(0.9, color="0.7")
for (name, values), colour in zip(shares.items(), ("#0072B2", "#D55E00"), strict=True):
    axes[1].plot(range(1, 6), values, "o-", color=colour, label=name)
axes[1].set(xlabel="fifth of x", ylabel="share inside", ylim=(0.5, 1.02))
axes[1].legend(frameon=False)
