"""
What an ensemble knows, in one formula
======================================

An ensemble predicts well and is long. `distill` looks for one formula that says what it says, and shows what each
size costs.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import symgrove as sg

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
ensemble = sg.GroveRegressor(generations=20, n_estimators=20, random_state=0)
ensemble.fit(X_train, y_train)
taught = sg.distill(ensemble, X_train, y_train, effort="quick")
print("ensemble:", sum(member.size for member in ensemble.ensemble_), f"nodes, R² {ensemble.score(X_test, y_test):.3f}")
print("formula: ", f"R² {taught.model.score(X_test, y_test):.3f},", taught.model.ensemble_[0].rounded())

# %%
# All sizes, on the test rows. This table is small and noisy: some formulas are better there than the ensemble that
# taught them, which is luck in part (`how good one formula is <../smaller.html#how-good-one-formula-is>`_).
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
front = taught.model.front_
residual = [y_test - point.predict(X_test) for point in front]
scores = [1 - (r**2).mean() / y_test.var(ddof=0) for r in residual]
ax.axhline(ensemble.score(X_test, y_test), color="#D55E00", label="the ensemble")
ax.plot([point.size for point in front], scores, "o-", color="#0072B2", label="one formula")
ax.set(xlabel="nodes", ylabel="R² on test rows")
ax.legend(frameon=False)

# %%
# The front itself, with the formulas:
front
