"""The best program ever scored on every sample: what an ensemble is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.scoring import Scores
from symgrove.fitness.scaling import Scaling
from symgrove.forest.forest import Ids

Matrix = NDArray[np.float64]


class Elites(NamedTuple):
    """The best program ever scored on every sample: root, error, slope and intercept, each (n_samples,).

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import Elites, improve
    >>> one, zero = np.ones(2), np.zeros(2)
    >>> before = Elites(np.array([4, 5]), np.array([0.5, 0.1]), one, zero)
    >>> improve(before, Elites(np.array([8, 9]), np.array([0.2, 0.3]), one, zero)).root.tolist()
    [8, 5]
    """

    root: Ids
    error: Matrix
    slope: Matrix
    intercept: Matrix


def best_of_each_sample(roots: Ids, scores: Scores) -> Elites:
    """The first program with the lowest error on every sample.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import Scores
    >>> from symgrove.extending import best_of_each_sample
    >>> from symgrove.fitness.scaling import Scaling
    >>> errors = np.array([[0.3, 0.1], [0.2, 0.4]])  # of two programs on two samples
    >>> scores = Scores(errors, Scaling(np.ones((2, 2)), np.zeros((2, 2))))
    >>> best_of_each_sample(np.array([8, 9]), scores).root.tolist()
    [9, 8]
    """
    best = np.argmin(scores.errors, axis=0)
    samples = np.arange(best.size)
    scaling = Scaling(scores.scaling.slope[best, samples], scores.scaling.intercept[best, samples])
    return Elites(roots[best], scores.errors[best, samples], *scaling)


def improve(elites: Elites, challengers: Elites) -> Elites:
    """On every sample the challenger if its error is strictly lower, else the elite.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import Elites, improve
    >>> one, zero = np.ones(2), np.zeros(2)
    >>> before = Elites(np.array([4, 5]), np.array([0.5, 0.1]), one, zero)
    >>> improve(before, Elites(np.array([8, 9]), np.array([0.2, 0.3]), one, zero)).root.tolist()
    [8, 5]
    """
    is_better = challengers.error < elites.error
    return Elites(*(np.where(is_better, new, old) for old, new in zip(elites, challengers, strict=True)))
