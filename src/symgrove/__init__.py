"""symgrove: bagging ensembles of formulas, evolved by genetic programming on one shared graph."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symgrove.dataset import Dataset, make_dataset
    from symgrove.engines.cpu import CpuEngine
    from symgrove.engines.scoring import Scores, score
    from symgrove.fitness.bootstrap import bootstrap_counts, out_of_bag
    from symgrove.fitness.losses import ClassificationError, MeanRowLoss, MeanSquaredError
    from symgrove.fitness.row_loss import row_loss
    from symgrove.forest.forest import Forest
    from symgrove.forest.primitives import Primitive, PrimitiveSet, primitive
    from symgrove.forest.random_programs import RandomPrograms
    from symgrove.forest.simplify import simplify
    from symgrove.forest.text import parse, to_text
    from symgrove.methods.classic_gp import ClassicGPClassifier, ClassicGPRegressor
    from symgrove.methods.distillation import distill
    from symgrove.methods.divnich_gp import DivNichGPClassifier, DivNichGPRegressor
    from symgrove.methods.grove import GroveClassifier, GroveRegressor
    from symgrove.methods.independent_gp import IndependentGPClassifier, IndependentGPRegressor
    from symgrove.methods.saving import load
    from symgrove.methods.smaller import simplify_ensemble
    from symgrove.methods.spatial_gp import SpatialGPRegressor
    from symgrove.methods.standard_gp import StandardGPClassifier
    from symgrove.methods.two_segp import TwoSEGPClassifier, TwoSEGPRegressor
    from symgrove.report.build import report
    from symgrove.selection.tournament import tournament
    from symgrove.selection.truncation import partitioned_truncation, truncation
    from symgrove.variation.subtree import SubtreeVariation

__version__ = "0.1.0"

# Where the public names live. They are loaded when they are first used: `symgrove --help` needs none of them.
_HOMES = {
    "ClassicGPClassifier": "methods.classic_gp",
    "ClassicGPRegressor": "methods.classic_gp",
    "ClassificationError": "fitness.losses",
    "CpuEngine": "engines.cpu",
    "Dataset": "dataset",
    "DivNichGPClassifier": "methods.divnich_gp",
    "DivNichGPRegressor": "methods.divnich_gp",
    "Forest": "forest.forest",
    "GroveClassifier": "methods.grove",
    "GroveRegressor": "methods.grove",
    "IndependentGPClassifier": "methods.independent_gp",
    "IndependentGPRegressor": "methods.independent_gp",
    "MeanRowLoss": "fitness.losses",
    "MeanSquaredError": "fitness.losses",
    "Primitive": "forest.primitives",
    "PrimitiveSet": "forest.primitives",
    "RandomPrograms": "forest.random_programs",
    "Scores": "engines.scoring",
    "SpatialGPRegressor": "methods.spatial_gp",
    "StandardGPClassifier": "methods.standard_gp",
    "SubtreeVariation": "variation.subtree",
    "TwoSEGPClassifier": "methods.two_segp",
    "TwoSEGPRegressor": "methods.two_segp",
    "bootstrap_counts": "fitness.bootstrap",
    "distill": "methods.distillation",
    "load": "methods.saving",
    "make_dataset": "dataset",
    "out_of_bag": "fitness.bootstrap",
    "parse": "forest.text",
    "partitioned_truncation": "selection.truncation",
    "primitive": "forest.primitives",
    "row_loss": "fitness.row_loss",
    "score": "engines.scoring",
    "simplify": "forest.simplify",
    "simplify_ensemble": "methods.smaller",
    "to_text": "forest.text",
    "tournament": "selection.tournament",
    "truncation": "selection.truncation",
}
_PACKAGES = (
    "cli",
    "engines",
    "evolution",
    "experiments",
    "export",
    "fitness",
    "forest",
    "inspection",
    "methods",
    "models",
    "report",
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
    "Forest",
    "GroveClassifier",
    "GroveRegressor",
    "IndependentGPClassifier",
    "IndependentGPRegressor",
    "MeanRowLoss",
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
