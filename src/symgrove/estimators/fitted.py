"""What the rooms above read of a fitted estimator that is private, or that not every fit leaves: None or NaN then."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.grove import GroveEstimator
from symgrove.estimators.input import checked_rows, columns_of
from symgrove.estimators.law import LawRegressor
from symgrove.estimators.left_out import EVOLUTIONS
from symgrove.estimators.regressor import Regressor
from symgrove.forest.forest import Forest
from symgrove.models.conformal import ConformalScores
from symgrove.models.document import Document
from symgrove.models.front import Front
from symgrove.models.intervals import Intervals
from symgrove.models.model import Names
from symgrove.models.one_formula import OneFormula
from symgrove.models.out_of_bag import RowsLeftOut
from symgrove.models.plan import Plan
from symgrove.models.probabilities import Correction
from symgrove.models.program_model import ProgramModel
from symgrove.models.seen_rows import Marks, SaidLeftOut
from symgrove.models.task import Regression

Matrix = NDArray[np.float64]


class ScoreLeftOut(NamedTuple):
    """R² or accuracy on rows that were left out: by whole evolutions, or by members.

    `is_of_loss`: what takes the place of R² with another loss than squares, D².
    """

    value: float
    is_held_out: bool
    is_of_loss: bool


class KnownScore(NamedTuple):
    """R², D² or accuracy (`measure`) on rows that were left out, and of what.

    `of`: of the "fit"; of whole "evolutions" that only chose the strength; of the "search"; or of "samples", each row
    by members that did not draw it. `n_rows` is None if that is not known.
    """

    value: float
    measure: str
    of: str
    n_rows: int | None


def rows_of(estimator: Estimator, X: Any) -> Matrix:
    """Rows as a coded table."""
    check_is_fitted(estimator)
    return checked_rows(estimator, X)


def classes_of(estimator: Estimator) -> NDArray[Any] | None:
    """Labels, sorted; None for numbers."""
    check_is_fitted(estimator)
    return estimator.model_.task.classes


def target_names_of(estimator: Estimator) -> tuple[str, ...]:
    """Names of the targets, if a regressor was fitted on several."""
    check_is_fitted(estimator)
    task = estimator.model_.task
    return task.target_names if isinstance(task, Regression) else ()


def transformed_names_of(estimator: Estimator) -> list[str]:
    """For each target what formulas are of, such as log(price), if it was transformed; y where no name is known."""
    transforms = estimator.model_.task.transforms
    table = table_of(estimator) or {}
    names = target_names_of(estimator) or (str(table.get("target", "y")),)
    return [inverse.of(name) for inverse, name in zip(transforms, names, strict=True)] if transforms else []


def notes_on_formulas(estimator: Estimator) -> list[str]:
    """What a reader of its formulas must know."""
    given = [f"formulas give {name}, and predictions undo that" for name in transformed_names_of(estimator)]
    return [*columns_of(estimator).notes, *given]


def features_of(estimator: Estimator, table: Matrix) -> Matrix:
    """What its model reads, from a coded table."""
    return columns_of(estimator).features(np.asarray(table))


def feature_names_of(estimator: Estimator) -> Names:
    """Names in its formulas, if it has any."""
    return estimator._names


def labels_of(estimator: Estimator) -> list[str]:
    """Names of the columns, x0, x1, ... if it has none."""
    return [column.name for column in columns_of(estimator)]


def plan_of(estimator: Estimator) -> Plan:
    """What the estimator computes for one row."""
    return estimator._plan()


def parameters_of(estimator: Estimator) -> dict[str, Any]:
    """Parameters at the time of the fit."""
    return estimator._fitted_with


def table_of(estimator: Estimator) -> Document | None:
    """How the command line made features of a table."""
    return getattr(estimator, "table_", None)


def has_generations(estimator: Estimator) -> bool:
    """Whether it evolved, so that there is a history; a search has none."""
    return not isinstance(estimator, LawRegressor)


def one_formula_of(estimator: Estimator) -> OneFormula | None:
    """What is known of it in one formula."""
    return getattr(estimator, "one_formula_", None)


def seen_by(estimator: Estimator) -> dict[str, Marks | None]:
    """Marks of rows, by what they were for; nothing of a model that was taken from a fit under way."""
    found: dict[str, Marks | None] = getattr(estimator, "_seen", {})
    return found


def left_out_by(estimator: Estimator) -> RowsLeftOut | None:
    """Training rows that members left out; files do not hold them."""
    return getattr(estimator, "_outside", None)


def said_left_out(estimator: Estimator, marks: Marks) -> Matrix:
    """What its parts that were not fitted on rows predict for them, by marks; NaN where that is not known."""
    said: SaidLeftOut | None = getattr(estimator, "_said", None)  # files do not hold it
    return np.full(marks.size, np.nan) if said is None else said.of(marks)


def score_left_out(estimator: Estimator) -> ScoreLeftOut:
    """What a fit says of itself."""
    is_held_out = isinstance(estimator, GroveEstimator)
    value = getattr(estimator, "validation_score_" if is_held_out else "oob_score_", np.nan)
    is_of_loss = is_held_out and parameters_of(estimator).get("loss", "squared") != "squared"
    return ScoreLeftOut(value, is_held_out, is_of_loss)


def known_score(estimator: Estimator) -> KnownScore | None:
    """How good the fit says that the model is on rows outside of it, if it knows."""
    own: Document | None = getattr(estimator, "_held_out", None)
    value, is_held_out, is_of_loss = score_left_out(estimator)
    measure = "R²" if classes_of(estimator) is None else "accuracy"
    if own is not None:
        return KnownScore(
            own["value"], "D²" if is_of_loss and own["of"] == EVOLUTIONS else measure, own["of"], own["n_rows"]
        )
    if not np.isfinite(value):
        return None
    return KnownScore(value, "D²" if is_of_loss else measure, EVOLUTIONS if is_held_out else "samples", None)


def held_out_by(estimator: Estimator) -> Document | None:
    """The score on rows held out, for files."""
    return getattr(estimator, "_held_out", None)


def weight_sum_of(grove: GroveEstimator) -> float | None:
    """Sum of the stacking weights; files need not hold it."""
    return getattr(grove, "stacking_weight_sum_", None)


def weights_of(estimator: Estimator) -> dict[str, float]:
    """Weights of a Grove's ensembles, by name; nothing for others."""
    return dict(estimator.stacking_weights_) if isinstance(estimator, GroveEstimator) else {}


