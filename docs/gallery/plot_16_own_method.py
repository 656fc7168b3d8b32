"""
A method of your own
====================

An algorithm is a class with `init` and `advance`, an estimator one with `make_part`. All the rest is there: `fit` and
`predict`, limits of time, checkpoints, formulas, exports, files. Here hill climbers, each replaced by its child if
that is better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from symgrove import ClassicGPRegressor
from symgrove import extending as ex


class HillClimbers(ex.GP):
    """Every program has one child in each generation."""

    def init(self):
        return self.first_state()

    def advance(self, state):
        rng = ex.stream(self.seed, "variation", state.generation)
        children, _ = self.breed(state.forest, state.population, rng)
        scores = self.score(state.forest, children, self.samples)
        is_better = scores.errors[:, 0] < state.errors[:, 0]
        population = np.where(is_better, children, state.population)
        errors = np.minimum(scores.errors, state.errors)
        elites = ex.improve(state.elites, ex.best_of_each_sample(children, scores))
        return self.next_state(state, population=population, errors=errors, elites=elites)


@ex.with_parameters
class HillClimbingRegressor(ex.ProgramParameters, ex.Regressor):
    """The climbers as scikit-learn knows them."""

    has_out_of_bag = False  # the climbers see all rows

    def make_part(self, target):
        return HillClimbers(samples=target.whole_sample(), **ex.gp_arguments(self, target))


X, y = make_friedman1(300, noise=0.5, random_state=0)
settings = {"population_size": 200, "generations": 60, "max_size": 60}
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for kind, colour in ((HillClimbingRegressor, "#0072B2"), (ClassicGPRegressor, "#D55E00")):
    for seed in range(5):
        model = kind(**settings, random_state=seed).fit(X, y)
        label = kind.__name__ if seed == 0 else None
        ax.plot(model.history_["generation"], model.history_["errors"][:, 0], color=colour, lw=1, label=label)
ax.set(xlabel="generation", ylabel="error of the best program", yscale="log")
ax.legend(frameon=False)

# %%
# It exports as every other estimator does:
print(HillClimbingRegressor(**settings, random_state=0).fit(X, y).export("sql", table="t")[:200], "...")
