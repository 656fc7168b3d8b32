"""
Explaining a model
==================

Which columns matter, how the prediction depends on them, which act together, and what the members do not agree on.
Friedman's first problem has known answers: x0 and x1 act together in a sine, x2 is a square, x3 and x4 are lines, the
others are nothing.
"""

from sklearn.datasets import make_friedman1

from symgrove import GroveRegressor, inspection, report

X, y = make_friedman1(500, noise=0.5, random_state=0)
model = GroveRegressor(generations=30, n_estimators=15, strength="fixed", random_state=0).fit(X[:350], y[:350])
X_new, y_new = X[350:], y[350:]

# %%
# Importance by shuffling, of rows that the model has not seen:
inspection.ImportanceDisplay.from_estimator(model, X_new, y_new)

# %%
# Dependence: the mean over the rows, some single rows, and between which values eight in ten members are.
inspection.PartialDependenceDisplay.from_estimator(model, X_new, ["x0", "x2", "x3"])

# %%
# Interactions (Friedman and Popescu's H²): x0 and x1, as it should be.
inspection.InteractionDisplay.from_estimator(model, X_new)
first = inspection.interactions(model, X_new)[0]
print(f"{first.first} and {first.second}: H² {first.strength:.2f}")

# %%
# How strongly the prediction reacts to small changes, row by row, by exact derivatives:
inspection.DerivativeDisplay.from_estimator(model, X_new)

# %%
# All of this and more is on one page that colleagues can open: :doc:`../report`.
page = report(model, X_new, y_new, title="Friedman 1")
print(f"{len(page) // 1024} KB of HTML, without a network")
