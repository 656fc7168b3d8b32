"""Estimators: the methods as scikit-learn knows them."""

from symgrove.estimators.classic_gp import ClassicGPClassifier, ClassicGPRegressor
from symgrove.estimators.divnich_gp import DivNichGPClassifier, DivNichGPRegressor
from symgrove.estimators.efs import EFSRegressor
from symgrove.estimators.egp import EGPClassifier
from symgrove.estimators.gomea import GOMEAClassifier, GOMEARegressor
from symgrove.estimators.gptips import GPTIPSRegressor
from symgrove.estimators.grove import GroveClassifier, GroveRegressor
from symgrove.estimators.gsgp import GSGPRegressor
from symgrove.estimators.independent_gp import IndependentGPClassifier, IndependentGPRegressor
from symgrove.estimators.law import LawRegressor
from symgrove.estimators.m3gp import M3GPClassifier, M3GPRegressor
from symgrove.estimators.rdo import RDORegressor
from symgrove.estimators.spatial_gp import SpatialGPRegressor
from symgrove.estimators.standard_gp import StandardGPClassifier
from symgrove.estimators.two_segp import TwoSEGPClassifier, TwoSEGPRegressor

ESTIMATORS = (
    "GroveRegressor",
    "GroveClassifier",
    "LawRegressor",
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
    "GOMEARegressor",
    "GOMEAClassifier",
    "GSGPRegressor",
    "RDORegressor",
    "EFSRegressor",
    "EGPClassifier",
    "GPTIPSRegressor",
    "M3GPRegressor",
    "M3GPClassifier",
)

__all__ = [
    "ESTIMATORS",
    "ClassicGPClassifier",
    "ClassicGPRegressor",
    "DivNichGPClassifier",
    "DivNichGPRegressor",
    "EFSRegressor",
    "EGPClassifier",
    "GOMEAClassifier",
    "GOMEARegressor",
    "GPTIPSRegressor",
    "GSGPRegressor",
    "GroveClassifier",
    "GroveRegressor",
    "IndependentGPClassifier",
    "IndependentGPRegressor",
    "LawRegressor",
    "M3GPClassifier",
    "M3GPRegressor",
    "RDORegressor",
    "SpatialGPRegressor",
    "StandardGPClassifier",
    "TwoSEGPClassifier",
    "TwoSEGPRegressor",
]
