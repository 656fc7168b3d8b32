"""What questions about a model share: names of features, rows drawn from the data, what is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import classes_of, correction_of, labels_of, rows_of, target_names_of
from symgrove.models.checked_rows import CheckedRows, checked_target

Matrix = NDArray[np.float64]


def check_ours(model: Estimator) -> None:
    """Refuse what is no estimator of symgrove, with advice."""
    if not isinstance(model, Estimator):
        raise TypeError(
            f"expected a fitted estimator of symgrove, got {type(model).__name__}. Of a search, give best_estimator_; "
            "of a pipeline, its last step, with rows as the steps before it make them."
        )


def checked(model: Estimator, X: Any) -> Matrix:
    """Rows as a coded table (models/columns.py); the model does not look at them again."""
    check_ours(model)
    return rows_of(model, X).view(CheckedRows)


def rows_and_target(model: Estimator, X: Any, y: Any) -> tuple[Matrix, NDArray[Any], Matrix]:
    """Rows and targets, of the same length, the targets also as they were for the fit, (n_targets, n_rows)."""
    X = checked(model, X)
    n_targets = len(target_names_of(model))
    if n_targets > 1:
        raise ValueError(
            f"this is for models of one target; {type(model).__name__} was fitted on {n_targets} columns of y. Fit a "
            "model for each column."
        )
    y, targets = checked_target(y, classes_of(model))
    check_consistent_length(X, y)
    return X, y, targets


def feature_index(model: Estimator, feature: Any) -> int:
    """The place of a feature, given by name or index."""
    names = labels_of(model)
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    if feature in names:
        return names.index(feature)
    raise ValueError(f"feature must be one of {names}, or its index, got {feature!r}.")


def features_to_show(model: Estimator, features: Sequence[Any] | None, n_most: int) -> list[int]:
    """Places of the features that were asked for, or of those that act most."""
    if features is not None:
        features = [features] if isinstance(features, str) else features
        return [feature_index(model, feature) for feature in features]
    order = np.argsort(-model.feature_importances_, kind="stable")[:n_most]
    return [int(i) for i in order]


def some_rows(n_rows: int, n_most: int, random_state: int) -> NDArray[np.intp]:
    """All rows, or so many drawn at random, in their order."""
    if n_rows <= n_most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(random_state).choice(n_rows, n_most, replace=False))


def class_index(model: Estimator, target: Any) -> int | None:
    """The place of a class, the last one if none is given, or of one of several targets; None if there is only one."""
    check_ours(model)
    classes, names = classes_of(model), target_names_of(model)
    if names:
        if target not in names:
            raise ValueError(f"target must be one of {list(names)}, got {target!r}.")
        return names.index(target)
    if classes is None:
        if target is not None:
            raise ValueError(f"target is the label of a class, and this is a regressor; got {target!r}.")
        return None
    if target is None:
        return len(classes) - 1
    found = np.flatnonzero(classes == target)
    if found.size != 1:
        raise ValueError(f"target must be one of {list(classes)}, got {target!r}.")
    return int(found[0])


def prediction(model: Estimator, X: Matrix, target: int | None) -> Matrix:
    """The prediction, that of one of several targets, or the probability of a class, on checked rows."""
    X = X.view(CheckedRows)
    if isinstance(model, Classifier):
        shares: Matrix = model.predict_proba(X)[:, target]
        return shares
    found: Matrix = model.predict(X)
    return found if target is None else found[:, target]


def member_predictions(model: Estimator, X: Matrix, target: int | None) -> Matrix:
    """What each member predicts, or says of a class, (n_members, n_rows).

    With more than two classes, the k-th members of all classes are taken together, as the ensemble is. What corrects
    the ensemble's probabilities corrects theirs too.
    """
    members = model.predict_members(X.view(CheckedRows))
    if target is None or not isinstance(model, Classifier):
        return members if target is None else members[target]
    shares = _shares(members)
    correction = correction_of(model)
    if correction is not None:
        flat = shares.reshape(len(shares), -1).T
        shares = correction.apply(flat).T.reshape(shares.shape)
    return shares[target]


def _shares(members: Matrix) -> Matrix:
    """Shares of the classes, (n_classes, n_members, n_rows)."""
    if members.ndim == 2:
        return np.stack([1 - members, members])
    total = members.sum(axis=0)
    return np.where(total > 0, members / np.where(total > 0, total, 1.0), 1 / len(members))
