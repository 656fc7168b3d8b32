"""symgrove: bagging ensembles of formulas, evolved by genetic programming on one shared graph."""

from symgrove.dataset import Dataset, make_dataset
from symgrove.engines.cpu import CpuEngine
from symgrove.engines.scoring import Scores, score
from symgrove.fitness.bootstrap import bootstrap_counts, out_of_bag
from symgrove.fitness.losses import ClassificationError, MeanSquaredError
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import Primitive, PrimitiveSet, primitive
from symgrove.forest.random_programs import RandomPrograms
from symgrove.forest.simplify import simplify
from symgrove.forest.text import parse, to_text
from symgrove.methods.classic_gp import ClassicGPClassifier, ClassicGPRegressor
from symgrove.methods.divnich_gp import DivNichGPClassifier, DivNichGPRegressor
from symgrove.methods.grove import GroveClassifier, GroveRegressor
from symgrove.methods.independent_gp import IndependentGPClassifier, IndependentGPRegressor
from symgrove.methods.saving import load
from symgrove.methods.spatial_gp import SpatialGPRegressor
from symgrove.methods.standard_gp import StandardGPClassifier
from symgrove.methods.two_segp import TwoSEGPClassifier, TwoSEGPRegressor
from symgrove.selection.tournament import tournament
from symgrove.selection.truncation import partitioned_truncation, truncation
from symgrove.variation.subtree import SubtreeVariation

__version__ = "0.1.0"

__all__ = [
    "ClassicGPClassifier",
    "ClassicGPRegressor",
    "ClassificationError",
    "CpuEngine",
    "Dataset",
    "DivNichGPClassifier",
    "DivNichGPRegressor",
    "Forest",
    "GroveClassifier",
    "GroveRegressor",
    "IndependentGPClassifier",
    "IndependentGPRegressor",
    "MeanSquaredError",
    "Primitive",
    "PrimitiveSet",
    "RandomPrograms",
    "Scores",
    "SpatialGPRegressor",
    "StandardGPClassifier",
    "SubtreeVariation",
    "TwoSEGPClassifier",
    "TwoSEGPRegressor",
    "bootstrap_counts",
    "load",
    "make_dataset",
    "out_of_bag",
    "parse",
    "partitioned_truncation",
    "primitive",
    "score",
    "simplify",
    "to_text",
    "tournament",
    "truncation",
]
