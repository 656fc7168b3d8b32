"""symgrove: bagging ensembles of formulas, evolved by genetic programming on one shared graph."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symgrove.compression.distillation import distill
    from symgrove.compression.smaller import simplify_ensemble
    from symgrove.dataset import Dataset, make_dataset
    from symgrove.engines.cpu import CpuEngine
    from symgrove.engines.scoring import Scores, score
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
    from symgrove.fitness.bootstrap import bootstrap_counts, out_of_bag
    from symgrove.fitness.losses import ClassificationError, MeanRowLoss, MeanSquaredError
    from symgrove.fitness.row_loss import row_loss
    from symgrove.forest.forest import Forest
    from symgrove.forest.own_primitives import primitive
    from symgrove.forest.primitive_table import Primitive
    from symgrove.forest.primitives import PrimitiveSet
    from symgrove.forest.random_programs import RandomPrograms
    from symgrove.forest.simplify import simplify
    from symgrove.forest.text import parse, to_text
    from symgrove.report.build import report
    from symgrove.saving.files import load
    from symgrove.selection.tournament import tournament
    from symgrove.selection.truncation import partitioned_truncation, truncation
    from symgrove.variation.subtree import SubtreeVariation

__version__ = "0.1.0"

# Where the public names live. They are loaded when they are first used: `symgrove --help` needs none of them.
_HOMES = {
    "ClassicGPClassifier": "estimators.classic_gp",
    "ClassicGPRegressor": "estimators.classic_gp",
    "ClassificationError": "fitness.losses",
    "CpuEngine": "engines.cpu",
    "Dataset": "dataset",
    "DivNichGPClassifier": "estimators.divnich_gp",
    "DivNichGPRegressor": "estimators.divnich_gp",
    "EFSRegressor": "estimators.efs",
    "EGPClassifier": "estimators.egp",
    "Forest": "forest.forest",
    "GOMEAClassifier": "estimators.gomea",
    "GOMEARegressor": "estimators.gomea",
    "GPTIPSRegressor": "estimators.gptips",
    "GSGPRegressor": "estimators.gsgp",
    "GroveClassifier": "estimators.grove",
    "GroveRegressor": "estimators.grove",
    "IndependentGPClassifier": "estimators.independent_gp",
    "IndependentGPRegressor": "estimators.independent_gp",
    "LawRegressor": "estimators.law",
    "M3GPClassifier": "estimators.m3gp",
    "M3GPRegressor": "estimators.m3gp",
    "MeanRowLoss": "fitness.losses",
    "MeanSquaredError": "fitness.losses",
    "Primitive": "forest.primitive_table",
    "PrimitiveSet": "forest.primitives",
    "RDORegressor": "estimators.rdo",
    "RandomPrograms": "forest.random_programs",
    "Scores": "engines.scoring",
    "SpatialGPRegressor": "estimators.spatial_gp",
    "StandardGPClassifier": "estimators.standard_gp",
    "SubtreeVariation": "variation.subtree",
    "TwoSEGPClassifier": "estimators.two_segp",
    "TwoSEGPRegressor": "estimators.two_segp",
    "bootstrap_counts": "fitness.bootstrap",
    "distill": "compression.distillation",
    "load": "saving.files",
    "make_dataset": "dataset",
    "out_of_bag": "fitness.bootstrap",
    "parse": "forest.text",
    "partitioned_truncation": "selection.truncation",
    "primitive": "forest.own_primitives",
    "row_loss": "fitness.row_loss",
    "score": "engines.scoring",
    "simplify": "forest.simplify",
    "simplify_ensemble": "compression.smaller",
    "to_text": "forest.text",
    "tournament": "selection.tournament",
    "truncation": "selection.truncation",
}
_PACKAGES = (
    "cli",
    "compression",
    "engines",
    "estimators",
    "evolution",
    "experiments",
    "export",
    "fitness",
    "forest",
    "inspection",
    "methods",
    "models",
    "report",
    "saving",
    "selection",
    "variation",
)

__all__ = [
    "ClassicGPClassifier",
    "ClassicGPRegressor",
    "ClassificationError",
    "CpuEngine",
    "Dataset",
    "DivNichGPClassifier",
    "DivNichGPRegressor",
    "EFSRegressor",
    "EGPClassifier",
    "Forest",
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
    "MeanRowLoss",
    "MeanSquaredError",
    "Primitive",
    "PrimitiveSet",
    "RDORegressor",
    "RandomPrograms",
    "Scores",
    "SpatialGPRegressor",
    "StandardGPClassifier",
    "SubtreeVariation",
    "TwoSEGPClassifier",
    "TwoSEGPRegressor",
    "bootstrap_counts",
    "distill",
    "load",
    "make_dataset",
    "out_of_bag",
    "parse",
    "partitioned_truncation",
    "primitive",
    "report",
    "row_loss",
    "score",
    "simplify",
    "simplify_ensemble",
    "to_text",
    "tournament",
    "truncation",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"symgrove.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f"symgrove.{name}")
    raise AttributeError(f"module 'symgrove' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES, "__version__"]