def formulas_in(estimator: Estimator) -> list[tuple[Forest, int]]:
    """If the model is one formula for each target, in the user's units: these."""
    model, members = estimator.model_, estimator.ensemble_
    if model.task.n_targets == 1:
        found = model.as_sum() if len(members) <= 1 else None
        return [] if found is None else [found]
    is_whole = len(members) == model.task.n_targets and all(w == 1 for w in weights_of(estimator).values() if w)
    return [member._shown() for member in members] if is_whole else []


def has_named_parts(estimator: Estimator) -> bool:
    """Whether formulas name parts of the model, which is then best shown whole."""
    model = estimator.model_
    return isinstance(model, ProgramModel) and any(ensemble.named for ensemble in model.ensembles)


def fronts_of(estimator: Estimator) -> list[Front]:
    """A front of formulas for each target; none of methods that have no front, and of files that hold none."""
    front = getattr(estimator, "front_", None) if isinstance(estimator, LawRegressor) else None
    return [] if front is None else [front] if isinstance(front, Front) else front


def uncertainty_of(estimator: Estimator) -> Intervals | Correction | None:
    """What rows outside the fit taught."""
    return getattr(estimator, "_uncertainty", None)


def correction_of(classifier: Classifier) -> Correction | None:
    """What corrects its probabilities."""
    return getattr(classifier, "_uncertainty", None)


def intervals_of(regressor: Regressor) -> Intervals:
    """What its intervals are made with."""
    return regressor._intervals


def scored_rows(regressor: Regressor, X: Matrix, method: str) -> tuple[ConformalScores, Matrix, Matrix]:
    """Scores of intervals; predictions of rows, and their spread."""
    return regressor._scored(X, method)
