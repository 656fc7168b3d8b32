"""
A primitive of your own
=======================

Wrap a function of one or two numbers with `symgrove.primitive`, and it takes part like the built-in ones: compiled,
shown in formulas, and with templates also exported.
"""

import matplotlib.pyplot as plt
import numpy as np

import symgrove as sg


def bump(x):
    """A bell, as of a resonance."""
    return 1.0 / (1.0 + x * x)


own = sg.primitive(
    bump, latex=r"\frac{{1}}{{1 + {0}^2}}", c="1.0 / (1.0 + ({0}) * ({0}))", sql="1.0 / (1.0 + ({0}) * ({0}))"
)
rng = np.random.default_rng(0)
X = rng.uniform(-6, 6, (300, 2))
y = 4 / (1 + (2 * X[:, 0] - 3) ** 2) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=300)

settings = {"population_size": 1000, "generations": 60, "max_size": 15, "random_state": 0}
models = {
    "with bump": sg.ClassicGPRegressor(functions=("add", "sub", "mul", own), **settings).fit(X, y),
    "without": sg.ClassicGPRegressor(functions=("add", "sub", "mul"), **settings).fit(X, y),
}
for name, model in models.items():
    print(f"{name}: R² {model.score(X, y):.2f}, {model.ensemble_[0].rounded()}")

# %%
grid = np.column_stack([np.linspace(-6, 6, 400), np.zeros(400)])
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(X[:, 0], y - 0.3 * X[:, 1], ".", color="0.7", label="data, less the second feature")
for (name, model), colour in zip(models.items(), ("#0072B2", "#D55E00"), strict=True):
    ax.plot(grid[:, 0], model.predict(grid), color=colour, label=name)
ax.set(xlabel="x0")
ax.legend(frameon=False)

# %%
# The C of the model has the template where the function stands:
print(next(line for line in models["with bump"].export("c").splitlines() if "1.0 / (1.0" in line))
