"""How the prediction hangs on the columns that matter most: computed once, for plots and words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from symgrove import inspection
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import classes_of
from symgrove.inspection._input import some_rows
from symgrove.report.rows import ReportRows

MOST_ROWS = 1000
ROWS_FOR_IMPORTANCE = 300
ROWS_FOR_CURVES = 60
N_CURVES = 6
MOST_CLASSES = 6  # that are drawn side by side


class Looked(NamedTuple):
    """What the columns do.

    Attributes
    ----------
    importance : Importance
        Of each column, by shuffling it.
    order : list of int
        Columns that do something, the most important first.
    curves : dict
        For the first of them, by column, partial dependence: a curve for each class of `classes`, or one.
    classes : list
        Labels of the curves, if there are more than two classes; of two, the curves are of the second one.
    """

    importance: inspection.Importance
    order: list[int]
    curves: dict[int, list[inspection.Curve]]
    classes: list[Any]


def some_test_rows(rows: ReportRows) -> tuple[Any, Any]:
    """At most MOST_ROWS of the rows that judge, for plots."""
    some = some_rows(len(rows.X_test), MOST_ROWS, 0)
    return rows.X_test[some], rows.y_test[some]


def look_at_features(model: Estimator, rows: ReportRows) -> Looked:
    """Importance of all columns, and curves of the most important ones."""
    X, y = some_test_rows(rows)
    some = some_rows(len(X), ROWS_FOR_IMPORTANCE, 0)
    importance = inspection.permutation_importance(model, X[some], y[some], n_repeats=3)
    acts = np.flatnonzero(model.feature_importances_ > 0)
    order = [int(j) for j in acts[np.argsort(-importance.mean[acts], kind="stable")]]
    targets = _shown_classes(model, y)
    varies = [j for j in order if np.unique(X[:, j][~np.isnan(X[:, j])]).size > 1]
    options = {"n_points": 16, "n_rows": ROWS_FOR_CURVES}
    curves = {
        j: [inspection.partial_dependence(model, X, j, target=target, **options) for target in targets]
        for j in varies[:N_CURVES]
    }
    return Looked(importance, order, curves, targets if len(targets) > 1 else [])


def _shown_classes(model: Estimator, y: Any) -> list[Any]:
    """None of numbers; of two classes the second; of more, all, or the most frequent ones."""
    classes = classes_of(model)
    if classes is None:
        return [None]
    if len(classes) == 2:
        return [classes[1]]
    counts = [int(np.sum(y == label)) for label in classes]
    most = sorted(np.argsort([-n for n in counts], kind="stable")[:MOST_CLASSES].tolist())
    return [classes[k] for k in most]
