"""What a page says of a finished run: one formula first, how good the model is, and what it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import (
    classes_of,
    fronts_of,
    known_score,
    labels_of,
    notes_on_formulas,
    one_formula_of,
    table_of,
)
from symgrove.forest.legend import legend
from symgrove.models.front import Front
from symgrove.models.shown import LONGEST_MATHS, Shown
from symgrove.studio.snapshots import LONGEST_TEXT, rounded

MOST_COLUMNS, MOST_NOTES = 20, 12
SCORED_ON = {
    "fit": "rows kept out of the fit",
    "evolutions": "rows held out of whole evolutions (a little optimistic: they chose the strength)",
    "search": "rows held out of the search (a little optimistic: formulas were compared on them)",
    "samples": "out-of-bag rows (optimistic)",
}
NO_FORMULA = {
    "classes": "there is none for more than two classes: each has formulas of its own",
    "rows": "there are too few rows to look for one",
    "stopped": "it was not looked for to the end, because the run was stopped",
    "nothing": "the ensemble says nothing that a formula could imitate",
}


def result_of(
    model: Estimator, seconds: float, formulas: list[dict[str, Any]], notes: list[str], why_not: str = "rows"
) -> dict[str, Any]:
    """For a file; `formulas` are those of an ensemble, `why_not` says why there is no one formula, if there is none."""
    fronts, classes = fronts_of(model), classes_of(model)
    if classes is not None and classes.size > 2:
        why_not = "classes"
    one = _in_one_formula(model)
    front = _front(fronts[0]) if fronts else formulas
    calls = legend(model.model_.primitives, [own["text"] for own in (*front, *([one] if one else []))])
    importances = zip(labels_of(model), model.feature_importances_.tolist(), strict=True)
    return {
        "estimator": type(model).__name__,
        "target": (table_of(model) or {}).get("target", "y"),
        "parts": model.model_.parts,
        "in_one_formula": one,
        "why_no_formula": NO_FORMULA[why_not],
        "score": _score(model),
        "importances": [[n, rounded(v)] for n, v in sorted(importances, key=lambda own: -own[1])[:MOST_COLUMNS]],
        "front": front,
        "stopped_by": model.stop_reason_,
        "seconds": round(seconds, 2),
        "notes": [*notes, *notes_on_formulas(model)][:MOST_NOTES] + calls,
    }


def _in_one_formula(model: Estimator) -> dict[str, Any] | None:
    """With its score beside the ensemble's; the model itself, if it is one formula."""
    found = one_formula_of(model)
    target = str((table_of(model) or {}).get("target", "y"))
    if found is not None:
        told = {"left": found.left_side(target), "scores": found.scores, "size": found.size}
        return {**told, "latex": found.latex, **whole(found)}
    fronts = fronts_of(model)
    if not fronts or fronts[0].chosen is None:
        return None
    point = fronts[0][fronts[0].chosen]
    score = _score(model)
    scores = "" if score is None else f"{score['measure']} {score['value']:.4g} on {score['on']}"
    return {"left": target, "scores": scores, "size": point.size, "latex": point.latex, **whole(point)}


def _score(model: Estimator) -> dict[str, Any] | None:
    own = known_score(model)
    if own is None or not np.isfinite(own.value):
        return None
    n_rows = f"{own.n_rows:,} " if own.n_rows else ""
    return {"value": rounded(own.value), "measure": own.measure, "on": f"{n_rows}{SCORED_ON[own.of]}"}


def _front(front: Front) -> list[dict[str, Any]]:
    return [
        {
            "size": point.size,
            "error": rounded(point.error),
            "held_out_error": rounded(point.held_out_error) if np.isfinite(point.held_out_error) else None,
            "is_chosen": place == front.chosen,
            **whole(point),
        }
        for place, point in enumerate(front)
    ]


def whole(formula: Shown) -> dict[str, str]:
    """A formula with as many digits as make a difference, as text and, unless it is long, as mathematics."""
    forest, root = formula._shown()
    is_short = int(forest.size([root])[0]) <= LONGEST_MATHS
    text = formula.rounded()
    cut = text if len(text) <= 10 * LONGEST_TEXT else f"{text[: 10 * LONGEST_TEXT]} ..."
    return {"text": cut, "mathml": formula.mathml if is_short else ""}
