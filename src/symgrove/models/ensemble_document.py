"""An ensemble of programs as a plain document, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.document import (
    Allowance,
    Document,
    Entries,
    forest_from_document,
    forest_to_document,
    programs_from,
    standardization_from,
)
from symgrove.models.ensemble import COMBINE, NAMED_KINDS, Ensemble, NamedNode


def ensemble_to_document(ensemble: Ensemble) -> Document:
    """An ensemble of programs."""
    weights = {} if ensemble.weights is None else {"weights": ensemble.weights.tolist()}
    named = {"named": [each._asdict() for each in ensemble.named]} if ensemble.named else {}
    return {
        "kind": "programs",
        "forest": forest_to_document(ensemble.forest),
        "programs": ensemble.programs.tolist(),
        "program_of": ensemble.program_of.tolist(),
        "slope": ensemble.slope.tolist(),
        "intercept": ensemble.intercept.tolist(),
        "fallback": ensemble.fallback,
        "mean": ensemble.standardization.mean.tolist(),
        "spread": ensemble.standardization.spread.tolist(),
        "aggregation": ensemble.aggregation,
        "threshold": ensemble.threshold,
        **weights,
        **named,
    }


def ensemble_from_document(
    entries: Entries, n_features: int, primitives: PrimitiveSet, allowance: Allowance
) -> Ensemble:
    """The ensemble of a document."""
    forest = forest_from_document(entries.entries("forest"), n_features, primitives, allowance)
    programs = programs_from(entries, forest)
    program_of = entries.wholes("program_of", 0, programs.size - 1)
    if np.unique(program_of).size != programs.size or program_of.size == 0:
        raise ValueError(f"{entries.where} has programs without members, or no members.")
    return Ensemble(
        forest,
        programs,
        program_of,
        entries.numbers("slope", program_of.size),
        entries.numbers("intercept", program_of.size),
        entries.number("fallback"),
        standardization_from(entries, n_features),
        entries.text("aggregation", tuple(COMBINE)),
        entries.number("threshold"),
        _weights(entries, program_of.size),
        _named(entries, len(forest)),
    )


def _named(entries: Entries, n_nodes: int) -> tuple[NamedNode, ...]:
    """Parts of programs that have a name; most ensembles have none."""
    if "named" not in entries:
        return ()
    return tuple(
        NamedNode(
            each.text("kind", NAMED_KINDS),
            each.whole("place"),
            each.whole("node", 0, n_nodes - 1),
        )
        for each in entries.each("named")
    )


def _weights(entries: Entries, n_samples: int) -> NDArray[np.float64] | None:
    """Of the members in a weighted mean; other ensembles have none."""
    is_weighted = entries.text("aggregation") == "weighted"
    if not is_weighted:
        if "weights" in entries:
            raise ValueError(f"{entries.where} has weights, but its members count the same.")
        return None
    weights = entries.numbers("weights", n_samples)
    if (weights < 0).any() or weights.max() != 1:
        raise ValueError(f"'weights' of {entries.where} must be from 0 to 1, which the largest must be.")
    return weights
