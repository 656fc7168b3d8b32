"""What methods and estimators from outside are made of: one place to import from. See docs/extending.md."""

from symgrove.estimators.classifier import Classifier
from symgrove.estimators.gp_arguments import gp_arguments
from symgrove.estimators.parameters import (
    EvolutionParameters,
    ProgramParameters,
    check_choice,
    check_samples,
    with_parameters,
)
from symgrove.estimators.regressor import Regressor
from symgrove.fitness.row_loss import row_loss
from symgrove.methods.base import ForestMethod, ForestState, check_array, check_ids, nodes_of
from symgrove.methods.elites import Elites, best_of_each_sample, improve
from symgrove.methods.gp import GP, GPState, first_occurrences, look_up
from symgrove.methods.problem import Problem, Rows
from symgrove.methods.programs import Evaluation, Fitted, TargetSetup, evolutions_of, programs_of
from symgrove.methods.side_by_side import SideBySide
from symgrove.methods.two_segp import TwoSEGP
from symgrove.models.ensemble import Ensemble, make_ensemble
from symgrove.models.model import Model
from symgrove.models.program_model import ProgramModel, unknown_errors
from symgrove.models.standardization import Standardization, no_standardization, standardization_of
from symgrove.models.task import Classification, Regression, Task
from symgrove.rng import stream
from symgrove.selection.named import Candidates

__all__ = [
    "GP",
    "Candidates",
    "Classification",
    "Classifier",
    "Elites",
    "Ensemble",
    "Evaluation",
    "EvolutionParameters",
    "Fitted",
    "ForestMethod",
    "ForestState",
    "GPState",
    "Model",
    "Problem",
    "ProgramModel",
    "ProgramParameters",
    "Regression",
    "Regressor",
    "Rows",
    "SideBySide",
    "Standardization",
    "TargetSetup",
    "Task",
    "TwoSEGP",
    "best_of_each_sample",
    "check_array",
    "check_choice",
    "check_ids",
    "check_samples",
    "evolutions_of",
    "first_occurrences",
    "gp_arguments",
    "improve",
    "look_up",
    "make_ensemble",
    "no_standardization",
    "nodes_of",
    "programs_of",
    "row_loss",
    "standardization_of",
    "stream",
    "unknown_errors",
    "with_parameters",
]
