"""
A prediction that you can trust
===============================

You have a table with something to predict, and people who will use the predictions. This goes from the table to a
model with intervals that hold, reasons for what it says, and a query for the data base.
"""

# %%
# The table, and a first model
# ----------------------------
# Diabetes patients: ten measurements, and how the disease went a year later. A third is put aside, and not looked at
# until the end.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

import symgrove as sg
from symgrove import inspection

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.33, random_state=0)

model = sg.GroveRegressor(generations=20, n_estimators=10, calibration=0.2, random_state=0).fit(X_train, y_train)
print(f"expected on new rows: R² {model.validation_score_:.2f}")
print(f"weights of what was evolved: {model.stacking_weight_sum_:.2f}")

# %%
# `validation_score_` was measured on rows held out of whole evolutions, which also chose how strongly the model fits.
# Weights far below 1 say that there is little to learn beyond the mean.
#
# Is it worth it?
# ---------------
# Always look at a straight line first, and at trees. With so much noise, the straight line is as good as anything,
# and it is what to take if the score is all that counts:

others = {
    "Grove": model,
    "ridge regression": RidgeCV().fit(X_train, y_train),
    "random forest": RandomForestRegressor(300, random_state=0).fit(X_train, y_train),
    "boosted trees": HistGradientBoostingRegressor(random_state=0).fit(X_train, y_train),
}
scores = {name: other.score(X_test, y_test) for name, other in others.items()}
fig, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
ax.barh(list(scores), list(scores.values()), color=["#0072B2", "0.7", "0.7", "0.7"])
ax.set(xlabel="R² on the third put aside")

# %%
# How sure is it of a patient?
# ----------------------------
# A fifth of the training rows was kept for this (`calibration=0.2`), so nine of ten new patients should be inside:

intervals = model.predict_interval(X_test, coverage=0.9)
inside = (intervals[:, 0] <= y_test) & (y_test <= intervals[:, 1])
print(f"{inside.mean():.0%} of the patients put aside are inside")
print(f"the first: {intervals[0].round()}, in truth {y_test.iloc[0]}")

# %%
# Why?
# ----
inspection.ImportanceDisplay.from_estimator(model, X_test, y_test)

# %%
inspection.PartialDependenceDisplay.from_estimator(model, X_test, ["bmi", "s5"])

# %%
# In one formula
# --------------
# Shorter than the ensemble by far. What that costs stands beside it: the scores of both on the same rows.

one = sg.distill(model, X_train, y_train, max_size=15, effort="quick")
print(one.model.ensemble_[0].rounded(2))
print(f"R² {one.score:.2f} on {one.rows}, the ensemble {one.score_before:.2f}")

# %%
# Into the data base
# ------------------
# A file that runs no code when it is read, and a query. The query of the formula fits on a screen; that of the
# ensemble is long, and computes what `predict` does.

one.model.save("one.json")
print(sg.load("one.json").export("sql", table="patients", dialect="duckdb", keep=["age"]))

# %%
# A page for colleagues, with all of this and a panel of what-if, is one line: ``sg.report(model, X_test, y_test,
# path="report.html")`` (:doc:`../report`).
