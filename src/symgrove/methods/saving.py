"""Fitted estimators as JSON files, and back. Reading runs no code from the file. The format: docs/model-file.md."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from symgrove import methods
from symgrove._files import atomic_write
from symgrove.forest.primitives import Primitive, PrimitiveSet
from symgrove.methods._estimator import EvolvedEnsemble
from symgrove.methods.saved_parameters import from_plain, to_plain
from symgrove.models.document import (
    Allowance,
    Document,
    Entries,
    ensemble_from_document,
    ensemble_to_document,
    optional_numbers,
    stack_from_document,
    stack_to_document,
)
from symgrove.models.members import list_members
from symgrove.models.seen_rows import from_text as marks_from_text
from symgrove.models.seen_rows import to_text as marks_to_text
from symgrove.models.team_members import list_teams, size_point
from symgrove.models.teams import Stack
from symgrove.selection.named import MissingSelection

FORMAT = "symgrove model"
VERSION = 1
# Limits of a file: its bytes; lists, objects and named entries, which take far more memory than their text; nodes;
# places in the tables of teams and terms, 8 bytes each.
LARGEST_FILE = 2**26
MOST_PARTS = 2**18
MOST_NODES = 2**20
MOST_PLACES = 2**26
DIGITS = 6  # of the history, which is for plots
# Parameters that are no part of a model, or that no file can hold.
_NOT_SAVED = ("callbacks", "checkpoint", "warm_start")
_MADE_ANEW = ("_ensembles", "ensemble_", "size_path_", "_calibrations", "_widths", "_correction", "_seen")
SEEN = ("fit", "calibration")  # what rows were for
# By their names in files, which are older than some names of attributes.
_FITTED_NUMBERS = {
    "oob_score_": "oob_score_",
    "found_": "stacking_weight_sum_",
    "validation_score_": "validation_score_",
}


def save(estimator: EvolvedEnsemble, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator."""
    document = to_document(estimator)
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    try:
        _check_size(text.encode("utf-8"))
        _check_tables(document)
    except ValueError as error:
        raise ValueError(
            f"this model could not be read again: {error}. Make it smaller (symgrove.simplify_ensemble), or use pickle."
        ) from None
    with atomic_write(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def load(path: str | os.PathLike[str], functions: Sequence[Primitive] = ()) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : path
    functions : sequence of Primitive
        The user-defined functions of the model, made by `symgrove.primitive` as for the fit: a file does not hold them.

    Returns
    -------
    estimator
        Fitted: it predicts, shows and exports as the one that was saved. It has no `oob_prediction_` and no run to go
        on with.
    """
    return from_document(load_document(path), functions)


def load_document(path: str | os.PathLike[str]) -> Document:
    """The entries of a model file, checked to be one of a version that can be read."""
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise ValueError(f"it has more than {LARGEST_FILE} bytes")
        content = file.read_bytes()
        _check_size(content)
        document = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise
    except (ValueError, RecursionError, OSError) as error:
        raise ValueError(f"{str(file)!r} cannot be read as a model of symgrove: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{str(file)!r} is not a model that symgrove saved.")
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ValueError(
            f"{str(file)!r} has version {version} of the format, made by symgrove {document.get('symgrove')!s:.20}; "
            f"this symgrove reads versions up to {VERSION}. Install a newer one."
        )
    if version != VERSION:
        raise ValueError(f"{str(file)!r} has an unknown version of the format: {version!r:.20}.")
    return document


def _check_size(content: bytes) -> None:
    """Refuse a file that would take gigabytes, before it does."""
    n_parts = max(content.count(b"[") + content.count(b"{"), content.count(b":"))
    if len(content) > LARGEST_FILE or n_parts > MOST_PARTS:
        raise ValueError(
            f"it has {len(content)} bytes and {n_parts} lists and entries; a model file has at most {LARGEST_FILE} and "
            f"{MOST_PARTS}"
        )


def _check_tables(document: Document) -> None:
    """Refuse to write what could not be read again."""
    stacks = [e for e in (*document["ensembles"], *document["smaller"]) if e["kind"] == "teams"]
    levels = [level for stack in stacks for level in stack["levels"]]
    n_places = sum(len(level["terms"]) * len(level["programs"]) for level in levels)
    forests = [e["forest"] for e in (*document["ensembles"], *levels) if "forest" in e]
    n_nodes = sum(len(forest["code"]) for forest in forests)
    if n_places > MOST_PLACES or n_nodes > MOST_NODES:
        raise ValueError(
            f"it has {n_nodes} nodes and {n_places} places in tables of teams and terms; a model file has at most "
            f"{MOST_NODES} and {MOST_PLACES}"
        )


def _refuse_constant(name: str) -> float:
    raise ValueError(f"it contains {name}, which is no number")


# Pickles


def state_of(estimator: Any, state: dict[str, Any]) -> dict[str, Any]:
    """What pickle, joblib and skops store: models as text, because they hold functions and many small objects."""
    if "_ensembles" not in state:
        return state
    kept = {name: value for name, value in state.items() if name not in (*_MADE_ANEW, "_outside")}
    return {**kept, "_model_text": json.dumps(ensembles_to_document(estimator), separators=(",", ":"))}


def restore(estimator: Any, text: str) -> None:
    """Undo `state_of`."""
    document = json.loads(text)
    estimator.__dict__.setdefault("_fitted_with", estimator.get_params(deep=False))  # pickles of older versions
    given = estimator._fitted_with["functions"]
    given = given if isinstance(given, (list, tuple)) else [given]
    own = {f.name: f for f in given if isinstance(f, Primitive)}
    set_ensembles(estimator, Entries(document), _primitives(Entries(document), own), Allowance.unlimited())


# To a document


def to_document(estimator: EvolvedEnsemble) -> Document:
    """A fitted estimator as plain values."""
    estimator._check_fitted()
    names = getattr(estimator, "feature_names_in_", None)
    classes = getattr(estimator, "classes_", None)
    known = {field.name for field in fields(getattr(methods, _class_of(estimator)))} - set(_NOT_SAVED)
    given = {name: value for name, value in estimator._fitted_with.items() if name in known}
    if not isinstance(given["random_state"], (int, np.integer)):
        given["random_state"] = None  # a generator has moved on
    stacks = isinstance(estimator._ensembles[0], Stack)
    fitted: Document = {
        "n_generations_": int(estimator.n_generations_),
        "stop_reason_": str(estimator.stop_reason_),
        "feature_importances_": estimator.feature_importances_.tolist(),
        "history_": {name: _history_column(column) for name, column in estimator.history_.items()},
    }
    fitted |= {
        name: optional_numbers([getattr(estimator, attribute)])[0]
        for name, attribute in _FITTED_NUMBERS.items()
        if hasattr(estimator, attribute)
    }
    if stacks:
        fitted["strength_"] = dict(estimator.stacking_weights_)
    return {
        "format": FORMAT,
        "version": VERSION,
        "symgrove": version("symgrove"),
        "estimator": _class_of(estimator),
        "parameters": {name: to_plain(name, value) for name, value in given.items()},
        "n_features": int(estimator.n_features_in_),
        "features": None if names is None else [str(name) for name in names],
        "classes": None if classes is None else _plain_classes(classes),
        "fitted": fitted,
        "table": getattr(estimator, "table_", None),
        **ensembles_to_document(estimator),
    }


def ensembles_to_document(estimator: EvolvedEnsemble) -> Document:
    """What a fitted estimator predicts with, and what people read of it."""
    is_stack = isinstance(estimator._ensembles[0], Stack)
    primitives = _primitives_of(estimator)
    return {
        "functions": [f.name if f.function is None else {"own": f.name} for f in primitives.functions],
        "epsilon": primitives.epsilon,
        "ensembles": [stack_to_document(e) if is_stack else ensemble_to_document(e) for e in estimator._ensembles],
        "members": None if is_stack else errors_of_members(estimator),
        "uncertainty": estimator._uncertainty_to_document(),
        "seen": {name: None if marks is None else marks_to_text(marks) for name, marks in _seen(estimator).items()},
        "smaller": [stack_to_document(p._stack) for p in getattr(estimator, "size_path_", [])],
    }


def _seen(estimator: EvolvedEnsemble) -> dict[str, Any]:
    """Marks of rows; none of an ensemble that was taken from a fit under way."""
    return {name: getattr(estimator, "_seen", {}).get(name) for name in SEEN}


def _primitives_of(estimator: EvolvedEnsemble) -> PrimitiveSet:
    """Those of the fit, whatever the parameters are by now."""
    first = estimator._ensembles[0]
    if not isinstance(first, Stack):
        primitives: PrimitiveSet = first.forest.primitives
        return primitives
    if first.levels:
        return first.levels[0].forest.primitives
    return PrimitiveSet(estimator._fitted_with["functions"], estimator._fitted_with["epsilon"])


def _class_of(estimator: EvolvedEnsemble) -> str:
    """The name of the estimator, or of the one it inherits from."""
    name = next((c.__name__ for c in type(estimator).__mro__ if getattr(methods, c.__name__, None) is c), None)
    if name is None:
        raise ValueError(f"{type(estimator).__name__} is no estimator of symgrove; only those can be saved.")
    return name


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


def errors_of_members(estimator: EvolvedEnsemble) -> list[Document]:
    """For each ensemble the errors of every sample's member, from the list of members."""
    found = []
    members = iter(estimator.ensemble_)
    for ensemble in estimator._ensembles:
        inside, outside = np.full((2, ensemble.n_samples), np.nan)
        n_seen = 0
        while n_seen < ensemble.n_samples:
            member = next(members)
            inside[list(member.samples)] = member.in_bag_error
            outside[list(member.samples)] = member.out_of_bag_error
            n_seen += len(member.samples)
        found.append(
            {"in_bag": optional_numbers(_without_inf(inside)), "out_of_bag": optional_numbers(_without_inf(outside))}
        )
    return found


# From a document


def from_document(document: Document, functions: Sequence[Primitive] = ()) -> Any:
    """The fitted estimator of a document, or a ValueError that says what is wrong with it."""
    entries = Entries(document)
    estimator = _unfitted(entries, functions)
    primitives = _primitives(entries, {primitive.name: primitive for primitive in functions})
    n_features = entries.whole("n_features", 1)
    names = _feature_names(entries, n_features)
    classes = _classes(entries)
    is_classifier = hasattr(type(estimator), "predict_proba")
    if ("strength_" in entries.entries("fitted")) != hasattr(estimator, "strength"):
        raise ValueError("'strength_' of the file does not go with its estimator.")
    if is_classifier != (classes is not None):
        raise ValueError(
            f"the file has {'no ' if classes is None else ''}classes, which does not go with its estimator."
        )
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if classes is not None:
        estimator.classes_ = classes
    estimator.__dict__.update(_fitted(entries.entries("fitted"), n_features))
    set_ensembles(estimator, entries, primitives, Allowance(MOST_NODES, MOST_PLACES))
    if entries.document.get("table") is not None:
        estimator.table_ = entries.entries("table").document
    return estimator


def set_ensembles(estimator: Any, entries: Entries, primitives: PrimitiveSet, allowance: Allowance) -> None:
    """Give an estimator, otherwise as it was when fitted, what `ensembles_to_document` took from it."""
    classes = getattr(estimator, "classes_", None)
    n_targets = len(classes) if classes is not None and len(classes) > 2 else 1
    n_features = estimator.n_features_in_
    is_stack = hasattr(estimator, "strength")
    own = entries.each("ensembles")
    if len(own) != (1 if is_stack else n_targets):
        raise ValueError(f"the file has {len(own)} ensembles, which does not go with its estimator and classes.")
    if is_stack:
        common = n_features, n_targets, primitives, allowance
        stack = stack_from_document(own[0], *common)
        smaller = [stack_from_document(e, *common) for e in entries.each("smaller")]
        estimator.__dict__.update(_of_stack(estimator, stack, smaller, classes if n_targets > 1 else None))
    else:
        ensembles = [ensemble_from_document(e, n_features, primitives, allowance) for e in own]
        estimator.ensemble_ = _members(entries, estimator, ensembles)
        estimator._ensembles = ensembles
    seen = entries.entries("seen") if "seen" in entries else Entries({})
    estimator._seen = {n: marks_from_text(seen.text(n)) if n in seen else None for n in SEEN}
    if "uncertainty" in entries:
        estimator._uncertainty_from_document(entries.entries("uncertainty"))


def _primitives(entries: Entries, own: Mapping[str, Primitive]) -> PrimitiveSet:
    """What the programs of a document are made of."""
    epsilon = entries.entries("epsilon")
    numbers = {name: epsilon.number(name) for name in epsilon.document}
    try:
        return PrimitiveSet(_functions(tuple(entries.items("functions")), own), numbers)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _unfitted(entries: Entries, functions: Sequence[Primitive]) -> Any:
    """The estimator with its parameters."""
    name = entries.text("estimator", methods.ESTIMATORS)
    cls = getattr(methods, name)
    given = entries.entries("parameters").document
    known = {field.name for field in fields(cls)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"the file has parameters that {name} does not know: {', '.join(unknown)}.")
    parameters = {key: from_plain(value) for key, value in given.items() if key not in _NOT_SAVED}
    own = {primitive.name: primitive for primitive in functions}
    if "functions" in parameters:
        parameters["functions"] = _functions(parameters["functions"], own)
    selection = parameters.get("selection")
    missing = {}
    if isinstance(selection, dict) and isinstance(selection.get("own"), str):
        missing = {"selection": MissingSelection(parameters.pop("selection")["own"])}
    estimator = cls(**parameters)
    try:
        estimator._check_parameters()
    except TypeError as error:
        raise ValueError(str(error)) from error
    estimator.set_params(**missing)
    estimator._fitted_with = estimator.get_params(deep=False)
    return estimator


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


def _fitted(entries: Entries, n_features: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "n_generations_": entries.whole("n_generations_"),
        "stop_reason_": entries.text("stop_reason_"),
        "feature_importances_": entries.numbers("feature_importances_", n_features),
    }
    for name, attribute in _FITTED_NUMBERS.items():
        if name in entries.document:
            found[attribute] = entries.number(name, is_optional=True)
    if "strength_" in entries.document:
        strength = entries.entries("strength_")
        found["stacking_weights_"] = {name: strength.number(name) for name in strength.document}
    history = entries.entries("history_")
    found["history_"] = {name: _history(history.entries(name)) for name in history.document}
    return found


def _history(entries: Entries) -> Any:
    shape = entries.wholes("shape", 0, LARGEST_FILE).tolist()
    values = entries.numbers("values", math.prod(shape), is_optional=True)
    is_whole = all(isinstance(v, int) for v in entries.items("values")) and (np.abs(values) < 2**62).all()
    return (values.astype(np.int64) if is_whole else values).reshape(shape)


def _of_stack(estimator: Any, stack: Stack, smaller: list[Stack], targets: Any) -> dict[str, Any]:
    """The attributes of a stack of teams."""
    labels = [name for name, weight in estimator.stacking_weights_.items() if weight > 0]
    if len(labels) != len(stack.levels):
        raise ValueError("'strength_' of the file does not go with its ensembles.")
    if any(len(s.levels) != 1 or s.levels[0].n_teams != 1 for s in smaller):
        raise ValueError("'smaller' of the file must be models of one team.")
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "_ensembles": [stack],
        "ensemble_": list_teams(stack, names, targets, labels),
        "size_path_": [size_point(s, names) for s in smaller],
    }


def _members(entries: Entries, estimator: Any, ensembles: list[Any]) -> list[Any]:
    own = entries.each("members")
    if len(own) != len(ensembles):
        raise ValueError("'members' of the file does not go with its ensembles.")
    names = getattr(estimator, "feature_names_in_", None)
    members: list[Any] = []
    for k, (ensemble, errors) in enumerate(zip(ensembles, own, strict=True)):
        prune = bool(estimator._fitted_with.get("prune", True)) and ensemble.aggregation == "mean"
        inside, outside = (errors.numbers(n, ensemble.n_samples, is_optional=True) for n in ("in_bag", "out_of_bag"))
        target = estimator.classes_[k] if len(ensembles) > 1 else None
        members += list_members(ensemble, inside, outside, names, target, prune=prune)
    return members
