"""What classifiers say about their own uncertainty: probabilities that are corrected on rows kept out of the fit."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from symgrove.methods._estimator import EvolvedEnsemble
from symgrove.methods._run import Job, Outcome
from symgrove.models.calibration import correction_from_document, correction_to_document
from symgrove.models.checked_rows import class_places
from symgrove.models.document import Document, Entries
from symgrove.models.probabilities import Correction, fit_correction
from symgrove.models.seen_rows import seen_rows

Matrix = NDArray[np.float64]


class CalibratedClassifier(EvolvedEnsemble):
    """Adds the correction to a classifier."""

    _correction: Correction | None = None

    @abstractmethod
    def _shares(self, X: Matrix) -> Matrix:
        """Shares of the classes as the ensemble gives them, (n_rows, n_classes)."""

    def _set_uncertainty(self, job: Job, outcome: Outcome) -> None:
        self.__dict__.pop("_correction", None)
        if job.kept_out is not None:
            targets = job.kept_out.targets
            labels = targets[0] if len(targets) == 1 else np.argmax(targets, axis=0)
            self._correction = fit_correction(self._shares(job.kept_out.X), labels.astype(np.intp))

    def _uncertainty_to_document(self) -> Document | None:
        return None if self._correction is None else correction_to_document(self._correction)

    def _uncertainty_from_document(self, entries: Entries) -> None:
        self._correction = correction_from_document(entries, self.classes_.size)

    def calibrate(self, X: Any, y: Any) -> Any:
        """Correct the probabilities, on rows that the model was not fitted on.

        Not needed after a fit with `calibration`. With rows that the model was fitted on, it would become too sure.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self
        """
        X = self._check_predict(X)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        labels = class_places(self.classes_, y)
        self._correction = fit_correction(self._shares(X), labels)
        self._seen = {**getattr(self, "_seen", {}), "calibration": seen_rows([(X, self._targets_of(labels))])}
        return self

    def _targets_of(self, labels: NDArray[np.intp]) -> Matrix:
        """Targets as of the fit, from places of classes."""
        if self.classes_.size == 2:
            return labels.astype(np.float64)[None]
        return (labels == np.arange(self.classes_.size)[:, None]).astype(np.float64)

    def _probabilities(self, X: Any) -> Matrix:
        shares = self._shares(self._check_predict(X))
        return shares if self._correction is None else self._correction.apply(shares)
