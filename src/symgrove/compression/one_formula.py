"""An ensemble in one line, where it has one target or two classes: for commands and reports."""

from __future__ import annotations

from typing import Any

from symgrove.compression.distillation import Distilled, distill
from symgrove.compression.judging import FEWEST_ROWS
from symgrove.compression.students import NothingToTeachError
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import classes_of, feature_names_of, target_names_of
from symgrove.forest.forest import Forest
from symgrove.models.one_formula import OneFormula


def one_formula(model: Estimator, X: Any, y: Any) -> OneFormula | None:
    """Found quickly, in two seconds or so; None where there is none, or the model is one formula itself."""
    classes = classes_of(model)
    is_one_target = classes is None and not target_names_of(model)
    if not (is_one_target or (classes is not None and classes.size == 2)):
        return None
    if len(model.ensemble_) < 2 or len(X) < FEWEST_ROWS:
        return None
    try:
        return in_one_formula(distill(model, X, y, effort="quick"))
    except NothingToTeachError:
        return None


def in_one_formula(distilled: Distilled) -> OneFormula:
    """What was distilled, as a line and in files."""
    student, point = distilled.model, distilled.path[distilled.chosen]
    found = point.model.as_sum()
    assert found is not None  # it is one formula
    forest = Forest(found[0].n_features, found[0].primitives)
    classes = classes_of(student)
    return OneFormula(
        point.size,
        distilled.score,
        distilled.score_before,
        distilled.measure,
        distilled.rows,
        distilled.n_rows,
        None if classes is None else classes[1],
        forest,
        int(forest.copy_from(found[0], [found[1]])[0]),
        feature_names_of(student),
        point.model.reading,
    )
