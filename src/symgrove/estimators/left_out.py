"""What a fit says of training rows that it left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symgrove.methods.problem import Problem
from symgrove.models.model import LeftOut

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator


def set_out_of_bag(estimator: Estimator, problem: Problem, left_out: LeftOut) -> None:
    """Set the attributes that users see, a row for each row that they gave."""
    training = problem.training
    shown = problem.task.as_users_see(left_out.prediction)
    estimator.oob_prediction_ = np.full((problem.n_given, *shown.shape[1:]), np.nan)
    estimator.oob_prediction_[training.positions] = shown
    estimator.oob_score_ = problem.task.out_of_bag_score(left_out.prediction, training.targets, training.weight)
