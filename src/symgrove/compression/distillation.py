"""One formula that imitates a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_whole
from symgrove.compression.smaller import (
    FEWEST_ROWS,
    Smaller,
    better_than_smaller,
    choose,
    rows_and_targets,
    teacher_of,
    with_rows,
    with_stack,
)
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import classes_of, feature_names_of, features_of, seen_by, table_of, target_names_of
from symgrove.estimators.grove import GroveClassifier, GroveEstimator, GroveRegressor
from symgrove.estimators.input import columns_of, names_of
from symgrove.inspection._input import checked
from symgrove.models.front import Front
from symgrove.models.pruning import make_folds
from symgrove.models.stack import Stack

Matrix = NDArray[np.float64]


def distill(
    model: Estimator, X: Any, y: Any = None, *, max_size: int = 50, generations: int = 200, random_state: int = 0
) -> Smaller:
    """Teach one formula, a sum of terms, what a model predicts.

    The formula is evolved as a Grove of one team on four fifths of the rows, with the model's predictions as target.

    Parameters
    ----------
    model : fitted estimator of symgrove
        With numbers or two classes.
    X : array-like of shape (n_rows, n_features)
        Any rows; targets are not needed.
    y : array-like of shape (n_rows,), optional
        If given, errors are measured against it, otherwise against the model.
    max_size : int
        Nodes of all terms together; the best formula up to this size is chosen.
    generations : int
    random_state : int

    Returns
    -------
    smaller : Smaller
        Its model is a GroveRegressor or GroveClassifier.
    """
    X = checked(model, X)
    check_whole("max_size", max_size, 1)
    classes = classes_of(model)
    if target_names_of(model):
        raise ValueError(
            f"one formula has one target, not {len(target_names_of(model))}. Fit a model for each column of y."
        )
    if classes is not None and classes.size > 2:
        raise ValueError(f"one formula tells two classes apart, not {classes.size}: use `simplify_ensemble`.")
    if len(X) < FEWEST_ROWS:
        raise ValueError(f"at least {FEWEST_ROWS} rows are needed, got {len(X)}.")
    teacher = teacher_of(model, X)
    targets = teacher[None] if y is None else rows_and_targets(model, X, y)[1]
    F = features_of(model, X)
    held_out = make_folds(len(F), random_state)[0]
    rest = np.setdiff1d(np.arange(len(F)), held_out)
    student = _taught(model, F[rest], teacher[rest], max_size, generations, random_state)
    points = [p for p in reversed(student.size_path_) if p.n_parts] or student.size_path_[:1]
    inside, losses = (
        np.stack([(p.model.predict(F[rows])[0] - targets[0][rows]) ** 2 for p in points]) for rows in (rest, held_out)
    )
    errors = np.sqrt([inside.mean(axis=1), losses.mean(axis=1)]).T.tolist()
    found = [replace(p, error=e, held_out_error=h) for p, (e, h) in zip(points, errors, strict=True)]
    kept = better_than_smaller(found)
    path = [found[i] for i in kept]
    chosen = choose(path, losses[kept], max_size, "")
    before = float(np.sqrt(np.mean((teacher[held_out] - targets[0][held_out]) ** 2)))
    model_of_path = path[chosen].model
    assert isinstance(model_of_path, Stack)
    taught = with_stack(model_of_path, student, F)
    taught._seen = {"fit": seen_by(model).get("fit"), "calibration": None}
    return Smaller(with_rows(taught, F, targets), Front(path, chosen), chosen, before)


def _taught(model: Estimator, X: Matrix, teacher: Matrix, max_size: int, generations: int, seed: int) -> GroveEstimator:
    """A Grove of one team, fitted on features as the model reads them."""
    settings: dict[str, Any] = {
        "n_estimators": 1,
        "sampling": 1.0,
        "strength": "fixed",
        "max_terms": max(1, min(20, max_size // 3)),
        "max_size": min(9, max_size),
        "generations": generations,
        "window": 1.0,
        "n_joining": 4,
        "random_state": seed,
    }
    if isinstance(model, Classifier):
        labels = model.classes_[(teacher > 0.5).astype(int)]
        if np.unique(labels).size < 2:
            raise ValueError("the model predicts the same class for all rows: there is nothing to teach.")
        student: GroveEstimator = GroveClassifier(**settings).fit(X, labels)
    else:
        student = GroveRegressor(**settings).fit(X, teacher)
    student.columns_, student.n_features_in_ = columns_of(model), model.n_features_in_
    if names_of(model) is not None:
        student.feature_names_in_ = model.feature_names_in_
    table = table_of(model)
    if table is not None:
        student.table_ = table
    student.size_path_ = student.model_.front(feature_names_of(student), student.columns_)
    return student
