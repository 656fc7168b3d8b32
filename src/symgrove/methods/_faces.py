"""Regression and classification with an ensemble: targets, predictions and out-of-bag scores, for any method."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from symgrove.blas import product
from symgrove.fitness.losses import THRESHOLD, ClassificationError, Loss, MeanSquaredError
from symgrove.forest.forest import Forest
from symgrove.methods._held_out import Head, Training
from symgrove.methods._intervals import IntervalRegressor
from symgrove.methods._probabilities import CalibratedClassifier
from symgrove.methods._program_ensemble import ProgramEnsemble
from symgrove.methods._run import Outcome
from symgrove.models.checked_rows import class_targets
from symgrove.models.ensemble import clipped, votes_of
from symgrove.models.members import ensemble_as_sum

Matrix = NDArray[np.float64]


class EnsembleRegressor(RegressorMixin, ProgramEnsemble, IntervalRegressor):
    """Predicts the mean of the members."""

    def _encode(self, y: NDArray[Any]) -> Matrix:
        return np.asarray(y, dtype=np.float64)[None, :]

    def _y_rules(self) -> dict[str, Any]:
        return {"y_numeric": True}

    def _loss(self) -> Loss:
        return MeanSquaredError(bool(self.linear_scaling))

    def _head(self, n_targets: int) -> Head:
        return None

    def _set_out_of_bag(self, training: Training, prediction: Matrix, n_given: int) -> None:
        self.oob_prediction_ = np.full(n_given, np.nan)
        self.oob_prediction_[training.rows] = prediction[0]
        is_known = ~np.isnan(prediction[0])
        self.oob_score_ = float("nan")
        if is_known.sum() >= 2:
            w = np.ones(is_known.sum()) if training.weight is None else training.weight[is_known]
            y = training.targets[0][is_known]
            with np.errstate(all="ignore"):
                variation = product(w, (y - np.average(y, weights=w)) ** 2)
                if variation > 1e-24 * product(w, y**2):  # a constant target has no score
                    self.oob_score_ = float(1.0 - product(w, (y - prediction[0][is_known]) ** 2) / variation)

    def _one_sum(self) -> tuple[Forest, int] | None:
        """The mean of the members, as long as all are finite."""
        ensemble = self._ensembles[0]
        return ensemble_as_sum(ensemble) if ensemble.aggregation == "mean" else None

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """What the members predict together: their mean or, if that is how they are combined, their median.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        return_std : bool, default=False
            Also return the standard deviation of the members' predictions on each row.

        Returns
        -------
        prediction : ndarray of shape (n_rows,)
        spread : ndarray of shape (n_rows,)
            Only with `return_std`.
        """
        X = self._check_predict(X)
        if return_std:
            return self._predict_checked(X)
        return self._ensembles[0].predict(X, self._n_threads())

    def predict_members(self, X: Any) -> Matrix:
        """What each member predicts, (n_members, n_rows): one for each sample.

        Where a member's output is not finite, it is what all predict together.
        """
        return self._ensembles[0].all_members(self._check_predict(X), self._n_threads())

    def _left_out(self, training: Training, outcome: Outcome) -> tuple[Matrix, Matrix]:
        if not self._has_out_of_bag():
            return np.full(len(training.X), np.nan), np.full(len(training.X), np.nan)
        return self.oob_prediction_[training.rows], self._oob_spread


class EnsembleClassifier(ClassifierMixin, ProgramEnsemble, CalibratedClassifier):
    """Two classes: the members' votes. More: an ensemble for each class."""

    def _encode(self, y: NDArray[Any]) -> Matrix:
        self.classes_, targets = encode_labels(y)
        return targets

    def _loss(self) -> Loss:
        return ClassificationError(bool(self.linear_scaling))

    def _head(self, n_targets: int) -> Head:
        return partial(votes_of if n_targets == 1 else clipped, threshold=self._loss().threshold)

    def _set_out_of_bag(self, training: Training, prediction: Matrix, n_given: int) -> None:
        shares = combine_classes(prediction)
        self.oob_prediction_ = np.full((n_given, shares.shape[1]), np.nan)
        self.oob_prediction_[training.rows] = shares
        is_known = ~np.isnan(shares).any(axis=1)
        labels = training.targets[0] if len(prediction) == 1 else np.argmax(training.targets, axis=0)
        self.oob_score_ = float("nan")
        if is_known.any():
            w = None if training.weight is None else training.weight[is_known]
            self.oob_score_ = float(np.average(shares[is_known].argmax(axis=1) == labels[is_known], weights=w))

    def predict_proba(self, X: Any) -> Matrix:
        """Two classes: shares of the votes. More: the classes' scores, divided by their sum. Corrected if calibrated.

        Returns
        -------
        shares : ndarray of shape (n_rows, n_classes)
            Calibrated probabilities only after a fit with `calibration`, or after `calibrate`.
        """
        return self._probabilities(X)

    def _shares(self, X: Matrix) -> Matrix:
        if self.classes_.size == 2:
            return combine_classes(self._ensembles[0].vote_share(X, self._n_threads())[None])
        return combine_classes(np.stack([e.mean_clipped(X, self._n_threads()) for e in self._ensembles]))

    def predict_members(self, X: Any) -> Matrix:
        """What each member says; where its output is not finite, the share of the class among the training rows.

        Two classes: its votes for the second, (n_members, n_rows). More: its scores, (n_classes, n_members, n_rows).
        """
        X = self._check_predict(X)
        head = votes_of if self.classes_.size == 2 else clipped
        found = [ensemble.all_shares(X, head, self._n_threads()) for ensemble in self._ensembles]
        if len(found) == 1:
            return found[0]
        n_members = max(map(len, found))  # classes with fewer take turns
        return np.stack([members[np.arange(n_members) % len(members)] for members in found])

    def decision_function(self, X: Any) -> Matrix:
        """Two classes: share of the second class, as `predict_proba` gives it, minus one half. More: as that."""
        shares = self.predict_proba(X)
        return shares[:, 1] - THRESHOLD if self.classes_.size == 2 else shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], Matrix]:
    """Classes, and targets of 0 and 1: one for two classes, else one for each class."""
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if classes.size < 2:
        only = classes.tolist()[0]
        raise ValueError(f"y holds only one class, {only!r}; a classifier needs rows of at least two classes.")
    return classes, class_targets(labels, classes.size)


def combine_classes(scores: Matrix) -> Matrix:
    """Shares of the classes, (n_rows, n_classes), from one share of votes, or from a score for each class."""
    if len(scores) == 1:
        return np.stack([1 - scores[0], scores[0]], axis=1)
    total = scores.sum(axis=0)
    return np.where(total == 0, 1.0 / len(scores), scores / np.where(total == 0, 1.0, total)).T
