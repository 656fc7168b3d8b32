"""What pickle, joblib and skops store: models as text, because they hold functions and many small objects."""

from __future__ import annotations

import json
from typing import Any

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import parameters_of
from symgrove.estimators.law import LawRegressor
from symgrove.forest.primitives import Primitive
from symgrove.models.document import Allowance, Entries
from symgrove.saving.estimators import KNOWN_MODELS, model_to_document, primitives_from, set_model

TEXT, HELD_OUT = "_model_text", "_rows_held_out"
_MADE_ANEW = (
    "model_",
    "columns_",
    "ensemble_",
    "size_path_",
    "front_",
    "_searched",
    "_uncertainty",
    "_seen",
    "_outside",
    "_said",
    "one_formula_",
)


def state_of(estimator: Estimator, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an estimator, the model as text."""
    if type(state.get("model_")) not in KNOWN_MODELS:  # none, or one of the user's, which travels as it is
        return state
    kept = {name: value for name, value in state.items() if name not in _MADE_ANEW}
    if isinstance(estimator, LawRegressor) and estimator._searched is not None:
        kept[HELD_OUT] = estimator._searched.held_out_target, estimator._searched.said_held_out()
    return {**kept, TEXT: json.dumps(model_to_document(estimator), separators=(",", ":"))}


def restore(estimator: Estimator) -> None:
    """Undo `state_of`."""
    text, held_out = (estimator.__dict__.pop(name, None) for name in (TEXT, HELD_OUT))
    if text is None:
        return
    entries = Entries(json.loads(text))
    given = parameters_of(estimator)["functions"]
    given = given if isinstance(given, (list, tuple)) else [given]
    own = {f.name: f for f in given if isinstance(f, Primitive)}
    set_model(estimator, entries, primitives_from(entries, own), Allowance.unlimited())
    if isinstance(estimator, LawRegressor) and estimator._searched is not None and held_out is not None:
        target, said = held_out
        estimator._searched = estimator._searched if target is None else estimator._searched.with_held_out(target, said)
