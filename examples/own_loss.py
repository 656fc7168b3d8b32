"""A loss of one's own: the pinball loss, whose best prediction is a quantile."""

from tempfile import mkdtemp

import numpy as np
from sklearn.datasets import make_friedman1

import symgrove as sg


def pinball(y, prediction):
    """Nine times as bad to be too low as to be too high: the 90 % quantile."""
    return 0.9 * (y - prediction) if y > prediction else 0.1 * (prediction - y)


if __name__ == "__main__":
    X, y = make_friedman1(300, noise=2.0, random_state=0)
    # Without linear scaling, which is that of least squares and aims at the mean.
    settings = {"population_size": 200, "generations": 40, "linear_scaling": False, "random_state": 0}
    model = sg.ClassicGPRegressor(**settings, loss=pinball).fit(X, y)
    print(f"{np.mean(y <= model.predict(X)):.0%} of the rows are below the prediction")
    model.save(file := mkdtemp() + "/quantile.json")
    print(sg.load(file).loss.explanation)
