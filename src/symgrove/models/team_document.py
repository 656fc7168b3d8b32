"""Teams as a plain document, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.document import (
    Allowance,
    Document,
    Entries,
    forest_from_document,
    forest_to_document,
    optional_numbers,
    programs_from,
    standardization_from,
)
from symgrove.models.teams import TEAM_LOSSES, TERM_FIELDS, Range, Teams


def teams_to_document(teams: Teams, before: Teams | None = None) -> Document:
    """One ensemble of teams; of the terms of the one before it, if they are the same, only that."""
    rows = [np.flatnonzero(row) for row in teams.coefficients]
    shares = before is not None and teams.shares_terms_with(before)
    return {
        **({"same_terms": True} if shares else _terms_to_document(teams)),
        "terms": [row.tolist() for row in rows],
        "coefficients": [own[row].tolist() for own, row in zip(teams.coefficients, rows, strict=True)],
        "intercept": teams.intercept.tolist(),
        "target_of": teams.target_of.tolist(),
        "prediction_range": _range_to_document(teams.predictions),
        "aggregation": teams.aggregation,
        "is_logistic": teams.is_logistic,
        **({} if teams.loss in ("squared", "logistic") else {"loss": teams.loss}),
        "errors": optional_numbers(teams.errors),
    }


def _terms_to_document(teams: Teams) -> Document:
    return {
        "forest": forest_to_document(teams.forest),
        "programs": teams.programs.tolist(),
        "centre": teams.centre.tolist(),
        "scale": teams.spread.tolist(),
        "mean": teams.standardization.mean.tolist(),
        "spread": teams.standardization.spread.tolist(),
        "feature_range": _range_to_document(teams.features),
        "term_range": _range_to_document(teams.terms),
    }


def _range_to_document(found: Range | None) -> Document | None:
    if found is None:
        return None
    return {"low": np.atleast_1d(found.low).tolist(), "high": np.atleast_1d(found.high).tolist()}


def teams_from_document(
    entries: Entries,
    n_features: int,
    n_targets: int,
    primitives: PrimitiveSet,
    allowance: Allowance,
    before: Teams | None = None,
) -> Teams:
    """The ensemble of teams of a document; `before` is the one that it may share terms with."""
    terms = _terms_from(entries, n_features, primitives, allowance, before)
    n_terms = terms["programs"].size
    intercept = entries.numbers("intercept")
    n_teams = intercept.size
    target_of = entries.wholes("target_of", 0, n_targets - 1, n_teams)
    if set(target_of.tolist()) != set(range(n_targets)):
        raise ValueError(f"{entries.where} has a target without teams.")
    return Teams(
        **terms,
        coefficients=_coefficients(entries, n_teams, n_terms, allowance),
        intercept=intercept,
        target_of=target_of,
        predictions=_prediction_range(entries, n_targets),
        aggregation=entries.text("aggregation", ("interquartile", "mean")),
        loss=_loss(entries),
        errors=entries.numbers("errors", n_teams, is_optional=True),
    )


def _terms_from(
    entries: Entries, n_features: int, primitives: PrimitiveSet, allowance: Allowance, before: Teams | None
) -> dict[str, Any]:
    if "same_terms" in entries and entries.flag("same_terms"):
        if before is None:
            raise ValueError(f"{entries.where} has 'same_terms', and no ensemble before it.")
        return {name: getattr(before, name) for name in TERM_FIELDS}
    forest = forest_from_document(entries.entries("forest"), n_features, primitives, allowance)
    programs = programs_from(entries, forest)
    scale = entries.numbers("scale", programs.size)
    if (scale <= 0).any():
        raise ValueError(f"'scale' of {entries.where} must be above zero.")
    return {
        "forest": forest,
        "programs": programs,
        "centre": entries.numbers("centre", programs.size),
        "spread": scale,
        "standardization": standardization_from(entries, n_features),
        "features": _range(entries, "feature_range", n_features, np.asarray),
        "terms": _range(entries, "term_range", programs.size, np.asarray),
    }


def _prediction_range(entries: Entries, n_targets: int) -> Range | None:
    """Of one target, or of each of several."""
    if n_targets == 1:
        return _range(entries, "prediction_range", 1, lambda a: float(a[0]))
    return _range(entries, "prediction_range", n_targets, np.asarray)


def _loss(entries: Entries) -> str:
    """What teams were fitted by; files that do not say it have squares or labels."""
    is_logistic = entries.flag("is_logistic")
    loss = entries.text("loss", TEAM_LOSSES) if "loss" in entries else ("logistic" if is_logistic else "squared")
    if is_logistic != (loss == "logistic"):
        raise ValueError(f"'loss' of {entries.where} does not go with 'is_logistic'.")
    if loss == "poisson" and entries.any("prediction_range") is None:
        raise ValueError(f"{entries.where} has the Poisson loss, and no 'prediction_range'.")
    return loss


def _coefficients(entries: Entries, n_teams: int, n_terms: int, allowance: Allowance) -> NDArray[np.float64]:
    terms, values = entries.items("terms"), entries.items("coefficients")
    if not len(terms) == len(values) == n_teams:
        raise ValueError(f"'terms' and 'coefficients' of {entries.where} must have a list for each of {n_teams} teams.")
    allowance.take_places(n_teams * n_terms)
    # A term whose coefficient is still zero is in no list of the teams.
    if n_terms > n_teams + sum(len(t) for t in terms if isinstance(t, list)):
        raise ValueError(f"{entries.where} has {n_terms} terms for {n_teams} teams, most of them in no team.")
    found = np.zeros((n_teams, n_terms))
    for j, pair in enumerate(zip(terms, values, strict=True)):
        own = Entries(dict(zip(("terms", "coefficients"), pair, strict=True)), f"team {j} of {entries.where}")
        indices = own.wholes("terms", 0, n_terms - 1)
        found[j, indices] = own.numbers("coefficients", indices.size)
    return found


def _range(entries: Entries, name: str, length: int, shape: Callable[[Any], Any]) -> Range | None:
    if entries.any(name) is None:
        return None
    own = entries.entries(name)
    low, high = own.numbers("low", length), own.numbers("high", length)
    if (low > high).any():
        raise ValueError(f"{name!r} of {entries.where} has a lowest value above the highest.")
    return Range(shape(low), shape(high))
