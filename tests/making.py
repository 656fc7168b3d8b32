"""Parts of a fit for tests: the method that an estimator makes for one target, and the plan of one ensemble."""

from dataclasses import replace

import numpy as np

import symgrove as sg
from symgrove.methods.grove.configuration import FOR_REGRESSION
from symgrove.methods.problem import Problem, Rows
from symgrove.models.program_model import ProgramModel, unknown_errors
from symgrove.models.task import Regression


def method_of(estimator, X, y, seed, member=0, weight=None):
    """The method on the first target; `with` closes its engine."""
    task, targets = estimator._encode(y)
    problem = Problem(Rows(X, targets, weight, np.arange(len(X))), task, seed, member)
    return estimator.make_method(problem).parts[0]


class QuickGrove(sg.GroveRegressor):
    """Chooses its strength among fewer ensembles, on fewer folds."""

    configuration = replace(
        FOR_REGRESSION,
        second=replace(FOR_REGRESSION.second, snapshots=(2, 5)),
        folds=replace(FOR_REGRESSION.folds, n_folds=3),
    )


def plan_of(ensemble, names):
    """What an ensemble computes, as a regressor's."""
    unknown = unknown_errors([ensemble])
    return ProgramModel((ensemble,), Regression(), unknown, unknown).plan("test", names)
