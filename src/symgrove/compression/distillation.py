"""One formula that imitates a model: a Law of its predictions, or of its log odds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_whole
from symgrove.compression.judging import FEWEST_ROWS, Judging, judging_of, measure_of, score_of
from symgrove.compression.smaller import rows_and_targets, teacher_of, with_rows
from symgrove.compression.students import law_student, log_odds, logistic_models, logistic_student
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import (
    classes_of,
    feature_names_of,
    features_of,
    parameters_of,
    seen_by,
    target_names_of,
)
from symgrove.estimators.input import columns_of
from symgrove.estimators.law import LawRegressor
from symgrove.estimators.left_out import FIT, SEARCH, held_out
from symgrove.fitness.named_losses import LOSSES
from symgrove.inspection._input import checked, some_rows
from symgrove.models.front import Front, FrontPoint
from symgrove.models.one_formula import HELD_OUT, NEW_ROWS
from symgrove.models.program_model import ProgramModel
from symgrove.models.stack import Stack

Matrix = NDArray[np.float64]
MOST_ROWS = {"full": 10_000, "quick": 4000}
FUNCTIONS = ("log", "exp", "tanh", "max", "min")


class Distilled(NamedTuple):
    """One formula, those of other sizes, and how good they are.

    Attributes
    ----------
    model : LawRegressor or GroveClassifier
        Predicts, exports and saves as any other. Intervals and probabilities need `calibrate` again.
    path : Front
        Formulas from small to large. `error` is of the rows that taught, `held_out_error` of those that judge: root
        mean squared errors against the targets if they were given, else against the model; of classes, of the
        probabilities.
    chosen : int
        The model's place in the path.
    error_before : float
        Of the model that taught, on the rows that judge.
    score, score_before : float
        R² or accuracy (`measure`) on the rows that judge, of the formula and of the model that taught. NaN if that is
        not known.
    measure : str
    rows : str
        Which rows judge: "new rows" that the model was not fitted on either; "rows held out" of the teaching, with the
        score of the model's parts that were fitted without them; or without targets "the model's predictions".
    n_rows : int
        How many they are.
    """

    model: Estimator
    path: Front
    chosen: int
    error_before: float
    score: float
    score_before: float
    measure: str
    rows: str
    n_rows: int


def distill(
    model: Estimator,
    X: Any,
    y: Any = None,
    *,
    max_size: int = 30,
    effort: str = "full",
    functions: Any = FUNCTIONS,
    random_state: int = 0,
) -> Distilled:
    """Teach one formula what a model predicts.

    The formula is a Law of the model's predictions, or of its log odds if it tells two classes apart. Of the best
    formulas of every size, the smallest is chosen whose error on the rows that taught is within one standard error, of
    the difference, of the lowest.

    Parameters
    ----------
    model : fitted estimator of symgrove
        With numbers or two classes.
    X : array-like of shape (n_rows, n_features)
        Any rows, of which at most 10,000 are used, or 4,000 if quick. Best are those of the fit together with new
        ones: the former teach, the latter judge.
    y : array-like of shape (n_rows,), optional
        If given, formulas are judged by it, else by the model; so they are where the model was fitted with another loss
        than squares. What teaches is the model in any case.
    max_size : int
        The most nodes that the formula may have.
    effort : "full" or "quick"
        Of the search, as of LawRegressor: up to half a minute, or about two seconds.
    functions : sequence of str, default=('log', 'exp', 'tanh', 'max', 'min')
        Functions that the formula may have, as of LawRegressor. A sine of large numbers can tell a few groups of rows
        apart, and says nothing to people: such functions are only for who asks for them.
    random_state : int

    Returns
    -------
    distilled : Distilled
        Its model is a LawRegressor or a GroveClassifier.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, distill
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> found = distill(model, X, y, max_size=10, effort="quick")
    >>> found.model.ensemble_[0].size <= 10, found.measure
    (True, 'R²')
    """
    check_whole("max_size", max_size, 1)
    law = LawRegressor(functions=functions, max_size=max_size, effort=effort, random_state=random_state)
    law.check_parameters()
    table, targets = _rows(model, X, y)
    some = some_rows(len(table), MOST_ROWS[effort], random_state)
    table, targets = table[some], None if targets is None else targets[some]
    F, teacher = features_of(model, table), teacher_of(model, table)
    judging = judging_of(model, F, teacher, targets, random_state)
    goals = teacher if targets is None else targets
    if isinstance(model, Classifier):
        student, points, chosen = _classifier(law, model, F, teacher, goals, judging.taught)
    else:
        student, points, chosen = _regressor(law, model, F, teacher, goals, judging.taught)
    path = [_judged(point, F, goals, judging) for point in points]
    student._seen = {"fit": seen_by(model).get("fit"), "calibration": None}
    judged, said = goals[judging.judging], points[chosen].model.predict(F[judging.judging])[0]
    score = score_of(model, judged, said)
    of = {NEW_ROWS: FIT, HELD_OUT: SEARCH}.get(judging.rows)  # what the student says of itself
    student._held_out = None if of is None else held_out(score, of, judged.size)
    return Distilled(
        with_rows(student, F, goals[None]),
        Front(path, chosen),
        chosen,
        float(np.sqrt(np.mean((judging.before - judged) ** 2))),
        score,
        judging.score_before,
        measure_of(model),
        judging.rows,
        judged.size,
    )


def _rows(model: Estimator, X: Any, y: Any) -> tuple[Matrix, Matrix | None]:
    """A coded table, and targets if they are to judge."""
    table = checked(model, X)
    classes, names = classes_of(model), target_names_of(model)
    if names:
        raise ValueError(f"one formula has one target, not {len(names)}. Fit a model for each column of y.")
    if classes is not None and classes.size > 2:
        raise ValueError(f"one formula tells two classes apart, not {classes.size}: use `simplify_ensemble`.")
    if len(table) < FEWEST_ROWS:
        raise ValueError(f"at least {FEWEST_ROWS} rows are needed, got {len(table)}.")
    targets = None if y is None else rows_and_targets(model, table, y)[1][0]
    if parameters_of(model).get("loss") in LOSSES[1:]:
        targets = None
    return table, targets


def _regressor(
    law: LawRegressor, model: Estimator, X: Matrix, teacher: Matrix, goals: Matrix, taught: NDArray[np.intp]
) -> tuple[Estimator, list[FrontPoint], int]:
    """A Law of what the model predicts, its formulas, and which of them it is."""
    law.fit(X[taught], teacher[taught])
    chosen = _choose([point.model for point in law.front_], X[taught], goals[taught])
    student = law_student(law, law.front_[chosen].size, model, X[taught])
    return student, [*student.front_], chosen


def _classifier(
    law: LawRegressor, model: Classifier, X: Matrix, teacher: Matrix, goals: Matrix, taught: NDArray[np.intp]
) -> tuple[Estimator, list[FrontPoint], int]:
    """A Grove of one team of one formula, a Law of the log odds."""
    law.fit(X[taught], log_odds(teacher[taught]))
    stacks = logistic_models(law, teacher[taught], model.classes_, X[taught])
    chosen = _choose(stacks, X[taught], goals[taught])
    student = logistic_student(stacks[: chosen + 1], model, teacher[taught], X[taught])
    rules = {"_names": feature_names_of(model), "_columns": columns_of(model)}
    reading = student.model_.reading
    points = [
        replace(point, _model=stack.with_reading(reading), n_parts=1, _size=None, **rules)
        for point, stack in zip(law.front_, stacks, strict=True)
    ]
    return student, points, chosen


def _choose(models: Sequence[ProgramModel | Stack], X: Matrix, goals: Matrix) -> int:
    """The smallest within one standard error of the best, of the difference."""
    losses = np.stack([(own.predict(X)[0] - goals) ** 2 for own in models])
    behind = losses - losses[int(np.argmin(losses.mean(axis=1)))]
    return int(np.argmax(behind.mean(axis=1) <= behind.std(axis=1) / np.sqrt(len(X))))


def _judged(point: FrontPoint, X: Matrix, goals: Matrix, judging: Judging) -> FrontPoint:
    """With errors on the rows that taught and on those that judge."""
    squares = (point.model.predict(X)[0] - goals) ** 2
    inside, outside = (float(np.sqrt(squares[rows].mean())) for rows in (judging.taught, judging.judging))
    return replace(point, error=inside, held_out_error=outside)
