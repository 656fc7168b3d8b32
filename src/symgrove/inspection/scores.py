"""How good a model's predictions are, apart for rows that it was fitted on and for others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import features_of, seen_by
from symgrove.inspection._input import rows_and_target
from symgrove.models.seen_rows import marks_of

Matrix = NDArray[np.float64]
OF_NUMBERS = ("R²", "RMSE", "mean absolute error")
OF_CLASSES = ("accuracy", "balanced accuracy", "log loss")
LEAST_SHARE = 1e-3  # of the true class, in the log loss: votes may all be for others
NEW, SEEN, UNKNOWN = "new", "fit", "not known"


class ScoredRows(NamedTuple):
    """Scores on rows that are new to the model, that it was fitted on, or of which that is not known."""

    rows: str
    n_rows: int
    scores: dict[str, float]


def score_rows(model: Estimator, X: Any, y: Any) -> list[ScoredRows]:
    """New rows first; only kinds of which there are any."""
    table, labels, targets = rows_and_target(model, X, y)
    fit = seen_by(model).get("fit")
    is_seen = (
        np.zeros(len(table), dtype=bool) if fit is None else np.isin(marks_of(features_of(model, table), targets), fit)
    )
    kinds = {UNKNOWN if fit is None else NEW: ~is_seen, SEEN: is_seen}
    names = OF_CLASSES if isinstance(model, Classifier) else OF_NUMBERS
    return [
        ScoredRows(kind, int(own.sum()), dict(zip(names, measures_of(model, table[own], labels[own]), strict=True)))
        for kind, own in kinds.items()
        if own.any()
    ]


def measures_of(model: Estimator, table: Matrix, y: NDArray[Any]) -> list[float]:
    """What OF_NUMBERS or OF_CLASSES name, of coded rows."""
    if isinstance(model, Classifier):
        return of_classes(model.classes_, y, model.predict_proba(table))
    return of_numbers(y, model.predict(table))


def of_numbers(y: Matrix, predicted: Matrix) -> list[float]:
    """R², root mean squared error, mean absolute error."""
    r2 = r2_score(y, predicted) if len(y) > 1 else float("nan")
    error = float(np.sqrt(np.mean((y - predicted) ** 2)))
    return [float(r2), error, float(np.mean(np.abs(y - predicted)))]


def of_classes(classes: NDArray[Any], y: NDArray[Any], shares: Matrix) -> list[float]:
    """Accuracy, its mean over the classes that there are, and the log loss."""
    predicted = classes[shares.argmax(axis=1)]
    likely = np.clip(shares[np.arange(len(y)), np.searchsorted(classes, y)], LEAST_SHARE, 1)
    balanced = np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)])
    return [float(np.mean(predicted == y)), float(balanced), float(-np.mean(np.log(likely)))]
