"""Classifiers: shares of the classes, corrected on rows kept out of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.base import Estimator, Matrix
from symgrove.estimators.input import columns_of
from symgrove.estimators.sklearn_types import ClassifierMixin
from symgrove.fitness.losses import THRESHOLD
from symgrove.methods.problem import Problem
from symgrove.models.checked_rows import class_places
from symgrove.models.model import LeftOut
from symgrove.models.plan import Plan
from symgrove.models.probabilities import Correction, fit_correction
from symgrove.models.task import Task, encode_labels


class Classifier(ClassifierMixin, Estimator):
    """Base of the estimators that predict a class. Two classes have one target, more have a target each."""

    classes_: NDArray[Any]
    _uncertainty: Correction | None

    def _encode(self, y: NDArray[Any]) -> tuple[Task, Matrix]:
        task, targets = encode_labels(y)
        self.classes_ = task.labels  # before the evolution: callbacks may predict
        return task, targets

    def _check_target(self, y: Any) -> dict[str, Any]:
        return {}

    def _learn(self, problem: Problem, left_out: LeftOut | None) -> None:
        self._uncertainty = None
        if problem.kept_out is not None:
            self._calibrate(problem.kept_out.X, problem.kept_out.targets)

    def _calibrate(self, X: Matrix, targets: Matrix) -> None:
        self._uncertainty = fit_correction(self._shares(X), class_places(targets))

    def _shares(self, X: Matrix) -> Matrix:
        """Shares of the classes as the model gives them, (n_rows, n_classes)."""
        return self.model_.task.as_users_see(self.model_.predict(X, self._n_threads()))

    def _plan(self) -> Plan:
        model = self._fitted_model()
        return model.plan(type(self).__name__, columns_of(self), getattr(self, "_uncertainty", None))

    def predict_proba(self, X: Any) -> Matrix:
        """Shares of the classes: of votes, or of mean scores divided by their sum; corrected if calibrated.

        Returns
        -------
        shares : ndarray of shape (n_rows, n_classes)
            Of members that vote, calibrated probabilities only after a fit with `calibration`, or after `calibrate`.
        """
        shares = self._shares(self._check_predict(X))
        correction = getattr(self, "_uncertainty", None)
        return shares if correction is None else correction.apply(shares)

    def decision_function(self, X: Any) -> Matrix:
        """Two classes: share of the second class, as `predict_proba` gives it, minus one half. More: as that."""
        shares = self.predict_proba(X)
        return shares[:, 1] - THRESHOLD if self.classes_.size == 2 else shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]
