"""Fitted estimators as plain documents, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from symgrove import estimators
from symgrove._missing import MissingFunction
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import (
    feature_names_of,
    held_out_by,
    one_formula_of,
    parameters_of,
    seen_by,
    table_of,
    target_names_of,
    uncertainty_of,
)
from symgrove.estimators.grove import GroveEstimator
from symgrove.estimators.input import columns_of, names_of
from symgrove.estimators.law import LawRegressor
from symgrove.estimators.left_out import EVOLUTIONS, FIT, SEARCH
from symgrove.forest.primitives import Primitive, PrimitiveSet
from symgrove.forest.text import feature_labels
from symgrove.methods.law.fitted import searched_from
from symgrove.methods.law.formulas import LAW_FUNCTIONS
from symgrove.models.calibration import correction_from_document
from symgrove.models.columns import columns_from, plain_columns
from symgrove.models.document import Allowance, Document, Entries, optional_numbers
from symgrove.models.intervals import intervals_from
from symgrove.models.one_formula import one_formula_from
from symgrove.models.program_model import ProgramModel, program_model_from
from symgrove.models.reading import reading_from
from symgrove.models.seen_rows import from_text as marks_from_text
from symgrove.models.seen_rows import to_text as marks_to_text
from symgrove.models.stack import Stack, stack_from
from symgrove.models.target_transform import TargetTransform, transform_from
from symgrove.models.task import Classification, Regression, Task
from symgrove.saving.parameters import FUNCTIONS, defaults_of, from_plain, to_plain

FORMAT = "symgrove model"
VERSION = 1
# Limits of a file: its bytes; nodes; places in the tables of teams and terms, 8 bytes each.
LARGEST_FILE = 2**26
MOST_NODES = 2**20
MOST_PLACES = 2**26
DIGITS = 6  # of the history, which is for plots
# Parameters that are no part of a model, or that no file can hold.
_NOT_SAVED = ("callbacks", "checkpoint", "warm_start")
SEEN = ("fit", "calibration")  # what rows were for
KNOWN_MODELS = (ProgramModel, Stack)
# By their names in files, which are older than some names of attributes.
_FITTED_NUMBERS = {
    "oob_score_": "oob_score_",
    "found_": "stacking_weight_sum_",
    "validation_score_": "validation_score_",
}


# To a document


def to_document(estimator: Estimator) -> Document:
    """A fitted estimator as plain values."""
    names, classes = names_of(estimator), estimator.model_.task.classes
    kind = _class_of(estimator)
    known = set(defaults_of(kind)) - set(_NOT_SAVED)
    given = {name: value for name, value in parameters_of(estimator).items() if name in known}
    if not isinstance(given["random_state"], (int, np.integer)):
        given["random_state"] = None  # a generator has moved on
    has_generations = not isinstance(estimator, LawRegressor)
    fitted: Document = {"n_generations_": int(estimator.n_generations_)} if has_generations else {}
    fitted |= {
        "stop_reason_": str(estimator.stop_reason_),
        "feature_importances_": estimator.feature_importances_.tolist(),
    }
    if has_generations:
        fitted["history_"] = {name: _history_column(column) for name, column in estimator.history_.items()}
    fitted |= {
        name: optional_numbers([vars(estimator)[attribute]])[0]
        for name, attribute in _FITTED_NUMBERS.items()
        if attribute in vars(estimator)
    }
    if held_out_by(estimator) is not None:
        fitted["held_out_score"] = held_out_by(estimator)
    if isinstance(estimator, GroveEstimator):
        fitted["strength_"] = dict(estimator.stacking_weights_)
    return {
        "format": FORMAT,
        "version": VERSION,
        "symgrove": version("symgrove"),
        "estimator": _name_of(kind),
        "parameters": {name: to_plain(name, value) for name, value in given.items()},
        "n_features": int(estimator.n_features_in_),
        "features": None if names is None else [str(name) for name in names],
        "classes": None if classes is None else _plain_classes(classes),
        "fitted": fitted,
        "table": table_of(estimator),
        **model_to_document(estimator),
    }


def check_tables(document: Document) -> None:
    """Refuse to write what could not be read again."""
    stacks = [e for e in (*document["ensembles"], *document["smaller"]) if e["kind"] == "teams"]
    levels = [level for stack in stacks for level in stack["levels"]]
    n_places = n_terms = 0
    for level in levels:
        n_terms = len(level["programs"]) if "programs" in level else n_terms  # else those of the level before
        n_places += len(level["terms"]) * n_terms
    entries = [entry for front in document.get("fronts", []) for entry in front["entries"]]
    lines = [document["one_formula"]] if "one_formula" in document else []
    forests = [e["forest"] for e in (*document["ensembles"], *levels, *entries, *lines) if "forest" in e]
    n_nodes = sum(len(forest["code"]) for forest in forests)
    if n_places > MOST_PLACES or n_nodes > MOST_NODES:
        raise ValueError(
            f"it has {n_nodes} nodes and {n_places} places in tables of teams and terms; a model file has at most "
            f"{MOST_NODES} and {MOST_PLACES}"
        )


def model_to_document(estimator: Estimator) -> Document:
    """What a fitted estimator predicts with, and what people read of it."""
    if type(estimator.model_) not in KNOWN_MODELS:
        raise ValueError(
            f"a model of type {type(estimator.model_).__name__} cannot be saved; files hold "
            f"{' and '.join(kind.__name__ for kind in KNOWN_MODELS)}. Use pickle."
        )
    primitives = estimator.model_.primitives
    learned = uncertainty_of(estimator)
    seen = seen_by(estimator)
    marks = {name: seen.get(name) for name in SEEN}
    targets, transforms = target_names_of(estimator), estimator.model_.task.transforms
    return {
        "columns": columns_of(estimator).document(),
        **({"targets": list(targets)} if targets else {}),
        **({"transforms": [each.document() for each in transforms]} if transforms else {}),
        "functions": [f.name if f.function is None else {"own": f.name} for f in primitives.functions],
        "epsilon": primitives.epsilon,
        **estimator.model_.document(),
        "reading": None if estimator.model_.reading is None else estimator.model_.reading.document(),
        **_fronts(estimator),
        **_one_formula(estimator),
        "uncertainty": None if learned is None else learned.document(),
        "seen": {name: None if own is None else marks_to_text(own) for name, own in marks.items()},
    }


def _fronts(estimator: Estimator) -> Document:
    """What another formula may be chosen from."""
    searched = estimator._searched if isinstance(estimator, LawRegressor) else None
    return {} if searched is None else {"fronts": searched.document()}


def _one_formula(estimator: Estimator) -> Document:
    found = one_formula_of(estimator)
    return {} if found is None else {"one_formula": found.document()}


def _class_of(estimator: Estimator) -> type[Estimator]:
    """The class that a file names: its own if it has parameters, else the one of ours that it inherits from."""
    ours = (kind for kind in type(estimator).__mro__ if getattr(estimators, kind.__name__, None) is kind)
    kind = type(estimator) if "__dataclass_fields__" in vars(type(estimator)) else next(ours, None)
    if kind is None:
        raise ValueError(
            f"{type(estimator).__name__} cannot be saved: its parameters are not known. Decorate it with "
            "symgrove.extending.with_parameters."
        )
    return kind


def _name_of(kind: type[Estimator]) -> str:
    """In files: the name of one of ours, else module:Class."""
    is_ours = getattr(estimators, kind.__name__, None) is kind
    return kind.__name__ if is_ours else f"{kind.__module__}:{kind.__qualname__}"


def _plain_classes(classes: Any) -> Document:
    values = [c.item() if isinstance(c, np.generic) else c for c in classes]
    if not all(isinstance(v, (str, int, float)) for v in values):
        raise ValueError(
            f"classes of type {type(values[0]).__name__} cannot be saved; only texts, numbers and booleans."
        )
    return {"dtype": np.asarray(classes).dtype.str if not isinstance(values[0], str) else "str", "values": values}


def _history_column(column: Any) -> Document:
    """Shape and values; whole numbers as they are, others with a few digits."""
    values = column.ravel()
    if column.dtype.kind not in "iu":
        rounded = [float(f"{v:.{DIGITS}g}") for v in _without_inf(values).tolist()]
        return {"shape": list(column.shape), "values": optional_numbers(rounded)}
    return {"shape": list(column.shape), "values": values.tolist()}


def _without_inf(values: Any) -> Any:
    return np.where(np.isfinite(values), values, np.nan)


# From a document


def from_document(
    document: Document, functions: Sequence[Primitive] = (), kinds: Sequence[type[Estimator]] = ()
) -> Estimator:
    """The fitted estimator of a document, or a ValueError that says what is wrong with it."""
    entries = Entries(document)
    estimator = _unfitted(entries, functions, kinds)
    primitives = primitives_from(entries, {primitive.name: primitive for primitive in functions})
    n_features = entries.whole("n_features", 1)
    names = _feature_names(entries, n_features)
    classes = _classes(entries)
    if ("strength_" in entries.entries("fitted")) != isinstance(estimator, GroveEstimator):
        raise ValueError("'strength_' of the file does not go with its estimator.")
    if isinstance(estimator, Classifier) != (classes is not None):
        raise ValueError(
            f"the file has {'no ' if classes is None else ''}classes, which does not go with its estimator."
        )
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if isinstance(estimator, Classifier):
        estimator.classes_ = classes
    has_generations = not isinstance(estimator, LawRegressor)
    estimator.__dict__.update(_fitted(entries.entries("fitted"), n_features, has_generations=has_generations))
    set_model(estimator, entries, primitives, Allowance(MOST_NODES, MOST_PLACES))
    if entries.document.get("table") is not None:
        estimator.table_ = entries.entries("table").document
    return estimator


def set_model(estimator: Estimator, entries: Entries, primitives: PrimitiveSet, allowance: Allowance) -> None:
    """Give an estimator, otherwise as it was when fitted, what `model_to_document` took from it."""
    task: Task = Regression(_target_names(entries), _transforms(entries))
    if isinstance(estimator, Classifier):
        task = Classification(estimator.classes_)
    labels = feature_labels(estimator.n_features_in_, names_of(estimator))
    is_known = "columns" in entries  # not of older versions
    columns = columns_from(entries.each("columns"), labels) if is_known else plain_columns(labels)
    estimator.columns_ = columns
    names = feature_names_of(estimator)
    own = entries, task, columns.owners.size, primitives, allowance
    reading = reading_from(entries.entries("reading"), columns.owners.size) if "reading" in entries else None
    if isinstance(estimator, GroveEstimator):
        weights = estimator.stacking_weights_
        stack = stack_from(*own, tuple(name for name, weight in weights.items() if weight > 0)).with_reading(reading)
        estimator.model_ = stack
        estimator.size_path_ = stack.front(names, columns)
    else:
        prune = bool(parameters_of(estimator).get("prune", True))
        estimator.model_ = program_model_from(*own, merge=prune).with_reading(reading)
    estimator.ensemble_ = estimator.model_.members(names)
    if isinstance(estimator, LawRegressor):
        fronts = searched_from(entries.each("fronts"), task, own[2], len(columns), primitives, allowance)
        estimator._set_front(fronts)
    if "one_formula" in entries:
        laws = PrimitiveSet(LAW_FUNCTIONS)
        line = entries.entries("one_formula")
        estimator.one_formula_ = one_formula_from(line, own[2], laws, allowance, names, task.classes)
    seen = entries.entries("seen") if "seen" in entries else Entries({})
    estimator._seen = {n: marks_from_text(seen.text(n)) if n in seen else None for n in SEEN}
    estimator._uncertainty = None
    if "uncertainty" in entries:
        learned = entries.entries("uncertainty")
        estimator._uncertainty = (
            intervals_from(learned) if task.classes is None else correction_from_document(learned, len(task.classes))
        )


def primitives_from(entries: Entries, own: Mapping[str, Primitive]) -> PrimitiveSet:
    """What the programs of a document are made of."""
    epsilon = entries.entries("epsilon")
    numbers = {name: epsilon.number(name) for name in epsilon.document}
    try:
        return PrimitiveSet(_functions(tuple(entries.items("functions")), own), numbers)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _unfitted(entries: Entries, functions: Sequence[Primitive], kinds: Sequence[type[Estimator]]) -> Estimator:
    """The estimator with its parameters."""
    cls = _kind(entries, kinds)
    name = cls.__name__
    given = entries.entries("parameters").document
    known = set(defaults_of(cls))
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"the file has parameters that {name} does not know: {', '.join(unknown)}.")
    parameters = {key: from_plain(value) for key, value in given.items() if key not in _NOT_SAVED}
    own = {primitive.name: primitive for primitive in functions}
    if "functions" in parameters:
        parameters["functions"] = _functions(parameters["functions"], own)
    missing = {}
    for parameter in FUNCTIONS:
        value = parameters.get(parameter)
        if isinstance(value, dict) and isinstance(value.get("own"), str):
            missing[parameter] = MissingFunction(parameter, parameters.pop(parameter)["own"])
    estimator = cls(**parameters)
    try:
        estimator.check_parameters()
    except TypeError as error:
        raise ValueError(str(error)) from error
    estimator.set_params(**missing)
    estimator._fitted_with = estimator.get_params(deep=False)
    return estimator


def _kind(entries: Entries, kinds: Sequence[type[Estimator]]) -> type[Estimator]:
    """The class of the estimator: one of ours, or one that was given; a file does not say what to import."""
    if not all(isinstance(kind, type) and issubclass(kind, Estimator) for kind in kinds):
        raise TypeError(f"estimators must be classes of estimators, such as [MyRegressor], got {kinds!r:.80}.")
    name = entries.text("estimator")
    if ":" not in name:
        ours: type[Estimator] = getattr(estimators, entries.text("estimator", estimators.ESTIMATORS))
        return ours
    # By the name of the class alone: a class of a script has another module when it is imported.
    _, _, wanted = name.rpartition(":")
    found = [kind for kind in kinds if kind.__qualname__ == wanted]
    if len(found) != 1:
        given = f", got {', '.join(map(_name_of, kinds))}" if kinds else ""
        raise ValueError(
            f"this model is of an estimator that is not of symgrove, {name!r:.80}. A file does not hold code; give the "
            f"class: load(path, estimators=[{wanted:.40}]){given}."
        )
    return found[0]


def _functions(given: Any, own: Mapping[str, Primitive]) -> Any:
    if not isinstance(given, tuple):
        given = (given,)
    if not all(
        isinstance(item, str) or (isinstance(item, dict) and isinstance(item.get("own"), str)) for item in given
    ):
        raise ValueError(f"'functions' of the file must be names, got {given!r:.60}.")
    wanted = [item["own"] for item in given if isinstance(item, dict)]
    missing = [name for name in wanted if name not in own]
    if missing:
        raise ValueError(
            f"this model uses functions of yours: {', '.join(missing)}. A file does not hold code; give them again: "
            f"load(path, functions=[symgrove.primitive({missing[0]})]), made of the same functions as for the fit."
        )
    return tuple(own[item["own"]] if isinstance(item, dict) else item for item in given)


def _feature_names(entries: Entries, n_features: int) -> list[str] | None:
    if entries.any("features") is None:
        return None
    names = entries.items("features")
    if len(names) != n_features or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ValueError(f"'features' of the file must be {n_features} different names.")
    return names


def _target_names(entries: Entries) -> tuple[str, ...]:
    """Names of several targets; most files have one, and no name."""
    if "targets" not in entries:
        return ()
    names = entries.items("targets")
    if len(names) < 2 or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ValueError("'targets' of the file must be at least two different names.")
    return tuple(names)


def _transforms(entries: Entries) -> tuple[TargetTransform, ...]:
    """Of the targets; most files have none."""
    found = tuple(map(transform_from, entries.each("transforms"))) if "transforms" in entries else ()
    if found and len(found) != max(1, len(_target_names(entries))):
        raise ValueError(f"the file has {len(found)} transforms, which does not go with its targets.")
    return found


def _classes(entries: Entries) -> Any:
    if entries.any("classes") is None:
        return None
    own = entries.entries("classes")
    values = own.items("values")
    kind = own.text("dtype")
    is_text = kind == "str" and all(isinstance(v, str) for v in values)
    is_plain = re.fullmatch(r"[<>|=]?(b1|[iu][1248]|f[248])", kind) is not None
    is_number = is_plain and all(isinstance(v, (int, float)) for v in values)
    if len(values) < 2 or not (is_text or is_number):
        raise ValueError("'classes' of the file must be at least two texts, or two numbers, and their type.")
    try:
        found = np.array(values) if is_text else np.array(values, dtype=np.dtype(kind))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"'classes' of the file cannot be read: {error}.") from error
    if len(np.unique(found)) != len(values):
        raise ValueError("'classes' of the file repeats a class.")
    return found


def _fitted(entries: Entries, n_features: int, *, has_generations: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "stop_reason_": entries.text("stop_reason_"),
        "feature_importances_": entries.numbers("feature_importances_", n_features),
    }
    for name, attribute in _FITTED_NUMBERS.items():
        if name in entries.document:
            found[attribute] = entries.number(name, is_optional=True)
    if "held_out_score" in entries:
        own = entries.entries("held_out_score")
        of, n_rows = own.text("of", (FIT, EVOLUTIONS, SEARCH)), own.whole("n_rows", 1)
        found["_held_out"] = {"value": own.number("value"), "of": of, "n_rows": n_rows}
    if "strength_" in entries.document:
        strength = entries.entries("strength_")
        found["stacking_weights_"] = {name: strength.number(name) for name in strength.document}
    if has_generations:
        history = entries.entries("history_")
        found["n_generations_"] = entries.whole("n_generations_")
        found["history_"] = {name: _history(history.entries(name)) for name in history.document}
    return found


def _history(entries: Entries) -> Any:
    shape = entries.wholes("shape", 0, LARGEST_FILE).tolist()
    values = entries.numbers("values", math.prod(shape), is_optional=True)
    is_whole = all(isinstance(v, int) for v in entries.items("values")) and (np.abs(values) < 2**62).all()
    return (values.astype(np.int64) if is_whole else values).reshape(shape)
