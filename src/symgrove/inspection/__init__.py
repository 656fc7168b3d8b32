"""Questions to a fitted model, and plots of the answers in the style of scikit-learn's displays.

Functions return numbers; `<Name>Display.from_estimator(model, X, ...)` computes and draws, `.plot(ax=...)` draws again.
"""

from symgrove.inspection.agreement import Agreement, AgreementDisplay, agreement
from symgrove.inspection.convergence import ConvergenceDisplay
from symgrove.inspection.coverage import CalibrationDisplay, coverage, reliability
from symgrove.inspection.derivatives import DerivativeDisplay, derivatives, sensitivity
from symgrove.inspection.errors import PredictionErrorDisplay
from symgrove.inspection.importance import Importance, ImportanceDisplay, permutation_importance
from symgrove.inspection.interactions import Interaction, InteractionDisplay, interactions
from symgrove.inspection.partial_dependence import Curve, PartialDependenceDisplay, partial_dependence
from symgrove.inspection.standard_errors import FormulaErrors, standard_errors

__all__ = [
    "Agreement",
    "AgreementDisplay",
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "Curve",
    "DerivativeDisplay",
    "FormulaErrors",
    "Importance",
    "ImportanceDisplay",
    "Interaction",
    "InteractionDisplay",
    "PartialDependenceDisplay",
    "PredictionErrorDisplay",
    "agreement",
    "coverage",
    "derivatives",
    "interactions",
    "partial_dependence",
    "permutation_importance",
    "reliability",
    "sensitivity",
    "standard_errors",
]
