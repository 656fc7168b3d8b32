"""A method of one's own with its estimator: hill climbers, each replaced by its child if that is better."""

from tempfile import mkdtemp

import numpy as np
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove import extending as ex


class HillClimbers(ex.GP):
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
    has_out_of_bag = False  # the climbers see all rows

    def make_part(self, target):
        return HillClimbers(samples=target.whole_sample(), **ex.gp_arguments(self, target))


if __name__ == "__main__":
    X, y = make_friedman1(200, random_state=0)
    model = HillClimbingRegressor(population_size=100, generations=30, random_state=0).fit(X, y)
    model.save(file := mkdtemp() + "/climbers.json")
    again = sg.load(file, estimators=[HillClimbingRegressor])
    print(f"R² {again.score(X, y):.2f}")
