"""Methods: one published method a file, the algorithm and its scikit-learn faces."""

from symgrove.methods.classic_gp import ClassicGPClassifier, ClassicGPRegressor
from symgrove.methods.divnich_gp import DivNichGPClassifier, DivNichGPRegressor
from symgrove.methods.grove import GroveClassifier, GroveRegressor
from symgrove.methods.independent_gp import IndependentGPClassifier, IndependentGPRegressor
from symgrove.methods.spatial_gp import SpatialGPRegressor
from symgrove.methods.standard_gp import StandardGPClassifier
from symgrove.methods.two_segp import TwoSEGPClassifier, TwoSEGPRegressor

ESTIMATORS = (
    "GroveRegressor",
    "GroveClassifier",
    "TwoSEGPRegressor",
    "TwoSEGPClassifier",
    "ClassicGPRegressor",
    "ClassicGPClassifier",
    "StandardGPClassifier",
    "IndependentGPRegressor",
    "IndependentGPClassifier",
    "DivNichGPRegressor",
    "DivNichGPClassifier",
    "SpatialGPRegressor",
)

__all__ = [
    "ESTIMATORS",
    "ClassicGPClassifier",
    "ClassicGPRegressor",
    "DivNichGPClassifier",
    "DivNichGPRegressor",
    "GroveClassifier",
    "GroveRegressor",
    "IndependentGPClassifier",
    "IndependentGPRegressor",
    "SpatialGPRegressor",
    "StandardGPClassifier",
    "TwoSEGPClassifier",
    "TwoSEGPRegressor",
]
