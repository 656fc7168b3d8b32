"""
Two classes, one formula
========================

Classifiers are ensembles too; and of two classes, one formula can say the log odds. Where it is zero, the border is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier

from symgrove import GroveClassifier

X, y = make_moons(300, noise=0.25, random_state=0)
X_new, y_new = make_moons(2000, noise=0.25, random_state=1)
small = {"generations": 40, "strength": "fixed", "random_state": 0}
one = GroveClassifier(**small, n_estimators=1, sampling=1.0, max_terms=4, max_size=7)
models = {
    "one formula": one,
    "an ensemble": GroveClassifier(**small, n_estimators=20),
    "random forest": RandomForestClassifier(300, random_state=0),
}
grid = np.stack(np.meshgrid(np.linspace(-2, 3, 150), np.linspace(-1.5, 2, 150)), axis=-1)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    share = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(150, 150)
    ax.contourf(grid[..., 0], grid[..., 1], share, levels=np.linspace(0, 1, 11), cmap="PuOr", alpha=0.7)
    ax.contour(grid[..., 0], grid[..., 1], share, levels=[0.5], colors="k")
    ax.scatter(*X.T, c=np.array(["#D55E00", "#0072B2"])[y], s=6)
    ax.set(title=f"{name}: {model.score(X_new, y_new):.1%} of new rows right")

# %%
# The formula, whose sign decides:
print(one.formula(digits=3))
