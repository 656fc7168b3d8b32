"""
A law from measurements
=======================

You have a table of measurements and want the law behind it. This goes from the table to a formula whose numbers have
error bars, and shows on the way what can go wrong.
"""

# %%
# The table
# ---------
# Sixty oscillations of a ring on springs: its mass in kilograms, the stiffness of the springs in newtons per metre,
# the temperature of the room, and the period in seconds, measured to about two percent. We pretend not to know the
# law.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from symgrove import LawRegressor, inspection

rng = np.random.default_rng(4)
table = pd.DataFrame(
    {"mass": rng.uniform(0.1, 3, 60), "stiffness": rng.uniform(5, 80, 60), "temperature": rng.uniform(17, 24, 60)}
)
period = 2 * np.pi * np.sqrt(table["mass"] / table["stiffness"]) * (1 + 0.02 * rng.normal(size=60))
table.head(3)

# %%
# A first search
# --------------
# `effort="quick"` tries sums and products of powers, and takes about two seconds.

model = LawRegressor(effort="quick", random_state=0).fit(table, period)
print(model.formula(digits=3), "| the search ended with", model.stop_reason_)

# %%
# `stop_reason_` says why it ended: `exact` if nothing is left, `noise` if what is left cannot be told from noise and
# the formula is short, otherwise that everything was tried, or time was up. Of the last two, be careful: it is a
# description, perhaps no law. And the logarithm of a mass below a root is not what nature writes. So let it search in
# earnest, for some ten seconds:

model = LawRegressor(random_state=0).fit(table, period)
print(model.formula(digits=3), "| the search ended with", model.stop_reason_)

# %%
# Better: a constant, and two roots. It is still not sure (`everything`), so look closer.
#
# The front
# ---------
# The best formula of every size. `error` is that on the rows of the search, `held_out_error` on rows that it did not
# see.

model.front_

# %%
# A good law is where the error on rows held out stops to fall, and everything longer is no better:

model.front_.plot()

# %%
# Another one than the one chosen is taken by `use`, by size or by a rule. (The estimator then predicts by it.)

for choice in (5, "one_se", "accuracy", "auto"):
    print(f"{choice!s:>9}: {model.use(choice).formula(digits=3)}")

# %%
# Is it right?
# ------------
# What is left must have no shape: neither against what is predicted nor against a column that is not in the formula.

left = period - model.predict(table)
fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
axes[0].plot(model.predict(table), left, "k.")
axes[1].plot(table["temperature"], left, "k.")
axes[0].set(xlabel="predicted period, s", ylabel="what is left, s")
axes[1].set(xlabel="temperature, °C")
for ax in axes:
    ax.axhline(0, color="0.7")

# %%
# It grows with the period: the errors are relative ones. Then the logarithm is what should be fitted,
# `target_transform="log"`; predictions come back in seconds.

in_logs = LawRegressor(effort="quick", target_transform="log", random_state=0).fit(table, period)
print(in_logs.formula(digits=4))
mass, stiffness = 1.0, 20.0
one = pd.DataFrame({"mass": [mass], "stiffness": [stiffness], "temperature": [20.0]})
print(f"{in_logs.predict(one)[0]:.4f} s, the truth is {2 * np.pi * np.sqrt(mass / stiffness):.4f} s")

# %%
# How sure are its numbers?
# -------------------------
# Standard errors as of a nonlinear regression, which take the form of the formula for granted:

print(inspection.standard_errors(model.use("auto"), table, period).formula)

# %%
# 2π is 6.283. With units, formulas that cannot be right are not searched at all: see
# :ref:`sphx_glr_gallery_plot_03_units.py`. The law can now be written to a file, or in another language
# (:doc:`../exports`).

print(model.export("python")[:400], "...")
